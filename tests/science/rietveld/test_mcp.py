"""The tools behind the real protocol: a server over stdio that the verb starts, and one over HTTP."""

import base64
import json
import socket
import subprocess
import sys
import time

import pytest

from sophron.records import documents
from sophron.science.rietveld.session import sample as samples
from sophron.science.rietveld.session.tools import TOOLS

pytest.importorskip("mcp")
SERVE = [sys.executable, "-m", "sophron", "rietveld", "serve"]


@pytest.fixture
def words(engine, fluorapatite, tmp_path):
    """Words of the verb for fluorapatite."""
    given = (samples.GivenPhase(fluorapatite.phases[0], "main"),)
    made = samples.Sample("rietx", fluorapatite.pattern, given, fluorapatite.instrument, fluorapatite.limits_deg)
    (tmp_path / "sample.json").write_text(json.dumps(samples.data(made)))
    return ["--sample", str(tmp_path / "sample.json"), "--folder", str(tmp_path / "session")]


async def talk(where):
    from mcp import Client

    async with Client(where, read_timeout_seconds=300) as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == list(TOOLS)
        assert all(tool.description for tool in listed)
        assert all("session" not in tool.input_schema["properties"] for tool in listed)
        answers = []
        for name, arguments in (
            ("histogram", {}),
            ("phase", {"name": "FAP"}),
            ("release", {"groups": ["scale", "background"]}),
            ("refine", {"label": "scale"}),
            ("get_pattern_plot", {}),
            ("release", {"groups": ["zero", "displacement"]}),
            ("refine", {"label": "trap"}),
        ):
            answers.append(await client.call_tool(name, arguments))
        return answers


def checked(answers, folder):
    assert [one.is_error for one in answers] == [False] * 6 + [True]
    assert "free one of them" in json.loads(answers[-1].content[0].text)["hint"]
    assert json.loads(answers[3].content[0].text)["numbers"]["rwp_percent"] > 20
    text, picture = answers[4].content
    assert json.loads(text.text)["ok"]
    assert picture.mime_type == "image/png"
    assert base64.b64decode(picture.data).startswith(b"\x89PNG")
    trajectory = documents.load_json(folder / "trajectory.json")
    assert [one["ok"] for one in trajectory["calls"]] == [True] * 6 + [False]


def test_over_stdio(words, tmp_path):
    import anyio
    from mcp.client.stdio import StdioServerParameters

    command = [*SERVE, *words]
    answers = anyio.run(talk, StdioServerParameters(command=command[0], args=command[1:], env=environment()))
    checked(answers, tmp_path / "session")


def environment():
    import os

    return dict(os.environ)


def test_over_http(words, tmp_path):
    import anyio

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*SERVE, *words, "--port", str(port)])
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        answers = anyio.run(talk, f"http://127.0.0.1:{port}/mcp")
    finally:
        process.terminate()
        process.wait(30)
    checked(answers, tmp_path / "session")
