"""The shipped campaign of sequences, on a short chain, with an agent that proposes."""

import json
import shutil

import pytest
import toy
import yaml
from sequence_steps import ROUNDS, RUN, WARM_UP

from sophron.campaign.approval.approve import propose
from sophron.campaign.spec.spec import load
from sophron.cli import main
from sophron.kinds.sequence_bo.agent_inputs import propose_sequences
from sophron.records.files import resource


@pytest.mark.slow
def test_an_agent_proposes_and_its_sequences_are_evaluated(tmp_path, monkeypatch, capsys):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)
    root = tmp_path / "chains"
    shutil.copytree(resource("campaigns", "copolymer-sequences"), root)
    campaign = toy.Campaign(root, toy.make_key(tmp_path / "key"))
    spec = yaml.safe_load(campaign.spec.read_text())
    stages = spec["stages"]
    spec["question"]["conditions"] |= {key: WARM_UP["chain"][key] for key in ("length", "count_b")}
    short = {**RUN, "discard_steps": 6000}
    stages["warm_up"]["definition"] = {**WARM_UP, **short, "random": 3}
    stages["rounds"]["definition"] = {**ROUNDS, **short, "rounds": 2, "agent_proposals": 1}
    stages["validate"]["definition"] = {"candidates": 1, **short, "steps": 5 * RUN["steps"]}
    for stage in stages.values():
        stage["criteria"] = []  # nothing is concluded from runs as short as these
    for one in spec["method"]["assumptions"]:
        one["verified_by"] = "nobody: nothing is concluded from runs as short as these"
    campaign.spec.write_text(yaml.safe_dump(spec, sort_keys=False))
    digest = propose(root).digest
    assert main(["approve", str(root), "--key", str(campaign.key), "--digest", digest, "--as", "alex"]) == 0
    campaign.complete()
    asked_first: list[str] = []
    for number in (0, 1):
        answer = json.loads((root / "results/rounds/propose_sequences" / str(number) / "answer.json").read_text())
        asked = [one["sequence"] for one in answer["answer"]["proposals"]]
        asked_first = asked if number == 0 else asked_first
        proposed = json.loads((root / "results/rounds/propose" / str(number) / "outcome.json").read_text())["result"]
        assert [one["sequence"] for one in proposed["proposals"] if one["origin"] == "agent"] == asked
        assert len(proposed["proposals"]) == ROUNDS["batch"]
    inputs = propose_sequences(root, load(campaign.spec), {"round": "1"})
    assert [row["sequence"] for row in inputs["evaluated"] if "your_reason" in row] == asked_first
    assert inputs["chain"]["epsilon_ab"] == pytest.approx(1.2247, abs=1e-4)
    capsys.readouterr()
    assert main(["answer", str(root)]) == 0
    assert "largest Rg: " in capsys.readouterr().out
