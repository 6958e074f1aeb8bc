"""The diffusion coefficient of a small liquid, run whole from the example of a liquid campaign, with a stage more."""

import json
from pathlib import Path

import pytest
import toy
import yaml

from sophron.campaign.approval.approve import propose
from sophron.campaign.spec import mutation, question
from sophron.campaign.spec.spec import load
from sophron.cli import main
from sophron.records.errors import UserError

LIQUID = Path(__file__).parents[2] / "examples" / "host-pipeline" / "liquid" / "campaign.yaml"
DIFFUSION = {
    "depends_on": ["produce", "green_kubo"],
    "definition": {"from_tau": 2.0, "to_tau": 20.0},
    "criteria": [
        {"id": "given", "expression": "diffusion_relative_error < 0.2", "statement": "The standard error is under 20 %."},
        {"id": "corrected", "expression": "corrected", "statement": "A viscosity of the same runs corrects for the box."},
        {"id": "far", "expression": "displacement > 1", "statement": "Beads have left their cages."},
        {"id": "straight", "expression": "abs(bend) + 2 * bend_error < 0.4", "statement": "The line does not bend."},
        {"id": "at_rest", "expression": "centre_share < 0.001", "statement": "The box as a whole does not move."},
    ],
    "mechanical": {"memory_mb": 1000, "runtime_min": 5, "ceilings": {"cores": 1, "memory_mb": 1500, "runtime_min": 10}},
}  # fmt: skip


def spec(change=lambda _: None) -> str:
    """The example's campaign, asked for the diffusion coefficient."""
    data = yaml.safe_load(LIQUID.read_text())
    data["question"] |= {"quantity": "diffusion coefficient", "units": "sigma^2 tau^-1 (LJ)"}
    data["stages"]["produce"]["definition"] |= {"frame_every": 50}
    data["stages"]["diffusion"] = DIFFUSION
    change(data)
    return yaml.safe_dump(data, sort_keys=False)


def test_each_criterion_can_fail_and_each_planted_fault_is_caught(tmp_path):
    (tmp_path / "campaign.yaml").write_text(spec())
    made = load(tmp_path / "campaign.yaml")
    judged = [one for one in mutation.judge_all(made) if one.stage == "diffusion"]
    assert {one.id: one.status for one in judged} == {one["id"]: mutation.FAILS for one in DIFFUSION["criteria"]}
    assert mutation.uncaught(made, mutation.judge_all(made)) == []


def test_only_a_campaign_with_the_stage_answers_with_diffusion(tmp_path):
    path = tmp_path / "campaign.yaml"
    path.write_text(spec(lambda data: data["stages"].pop("diffusion")))
    with pytest.raises(UserError, match='does not answer "diffusion coefficient"'):
        question.check_names(load(path))
    path.write_text(spec(lambda data: data["question"].update(units="epsilon tau sigma^-3 (LJ)")))
    with pytest.raises(UserError, match="dimension"):
        question.check_units(load(path))


@pytest.mark.slow
def test_a_liquid_answers_with_its_diffusion_coefficient(tmp_path, monkeypatch, capsys):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)
    root = tmp_path / "liquid"
    assert main(["new", "viscosity", str(root)]) == 0
    campaign = toy.Campaign(root, toy.make_key(tmp_path / "key"))
    campaign.spec.write_text(spec())
    assert (
        main(["approve", str(root), "--key", str(campaign.key), "--digest", propose(root).digest, "--as", "alex"]) == 0
    )
    campaign.complete()
    assert set(campaign.verdicts().values()) == {"pass"}
    result = json.loads((root / "results" / "diffusion" / "outcome.json").read_text())["result"]
    integrated = json.loads((root / "results" / "green_kubo" / "outcome.json").read_text())["result"]
    assert result["viscosity"] == integrated["viscosity"]
    assert 0.02 < result["diffusion_box"] < 0.045
    assert result["diffusion"] - result["diffusion_box"] == pytest.approx(result["size_correction"])
    capsys.readouterr()
    assert main(["answer", str(root)]) == 0
    said = capsys.readouterr().out
    assert "sigma^2 tau^-1 (LJ)" in said
    assert "epsilon tau" not in said, "the viscosity is not in units of the question, and is no answer to it"
    assert (root / "results" / "diffusion" / "displacement.svg").is_file()
