"""Which sandbox is chosen, what "none" and Apptainer do, and the grants block."""

import os
import sys
import time
from pathlib import Path

import pytest

from sophron.interfaces.sandbox import Ended, Grant
from sophron.records import entry_points
from sophron.records.documents import Document
from sophron.records.errors import UserError
from sophron.sandbox import apptainer, bubblewrap, grants, mounts, seccomp, select_backend
from sophron.sandbox.apptainer import IMAGE, Apptainer
from sophron.sandbox.select_backend import Unconfined


@pytest.fixture
def work(tmp_path):
    (folder := tmp_path / "work").mkdir()
    return folder


def plainly(work, script, **limits):
    out, err = work.parent / "stdout", work.parent / "stderr"
    ended = Unconfined().run(["/bin/sh", "-c", script], Grant(work, **limits), stdout=out, stderr=err)
    return ended, out.read_text()


def test_bubblewrap_is_the_default():
    if lack := bubblewrap.Bubblewrap().missing():
        pytest.skip(lack)
    assert select_backend.choose().name == "bubblewrap"
    assert select_backend.choose("bubblewrap", allow_none=True).name == "bubblewrap"


def test_nothing_is_chosen_in_its_place(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    for allow in (False, True):
        with pytest.raises(UserError, match=r'the sandbox "bubblewrap" does not work here: .*install bubblewrap'):
            select_backend.choose(allow_none=allow)


def test_none_only_with_a_flag():
    with pytest.raises(UserError, match="explicit flag"):
        select_backend.choose("none")
    assert isinstance(select_backend.choose("none", allow_none=True), Unconfined)
    assert "none" not in entry_points.names(
        select_backend.GROUP
    )  # who looks through the registry must not come upon it
    with pytest.raises(UserError, match="is not installed in the registry"):
        select_backend.choose("non", allow_none=True)


def test_none_warns_each_time(work, capfd):
    for _ in range(2):
        assert plainly(work, "pwd; exit 3") == (Ended(3), f"{work}\n")
        assert "WARNING: NO SANDBOX" in capfd.readouterr().err
    out, err = work.parent / "stdout", work.parent / "stderr"
    assert Unconfined().run(["no-such\x1b[2J"], Grant(work), stdout=out, stderr=err) == Ended(127)
    assert "\x1b" not in capfd.readouterr().err


def test_none_gives_the_granted_environment_only(work, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "k")
    assert "SECRET_KEY" not in plainly(work, "/usr/bin/env", env={"A": "b"})[1]


@pytest.mark.parametrize(
    ("limit", "script"),
    [
        ({"wall_s": 0.3}, "sleep 60"),
        ({"cpu_s": 1}, "for i in 1 2 3; do (while :; do :; done) & done; wait"),
        ({"processes": 5}, "for i in 1 2 3 4 5 6; do sleep 60 & done; wait"),
        ({"memory_mb": 100}, "for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=60000000 & done; wait"),
        ({"disk_mb": 10}, "for i in 1 2 3 4 5 6; do head -c 5000000 /dev/zero >f$i; sleep 0.2; done; sleep 60"),
        ({"file_mb": 5}, "exec head -c 20000000 /dev/zero > big"),
    ],
    ids=lambda value: str(value)[:14],
)
def test_none_holds_what_it_can(work, limit, script):
    (name,) = limit
    ended, _ = plainly(work, script, env={"PATH": os.defpath}, **limit)
    assert ended.limit == name
    assert ended.returncode < 0


def test_none_leaves_no_group_behind(work):
    plainly(work, "sh -c 'while :; do date >beat; sleep 0.02; done' & sleep 0.2", env={"PATH": os.defpath})
    time.sleep(0.1)
    before = (work / "beat").stat().st_mtime_ns
    time.sleep(0.3)
    assert (work / "beat").stat().st_mtime_ns == before


def test_apptainer_says_what_lacks(work, monkeypatch):
    monkeypatch.setenv("PATH", str(work))
    assert "apptainer is not on PATH" in Apptainer().missing()
    (work / "apptainer").touch(0o755)
    assert IMAGE in Apptainer().missing()
    monkeypatch.setenv(IMAGE, str(work / "image.sif"))
    assert "there is no such image" in Apptainer().missing()
    with pytest.raises(UserError, match="there is no such image"):
        Apptainer().run(["true"], Grant(work), stdout=work / "o", stderr=work / "e")
    (work / "image.sif").touch()
    assert Apptainer().missing() is None


STAND_IN = """#!/bin/sh
# Stands in for apptainer: says what it was started with.
for word; do echo "$word"; done
env | grep -E '^(APPTAINERENV|SECRET)'
"""


def test_apptainers_command_line(work, monkeypatch):
    """Not run by a real Apptainer: a stand-in shows the words and the environment that it gets."""
    (data := work.parent / 'da"ta,rw').mkdir()
    (programs := work.parent / "bin").mkdir()
    (programs / "apptainer").write_text(STAND_IN)
    (programs / "apptainer").chmod(0o755)
    (programs / "image.sif").touch()
    monkeypatch.setenv("PATH", f"{programs}:{os.defpath}")
    monkeypatch.setenv(IMAGE, str(programs / "image.sif"))
    monkeypatch.setenv("SECRET_KEY", "k")
    out, err = work.parent / "out", work.parent / "err"
    grant = Grant(work, read_only=[data], env={"A": "value"})
    assert Apptainer().run(["prog", "-x"], grant, stdout=out, stderr=err) == Ended(0)
    lines = out.read_text().splitlines()
    assert lines[-4:] == [str(programs / "image.sif"), "prog", "-x", "APPTAINERENV_A=value"]
    quoted = str(data).replace('"', '""')
    assert f'type=bind,"source={quoted}","destination={quoted}",ro' in lines
    assert f'type=bind,"source={work}","destination={work}",rw' in lines
    assert {"--containall", "--no-home", "--cleanenv"} <= {*lines}
    assert lines[lines.index("--network") + 1] == "none"
    assert "--network" not in apptainer.arguments(Grant(work, network=True), work)
    with pytest.raises(UserError, match="too much"):
        apptainer.arguments(Grant(work, read_only=[Path("/tmp")]), work)


def test_second_names_are_bound_by_apptainer_too_and_refused_without_a_sandbox(work, tmp_path, monkeypatch):
    monkeypatch.setenv(IMAGE, "image.sif")
    (tests := tmp_path / "tests").mkdir()
    grant = Grant(work, read_only=[tests], places={"/app": work, "/tests": tests}, start="/app")
    words = apptainer.arguments(grant, work)
    assert f'type=bind,"source={work}","destination=/app",rw' in words
    assert f'type=bind,"source={tests}","destination=/tests",ro' in words
    assert words[words.index("--pwd") + 1] == "/app"
    with pytest.raises(UserError, match='the sandbox "none" has no /app: choose bubblewrap'):
        Unconfined().run(["true"], grant, stdout=tmp_path / "stdout", stderr=tmp_path / "stderr")


def test_what_is_hidden_is_covered_by_an_empty_folder_in_apptainer_too(work, tmp_path, monkeypatch):
    monkeypatch.setenv(IMAGE, "image.sif")
    for name in ("data/answers", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    hidden = [tmp_path / "data" / "answers", tmp_path / "elsewhere", tmp_path / "absent"]
    words = apptainer.arguments(Grant(work, read_only=[tmp_path / "data"], hidden=hidden), tmp_path / "empty")
    covered = [word for word in words if str(tmp_path / "empty") in word]
    assert covered == [f'type=bind,"source={tmp_path / "empty"}","destination={hidden[0]}",ro']


def checked(block):
    grants.check(Document({"grants": block}, Path("spec.yaml")), ["grants"])
    return block


def test_an_empty_block_grants_nothing_but_has_limits(work):
    made = grants.grant(checked({}), work, root=work.parent)
    assert (made.network, made.devices, list(made.read_only)) == (False, (), [])
    assert (made.wall_s, made.cpu_s, made.memory_mb, made.processes, made.file_mb, made.disk_mb) == (
        900,
        600,
        2000,
        128,
        500,
        2000,
    )
    assert grants.lines({})[0] == "nothing beyond its inputs and its work folder"


def test_a_host_is_for_tools_of_the_step_and_opens_no_network_to_programs(work):
    block = checked({"hosts": ["api.crossref.org"]})
    assert grants.grant(block, work, root=work.parent) == grants.grant({}, work, root=work.parent)
    first, *others = grants.lines(block)
    assert first == "its own tools ask api.crossref.org: what they ask leaves this machine"
    assert others == grants.lines({})


def test_a_full_block(work):
    block = checked(
        {"gpu": True, "network": True, "mounts": ["data", "/opt/x"], "walltime_min": 2, "cpu_min": 3, "memory_mb": 100}
    )
    made = grants.grant(block, work, root=work.parent, read_only=[work.parent / "in"], env={"A": "b"})
    assert made.read_only == [work.parent / "in", work.parent / "data", Path("/opt/x")]
    assert (made.wall_s, made.cpu_s, made.memory_mb, made.network, made.env) == (120, 180, 100, True, {"A": "b"})
    assert made.devices == mounts.accelerators()
    lines = grants.lines(block)
    assert lines == grants.lines(dict(reversed(block.items())))
    assert [line.split(":")[0] for line in lines[:4]] == ["network", "gpu", "reads", "reads"]
    assert "2 minutes of wall time, 3 CPU minutes, 100 MB of memory, 128 processes" in lines[-1]


@pytest.mark.parametrize(
    ("block", "where"),
    [
        ({"gpus": 1}, "gpus"),
        ({"network": "yes"}, "network"),
        ({"walltime_min": 0}, "walltime_min"),
        ({"walltime_min": True}, "walltime_min"),
        ({"memory_mb": 1e300}, "memory_mb"),
        ({"mounts": ["~/.ssh"]}, "mounts"),
        ({"mounts": ["$HOME"]}, "mounts"),
        ({"mounts": ["/data/*"]}, "mounts"),
        ({"mounts": ["../../etc"]}, "mounts"),
        ({"mounts": ["a\nb"]}, "mounts"),
        ({"mounts": ["a", "a"]}, "mounts"),
        ([], "grants"),
    ],
)
def test_a_wrong_block_is_refused_with_its_place(block, where):
    with pytest.raises(UserError, match=f"spec.yaml.*{where}"):
        checked(block)


def test_only_accelerators_are_granted_as_devices(work):
    assert mounts.devices(Grant(work, devices=[Path("/dev/nvidia0")])) in ([], [Path("/dev/nvidia0")])
    for node in ("/dev/mem", "/dev/../dev/mem", "/dev/nvidia/../mem", "/dev/dri/card0", "/dev/nvidia/x/../../mem"):
        with pytest.raises(UserError, match="no device of an accelerator"):
            mounts.devices(Grant(work, devices=[Path(node)]))


def test_the_filter_is_whole_on_each_processor_it_knows():
    for machine in ("x86_64", "aarch64"):
        steps = [seccomp.program(machine)[at : at + 8] for at in range(0, len(seccomp.program(machine)), 8)]
        assert len(steps) < 256  # jumps are one byte
        for at, step in enumerate(steps):
            if step[0] in (0x15, 0x35, 0x45):
                assert at + 1 + max(step[2], step[3]) < len(steps)
        assert steps[-1] == (6).to_bytes(4, sys.byteorder) + (0x7FFF0000).to_bytes(4, sys.byteorder)
    assert seccomp.program("pdp11") is None


def test_a_mount_of_the_campaign_that_leads_out_of_it_is_refused(tmp_path):
    """Signed as a name: what a link in its place points to is nothing that anybody saw."""
    (tmp_path / "campaign").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "campaign" / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="campaign/data: leads out of the campaign's folder; grant what it points to"):
        grants.grant({"mounts": ["data"]}, tmp_path, root=tmp_path / "campaign")
    (tmp_path / "campaign" / "data").unlink()
    (tmp_path / "campaign" / "data").mkdir()
    assert grants.grant({"mounts": ["data"]}, tmp_path, root=tmp_path / "campaign").read_only


@pytest.mark.parametrize("name", [".ssh", ".ssh/id_ed25519", ".config", ".config/sophron", ".gnupg", "/etc/shadow"])
def test_keys_and_what_the_account_trusts_are_given_to_no_sandbox(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for folder in (".ssh", ".config/sophron", ".gnupg"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".ssh" / "id_ed25519").write_text("secret")
    (tmp_path / "work").mkdir()
    with pytest.raises(UserError, match="holds keys or what this account trusts, which no sandbox is given"):
        mounts.granted(Grant(tmp_path / "work", read_only=[tmp_path / name]))
