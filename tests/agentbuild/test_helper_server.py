"""Helper code of an agent under development: run by its tool, in its sandbox, and nowhere else."""

import json

import pytest

from sophron.agentbuild import aud, contract, helper_server
from sophron.agents.tools.mcp_client import Server
from sophron.agents.tools.toolbox import Toolbox
from sophron.interfaces.model_backend import ToolCall
from sophron.records.files import resource, write_json
from sophron.sandbox import mounts
from sophron.sandbox.select_backend import choose

TOTAL = 'def run(arguments):\n    print("aside")\n    return {"total": sum(arguments["counts"])}\n'
REFERENCE = """
def run(arguments):
    import sophron.records.files as files
    return files.resource("contracts", "peak-fitting", "references", "overlap.yaml").read_text()
"""
OUTSIDE = "import pathlib\ndef run(arguments):\n    return pathlib.Path(arguments['path']).read_text()\n"
FILES = {
    "agent.md": "not code",
    "helpers/total.py": TOTAL,
    "helpers/outside.py": OUTSIDE,
    "helpers/reference.py": REFERENCE,
    "helpers/nan.py": "def run(arguments):\n    return float('nan')\n",
    "helpers/long.py": "def run(arguments):\n    return 'x' * 200000\n",
    "helpers/empty.py": "",
}


@pytest.fixture
def agent(tmp_path):
    path = tmp_path / "agent.json"
    write_json(path, FILES)
    return path


def test_a_helper_gives_plain_data(agent, capsys):
    assert json.loads(helper_server.call(helper_server.sources(agent), "total", {"counts": [1, 2, 4]})) == {"total": 7}
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "there is no helper 'nowhere'; there are empty, long, nan, outside, reference, total"),
        ("total", "helpers/total.py: KeyError: 'counts'"),
        ("nan", "helpers/nan.py: ValueError"),
        ("long", "its answer has 200002 characters"),
        ("empty", "helpers/empty.py: KeyError: 'run'"),
    ],
)
def test_what_a_helper_does_wrong_is_a_sentence(agent, name, said):
    with pytest.raises(helper_server.HelperError, match=said.replace("(", r"\(")):
        helper_server.call(helper_server.sources(agent), name, {})


def test_an_agent_calls_its_helpers_in_its_sandbox(agent, tmp_path):
    pytest.importorskip("mcp")
    secret = tmp_path / "secret"
    secret.write_text("42")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [*mounts.SELF_COMMAND, "build", "helpers", "--agent", str(agent)]
    folders, hidden = mounts.self_folders(), mounts.SELF_HIDDEN
    server = Server(command=command, read_only=folders, hidden=hidden, env=mounts.self_environment())
    with Toolbox(scratch, {"agent": agent}, choose(None), ["helpers__call"], servers={"helpers": server}) as box:

        def call(name, **arguments):
            return box.call(ToolCall("1", "helpers__call", {"helper": name, "arguments": arguments}))

        told = call("total", counts=[1, 2])
        assert (told.is_error, json.loads(told.content[0].text)) == (False, {"total": 3})
        missed = call("outside", path=str(secret))
        assert missed.is_error
        assert "42" not in missed.content[0].text
        assert "position" in resource("contracts", "peak-fitting", "references", "overlap.yaml").read_text()
        hidden_answer = call("reference")
        assert hidden_answer.is_error
        assert "FileNotFoundError" in hidden_answer.content[0].text


def test_the_shipped_contract_offers_helpers_and_the_blank_agent_has_none(tmp_path):
    made = contract.load(resource("contracts", "rietveld-snr"))
    assert "helpers__call" in made.tools["tools"]
    assert "helpers__call" not in aud.definition(made.blank, made.tools["servers"]).front["tools"]
    aud.copy(made.blank, tmp_path / "aud")
    wiring = tmp_path / "aud" / "wiring.yaml"
    wiring.write_text(wiring.read_text() + "  - helpers__call\n")
    assert aud.definition(tmp_path / "aud", made.tools["servers"]).front["servers"].keys() == {"rietveld", "helpers"}
