"""From a definition to its tools: folders of the campaign, programs in the sandbox, MCP servers."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sophron.agents.documents import model_request
from sophron.agents.step import agent_inputs, step_wiring
from sophron.agents.step.agent_step import AgentStep
from sophron.campaign.planning import campaign_agents
from sophron.interfaces.model_backend import ToolCall
from sophron.records.errors import UserError
from sophron.sandbox import grants

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bwrap")
DEFINITION = """\
---
name: reader
role: work
rank: 2
output: explain
inputs:
  results: {{kind: folder, about: "What the steps left."}}
tools: [read_file, run_command, toy__add]
servers:
  toy: {{command: [{python}, tools/server.py], mounts: [tools, {prefix}, {base}]}}
grants: {{walltime_min: 1}}
limits: {{calls: 5, tokens: 10000, dollars: 1, seconds: 60, max_tokens: 1000}}
---
Read {{{{ results }}}}.
"""
SERVER = """
from mcp.server import MCPServer
app = MCPServer("toy")

@app.tool()
def add(a: int, b: int) -> int:
    "The sum."
    return a + b

app.run()
"""


@pytest.fixture
def step(tmp_path):
    """A step of an agent with every kind of tool, in a campaign with one result and a gate file."""
    for name, text in (("results/a.txt", "alpha\n"), ("approvals/gate.json", "{}"), ("tools/server.py", SERVER)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    places = {
        "python": sys.executable,
        "prefix": sys.prefix,
        "base": sys.base_prefix,
    }
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "reader.md").write_text(DEFINITION.format(**places))
    agent = campaign_agents.find_agent(tmp_path, "reader")
    files = agent_inputs.folders(tmp_path, agent)
    return AgentStep(tmp_path, "reading", agent, "d" * 64, files, tmp_path / "answer.json", files)


def ask(box, name, **arguments):
    answer = box.call(ToolCall("1", name, arguments))
    return "".join(part.text for part in answer.content), answer.is_error


@needs_bwrap
def test_a_definition_brings_its_folders_programs_and_servers(step):
    pytest.importorskip("mcp")
    with step_wiring.toolbox(step) as box:
        assert [tool.name for tool in box.tools] == ["read_file", "run_command", "toy__add"]
        said, failed = ask(box, "read_file", path="results/a.txt")
        assert said.endswith("alpha\n")
        assert not failed
        said, failed = ask(box, "read_file", path="approvals/gate.json")
        assert failed
        assert "is outside" in said
        assert ask(box, "toy__add", a=2, b=3) == ("5", False)
        said, failed = ask(box, "run_command", line=f"cat {step.root}/approvals/gate.json; echo done > made")
        assert "No such file" in said
    assert (step.root / "scratch" / "agents" / "reading" / "made").read_text() == "done\n"


def test_the_prompt_names_the_folder_and_its_content_is_not_part_of_the_inputs(step):
    asked = model_request.request(step.agent, step.step, step.inputs)
    assert "your tools read it as `results/...`" in "".join(part.text for part in asked.messages[0].parts)
    assert "alpha" not in str(asked)
    before = step.input_digests
    (Path(step.root) / "results" / "a.txt").write_text("beta\n")
    assert step.input_digests == before


def test_a_folder_that_no_campaign_has_is_refused(step):
    path = step.agent.path
    path.write_text(path.read_text().replace("  results:", "  approvals:").replace("{{ results }}", "{{ approvals }}"))
    with pytest.raises(UserError, match="the folder approvals is none of a campaign's; take results, records, logs"):
        agent_inputs.folders(step.root, campaign_agents.find_agent(step.root, "reader"))


@needs_bwrap
def test_a_tool_that_the_wiring_does_not_name_is_refused_at_call(step):
    front = {**step.agent.front, "wired_by": "wiring", "tools": ["read_file", "run_command", "toy__*"]}
    wiring = {"tools": ["read_file", "toy__multiply", "write_file"]}
    narrowed = replace(step, agent=replace(step.agent, front=front), inputs={**step.inputs, "wiring": wiring})
    assert step_wiring.allowed_tools(narrowed.agent, narrowed.inputs) == ["read_file", "toy__multiply"]
    wiring["tools"].remove("toy__multiply")
    with step_wiring.toolbox(narrowed) as box:
        assert [tool.name for tool in box.tools] == ["read_file"]
        assert ask(box, "read_file", path="results/a.txt")[1] is False
        for name in ("run_command", "toy__add", "write_file"):
            said, failed = ask(box, name, line="echo done > made", a=1, b=2)
            assert failed
            assert f'there is no tool "{name}"' in said
    assert not (step.root / "scratch" / "agents" / "reading" / "made").exists()


def test_a_wiring_that_names_nothing_leaves_no_tool(step):
    front = {**step.agent.front, "wired_by": "wiring"}
    bare = replace(step, agent=replace(step.agent, front=front), inputs={**step.inputs, "wiring": {"tools": []}})
    with step_wiring.toolbox(bare) as box:
        assert box is None


def test_a_definition_is_wired_by_one_of_its_inputs(step):
    path = step.root / "agents" / "reader.md"
    path.write_text(path.read_text().replace("tools: [read", "wired_by: nothing\ntools: [read"))
    with pytest.raises(UserError, match="nothing is no input"):
        campaign_agents.find_agent(step.root, "reader")


def test_a_rule_based_step_imports_no_client_nothing_of_the_network_and_of_libraries_those_that_read_specs():
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import sophron.cli.agent, sophron.agents.step.agent_inputs, sophron.agents.step.step_wiring\n"
        "import sophron.agents.gateway.backends.rule_based_backend, sophron.agents.rule_based.caveats\n"
        "import sophron.agents.rule_based.explain, sophron.campaign.state.projector\n"
        "names = {name for name in set(sys.modules) - before if not name.startswith('_')}\n"
        "print(*names & {'asyncio', 'http.client', 'ssl', 'urllib.request', 'xml'})\n"
        "print(*{name.split('.')[0] for name in names} - set(sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"cython_runtime", "simpleeval", "sophron", "yaml"}


def test_a_server_of_this_installation_gets_what_the_campaign_grants(step):
    own = {"command": ["sophron", "rietveld", "serve"]}
    given = {"mounts": ["/opt/gsas2"], "variables": {"SOPHRON_GSAS2_PYTHON": "/opt/gsas2/bin/python"}}
    server = step_wiring._server(step, own, given)
    assert Path("/opt/gsas2") in server.read_only
    assert server.env["SOPHRON_GSAS2_PYTHON"] == "/opt/gsas2/bin/python"
    other = step_wiring._server(step, {"command": ["toy"]}, given)
    assert Path("/opt/gsas2") not in other.read_only
    assert not other.env
    assert grants.server_lines(given) == [
        "its own servers read: /opt/gsas2",
        "its own servers get SOPHRON_GSAS2_PYTHON: /opt/gsas2/bin/python",
    ]
