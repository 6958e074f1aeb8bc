"""Keys leave the environment that jobs inherit, and come back in a local step alone."""

import json
import os
import subprocess
import sys

import pytest

from sophron.records import secret_keys

KEY = "sk-planted-0123456789"
PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY-----\nplanted\n-----END OPENSSH PRIVATE KEY-----"
PLANTED = {"ANTHROPIC_API_KEY": KEY, "MY_MODELS_WORD": KEY, "SIGNING": PRIVATE}
CHILD = "import json, os; from sophron.records import secret_keys; secret_keys.recall(); print(json.dumps(dict(os.environ)))"


@pytest.fixture
def withheld(monkeypatch):
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/planted-agent/socket")
    monkeypatch.setenv("KEYBOARD", "de")
    monkeypatch.setenv(secret_keys.VARIABLE, "")  # so that monkeypatch takes it away again
    secret_keys.withhold(["MY_MODELS_WORD"])


def test_nothing_that_a_child_inherits_holds_a_key(withheld):
    inherited = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
    assert "planted" not in inherited
    assert os.environ["KEYBOARD"] == "de"


def test_a_local_step_has_them_again_and_passes_no_hint_on(withheld):
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert PLANTED.items() <= found.items()
    assert secret_keys.VARIABLE not in found
    assert "SSH_AUTH_SOCK" not in found  # nothing that a run starts signs


def test_on_another_machine_there_are_none_and_nothing_breaks(withheld, monkeypatch):
    monkeypatch.setenv(secret_keys.VARIABLE, "/proc/999999999/fd/3")
    secret_keys.recall()
    assert "ANTHROPIC_API_KEY" not in os.environ


def test_without_keys_there_is_no_hint(monkeypatch):
    for name in [name for name, value in os.environ.items() if secret_keys._is_key(name, value)]:
        monkeypatch.delenv(name)
    monkeypatch.delenv(secret_keys.VARIABLE, raising=False)
    secret_keys.withhold()
    assert secret_keys.VARIABLE not in os.environ
