"""Who works on a campaign: locks that die with their holder, orphans of a dead driver, and living ones."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from sophron.campaign.execution import campaign_lock
from sophron.records import process_identity
from sophron.records.errors import UserError
from sophron.records.files import FileLock

HOLD_CAMPAIGN = """
import sys, time
from pathlib import Path
from sophron.campaign.execution import campaign_lock
lock = campaign_lock.driver_lock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""
HOLD_SCRATCH = """
import signal, sys, time
from pathlib import Path
from sophron.campaign.execution import campaign_lock
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with campaign_lock.step_scratch(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[3]))
"""
DRIVER = """
import subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]])
"""


def start(*command):
    process = subprocess.Popen([sys.executable, *map(str, command)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def end(process):
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_driver_is_refused_and_the_first_is_named(tmp_path):
    (tmp_path / "campaign.yaml").touch()
    first = start("-c", HOLD_CAMPAIGN, tmp_path)
    with pytest.raises(UserError, match=rf"another process works on this campaign \(process {first.pid} on "):
        campaign_lock.driver_lock(tmp_path)
    with pytest.raises(UserError, match="another process works on this campaign"), campaign_lock.signing(tmp_path):
        pass
    first.send_signal(signal.SIGKILL)
    first.wait()
    campaign_lock.driver_lock(tmp_path).release()
    end(first)


def test_a_note_that_a_kill_tore_names_nobody(tmp_path):
    with campaign_lock.driver_lock(tmp_path):
        (tmp_path / campaign_lock.DRIVER_LOCK).write_text('{"pid": 1')
        with pytest.raises(UserError, match=r"\(unknown process\)"):
            campaign_lock.driver_lock(tmp_path)


def test_nobody_signs_while_steps_run_and_many_steps_run_at_once(tmp_path):
    (tmp_path / "campaign.yaml").touch()
    first, second = (FileLock(tmp_path / campaign_lock.STEPS_LOCK, shared=True) for _ in range(2))
    refused = pytest.raises(UserError, match="steps of this campaign are running")
    with first, second, refused, campaign_lock.signing(tmp_path):
        pass
    with campaign_lock.signing(tmp_path):
        pass


def test_a_process_that_was_replaced_by_another_of_its_number_is_dead():
    me = {"pid": os.getpid(), "pid_start": process_identity.start_of(os.getpid()), "host": process_identity.host()}
    assert process_identity.alive(me) is True
    assert process_identity.alive(me | {"pid_start": "another boot/17"}) is False
    assert process_identity.alive(me | {"host": "elsewhere"}) is None


def orphan(tmp_path, behaviour):
    """A step that holds its scratch while its driver, a program called snakemake, was killed."""
    script = tmp_path / "snakemake"
    script.write_text(DRIVER)
    driver = start(script, "-c", HOLD_SCRATCH, tmp_path / "scratch" / "a", behaviour, 600)
    note = json.loads((tmp_path / "scratch" / "a.lock").read_text())
    assert note["driver"]["pid"] == driver.pid
    end(driver)
    assert process_identity.alive(note)
    return note


@pytest.mark.parametrize("behaviour", ["listens", "deaf"])
def test_an_orphan_of_a_dead_driver_is_ended(tmp_path, behaviour, monkeypatch):
    monkeypatch.setattr(campaign_lock, "PATIENCE_S", 0.5)
    note = orphan(tmp_path, behaviour)
    with campaign_lock.step_scratch(tmp_path / "scratch" / "a"):
        assert not process_identity.alive(note)
        assert json.loads((tmp_path / "scratch" / "a.lock").read_text())["pid"] == os.getpid()


def test_a_step_whose_driver_lives_is_waited_for(tmp_path):
    script = tmp_path / "snakemake"
    script.write_text(DRIVER)
    begun = time.monotonic()
    driver = start(script, "-c", HOLD_SCRATCH, tmp_path / "scratch" / "a", "listens", 1.5)
    with campaign_lock.step_scratch(tmp_path / "scratch" / "a"):
        assert time.monotonic() - begun > 1.4
    assert driver.wait(timeout=10) == 0
    driver.stdout.close()


def test_scratch_survives_the_kill_of_its_holder(tmp_path):
    held = start("-c", HOLD_SCRATCH, tmp_path / "a", "listens", 600)
    (tmp_path / "a" / "restart.1").write_text("half of it")
    end(held)
    with campaign_lock.step_scratch(tmp_path / "a"):
        assert (tmp_path / "a" / "restart.1").read_text() == "half of it"


@pytest.mark.parametrize(
    ("words", "driver"),
    [
        (["python", "-m", "snakemake", "-n"], True),
        (["python", "-X", "dev", "-B", "-u", "-m", "snakemake"], True),
        (["python3", "-W", "ignore", "-P", "/usr/bin/snakemake", "-c", "1"], True),
        (["/usr/bin/snakemake"], True),
        (["python", "-m", "snakemake_executor_plugin_parsl.lean_start", "x"], True),
        (["python", "-m", "pytest", "-m", "snakemake"], False),
        (["vim", "notes", "snakemake"], False),
        (["/bin/sh", "-c", "exec python", "tests/snakemake_executor_plugin_x -m snakemake"], False),
    ],
)
def test_a_driver_is_known_by_what_its_interpreter_runs(words, driver):
    """Whatever options come first; a mere mention is no driver."""
    assert campaign_lock._names_driver(words) is driver


def test_a_lock_that_was_given_back_names_nobody(tmp_path):
    """Else a process that lives on would seem to drive."""
    with campaign_lock.driver_lock(tmp_path):
        assert json.loads((tmp_path / campaign_lock.DRIVER_LOCK).read_text())["pid"] == os.getpid()
    assert (tmp_path / campaign_lock.DRIVER_LOCK).read_text() == ""
