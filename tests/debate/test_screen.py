"""A screen made from a deployed pipeline, the ladder of methods, and the ranking of a library."""

import json

import pytest
import toy

from sophron.campaign import new, plan, spec
from sophron.debate import ladder, screen_spec, screening
from sophron.debate.ablation import METHODS
from sophron.debate.pipeline import STAGES
from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.records.documents import Document, load_yaml, validate
from sophron.records.resources import resource

from . import dimers

ORIGIN = resource("campaigns", "lj-dimer-apr")
LIBRARY = {
    "system": "dimers",
    "guests": ["one", "two"],
    "settings": {"sigma_a": 3.4, "temperature_k": 298.15, "epsilon_kcal_per_mol": {"one": 1.2, "two": 2.2}},
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)
    return tmp_path


def test_every_step_of_a_screen_is_known_and_fits_its_limits(here):
    made = screen_spec.draft(dimers.pipeline(4), LIBRARY, load_yaml(ORIGIN / "campaign.yaml").data)
    new.from_draft(here / "screen", made)
    loaded = spec.load(here / "screen" / "campaign.yaml")
    planned = plan.make(here / "screen", loaded)
    rules = [step.rule for step in planned.steps]
    assert {rule: rules.count(rule) for rule in ("tasks", "prepare", "equilibrate", "produce", "analyse", "rank")} == {
        **dict.fromkeys(("tasks", "prepare", "equilibrate", "analyse"), 2),
        "produce": 8,
        "rank": 1,
    }
    assert planned.excess() == []
    assert loaded.unverified() == ["transfers"]


def test_an_edited_analysis_invalidates_no_production():
    origin = load_yaml(ORIGIN / "campaign.yaml").data
    sound = screen_spec.draft(dimers.pipeline(4), LIBRARY, origin)["stages"]
    edited = dimers.edited(dimers.pipeline(4), STAGES[3].file, "Write the standard", "Print the standard")
    changed = screen_spec.draft(edited, LIBRARY, origin)["stages"]
    assert [name for name in sound if sound[name] != changed[name]] == ["analyse"]


def test_a_ladder_has_a_campaign_for_each_method(here):
    folders = ladder.make(ORIGIN, here / "ladder")
    loaded = [spec.load(folder / "campaign.yaml") for folder in folders]
    assert [one.definition("trials")["method"] for one in loaded] == list(METHODS)
    for one, method in zip(loaded, METHODS.values(), strict=True):
        assert ("discussion" in one.data["stages"]) is method.panel


def analysed(folder, guest, status, value, error=0.1):
    path = folder / f"{guest}.json"
    result = {
        "delta_g_kcal_per_mol": value,
        "statistical_error_kcal_per_mol": error,
        "systematic_error_kcal_per_mol": 0.0,
    }
    path.write_text(json.dumps({"result": result, "measured": {}}))
    return UpstreamStep(
        "analyse", {"guest": guest}, {"status": status, "delta_g_kcal_per_mol": value}, {"executed": path}
    )


def test_the_ranking_has_those_with_a_number(tmp_path):
    found = [
        analysed(tmp_path, "weak", "completed", -1.0),
        analysed(tmp_path, "strong", "completed", -5.0),
        analysed(tmp_path, "alike", "completed", -1.1),
        analysed(tmp_path, "mute", "refused", None),
        analysed(tmp_path, "broken", "skipped", None),
    ]
    ctx = StepContext("rank", {}, {}, {"analyse": found}, tmp_path, tmp_path, 1)
    made = screening.rank(ctx)
    validate(Document(made.result, tmp_path), "screen/rank", "result")
    assert made.result == {"ranked": 3, "refused": 1, "failed": 1, "apart": 1, "strongest": "strong"}
    lines = made.files["ranking"].read_text().splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == ["strong", "alike", "weak"]
