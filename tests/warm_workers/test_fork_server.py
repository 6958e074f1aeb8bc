"""Steps forked from the warm process of a local run: they are as others, and nothing of one reaches another."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import toy

from sophron.campaign.snakefile import onstart
from sophron.records import process_identity
from sophron.warm_workers import fork_server
from sophron.warm_workers.fork_client import VARIABLE

WAIT_S = 60


@dataclass
class Run:
    """A signed campaign, whose steps are called as its rules would call them."""

    campaign: toy.Campaign
    tells: Path

    def __post_init__(self):
        self.steps = self.campaign.planned("a")

    def start(self, step="a", **options) -> subprocess.Popen:
        """Start a step; variables in capitals go into its environment."""
        self.tells.unlink(missing_ok=True)
        variables = {key: options.pop(key) for key in [*options] if key.isupper()}
        command = [sys.executable, "-P", "-m", "sophron", *self.steps[step]]
        env = {**os.environ, "TOY_TELLS": str(self.tells), **variables}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, cwd=self.campaign.root, env=env, text=True, **streams | options)

    def told(self) -> dict:
        """What the step says of its process, as soon as it does."""
        return json.loads(until(lambda: self.tells.exists() and self.tells.read_text()))

    def run(self, step="a", **options) -> dict:
        """Run a step anew to its end; what it said."""
        for folder in ("results", "scratch", "records/" + step):
            shutil.rmtree(self.campaign.root / folder, ignore_errors=True)
        process = self.start(step, **options)
        text = process.communicate(timeout=WAIT_S)[0]
        assert process.returncode == 0, text
        return self.told()


def until(done):
    deadline = time.monotonic() + WAIT_S
    while not (found := done()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] not in "ZX"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def end_servers():
    while fork_server.SERVERS:
        server = fork_server.SERVERS.pop()
        server.stdin.close()
        server.wait(WAIT_S)


@pytest.fixture(scope="module", autouse=True)
def interruptible():
    """Interrupts reach this process and what it starts: whoever runs the tests in the background has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A signed campaign of a kind whose sources are in a folder of the test."""
    folder = tmp_path_factory.mktemp("signed")
    shutil.copytree(toy.HERE, folder / "kind", ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        campaign = toy.campaign(folder, patch)
        patch.setenv("PYTHONPATH", str(folder / "kind"))
        patch.setenv(VARIABLE, "off")
        review = ["sophron", "review", "--digest", "--no-probes"]
        shown = subprocess.run(review, cwd=campaign.root, capture_output=True, text=True, check=True)
        approve = ["sophron", "approve", "--key", str(campaign.key), "--digest", shown.stdout.strip()]
        subprocess.run(approve, cwd=campaign.root, check=True, capture_output=True)
        yield Run(campaign, folder / "told")


@pytest.fixture
def here(signed, monkeypatch):
    """The signed campaign, nothing of it run, and no server yet."""
    monkeypatch.setenv(VARIABLE, "none yet")
    for name in ("results", "scratch", "records"):
        shutil.rmtree(signed.campaign.root / name, ignore_errors=True)
    yield signed
    end_servers()


@pytest.fixture
def run(here):
    """The campaign with a fork server of this process."""
    fork_server.start(here.campaign.root, ["arithmetic_kind"])
    return here


@pytest.fixture
def source():
    """The kind's module, as it was again afterwards."""
    path = Path(os.environ["PYTHONPATH"]) / "arithmetic_kind.py"
    text = path.read_text()
    yield path
    path.write_text(text)
    time.sleep(2 * fork_server.MARGIN_NS / 1e9)  # a server that starts now would not know what it imports


def test_a_forked_step_is_as_one_that_was_started(run):
    changed = {"MY_OWN": "first", "PATH": os.environ["PATH"], "umask": -1}
    forked = run.run(**changed)
    cold = run.run(SOPHRON_FORK_SERVER="off", **changed)
    assert (forked["forked"], cold["forked"]) == (True, False)
    assert forked["process"] == cold["process"]


DRIVER = """
import json, os, subprocess, sys
from pathlib import Path
from sophron.warm_workers import fork_server
root, *step = sys.argv[1:]
fork_server.start(Path(root), ["arithmetic_kind"])
print(os.environ["SOPHRON_FORK_SERVER"], len(fork_server.SERVERS), flush=True)
subprocess.run([sys.executable, "-P", "-m", "sophron", *step], cwd=root, check=True, stdin=subprocess.DEVNULL)
print("ran", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def driver(run, **variables):
    """A driver that is started with a fork server beside it, and runs a step; the process, its server's socket."""
    run.tells.unlink(missing_ok=True)
    words = [sys.executable, "-c", DRIVER, str(run.campaign.root), *run.steps["a"]]
    with fork_server.early(run.campaign.root, ["arithmetic_kind"], os.environ) as beside:
        env = {**os.environ, "TOY_TELLS": str(run.tells), **beside.environment, **variables}
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = subprocess.Popen(words, env=env, pass_fds=beside.descriptors, process_group=0, **streams)
        beside.begin(process.pid)
    path, own = process.stdout.readline().split()
    yield process, Path(path), Path(json.loads(beside.environment[fork_server.EARLY])["path"]), int(own)
    process.kill()
    process.communicate()


def test_a_driver_takes_the_server_that_was_started_with_it_which_ends_with_it(here):
    with driver(here) as (process, path, early, own):
        assert (path, own) == (early, 0)
        assert process.stdout.readline() == "ran\n"
        assert here.told()["forked"]
    until(lambda: not path.parent.exists())


def test_a_driver_of_another_language_starts_a_server_and_ends_the_other(here):
    with driver(here, LC_ALL="C.UTF-8") as (process, path, early, own):
        assert path != early
        assert own == 1
        assert process.stdout.readline() == "ran\n"
        assert here.told()["forked"]
        until(lambda: not early.parent.exists())


def test_a_kill_of_the_drivers_group_reaches_the_server_that_was_started_with_it(here):
    with driver(here) as (process, path, _, _):
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGTERM)
        until(lambda: not path.parent.exists())


def test_code_that_changed_after_the_early_start_is_not_served(here, source):
    with fork_server.early(here.campaign.root, ["arithmetic_kind"], os.environ) as beside:
        text = source.read_text()
        driver = subprocess.Popen(["sleep", "60"], pass_fds=beside.descriptors, process_group=0)
        beside.begin(driver.pid)
    about = json.loads(beside.environment[fork_server.EARLY])
    source.write_text(text + "# another line\n")
    source.write_text(text)  # signed again, but nobody knows which was imported
    assert here.run(**{VARIABLE: about["path"]}, process_group=driver.pid)["forked"] is False
    driver.kill()
    driver.wait()
    until(lambda: not Path(about["path"]).parent.exists())


def test_a_server_that_was_started_for_another_driver_is_left_alone(here, monkeypatch):
    with driver(here) as (process, path, _, _):
        process.stdout.readline()
        about = {"path": str(path), "descriptor": 0}
        monkeypatch.setenv(fork_server.EARLY, json.dumps(about))
        fork_server.decline()
        assert fork_server.EARLY not in os.environ
        os.fstat(0)
        assert path.exists()


def test_what_a_killed_server_left_is_removed_once_its_driver_is_dead(here, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    for name, pid in (("dead", dead.pid), ("alive", os.getpid())):
        folder = tmp_path / f"{fork_server.PREFIX}{name}"
        folder.mkdir()
        (folder / fork_server.OWNER_NAME).write_text(json.dumps(process_identity.identity(pid)))
    (tmp_path / f"{fork_server.PREFIX}begun").mkdir()
    dead.communicate()
    fork_server.start(here.campaign.root, ["arithmetic_kind"])
    left = {path.name.removeprefix(fork_server.PREFIX) for path in tmp_path.iterdir()}
    assert "dead" not in left
    assert {"alive", "begun"} <= left
    assert len(left) == 3


def test_nothing_of_one_step_reaches_the_next(run):
    first = run.run(MY_API_KEY="sk-0123456789abcdef0123", MY_OWN="first")
    second = run.run()
    assert first["forked"]
    assert second["forked"]
    assert first["process"]["environment"]["MY_API_KEY"].startswith("sk-")
    assert not {"MY_API_KEY", "MY_OWN", VARIABLE} & {*second["process"]["environment"]}
    assert first["process"]["files"] == second["process"]["files"]


def test_the_server_holds_no_key(here, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef0123")
    fork_server.start(here.campaign.root, ["arithmetic_kind"])
    assert here.run()["forked"]
    held = Path(f"/proc/{fork_server.SERVERS[0].pid}/environ").read_bytes()
    assert b"PATH=" in held
    assert b"SOME_API_KEY" not in held


def test_source_that_changed_since_the_start_is_refused_even_if_the_driver_checked_it(run, source):
    onstart.take(run.campaign.root)
    try:
        assert run.run()["forked"]
        text = source.read_text()
        source.write_text(text + "# another line\n")
        step = run.start("a")
        said = step.communicate(timeout=WAIT_S)[0]
        assert step.returncode == 2
        assert "the code changed since the approval" in said
        source.write_text(text)
        assert run.run()["forked"] is False  # it is the signed one again, but nobody knows what was imported
    finally:
        onstart._held.pop().release()


def test_source_that_is_not_the_signed_one_at_the_start_is_not_served(here, source):
    source.write_text(source.read_text() + "# another line\n")
    fork_server.start(here.campaign.root, ["arithmetic_kind"])
    assert fork_server.SERVERS[0].wait(WAIT_S) == 0
    step = here.start("a")
    assert "the code changed since the approval" in step.communicate(timeout=WAIT_S)[0]


def test_a_process_with_other_rights_limits_or_group_gets_no_fork(run):
    others = {
        "umask": {"umask": 0o077},
        "limit": {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))},
        "group": {"process_group": 0},
        "nice": {"preexec_fn": lambda: os.nice(3)},
        "linker": {"LD_LIBRARY_PATH": "/nowhere"},
        "python": {"PYTHONHASHSEED": "1"},
    }
    assert {name: run.run(**how)["forked"] for name, how in others.items()} == dict.fromkeys(others, False)
    assert run.run()["forked"]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bwrap")
def test_a_process_in_a_sandbox_gets_no_fork_though_it_reaches_the_socket(run):
    inside = "from sophron.warm_workers import fork_client as one; import sys; sys.argv[:] = ['sophron', 'stage']; "
    inside += "print(next(one._asked(sys.stdin.read()), b''))"
    command = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--unshare-ipc", sys.executable, "-c", inside]
    asked = subprocess.run(command, input=os.environ[VARIABLE], capture_output=True, text=True, check=False)
    if "ermission" in asked.stderr or "not permitted" in asked.stderr:
        pytest.skip(asked.stderr)
    assert asked.stdout.strip() == "b'unlike'", asked.stderr


def test_a_step_outlives_the_server_and_the_next_one_starts_without(run):
    step = run.start(TOY_SLEEPS="1")
    assert run.told()["forked"]
    fork_server.SERVERS[0].kill()
    fork_server.SERVERS[0].wait()
    assert step.wait(WAIT_S) == 0
    assert run.run()["forked"] is False


@pytest.mark.parametrize("victim", ["handler", "client"])
def test_a_step_ends_with_its_handler_and_with_its_client(run, victim):
    step = run.start(TOY_SLEEPS="60")
    pid = run.told()["pid"]
    os.kill(parent(pid) if victim == "handler" else step.pid, signal.SIGKILL)
    assert step.wait(WAIT_S) == (1 if victim == "handler" else -signal.SIGKILL)
    until(lambda: not is_alive(pid))
    assert run.run()["forked"]


def test_a_step_that_a_signal_ends_is_said_to_be_ended_by_it(run):
    step = run.start(TOY_SLEEPS="60")
    os.kill(run.told()["pid"], signal.SIGTERM)
    assert step.wait(WAIT_S) == -signal.SIGTERM


def test_a_terminals_interrupt_ends_a_step_as_it_ends_any(run):
    ends = {}
    for way in ("forked", "off"):
        extra = {} if way == "forked" else {VARIABLE: "off"}
        step = run.start(TOY_SLEEPS="60", **extra)
        told = run.told()
        assert told["forked"] is (way == "forked")
        os.kill(told["pid"], signal.SIGINT)  # the client, which a group's signal reaches too, ignores it
        if way == "forked":
            os.kill(step.pid, signal.SIGINT)
        ends[way] = (step.wait(WAIT_S), sorted(run.campaign.events("step_ended")[-1]["reason"].split()))
    assert ends["forked"] == ends["off"]
    assert ends["off"][0] == 130


def test_two_campaigns_have_a_server_each(run, tmp_path):
    first = os.environ[VARIABLE]
    fork_server.start(run.campaign.root, ["arithmetic_kind"])
    tells = {path: tmp_path / str(number) for number, path in enumerate((first, os.environ[VARIABLE]))}
    steps = [run.start(**{"TOY_TELLS": str(file), VARIABLE: path}) for path, file in tells.items()]
    assert [step.wait(WAIT_S) for step in steps] == [0, 0]  # of one step, the second finds it finished
    assert sum(file.exists() for file in tells.values()) == 1
    assert run.run()["forked"]


@pytest.mark.parametrize("how", ["its driver", "SIGTERM"])
def test_the_server_ends_with_its_driver_and_leaves_no_folder(run, how):
    folder = Path(os.environ[VARIABLE]).parent
    assert run.run()["forked"]
    if how == "SIGTERM":
        fork_server.SERVERS[0].terminate()
    end_servers()
    assert not folder.exists()
    assert run.run()["forked"] is False
