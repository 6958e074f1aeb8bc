"""A worker at a task, its turns scripted over loopback: what passes, what does not, and what a kill leaves."""

import pytest
import scripted_worker
import toy
from loopback_anthropic import serve_anthropic
from scripted_worker import DONE, Script, Turn, ended, markdown, shell, write

from sophron.sandbox.bubblewrap import Bubblewrap

pytest.importorskip("anthropic")
pytestmark = pytest.mark.skipif(bool(Bubblewrap().missing()), reason="needs bubblewrap")


@pytest.fixture
def worked(tmp_path, monkeypatch):
    """Run the tasks below tmp_path/tasks with scripted agents; the campaign, and what was asked."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")

    def run(script, code=0, **wanted):
        with serve_anthropic(script) as peer:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
            made = scripted_worker.campaign(tmp_path, monkeypatch, tmp_path / "tasks", **wanted)
            with toy.forked_steps(made.root):
                done = made.snakemake("--keep-going")
            assert done.returncode == code, done.stdout
        return made

    return run


def test_it_works_at_once(tmp_path, worked):
    markdown(tmp_path / "tasks", "add", ["sum.json exists with keys sum; sum in [3, 3] in sum.json"], a__txt="1\n2\n")
    script = Script(add=[shell("cat a.txt"), write("sum.json", '{"sum": 3}'), Turn(DONE)])
    made = worked(script)
    assert ended(made, "add") == {
        "met": True, "reason": "", "reward": None, "rewards": {}, "unmet": 0, "judged": 0, "attempts": 1,
        "fabrications": 0, "evidence": [], "tests_unchanged": True, "stubs": [], "fault": "",
    }  # fmt: skip
    assert made.verdicts() == {"add": "pass"}
