"""What the agents of a build are told: nothing that the boundary keeps from them, and no picture but the tools' own."""

import hashlib
import json
import re
from dataclasses import replace

import pytest
import refinements

from sophron.agentbuild import aud, contract
from sophron.campaign.planning import campaign_agents
from sophron.kinds.agent_build import agent_inputs
from sophron.records.errors import UserError
from sophron.records.files import resource


def test_the_judge_sees_the_picture_that_the_tool_wrote_down_and_no_other(tmp_path):
    run = refinements.run()
    last = run.report["state"]
    (shown,) = [
        call["plot"]
        for call in run.trajectory["calls"]
        if call["plot"] and call["state"] == last and call["plot"]["whole"]
    ]
    path = tmp_path / shown["file"]
    assert agent_inputs.picture(run, tmp_path) is None
    path.write_bytes(b"a picture")
    assert agent_inputs.picture(run, tmp_path) is None
    shown["sha256"] = hashlib.sha256(b"a picture").hexdigest()
    assert agent_inputs.picture(run, tmp_path) == path


def test_the_scoring_judge_is_told_the_dimensions_it_has_a_say_in():
    made = contract.load(resource("contracts", "rietveld-snr"))
    told = agent_inputs.scoring(refinements.run(), made, 2, None)
    assert [one["code"] for one in told["rubric"]["dimensions"]] == ["D4", "D5", "D6", "T3", "T5"]
    assert (told["repeat"], "picture" in told) == ("2", False)


OF_A_DOMAIN = r"\b(powder|patterns?|refin\w*|rietveld|phases?|cifs?|cells?|compounds?|degrees?|peaks?|spectr\w*)\b"


@pytest.mark.parametrize("name", contract.PROMPTED)
def test_the_prompt_of_a_build_speaks_of_no_domain_and_each_contract_does(name):
    agent = campaign_agents.find_agent(None, name)
    said = agent.prompt.casefold() + json.dumps(agent.front["inputs"]).casefold()
    assert re.findall(OF_A_DOMAIN, said) == []
    assert "{{ domain }}" in agent.prompt
    for shipped, word in (("rietveld-snr", "powder diffraction"), ("peak-fitting", "spectr")):
        assert word in contract.load(resource("contracts", shipped)).prompts[name]


def test_a_contract_without_a_prompt_is_refused(tmp_path):
    contract.create(tmp_path / "mine", "electron diffraction", "A. Person")
    (tmp_path / "mine" / "prompts" / "judge-score.md").unlink()
    with pytest.raises(UserError, match=r"judge-score\.md: says nothing"):
        contract.load(tmp_path / "mine")


def test_the_agent_is_told_where_what_its_prompt_speaks_of_stands(tmp_path):
    made = contract.load(resource("contracts", "peak-fitting"))
    packed, given = tmp_path / "agent.json", tmp_path / "given.json"
    packed.write_text(json.dumps(aud.packed(made.blank)))
    given.write_text("{}")
    asked = campaign_agents.find_agent(None, "aud").front["inputs"]
    told = agent_inputs.tried(asked, made.prompts["aud"], packed, given, given)
    assert "{{" not in told["instructions"]
    assert "(see below, under recipe)" in told["instructions"]
    assert told["domain"] == made.prompts["aud"]


def test_the_meta_optimizer_is_told_the_schemas_and_what_each_dimension_asks(tmp_path):
    files = {"best": {}, "cards": [], "history": []}
    for name, data in files.items():
        (tmp_path / name).write_text(json.dumps(data))
    for shipped, key in (("peak-fitting", "additionalProperties"), ("rietveld-snr", "$ref")):
        made = contract.load(resource("contracts", shipped))
        told = agent_inputs.improving(made, {name: tmp_path / name for name in files})
        assert key in told["boundary"]["schemas"]["consumer knowledge base"]
        assert [one["code"] for one in told["rubric"]] == list(made.rubric.thresholds)


def test_nobody_but_the_meta_optimizer_reads_the_knowledge_base():
    made = contract.load(resource("contracts", "rietveld-snr"))
    run = refinements.run()
    told = json.dumps([agent_inputs.screening(run, made), agent_inputs.scoring(run, made, 1, None)])
    for text in made.knowledge.values():
        assert text.splitlines()[2][:60] not in told


@pytest.mark.parametrize("opened", [False, True])
def test_the_optimizer_reads_frozen_code_as_an_outline_and_what_may_change_whole(opened):
    made = contract.load(resource("contracts", "peak-fitting"))
    edge = replace(made.boundary, opened=frozenset({"MCP server adapter"} if opened else ()))
    packed = aud.packed(made.blank)
    told = agent_inputs._with_outlines(replace(made, boundary=edge), packed)
    assert ("def _start" in told["adapter/tools.py"]) == opened
    assert "The numbers of the report, for the current state." in told["adapter/tools.py"]
    assert len(told["engine/peaks.py"]) < len(packed["engine/peaks.py"]) / 2
    assert {path for path in packed if told[path] == packed[path]} >= {"agent.md", "recipe.yaml", "wiring.yaml"}
