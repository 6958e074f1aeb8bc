"""Campaigns that ran when agents and their rules had other names: they open, are renewed once, and nothing runs again.

`data/before_renames` holds the records of two, made by the code of before: plain sums of which every agent was asked,
and a debate up to the first critique. Both have their own copies of the agents, whose prompts may change meanwhile.
"""

import json
import tarfile

import pytest
import toy

from sophron import cli
from sophron.agents.documents.model_request import INTRODUCTION
from sophron.agents.gateway.backends.replay import Replay
from sophron.agents.gateway.gateway import load_catalogue as catalogue
from sophron.campaign.approval import approve
from sophron.campaign.execution import outcome_store
from sophron.campaign.planning import campaign_agents
from sophron.campaign.spec import spec
from sophron.interfaces.model_backend import Message, Request, Text
from sophron.records import approvals, files, old_names

STEPS = {"amend-a-1": "propose-a-1", "checkpoint_management-1": "restart_files-1", "explain-a": "explain-a"}


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Unpack one of them."""

    def unpack(name):
        with tarfile.open(toy.DATA / "before_renames" / f"{name}.tar.gz") as packed:
            packed.extractall(tmp_path, filter="tar")
        for variable, value in toy.settings(tmp_path).items():
            monkeypatch.setenv(variable, value)
        toy.plan_here(monkeypatch)
        key = tmp_path / name / "key"
        key.chmod(0o600)
        return toy.Campaign(tmp_path / name, key)

    return unpack


def digest(campaign, capsys):
    capsys.readouterr()
    assert cli.main(["review", str(campaign.root), "--digest"]) == 0
    return capsys.readouterr().out.strip()


def test_sums_of_before_open_answer_and_keep_their_agents(opened, capsys):
    campaign = opened("arithmetic")
    assert cli.main(["status", str(campaign.root)]) == 0
    assert "completed" in capsys.readouterr().out
    assert cli.main(["answer", str(campaign.root)]) == 0
    loaded = spec.load(campaign.spec)
    assert campaign_agents.chosen(loaded.data, "explain")["backend"] == "mailbox"
    assert campaign_agents.find_agent(campaign.root, "caveats").path == campaign.root / "agents" / "report.md"
    for step, before in STEPS.items():
        assert outcome_store.published(campaign.root, step).is_file()
        kept = json.loads((campaign.root / "records" / before / "answer.json").read_text())
        assert kept["agent_digest"] == campaign_agents.digest_of(campaign.root, loaded, step.partition("-")[0])


def test_sums_of_before_need_one_signature_and_nothing_runs_again(opened, capsys):
    campaign = opened("arithmetic")
    tries = campaign.tries()
    words = ["--key", str(campaign.key), "--digest", digest(campaign, capsys)]
    assert cli.main(["approve", str(campaign.root), *words]) == 0
    assert approvals.newest(campaign.root).record.version == 1
    assert len(approvals.logged(campaign.root)) == 2
    targets = [
        "results/f/passed",
        "results/a/proposal-1.json",
        "results/restart-files-1.json",
        "results/a/explanation.json",
    ]
    assert "Nothing to be done" in campaign.complete("--", *targets).stdout
    assert cli.main(["agent", "reask", "propose-a-1", str(campaign.root)]) == 0
    assert campaign.tries() == tries


def test_a_debate_of_before_is_renewed_and_nothing_runs_again(opened, capsys):
    campaign = opened("dimers")
    told = digest(campaign, capsys)
    assert cli.main(["approve", str(campaign.root), "--renew", "--key", str(campaign.key), "--digest", told]) == 0
    said = capsys.readouterr().out
    assert "The same as in version 1, signed by alex:" in said
    assert "Agents, their rules and the modules were renamed since" in said
    assert "A new plan would be refused for what is known since:\n  the pitfall windows-too-short was found" in said
    assert "Nothing to be done" in campaign.complete("-n", "--", "results/trials/screen/0/outcome.json").stdout
    loaded = spec.load(campaign.spec)
    votes = outcome_store.of_loop(campaign.root, loaded, "vote_pre", {"trial": "0"})
    assert {one.wildcards["expert"] for one in votes} == {"force_field", "sampling", "analysis"}
    assert len(votes) == 6
    assert outcome_store.of_loop(campaign.root, loaded, "layer1", {"trial": "0"})
    assert cli.main(["status", str(campaign.root)]) == 0


def test_an_edited_prompt_is_an_amendment_also_after_the_rename(opened, capsys):
    campaign = opened("dimers")
    own = campaign.root / "agents" / "experts" / "sampling.md"
    own.write_text(own.read_text() + "\nBe brief.\n")
    assert cli.main(["review", str(campaign.root), "--digest"]) == 2
    assert "the agent behind vote_design is another one" in capsys.readouterr().err
    with pytest.raises(Exception, match="vote_pre is another one"):
        approve.propose(campaign.root)


@pytest.mark.parametrize("step", [*STEPS, "caveats", "debug-a-1"])
def test_answers_are_replayed_under_the_names_of_now(opened, step):
    campaign = opened("arithmetic")
    (line,) = files.read_json_lines(outcome_store.record_folder(campaign.root, step) / "audit.jsonl")[0]
    asked = line["request"]
    agent = old_names.agent_now(asked["agent"])
    request = Request(
        step=step,
        agent=agent,
        turn=1,
        system=asked["system"].replace(INTRODUCTION.format(asked["agent"]), INTRODUCTION.format(agent)),
        messages=tuple(
            Message(one["role"], tuple(Text(part["text"]) for part in one["parts"])) for one in asked["messages"]
        ),
        schema=asked["schema"],
        inputs=asked["inputs"],
        max_tokens=asked["max_tokens"],
    )
    model = Replay()
    model.root = campaign.root
    answer = model.complete(request, catalogue(campaign.root).get("replay"))
    assert [part.text for part in answer.parts] == [part["text"] for part in line["response"]["parts"]]


def test_the_map_leads_there_and_back():
    for now, before in old_names.STEPS.items():
        assert old_names.step_now(f"{before}-1") == f"{now}-1"
        assert f"{before}-1" in old_names.steps(f"{now}-1")
        expert = now.partition("-")[2]
        old = f"sophron agent run {before} --gate {{input.gate}} --wildcard turn={{wildcards.turn}} --digest {{params.digest}}"
        assert old_names.shell_before(old_names.shell_now(old), expert) == old
    assert old_names.step_now("produce-3") == "produce-3"
