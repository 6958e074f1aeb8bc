"""Tools of MCP servers, with the real SDK: a server over stdio in a real sandbox, and one over HTTP."""

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sophron.agents.tools.mcp_client import Server
from sophron.agents.tools.toolbox import Toolbox
from sophron.interfaces.model_backend import Image, ToolCall
from sophron.interfaces.sandbox import Grant
from sophron.records.errors import UserError
from sophron.sandbox.bubblewrap import Bubblewrap

pytest.importorskip("mcp")
needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bwrap")

SERVER = '''
import os, pathlib, sys
from mcp.server import MCPServer
from mcp.server.mcpserver import Image

app = MCPServer("toy")

@app.tool()
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b

@app.tool()
def picture() -> list:
    """A picture."""
    return ["seen", Image(data=b"PNG", format="png")]

@app.tool()
def look(path: str) -> str:
    """What is at a path."""
    return pathlib.Path(path).read_text()

@app.tool()
def environment() -> str:
    """The environment."""
    return " ".join(sorted(os.environ))

@app.tool()
def die() -> str:
    """Ends the server."""
    os._exit(3)

app.run(*([] if len(sys.argv) == 1 else ["streamable-http"]), **({} if len(sys.argv) == 1 else {"host": "127.0.0.1", "port": int(sys.argv[1])}))
'''
PYTHON = [Path(sys.base_prefix), Path(sys.prefix)]


@pytest.fixture
def scratch(tmp_path):
    (tmp_path / "server.py").write_text(SERVER)
    (folder := tmp_path / "scratch").mkdir()
    return folder


def local(scratch, names, **grant):
    program = scratch.parent / "server.py"
    server = Server([sys.executable, str(program)], read_only=[program, *PYTHON], timeout_s=30)
    return Toolbox(scratch, {}, Bubblewrap(), names, grant=Grant(scratch, **grant), servers={"toy": server})


def ask(box, name, **arguments):
    answer = box.call(ToolCall("1", name, arguments))
    return answer.content, answer.is_error


@needs_bwrap
def test_a_server_in_the_sandbox(scratch, monkeypatch):
    secret = scratch.parent / "secret"
    secret.write_text("secret")
    monkeypatch.setenv("SECRET_KEY", "k")
    with local(scratch, ["toy__*"]) as box:
        assert [tool.name for tool in box.tools] == [
            "toy__add",
            "toy__picture",
            "toy__look",
            "toy__environment",
            "toy__die",
        ]
        content, failed = ask(box, "toy__add", a=2, b=3)
        assert (content[0].text, failed) == ("5", False)
        content, failed = ask(box, "toy__picture")
        assert (content[0].text, content[1]) == ("seen", Image("image/png", "UE5H"))
        assert ask(box, "toy__look", path=str(secret))[1]
        assert "SECRET_KEY" not in ask(box, "toy__environment")[0][0].text
        content, failed = ask(box, "toy__add", a="two", b=3)
        assert failed
        assert "integer" in content[0].text


@needs_bwrap
def test_a_server_that_dies_is_a_failed_call_and_leaves_nothing(scratch):
    with local(scratch, ["toy__add", "toy__die"]) as box:
        assert [tool.name for tool in box.tools] == ["toy__add", "toy__die"]
        assert ask(box, "toy__look", path="x")[1]
        content, failed = ask(box, "toy__die")
        assert failed
        assert "toy" in content[0].text
        assert ask(box, "toy__add", a=1, b=1)[1]
    listed = subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout
    assert str(scratch.parent / "server.py") not in listed


@needs_bwrap
@pytest.mark.parametrize("command", [["/no/such/server"], ["/bin/false"], ["/bin/sh", "-c", "echo no JSON; exit 1"]])
def test_a_server_that_does_not_come_up(scratch, command):
    box = Toolbox(scratch, {}, Bubblewrap(), ["toy__*"], servers={"toy": Server(command, timeout_s=20)})
    with pytest.raises(UserError, match='the MCP server "toy" does not answer'), box:
        pass


NOISY = """
import sys
for line in sys.stdin:
    while True:
        print("this is no message" * 20, flush=True)
"""


@needs_bwrap
def test_a_server_that_writes_no_messages_is_ended_in_silence(scratch, caplog, capfd):
    (program := scratch.parent / "noisy.py").write_text(NOISY)
    server = Server([sys.executable, str(program)], read_only=[program, *PYTHON], timeout_s=60)
    box, begun = Toolbox(scratch, {}, Bubblewrap(), ["toy__*"], servers={"toy": server}), time.monotonic()
    with pytest.raises(UserError, match="wrote 100 lines that are no messages"), box:
        pass
    assert time.monotonic() - begun < 30
    assert len(capfd.readouterr().err) < 1000
    assert caplog.records == []


@needs_bwrap
def test_a_server_without_a_sandbox_is_not_started(scratch, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="install bubblewrap"), local(scratch, ["toy__*"]):
        pass


def test_a_server_over_http(scratch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, scratch.parent / "server.py", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            for _ in range(400):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            server = Server(url=f"http://127.0.0.1:{port}/mcp", timeout_s=20)
            with Toolbox(scratch, {}, Bubblewrap(), ["toy__add"], servers={"toy": server}) as box:
                assert ask(box, "toy__add", a=2, b=3)[0][0].text == "5"
            unknown = Toolbox(scratch, {}, Bubblewrap(), ["toy__ad"], servers={"toy": server})
            with pytest.raises(UserError, match=r'no tool "ad".*did you mean "add"'), unknown:
                pass
        finally:
            process.kill()
    with (
        pytest.raises(UserError, match="does not answer"),
        Toolbox(scratch, {}, Bubblewrap(), ["toy__add"], servers={"toy": server}),
    ):
        pass


def test_a_server_has_a_command_or_an_address(scratch):
    for server in (Server(), Server(["x"], url="http://x")):
        box = Toolbox(scratch, {}, Bubblewrap(), ["toy__x"], servers={"toy": server})
        with pytest.raises(UserError, match="command and url"), box:
            pass
