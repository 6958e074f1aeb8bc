"""What tools leave is read where it lies, and nowhere else."""

import os

import pytest

from sophron.agents.documents.answers import AgentError
from sophron.agents.step import agent_step


@pytest.fixture
def scratch(tmp_path):
    (tmp_path / "scratch" / "session").mkdir(parents=True)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "model.json").write_text("secret")
    return tmp_path / "scratch"


def test_a_file_is_read(scratch):
    (scratch / "session" / "model.json").write_text("model")
    assert agent_step.read_artifact(scratch, "model", "session/model.json") == b"model"


def test_one_that_is_not_there_is_a_failure(scratch):
    with pytest.raises(AgentError, match="left no model"):
        agent_step.read_artifact(scratch, "model", "session/model.json")
    with pytest.raises(AgentError, match="left no model"):
        agent_step.read_artifact(scratch, "model", "nowhere/model.json")


@pytest.mark.parametrize("how", ["file", "folder", "hard link", "pipe"])
def test_a_way_out_of_the_work_folder_is_refused(scratch, how):
    secret = scratch.parent / "secrets" / "model.json"
    planted = scratch / "session" / "model.json"
    if how == "file":
        planted.symlink_to(secret)
    elif how == "folder":
        (scratch / "session").rmdir()
        (scratch / "session").symlink_to(secret.parent)
    elif how == "hard link":
        os.link(secret, planted)
    else:
        os.mkfifo(planted)
    with pytest.raises(AgentError, match="is refused"):
        agent_step.read_artifact(scratch, "model", "session/model.json")


def test_one_that_is_too_large_is_a_failure(scratch, monkeypatch):
    monkeypatch.setattr(agent_step, "LARGEST_BYTES", 3)
    (scratch / "session" / "model.json").write_text("model")
    with pytest.raises(AgentError, match="more than 0 MiB"):
        agent_step.read_artifact(scratch, "model", "session/model.json")
