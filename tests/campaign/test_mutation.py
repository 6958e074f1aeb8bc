"""Mutation: a criterion that no wrong result fails is known as such, and cannot be all that verifies an assumption."""

from dataclasses import replace

import planted_errors
import pytest
import yaml

from sophron.campaign.execution import outcome_store
from sophron.campaign.spec import criteria, criteria_review, mutation, spec
from sophron.cli import main
from sophron.records import documents, entry_points
from sophron.records.atomic import write_json
from sophron.records.digests import step_name
from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.records.typed_json import to_json

SHIPPED = sorted(resource("campaigns").glob("*/campaign.yaml"))
HOST_GUEST = [path for path in SHIPPED if "kind: host_guest" in path.read_text()]
KINDS = ["agent_build", "chain_conformation", "conductivity", "host_guest", "rietveld", "viscosity"]
LIQUID = resource("campaigns", "lj-liquid-viscosity", "campaign.yaml")
BY_CONSTRUCTION = {
    "agent-build-ladder": {"sample.there"},
    "kg-melt-viscosity": {"build.bonds", "build.density", "produce.samples", "shear.strain"},
    "lj-dimer-apr": {"references.guests", "trials.deployed"},
    "lj-liquid-viscosity": {"build.atoms", "build.density", "build.box", "produce.samples", "green_kubo.replicas"},
    "rg-cross-backend": {"build.beads"},
    "rg-cross-backend-gpu": {"build.beads"},
    "rietveld-fluorapatite": set(),
    "rietveld-pbso4": set(),
    "sic-conductivity": {"build.atoms", "green_kubo_flux.samples"},
}


@pytest.fixture
def liquid(tmp_path):
    """Return a function that gives the shipped liquid with texts of its spec replaced."""

    def changed(*replaced):
        text = LIQUID.read_text()
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "campaign.yaml").write_text(text)
        return spec.load(tmp_path / "campaign.yaml")

    return changed


def status(made, stage, expression):
    return mutation.judge(made, stage, spec.Criterion("one", expression, "")).status


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_each_criterion_of_a_shipped_campaign_can_fail_or_is_listed_here(path):
    judged = mutation.judge_all(spec.load(path))
    assert [one.id for one in judged if one.status == mutation.UNKNOWN] == []
    held = {f"{one.stage}.{one.id}" for one in judged if one.status == mutation.HOLDS}
    guests = {"references.guests"} | ({"trials.deployed"} if "trials.deployed" in held else set())
    assert held == BY_CONSTRUCTION.get(path.parent.name, guests)
    assert criteria_review.unverified(spec.load(path)) == []


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_a_shipped_campaign_has_a_criterion_for_each_planted_fault(path):
    made = spec.load(path)
    judged = mutation.judge_all(made)
    assert mutation.uncaught(made, judged) == []
    assert any(one.status == mutation.FAILS for one in judged)


@pytest.mark.parametrize("path", HOST_GUEST, ids=lambda path: path.parent.name)
def test_sound_trials_pass_what_faults_of_them_fail(path):
    made = spec.load(path)
    result = mutation.plausible(made, "trials")
    passed = [
        criteria.evaluate(one.expression, {**made.constants("trials"), **result}).passed
        for one in made.criteria("trials")
    ]
    assert passed == [True] * len(passed)


@pytest.mark.parametrize("kind_name", KINDS)
def test_planted_faults_name_what_results_have(kind_name):
    kind = entry_points.load("sophron.kinds", kind_name)
    stages = {mutation.of_schema(stage): stage for stage in kind.stages}
    planted = mutation.planted(kind)
    assert set(planted.stages) <= set(stages)
    for name, about in planted.stages.items():
        result = documents.schema(stages[name].schema)["$defs"]["result"]["properties"]
        assert set(about.fixed) | set(about.plausible) <= set(result)
    for fault in planted.faults:
        assert set(fault.results) | set(fault.stops) <= set(stages)
        for name, values in fault.results.items():
            assert set(values) <= set(planted.stages[name].plausible) - set(planted.stages[name].fixed)
    assert len({fault.id for fault in planted.faults}) == len(planted.faults)


@pytest.mark.parametrize(
    ("stage", "expression"),
    [
        ("green_kubo", "cutoff_ratio >= 3"), ("green_kubo", "replicas >= 4"), ("produce", "samples == 68001"),
        ("build", "atoms == 256"), ("build", "bonds == 0"), ("build", "abs(density - 0.8442) < 1e-6"),
        ("equilibrate", "temperature_mean < 1e9"), ("green_kubo", "viscosity_relative_error < 10"),
        ("equilibrate", "isfinite(temperature_uncertainty)"),
    ],
)  # fmt: skip
def test_what_no_wrong_result_fails_holds_by_construction(liquid, stage, expression):
    assert status(liquid(), stage, expression) == mutation.HOLDS


@pytest.mark.parametrize(
    ("stage", "expression"),
    [
        ("green_kubo", "viscosity_relative_error < 0.02"), ("produce", "abs(energy_drift) < 0.005"),
        ("equilibrate", "abs(temperature_mean - definition.temperature) < 0.01"), ("produce", "files_missing == 0"),
        ("green_kubo", "not refused"), ("green_kubo", "window_tau >= 5 * longest_relaxation_tau"),
    ],
)  # fmt: skip
def test_what_a_wrong_result_fails_can_fail(liquid, stage, expression):
    assert status(liquid(), stage, expression) == mutation.FAILS


def test_the_least_change_that_fails_a_criterion_is_told_and_the_faults_that_do(liquid):
    (one,) = [found for found in mutation.judge_all(liquid()) if (found.stage, found.id) == ("produce", "temperature")]
    assert one.why == "temperature_mean 0.7234 -> 0.7451"  # 3 %
    assert one.faults == ("wrong-temperature", "swapped-unit")


def test_a_fault_that_no_criterion_fails_is_named(liquid):
    loose = liquid(("abs(energy_drift) < 0.005", "abs(energy_drift) < 5"))
    assert [fault.id for fault in mutation.uncaught(loose, mutation.judge_all(loose))] == ["time-step"]


def test_a_criterion_on_what_nobody_states_is_not_judged(liquid):
    one = mutation.judge(liquid(), "relax", spec.Criterion("one", "bond_length_max < 1.3", ""))
    assert (one.status, one.why) == (mutation.UNKNOWN, "no plausible value of bond_length_max is stated")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("criterion plateau of green_kubo", ["green_kubo.plateau"]),
        ("criterion molten of stage relax; the rest", ["relax.molten"]),
        ("criteria temperature of produce and of green_kubo", ["produce.temperature", "green_kubo.temperature"]),
        ("criteria drift of produce, temperature of green_kubo", ["produce.drift", "green_kubo.temperature"]),
        ("green_kubo.error", ["green_kubo.error"]),
        ("a person of green_kubo; error of the paper", []),
    ],
)
def test_criteria_are_read_from_the_words_of_an_assumption(liquid, text, found):
    assert [f"{stage}.{one.id}" for stage, one in mutation.cited(liquid(), text)] == found


PLATEAU = "criterion plateau of green_kubo"


def test_an_assumption_that_only_an_empty_check_verifies_closes_the_gate(liquid):
    (sentence,) = criteria_review.closed(liquid((PLATEAU, "criterion replicas of green_kubo")))
    assert "method.assumptions[2].verified_by: the assumption plateau is verified only by green_kubo.rep" in sentence
    (both,) = criteria_review.closed(liquid((PLATEAU, "criteria atoms of build, replicas of green_kubo")))
    assert "only by build.atoms and green_kubo.replicas" in both


@pytest.mark.parametrize(
    "text", ["criteria replicas of green_kubo, error of green_kubo", "replicas of green_kubo; probe x"]
)
def test_an_assumption_that_something_else_verifies_too_does_not(liquid, text):
    assert criteria_review.closed(liquid((PLATEAU, text))) == []


def test_a_finished_result_is_perturbed_in_place_of_the_stated_one(liquid, capsys, tmp_path):
    made = liquid()
    result = mutation.plausible(made, "produce") | {"temperature_mean": 0.73}
    outcome = outcome_store.Outcome(
        "done", None, result, {}, {}, definition_digest=made.definition_digest("produce"), stage="produce"
    )
    path = tmp_path / "results" / "produce" / "0" / "outcome.json"
    path.parent.mkdir(parents=True)
    write_json(path, to_json(outcome))
    outcome_store.publish(tmp_path, step_name("produce", {"replica": "0"}), path)
    assert main(["review", str(tmp_path), "--mutate"]) == 0
    words = capsys.readouterr().out
    assert "the results of produce, else" in words
    assert "temperature_mean 0.73 -> 0.7373" in words


def test_review_mutate_ends_in_1_where_an_assumption_rests_on_an_empty_check(liquid, tmp_path, capsys):
    liquid((PLATEAU, "criterion replicas of green_kubo"))
    assert main(["review", str(tmp_path), "--mutate"]) == 1
    assert "the assumption plateau is verified only by" in capsys.readouterr().out


def test_a_kind_of_another_distribution_gives_the_path_of_its_own_file(tmp_path):
    file = tmp_path / "planted_faults.yaml"
    file.write_text(
        "stages: {produce: {plausible: {temperature_mean: 1.0}}}\n"
        "faults: [{id: hot, what: It is hot., results: {produce: {temperature_mean: 2 * temperature_mean}}}]\n"
    )
    kind = replace(entry_points.load("sophron.kinds", "viscosity"), planted_faults=str(file))
    assert [fault.id for fault in mutation.planted(kind).faults] == ["hot"]
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("stages: {}\nfaults: [{id: hot, what: It is hot.}]\n")
    with pytest.raises(UserError, match=r"wrong\.yaml:2"):
        mutation.planted(replace(kind, planted_faults=str(wrong)))
    assert mutation.planted(replace(kind, planted_faults="")).faults == ()


def test_the_stages_that_an_amendment_brings_are_judged_too(tmp_path):
    amended = planted_errors.of({"campaign": "sic-conductivity", "amended": "many-body-heat-flux", "set": {}})
    (tmp_path / "campaign.yaml").write_text(yaml.safe_dump(amended))
    made = spec.load(tmp_path / "campaign.yaml")
    judged = [one for one in mutation.judge_all(made) if one.stage in ("mueller_plathe", "extrapolate")]
    assert len(judged) >= 8
    assert {one.status for one in judged} == {mutation.FAILS}
    assert mutation.uncaught(made, mutation.judge_all(made)) == []
