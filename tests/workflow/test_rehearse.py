"""A rehearsal from one line: a campaign of its own, killed, gone on with, and never taken for an approved one."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
import toy
from scripted import toy_contract

from sophron.agentbuild.release import trail
from sophron.cli import main
from sophron.kinds.agent_build import rehearsal
from sophron.records import approvals
from sophron.records.documents import load_json
from sophron.records.errors import Refused
from sophron.records.files import read_json_lines


@pytest.fixture
def numbers(tmp_path, monkeypatch):
    """A toy contract with one case and one held out, of which the rules of thumb understand nothing."""
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("SNAKEMAKE_PROFILE", str(tmp_path / "a-queue"))
    monkeypatch.chdir(tmp_path)
    made = toy_contract(tmp_path / "numbers")
    text = re.sub(r"  (two|three): .*\n", "", (made.folder / "curriculum.yaml").read_text())
    text = text[: text.index("tiers:")] + "tiers:\n  - {name: easy, cases: [one]}\nheld_out: [kept]\n"
    (made.folder / "curriculum.yaml").write_text(text)
    (made.folder / "blank" / "recipe.yaml").write_text("{}\n")
    return made.folder


def killed_after(words, path):
    """Exit code of a process that is told to end when `path` is there."""
    process = subprocess.Popen([sys.executable, "-m", "sophron", *words], env=os.environ)
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    return process.wait(60)


@pytest.mark.slow
def test_a_killed_rehearsal_goes_on_and_is_no_approved_campaign(numbers, tmp_path, capsys):
    words = ["build", "rehearse", "numbers", "my-build", "--iterations", "3"]
    campaign = toy.Campaign(tmp_path / "my-build", toy.make_key(tmp_path / "key"))
    results = campaign.root / "results" / "build"
    assert killed_after(words, results / "candidate" / "1" / "outcome.json") == 128 + signal.SIGTERM
    assert main(["build", "status", "my-build"]) == 0
    assert main(["build", "trail", "agent", "--build", "my-build"]) == 2  # not at its end yet
    assert main(words) == 1  # nothing passed
    # The rules of thumb fail the case, have nothing to change, and so the build ends before its bound.
    said = capsys.readouterr().out
    assert "missed: one D1, one T1" in said
    assert said.count("the meta-optimizer had nothing to change") == 1
    assert campaign.tries()["sample-one"] == 1  # what was finished was not done again
    assert load_json(results / "outcome.json")["result"]["iterations"] == 2
    audit, _ = read_json_lines(campaign.root / "records" / "judge_screen-1-one" / "audit.jsonl")
    assert {line["provider"] for line in audit} == {"heuristic"}
    # Nobody can make an approved campaign of it: its plan says what it is, and its only key is gone.
    record = approvals.valid_approval(campaign.root).record
    assert (record.approver, record.campaign) == (rehearsal.SIGNER, "rehearsal-my-build")
    assert main(["build", "trail", "agent", "--campaign", "my-build"]) == 2
    assert "is a rehearsal; give it with --build" in capsys.readouterr().err
    with pytest.raises(Refused, match="is not among the trusted signers"):
        campaign.amend("agents.by_name.judge-score.backend=anthropic")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if b"OPENSSH PRIVATE KEY" in path.read_bytes()] == [campaign.key]
    assert main(["amend", "my-build", "--drop"]) == 0
    assert main(["build", "trail", "agent", "--build", "my-build"]) == 0
    assert [one.active for one in trail.load(tmp_path / "agent").entries[0].iterations] == [("one",), ()]
    # Another bound, or a campaign that is none, is not gone on with.
    assert main([*words[:-1], "4"]) == 2
    assert "begun with another iterations" in capsys.readouterr().err
    assert main(["new", "agent_build", "other"]) == 0
    assert main(["build", "rehearse", "numbers", "other"]) == 2
    assert "is a campaign and not a rehearsal" in capsys.readouterr().err
    assert not (tmp_path / "other" / "approvals").exists()


def test_a_rehearsal_is_not_signed_once_it_would_ask_a_model(numbers, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rehearsal, "_sign", lambda folder, probe: None)
    monkeypatch.setattr(rehearsal, "run", lambda folder: True)
    words = ["build", "rehearse", "numbers", "my-build", "--iterations", "3"]
    assert main(words) == 0  # made, and cut off before it was signed
    monkeypatch.undo()
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(tmp_path)
    campaign = toy.Campaign(tmp_path / "my-build", tmp_path / "key")
    campaign.edit("    judge-score:\n      backend: heuristic", "    judge-score:\n      backend: anthropic")
    assert main(words) == 2
    assert "agents: judge-score: anthropic is asked in no rehearsal" in capsys.readouterr().err
    assert not campaign.gate.exists()
