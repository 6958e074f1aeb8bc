"""One list of what a key looks like: who keeps keys back and who takes them out agree."""

import pytest

from snakemake_executor_plugin_dpdispatcher.site import withheld
from snakemake_executor_plugin_parsl.environment import is_passed
from sophron.agents.documents.redact import MARK, Redactor
from sophron.records import secret_keys

NAMES = ("X_API_KEY", "gitlab_token", "AWS_SECRET_ID", "PASSWD", "DB_PASSWORD", "SSH_PASSPHRASE", "CREDENTIAL_FILE",
         "SESSION_COOKIE", "SLURM_JWT")  # fmt: skip
KEYS = (
    "sk-ant-api03-0123456789abcdef", "ghp_" + "a1" * 18, "github_pat_" + "a1" * 12, "AKIA" + "A1" * 8,
    "glpat-abcdefghij0123456789", "AIza" + "a" * 35, "hf_" + "a" * 32, "xoxb-0123456789-abc",
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "-----BEGIN RSA PRIVATE KEY-----\nAA==\n-----END RSA PRIVATE KEY-----",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_kept_back_everywhere(name, monkeypatch):
    monkeypatch.setenv(name, "told-to-nobody")
    assert withheld({name: "told-to-nobody", "HOME": "/home/me"}) == [name]
    assert not is_passed(f"SLURM_{name.upper()}")
    assert Redactor().text("it is told-to-nobody") == f"it is {MARK}"


@pytest.mark.parametrize("key", KEYS)
def test_a_shape_is_known_whatever_its_name(key):
    assert secret_keys.is_secret("ORDINARY", key)
    assert any(hint in key for hint in secret_keys.HINTS)
    assert Redactor().text(f"see {key}, please") == f"see {MARK}, please"


@pytest.mark.parametrize(
    ("name", "value"), [("HOME", "/home/sk-"), ("OMP_NUM_THREADS", "1"), ("EDITOR", "ghostwriter")]
)
def test_what_is_ordinary_is_left_alone(name, value):
    assert not secret_keys.is_secret(name, value)
    assert Redactor().text(value) == value


def test_the_way_to_the_ssh_agent_is_kept_back():
    assert all(secret_keys.is_secret(name, "/tmp/agent") for name in secret_keys.SSH_AGENT)
