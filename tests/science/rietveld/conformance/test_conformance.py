"""The protocol below the tools, by the public conformance suite for servers of the Model Context Protocol.

`npm install @modelcontextprotocol/conformance@0.2.0-alpha.12 node@22`, and
`SOPHRON_MCP_CONFORMANCE='node_modules/node/bin/node node_modules/@modelcontextprotocol/conformance/dist/index.js'`.
"""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("mcp")
HERE = Path(__file__).parent
SUITE = shlex.split(os.environ.get("SOPHRON_MCP_CONFORMANCE", "")) or ["conformance"]
PROTOCOL = "2026-07-28"


@pytest.fixture
def address():
    if shutil.which(SUITE[0]) is None:
        pytest.skip("the conformance suite is not here; its npm package and Node 22 are named in this file")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(HERE / "server.py"), str(port)], stderr=subprocess.DEVNULL)
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait(30)


def test_the_suite_finds_nothing_but_what_is_not_offered(address):
    baseline = ["--expected-failures", str(HERE / "expected-failures.yaml")]
    words = [*SUITE, "server", "--url", address, "--spec-version", PROTOCOL, "--timeout", "300000", *baseline]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "SyntaxError" in done.stderr:
        pytest.skip("the conformance suite wants Node 22 or later")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "tools-call-image" in done.stdout
