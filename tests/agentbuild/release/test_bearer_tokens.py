"""Tenants and their tokens: kept as digests, told apart, refused where they are weak or shared."""

import os

import pytest
import yaml

from sophron.agentbuild.release import bearer_tokens
from sophron.records.errors import UserError


def test_a_token_is_shown_once_and_kept_as_its_digest(tmp_path):
    path = tmp_path / "tenants.yaml"
    alice, bob = bearer_tokens.add(path, "alice"), bearer_tokens.add(path, "bob")
    text = path.read_text()
    assert alice not in text
    assert len(alice) >= 43
    found = bearer_tokens.load(str(path))
    assert (found.of(alice), found.of(bob), found.of(alice[:-1]), found.of("")) == ("alice", "bob", None, None)
    assert yaml.safe_load(text)["tenants"]["bob"] == {"sha256": bearer_tokens.token_digest(bob)}


def test_a_new_token_replaces_the_old_one(tmp_path):
    path = tmp_path / "tenants.yaml"
    old, new = bearer_tokens.add(path, "alice"), bearer_tokens.add(path, "alice")
    found = bearer_tokens.load(str(path))
    assert (found.of(old), found.of(new)) == (None, "alice")


def test_tokens_of_the_environment_do_not_stay_there(monkeypatch):
    monkeypatch.setenv("SOPHRON_A2A_TOKENS", f"alice={'a' * 32} bob={'b' * 32}")
    found = bearer_tokens.load("env")
    assert found.of("b" * 32) == "bob"
    assert "SOPHRON_A2A_TOKENS" not in os.environ


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "names no tenant"),
        ("alice=short", "a token of 32 characters or more"),
        (f"Alice={'a' * 32}", "is not NAME=TOKEN"),
        (f"alice={'a' * 32} bob={'a' * 32}", "two tenants have the same token"),
    ],
)
def test_what_is_no_token_is_refused_and_not_repeated(monkeypatch, value, says):
    monkeypatch.setenv("SOPHRON_A2A_TOKENS", value)
    with pytest.raises(UserError, match=says) as refused:
        bearer_tokens.load("env")
    assert "a" * 32 not in str(refused.value)


def test_a_name_is_checked(tmp_path):
    with pytest.raises(UserError, match="is no name of a tenant"):
        bearer_tokens.add(tmp_path / "tenants.yaml", "../alice")
