"""None of the known ways out of the sandbox works, and the same scripts work without it. All are in `tests/toy`."""

import shutil
import subprocess
import time

import pytest
from escape_run import Trial
from escapes import ALIVE, ALL, CHANGED, GOT, HIT, LEAK, SIGNAL, VICTIM, WORKED

from sophron.interfaces.sandbox import Grant
from sophron.records.errors import UserError
from sophron.sandbox.bubblewrap import Bubblewrap

ALLOWED = (
    shutil.which("bwrap")
    and not subprocess.run(
        ["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"], check=False, capture_output=True
    ).returncode
)
pytestmark = pytest.mark.skipif(not ALLOWED, reason="no bwrap, or no user namespaces")
# Those that end what runs them cannot share a sandbox.
ALONE = [one for one in ALL if one.shows in (GOT, ALIVE, SIGNAL) or one.limits or "(-1)" in one.name]
TOGETHER = [one for one in ALL if one not in ALONE]
IN_TEST_BUBBLEWRAP = {"CPU: one busy loop", "memory: heap", "disk: one large file", "time: sleep past the wall"}


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    with Trial(tmp_path_factory.mktemp("world")) as made:
        yield made


def named(*shows):
    return [one for one in TOGETHER if one.shows in shows]


def test_there_are_many_and_each_has_its_name():
    assert len(ALL) >= 60
    assert len({one.name for one in ALL}) == len(ALL)


@pytest.mark.parametrize("shows", [LEAK, WORKED, CHANGED, VICTIM, HIT])
def test_none_gets_out(trial, shows):
    world = trial.world
    world.hits.clear()
    state = world.victim_state()
    assert trial.together(named(shows), sandboxed=True) == []
    time.sleep(0.05)
    assert world.untouched()
    assert (world.victim_state(), world.hits) == (state, [])


ALONE_HERE = [one for one in ALONE if one.name not in IN_TEST_BUBBLEWRAP]


@pytest.mark.parametrize("one", ALONE_HERE, ids=lambda one: one.name)
def test_no_limit_is_passed_and_nothing_outlives(trial, one):
    assert not trial.sandboxed(one), trial.said


@pytest.mark.parametrize("shows", [LEAK, WORKED])
def test_without_a_sandbox_they_would(trial, shows):
    tried = [one for one in named(shows) if trial.controllable(one) and not one.maybe]
    assert set(trial.together(tried, sandboxed=False)) == {one.name for one in tried}
    trial.world.restore()


@pytest.mark.parametrize(
    "one",
    [one for one in ALL if one.shows in (CHANGED, VICTIM, SIGNAL, HIT) and not one.maybe],
    ids=lambda one: one.name,
)
def test_without_a_sandbox_it_would(trial, one):
    if not trial.controllable(one):
        pytest.skip(one.control or "wants root")
    assert trial.unconfined(one), trial.said


@pytest.mark.parametrize(
    "name",
    [
        "disk: one large file",
        "memory: nameless files",
        "time: sleep past the wall",
        "a daemon that outlives the program",
    ],
)
def test_without_limits_it_would(trial, name):
    (one,) = (one for one in ALL if one.name == name)
    assert trial.unconfined(one), trial.said


def test_a_link_planted_where_output_goes_is_not_written_through(tmp_path):
    """The next run's output must not land where the last one pointed it to."""
    (work := tmp_path / "work").mkdir()
    (tmp_path / "gate").write_text("as it was")
    grant = Grant(work)
    Bubblewrap().run(["/bin/ln", "-s", "../gate", "log"], grant, stdout=tmp_path / "out", stderr=tmp_path / "err")
    for streams in (
        {"stdout": work / "log", "stderr": tmp_path / "err"},
        {"stdout": tmp_path / "out", "stderr": work / "log"},
    ):
        with pytest.raises(UserError, match="output cannot go there"):
            Bubblewrap().run(["/bin/echo", "mine"], grant, **streams)
    assert (tmp_path / "gate").read_text() == "as it was"


def test_folders_that_hold_everybodys_sockets_are_refused(tmp_path):
    for path in ("/tmp", "/var/tmp", "/dev/shm", "/home"):
        with pytest.raises(UserError, match="too much"):
            Bubblewrap().run(
                ["/bin/true"], Grant(tmp_path, read_only=[path]), stdout=tmp_path / "o", stderr=tmp_path / "e"
            )
