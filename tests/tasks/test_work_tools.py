"""Tools of an agent at a task, in the real sandbox: what they do, and what they refuse."""

import json
import shutil
from pathlib import Path

import pytest

from sophron.agents.memory.agent_memory import Memory
from sophron.agents.tools.toolbox import Toolbox
from sophron.interfaces.model_backend import ToolCall
from sophron.kinds.task import desk, stages
from sophron.records.digests import file_digest
from sophron.sandbox.bubblewrap import Bubblewrap
from sophron.tasks import environment, folder_tree, tool_history

DATA = Path(__file__).parents[1] / "data" / "tasks"
NAMES = ("task_shell", "task_write", "task_read", "task_remember")
pytestmark = pytest.mark.skipif(bool(Bubblewrap().missing()), reason="needs bubblewrap")


@pytest.fixture
def at_desk(tmp_path):
    """Call a tool at a desk of the task column-mean, whose tests and solution lie beside it in the campaign."""
    (tmp_path / "campaign.yaml").write_text("")
    shutil.copytree(DATA / "column-mean", tmp_path / "tasks" / "column-mean")
    signed = {"folder": "tasks/column-mean"}
    task = stages.harbor_folder.read(tmp_path / signed["folder"])
    environment.build_tree(stages.box_of(task, tmp_path / "tree"), task, Bubblewrap(), tmp_path / "build.log")
    folder_tree.pack(tmp_path / "tree", tmp_path / "start.tar")
    scratch = tmp_path / "scratch" / "agents" / "work_fit-1"
    scratch.mkdir(parents=True)

    def call(name, **arguments):
        order = {"start": "start.tar", "start_digest": file_digest(tmp_path / "start.tar"), **signed, **call.more}
        (tmp_path / "desk.json").write_text(json.dumps(order))
        inputs = {"desk": tmp_path / "desk.json"}
        with Toolbox(scratch, inputs, Bubblewrap(), NAMES, skill_folder=call.skills) as box:
            answer = box.call(ToolCall("1", name, arguments))
            call.finish = box.finish
        return answer.content[0].text

    call.more, call.scratch, call.root, call.skills = {}, scratch, tmp_path, None
    return call


def test_it_works_in_the_folders_of_the_container(at_desk):
    assert "time,current" in at_desk("task_shell", line="pwd; ls; head -1 data.csv")
    assert "/app/out/a.txt" in at_desk("task_write", path="out/a.txt", text="seven\n")
    assert at_desk("task_read", path="/app/out/a.txt").endswith("seven\n")
    assert "[exit code 3]" in at_desk("task_shell", line="cat out/a.txt; exit 3")
    at_desk.finish()
    assert "app/out/a.txt" in json.loads((at_desk.scratch / "manifest.json").read_text())
    calls = tool_history.load(at_desk.scratch / "tool_calls.jsonl")
    assert [one.tool for one in calls] == ["task_shell", "task_write", "task_shell"]
    assert list(calls[1].changed) == ["out/a.txt"]


def test_scripts_of_its_skills_run_and_cannot_be_written(at_desk):
    assert "No such file" in at_desk("task_shell", line="ls /skills")
    at_desk.skills = at_desk.root / "skills"
    (at_desk.skills / "adding").mkdir(parents=True)
    (at_desk.skills / "adding" / "add.sh").write_text("echo $(($1 + $2))\n")
    assert "\n5" in at_desk("task_shell", line="sh /skills/adding/add.sh 2 3")
    assert "Read-only" in at_desk("task_shell", line="echo 6 > /skills/adding/add.sh")
    at_desk.finish()
    assert not any("adding" in name for name in json.loads((at_desk.scratch / "manifest.json").read_text()))


@pytest.mark.parametrize(
    "line",
    [
        "ls /tests",
        "ls /solution",
        "cat {root}/tasks/column-mean/tests/check.py",
        "ls {root}/tasks",
        "cat {root}/campaign.yaml",
        "cat ~/.ssh/* {home}/.ssh/*",
        "echo x > /usr/bin/x",
        "timeout 5 bash -c 'echo > /dev/tcp/127.0.0.1/{port}'",
        "mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt",
        "ln -s {root} /app/out/root && ls /app/out/root/tasks",
    ],
)
def test_a_shell_reaches_nothing_beside_the_task(at_desk, line):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        filled = line.format(root=at_desk.root, home=Path.home(), port=server.getsockname()[1])
        assert "[exit code 0]" not in at_desk("task_shell", line=filled)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/tests/test.sh", "../../x", "/app/../../x", "/logs/verifier/reward.txt"]
)
def test_files_beside_the_folders_of_the_task_have_no_name(at_desk, path):
    for name, more in (("task_write", {"text": "x"}), ("task_read", {})):
        said = at_desk(name, path=path, **more)
        assert "is not below" in said or "refused" in said


def test_a_link_that_leads_out_is_not_followed(at_desk):
    at_desk("task_shell", line="ln -s /etc out/etc; ln -s /etc/passwd out/passwd")
    assert "link" in at_desk("task_read", path="out/etc/passwd")
    assert "link" in at_desk("task_write", path="out/etc/x", text="x")
    at_desk.finish()
    assert not [name for name in json.loads((at_desk.scratch / "manifest.json").read_text()) if "passwd" in name]


def test_seconds_of_commands_are_counted_over_kills(at_desk):
    at_desk.more = {"work_s": 1.0, "command_s": 5.0}
    assert "passed its limit" in at_desk("task_shell", line="sleep 3")
    assert "seconds of this attempt are spent" in at_desk("task_shell", line="true")


def test_only_signed_levels_are_remembered(at_desk):
    assert "levels that were signed: none" in at_desk("task_remember", level="task", text="x")
    at_desk.more = {"memory": {"task": "records/memory/work/fit.md"}}
    assert at_desk("task_remember", level="task", text="The header is twice there.") == "[remembered]"
    assert "nothing is remembered for global" in at_desk("task_remember", level="global", text="x")
    (entry,) = Memory(at_desk.root / "records/memory/work/fit.md", "task").entries()
    assert entry.text == "The header is twice there."


def test_a_desk_of_another_tree_is_refused(at_desk):
    at_desk.more = {"start_digest": "0" * 64}
    with pytest.raises(desk.UserError, match="is not the tree that this step begins with"):
        at_desk("task_shell", line="true")
