"""What the agents of a build are told: nothing that the boundary keeps from them, and no picture but the tools' own."""

import hashlib
import json

import refinements

from sophron.agentbuild import contract
from sophron.kinds.agent_build import agent_inputs
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
    assert (told["repeat"], "pattern" in told) == ("2", False)


def test_nobody_but_the_meta_optimizer_reads_the_knowledge_base():
    made = contract.load(resource("contracts", "rietveld-snr"))
    run = refinements.run()
    told = json.dumps([agent_inputs.screening(run), agent_inputs.scoring(run, made, 1, None)])
    for text in made.knowledge.values():
        assert text.splitlines()[2][:60] not in told
