"""Tools that come with an agent: called, drawn and written down; in its sandbox; and changed where a contract lets them."""

import difflib
import hashlib
import json
import shutil

import pytest

from sophron.agentbuild import contract, mutation, tool_server
from sophron.agents.tools.mcp_client import Server
from sophron.agents.tools.toolbox import Toolbox
from sophron.interfaces.model_backend import ToolCall
from sophron.records.documents import Document, faults, load_json
from sophron.records.errors import UserError
from sophron.records.files import resource, write_json
from sophron.sandbox import mounts
from sophron.sandbox.select_backend import choose

ADAPTER = '''
from engine import scale

class Tools:
    def __init__(self, sample: dict):
        self._sample = sample

    def doubled(self, offset: float = 0.0) -> dict:
        """Twice the number."""
        print("aside")
        return {"value": scale.twice(self._sample["number"]) + offset, "state": 1}

    def show(self) -> dict:
        """The number as a picture."""
        return {"state": 1, "plot": {"number": self._sample["number"], "whole": True, "low": 0, "high": 2}}

    def refuse(self) -> dict:
        """Never works."""
        raise ValueError("not today")

    def long(self) -> dict:
        """Too much."""
        return {"text": "x" * 30000}
'''
FILES = {
    "agent.md": "not code",
    "adapter/tools.py": ADAPTER,
    "engine/scale.py": "def twice(value):\n    return 2 * value\n",
    "plotting/draw.py": "def draw(curves):\n    return b'PNG of ' + str(curves['number']).encode()\n",
}


@pytest.fixture
def given(tmp_path):
    write_json(tmp_path / "agent.json", FILES)
    write_json(tmp_path / "sample.json", {"number": 4})
    return tmp_path / "agent.json", tmp_path / "sample.json", tmp_path / "session"


def test_every_call_is_written_down_with_what_came_of_it(given, capsys):
    with tool_server.opened(*given) as tools:
        assert sorted(tools.tools()) == ["doubled", "long", "refuse", "show"]
        assert json.loads(tools.call("doubled", {"offset": 1}).text)["value"] == 9
        shown = tools.call("show", {})
        assert (shown.picture, json.loads(shown.text)) == (b"PNG of 4", {"state": 1})
        said = [tools.call(name, arguments).text for name, arguments in (("refuse", {}), ("long", {}), ("none", {}))]
        wrong = tools.call("doubled", {"offst": 1})
    assert said[0] == "not today"
    assert "longer than" in said[1]
    assert "there is no tool none" in said[2]
    assert (wrong.ok, "offst" in wrong.text) == (False, True)
    trajectory = load_json(given[2] / "trajectory.json")
    assert faults(Document(trajectory, given[2]), "build/trajectory") == []
    assert [call["ok"] for call in trajectory["calls"]] == [True, True, False, False, False, False]
    plot = trajectory["calls"][1]["plot"]
    assert plot | {"file": ""} == {
        "file": "",
        "sha256": hashlib.sha256(b"PNG of 4").hexdigest(),
        "whole": True,
        "low": 0.0,
        "high": 2.0,
    }
    assert (given[2] / plot["file"]).read_bytes() == b"PNG of 4"
    assert capsys.readouterr().out == ""


def test_an_earlier_session_is_not_gone_on_with(given):
    for _ in range(2):
        with tool_server.opened(*given) as tools:
            tools.call("doubled", {})
    assert len(load_json(given[2] / "trajectory.json")["calls"]) == 1


def test_an_agent_without_an_adapter_has_no_tools(given):
    write_json(given[0], {"agent.md": ""})
    with pytest.raises(UserError, match=r"has no adapter/tools\.py"), tool_server.opened(*given):
        pass


def test_tools_are_served_in_the_sandbox_of_the_agent(given, tmp_path):
    pytest.importorskip("mcp")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    agent, sample, _ = given
    command = [*mounts.SELF_COMMAND, "build", "tools", "--agent", str(agent), "--sample", str(sample)]
    command += ["--folder", "session"]
    server = Server(command=command, read_only=mounts.self_folders(), env=mounts.self_environment())
    files = {"agent": agent, "sample": sample}
    with Toolbox(scratch, files, choose(None), ["own__*"], servers={"own": server}) as box:
        answer = box.call(ToolCall("1", "own__doubled", {"offset": 1.0}))
        refused = box.call(ToolCall("2", "own__refuse", {}))
    assert json.loads(answer.content[0].text)["value"] == 9
    assert (answer.is_error, refused.is_error) == (False, True)
    assert len(load_json(scratch / "session" / "trajectory.json")["calls"]) == 2


def changed(agent, name, line):
    """A diff that adds a line at the end of a file."""
    text = (agent / name).read_text().splitlines(keepends=True)
    return "".join(difflib.unified_diff(text, [*text, f"{line}\n"], f"a/{name}", f"b/{name}"))


@pytest.mark.parametrize("surface", ["adapter/tools.py", "plotting/draw.py", "engine/peaks.py"])
def test_adapter_and_plotting_change_where_they_are_opened_and_the_engine_never(surface, tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(resource("contracts", "peak-fitting"), folder)
    diff, broken = (
        changed(folder / "blank", surface, line) for line in ("# changed", "import a_module_that_is_not_there")
    )
    shut = mutation.mutate(folder / "blank", diff, tmp_path / "shut", contract.load(folder))
    assert "is not opened" in shut.refusal or "is frozen" in shut.refusal
    path = folder / "boundary.yaml"
    text = path.read_text().replace("similarity:", "opened: [MCP server adapter, MCP plotting helper]\nsimilarity:")
    path.write_text(text)
    opened = mutation.mutate(folder / "blank", diff, tmp_path / "opened", contract.load(folder))
    assert opened.stands == (surface != "engine/peaks.py"), opened.refusal
    assert not mutation.mutate(folder / "blank", broken, tmp_path / "broken", contract.load(folder)).stands
