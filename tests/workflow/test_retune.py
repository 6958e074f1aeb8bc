"""A retune from one line to the next: a campaign made for another model, signed, run by Snakemake, and one entry more."""

import json
import re

import pytest
import toy
from loopback_openai import serve_openai
from loopback_peer import Turn
from scripted import Rounds, ScriptedAgents, toy_contract

from sophron.agentbuild import contract
from sophron.agentbuild.release import package, trail
from sophron.campaign.spec import spec
from sophron.cli import main
from sophron.kinds.agent_build import contract_campaign, trail_source
from sophron.records import approvals, files
from sophron.records.errors import UserError
from sophron.records.files import resource

NEW = {"backend": "openai", "model": "toy-new"}
MODELS = """\
models:
  toy-new:
    {provider: openai, name: toy, rank: 1, price_in: 1, price_out: 1, context: 200000, max_output: 10000,
     base_url_env: TOY_URL, key_env: TOY_KEY}
"""
AUD = """\
---
name: aud
role: work
rank: 2
output: skill
inputs:
  instructions: {kind: text, about: "Its prompt."}
  tools_wired: {kind: json, about: "Its tools."}
  task: {kind: json, about: "Its task."}
  recipe: {kind: json, about: "What it knows."}
  sample: {kind: file, about: "The sample."}
tools: [read_file, write_file]
wired_by: tools_wired
keeps: {trajectory: session/trajectory.json}
limits: {calls: 5, tokens: 100000, dollars: 1, seconds: 60, max_tokens: 1000}
---
{{ instructions }} {{ tools_wired }} {{ task }} {{ recipe }} {{ sample }}
"""
SKILL = """\
$schema: https://json-schema.org/draft/2020-12/schema
title: A skill
type: object
additionalProperties: false
required: [skill, about]
properties:
  skill: {type: integer, description: How good it is.}
  about: {type: string, description: What was done.}
"""
KEPT = "second.json"
"""The file of the case held out: there the model that is scripted gives no valid answer."""


@pytest.fixture
def made(tmp_path):
    """A toy contract with one case, one held out, and two tools of which the blank agent is wired to one."""
    toy_contract(tmp_path / "numbers")
    folder = tmp_path / "numbers"
    text = (folder / "curriculum.yaml").read_text()
    text = re.sub(r"  (two|three): .*\n", "", text)
    text = re.sub(r"(  kept: .*)first[.]json", rf"\1{KEPT}", text)
    text = text[: text.index("tiers:")] + "tiers:\n  - {name: easy, cases: [one]}\nheld_out: [kept]\n"
    (folder / "curriculum.yaml").write_text(text)
    (folder / "tools.yaml").write_text("servers: {}\ntools: {read_file: Reads., write_file: Writes.}\n")
    (folder / "blank" / "wiring.yaml").write_text("tools: [write_file]\n")
    return contract.load(folder)


@pytest.fixture
def agent(made, tmp_path):
    """The trail of a build that passed, in a folder that knows the new model."""
    rounds = Rounds(tmp_path / "rounds", made, ScriptedAgents([5]), 3)
    assert rounds.run().result["saturated"]
    trail.begin(tmp_path / "agent", rounds.source(tmp_path / "build"))
    (tmp_path / "agent" / "config").mkdir()
    (tmp_path / "agent" / "config" / "models.yaml").write_text(MODELS)
    return tmp_path / "agent"


def scripted(body):
    """A model that calls a tool it is not wired to, then does its work; about the case held out it tells a story."""
    if KEPT in json.dumps(body["messages"]):
        return Turn("Once upon a time there was a pattern.")
    if any(one["role"] == "tool" for one in body["messages"]):
        return Turn('{"skill": 5, "about": "The number was read and looked at twice."}')
    trajectory = {"path": "scratch/session/trajectory.json", "text": '{"calls": []}'}
    return Turn("", tools=(("read_file", {"path": "sample"}), ("write_file", trajectory)))


def again(agent, campaign, made):
    """The line that a person types, before and after."""
    words = ["--model", "toy-new", "--campaign", str(campaign), "--contract", str(made.folder)]
    return main(["build", "retune", str(agent), *words])


@pytest.mark.slow
def test_a_retune_is_proposed_signed_run_and_one_entry(agent, made, tmp_path, monkeypatch, capsys):
    pytest.importorskip("openai")
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    before, first = trail.load(agent), package.release(agent, "v1.0")
    campaign = toy.Campaign(tmp_path / "rerun", toy.make_key(tmp_path / "key"))
    assert again(agent, campaign.root, made) == 0
    assert "sophron approve" in capsys.readouterr().out
    assert again(agent, campaign.root, made) != 0  # nobody has signed it
    assert trail.load(agent).data == before.data
    for name, text in (("aud.md", AUD), ("schemas/skill.schema.yaml", SKILL)):
        (campaign.root / "agents" / name).parent.mkdir(parents=True, exist_ok=True)
        (campaign.root / "agents" / name).write_text(text)
    campaign.edit("iterations: 12", "iterations: 2")
    campaign.sign()
    assert again(agent, campaign.root, made) != 0  # signed, and not run
    with serve_openai(scripted) as peer:
        monkeypatch.setenv("TOY_URL", f"{peer.url}/v1")
        monkeypatch.setenv("TOY_KEY", "loopback-no-real-key")
        ran = campaign.snakemake("--keep-going")
    assert ran.returncode != 0  # accept: what was held out did not pass
    built = json.loads((campaign.root / "results/build/outcome.json").read_text())["result"]
    assert (built["saturated"], built["held_out"]) == (True, {"kept": False})
    tried = files.read_json_lines(campaign.root / "records/aud-1-one/audit.jsonl")[0]
    assert 'there is no tool \\"read_file\\"' in json.dumps(tried[-1]["request"]["messages"])
    card = json.loads((campaign.root / "results/build/card/2/kept/card.json").read_text())
    assert "gave no valid answer" in card["screening"]["reasons"][0]
    assert again(agent, campaign.root, made) == 0
    after, second = trail.load(agent), package.release(agent, "v2.0")
    assert after.entries[:-1] == before.entries
    assert (after.entries[-1].kind, after.entries[-1].models["agent"]) == ("retune", NEW)
    assert [one.number for one in after.entries[-1].iterations] == [1]
    assert after.contract == before.contract
    endpoints = [made.folder / "endpoint.json" for made in (first, second)]
    assert endpoints[0].read_bytes() == endpoints[1].read_bytes()
    names = {one.file.rpartition("/")[2] for one in after.last.cases[0].transcripts}
    assert names == {"one.json", "screen-1-one.jsonl", "score-1-one-1.jsonl", "score-1-one-2.jsonl"}
    assert after.last.started <= after.last.ended


def test_the_campaign_of_a_retune_asks_what_the_trail_asked_but_for_one_model(agent, made, tmp_path):
    before = trail.load(agent)
    handles = contract_campaign.handles_with(before, NEW)
    contract_campaign.prepare_retune(before, made, handles, tmp_path / "rerun")
    found = spec.load(tmp_path / "rerun" / "campaign.yaml")
    assert found.data["agents"]["by_name"]["aud"] == NEW
    assert {name: one["backend"] for name, one in found.data["agents"]["by_name"].items() if name != "aud"} == {
        "judge-screen": "heuristic",
        "judge-score": "heuristic",
        "optimize": "heuristic",
    }
    assert found.definition("sample")["cases"] == ["one", "kept"]
    assert found.definition("build")["contract_digest"] == made.digest
    assert contract.load(contract.find("numbers", tmp_path / "rerun")).digest == made.digest
    tries = 13 * 2  # rounds and cases, each with as many calls as the contract's agent may make
    assert found.data["limits"]["model_calls"] == tries * 20
    assert not (tmp_path / "rerun" / "approvals").exists()
    with pytest.raises(UserError, match="not an empty folder"):
        contract_campaign.prepare_retune(before, made, handles, tmp_path / "rerun")


def test_another_contract_is_no_retune(agent, made, tmp_path):
    path = made.folder / "rubric.yaml"
    path.write_text(path.read_text().replace("pass: 3", "pass: 2"))
    with pytest.raises(UserError, match=r"in contract/rubric\.yaml; a retune keeps the contract"):
        contract_campaign.prepare_retune(
            trail.load(agent), contract.load(made.folder), {"agent": NEW}, tmp_path / "rerun"
        )
    assert not (tmp_path / "rerun").exists()


def test_a_stand_in_on_the_command_line_is_not_the_model_that_was_named(tmp_path):
    path = tmp_path / "audit.jsonl"
    files.append_json_line(path, {"response": {}, "provider": "openai", "handle": "toy-new"})
    trail_source._check_answered(path, NEW)
    trail_source._check_answered(path, {"backend": "ranked"})
    files.append_json_line(path, {"response": {}, "provider": "heuristic", "handle": "heuristic"})
    with pytest.raises(UserError, match="heuristic heuristic answered, and the campaign names openai toy-new"):
        trail_source._check_answered(path, NEW)


def test_a_campaign_of_another_kind_has_no_trail(tmp_path, monkeypatch):
    campaign = toy.Campaign(tmp_path / "other", tmp_path / "key")
    monkeypatch.setattr(approvals, "valid_approval", lambda root: root)
    other = spec.load(resource("campaigns", "rietveld-fluorapatite", "campaign.yaml"))
    monkeypatch.setattr(trail_source, "load_signed", lambda _: other)
    with pytest.raises(UserError, match="is a campaign of the kind rietveld"):
        trail_source.lay_out(campaign.root, tmp_path / "target", rehearsed=False)
