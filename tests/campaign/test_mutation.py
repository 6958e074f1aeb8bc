"""Mutation: a criterion that no wrong result fails is known as such, and cannot be all that verifies an assumption."""

from dataclasses import replace
from pathlib import Path

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

EXAMPLE = Path(__file__).parents[2] / "examples" / "host-pipeline" / "liquid" / "campaign.yaml"
SHIPPED = [*sorted(resource("campaigns").glob("*/campaign.yaml")), EXAMPLE]
HOST_GUEST = [path for path in SHIPPED if "kind: host_guest" in path.read_text()]
KINDS = ["agent_build", "chain_conformation", "conductivity", "host_guest", "rietveld", "sequence_bo", "viscosity"]
LIQUID = resource("campaigns", "lj-liquid-viscosity", "campaign.yaml")
BY_CONSTRUCTION = {
    "agent-build-ladder": {"sample.there"},
    "copolymer-sequences": set(),
    "kg-melt-viscosity": {"build.bonds", "build.density", "produce.samples", "shear.strain"},
    "liquid": {"build.atoms", "produce.samples"},
    "lj-dimer-apr": {"references.guests", "trials.deployed"},
    "lj-liquid-viscosity": {"build.atoms", "build.density", "build.box", "produce.samples", "green_kubo.replicas"},
    "rg-cross-backend": {"build.beads"},
    "rg-cross-backend-gpu": {"build.beads"},
    "rietveld-fluorapatite": set(),
    "rietveld-fluorapatite-gsas2": set(),
    "rietveld-pbso4": set(),
    "sic-conductivity": {"build.atoms", "green_kubo_flux.samples"},
    "sic-phonons": {"build.atoms", "displace.atoms"},
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
        assert set(about.fixed) | set(about.plausible) | set(about.computed) <= set(result)
    for fault in planted.faults:
        assert set(fault.results) | set(fault.stops) <= set(stages)
        for name, values in fault.results.items():
            about = planted.stages[name]
            assert set(values) <= {*about.plausible, *about.computed} - set(about.fixed)
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
    ("campaign", "stage", "expression"),
    [
        ("lj-liquid-viscosity", "green_kubo", "interval_low <= viscosity and viscosity <= interval_high"),
        ("lj-liquid-viscosity", "green_kubo", "interval_high > 0"),
        ("lj-liquid-viscosity", "green_kubo", "cutoff_tau <= window_tau"),
        ("lj-liquid-viscosity", "green_kubo", "abs(cutoff_tau / longest_relaxation_tau - cutoff_ratio) < 0.001"),
        ("lj-liquid-viscosity", "green_kubo", "viscosity_standard_error / viscosity <= viscosity_relative_error + 0.01"),
        ("lj-liquid-viscosity", "green_kubo", "viscosity_relative_error < 0.3"), # the estimator refuses before
        ("lj-liquid-viscosity", "produce", "isfinite(energy_mean) and samples * definition.sample_every >= 1"),
        ("kg-melt-viscosity", "cross_check", "combined_error >= viscosity_zero_rate_error"),
        ("kg-melt-viscosity", "relax", "bond_length_max < 1.5"),
        ("rietveld-pbso4", "refine", "whole_plots_seen <= plots_seen"),
        ("rietveld-pbso4", "refine", "abs(rwp_percent / r_expected_percent - gof) < 0.05"),
        ("rietveld-pbso4", "data", "low_deg < high_deg"), ("rietveld-pbso4", "compare", "reports_that_stand <= patterns"),
        ("lj-dimer-apr", "trials", "successes <= trials"), ("lj-dimer-apr", "trials", "max(least_overlap, 0) <= 1"),
        ("lj-dimer-apr", "trials", "unanswered <= len(definition.held_out)"),
        ("rg-cross-backend", "compare", "degrees_of_freedom == distinct_sets - 1"),
        ("rg-cross-backend", "compare", "agree or p_value < definition.significance"),
        ("rg-cross-backend", "compare", "distinct_sets <= 4"), ("rg-cross-backend", "compare", "degrees_of_freedom < 4"),
        ("rg-cross-backend", "compare", "files_missing <= 1"), ("rietveld-pbso4", "refine", "impurities_claimed < 1"),
        ("agent-build-ladder", "build", "iterations <= 12"), ("agent-build-ladder", "build", "2 * rolled_back <= 24"),
        ("agent-build-ladder", "build", "tiers_passed < definition.iterations + 1"),
        ("rg-cross-backend", "sample_local", "squared_radius >= 0.999 * radius_of_gyration ** 2"),
        ("sic-conductivity", "green_kubo", "cutoff <= window"),
        ("agent-build-ladder", "build", "held_out_passed <= question.conditions.held_out"),
    ],
)  # fmt: skip
def test_what_the_code_makes_true_of_every_result_holds_by_construction(campaign, stage, expression):
    made = spec.load(resource("campaigns", campaign, "campaign.yaml"))
    assert status(made, stage, expression) == mutation.HOLDS


@pytest.mark.parametrize(
    ("campaign", "stage", "expression"),
    [
        ("lj-liquid-viscosity", "green_kubo", "viscosity_relative_error < 0.2"),
        ("lj-liquid-viscosity", "green_kubo", "(interval_high - interval_low) / viscosity < 0.15"),
        ("lj-liquid-viscosity", "green_kubo", "remainder < 0.5 * viscosity_standard_error"),
        ("lj-liquid-viscosity", "equilibrate", "abs(settled_energy - energy_target) < 5 * energy_error"),
        ("lj-liquid-viscosity", "equilibrate", "50 * correlation_time < definition.steps * definition.timestep"),
        ("kg-melt-viscosity", "cross_check", "p_difference > 0.05"), ("kg-melt-viscosity", "cross_check", "abs(z) < 2"),
        ("rietveld-pbso4", "refine", "gof < 3 and rp_percent < rwp_percent"),
        ("rietveld-pbso4", "compare", "reports_that_stand == patterns"),
        ("rietveld-pbso4", "data", "counts / points > 20"),
        ("lj-dimer-apr", "trials", "held_out_standard_error_kcal_per_mol < 0.2"),
        ("lj-dimer-apr", "trials", "refused == 0"), ("rg-cross-backend", "compare", "detectable_shift < definition.shift"),
        ("rg-cross-backend", "sample_local", "squared_radius_error < 0.02 * squared_radius"),
        ("rg-cross-backend", "compare", "distinct_sets >= 2"), ("rg-cross-backend", "compare", "distinct_sets == 3"),
        ("rg-cross-backend", "compare", "degrees_of_freedom < 2"), ("lj-liquid-viscosity", "produce", "continued <= 3"),
        ("agent-build-ladder", "build", "rolled_back <= 11"), ("agent-build-ladder", "build", "iterations < 12"),
        ("rietveld-pbso4", "refine", "cycles_failed <= 5"), ("rietveld-pbso4", "refine", "cycles <= 40"),
    ],
)  # fmt: skip
def test_sound_criteria_of_several_numbers_can_fail(campaign, stage, expression):
    made = spec.load(resource("campaigns", campaign, "campaign.yaml"))
    assert status(made, stage, expression) == mutation.FAILS


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_plausible_results_and_faults_are_what_the_code_can_give(path):
    made = spec.load(path)
    for stage in made.stages:
        about, result = mutation.planted(made.kind).of(stage), mutation.plausible(made, stage.name)
        constants = made.constants(stage.name)
        for one in about.always:
            names = criteria.names_of(criteria.parse(one)) - set(constants)
            if names <= set(result):
                assert criteria.evaluate(one, {**constants, **result}).passed, one


def test_a_result_that_fails_as_it_is_says_so_and_counts_no_fault_as_found():
    made = spec.load(resource("campaigns", "lj-dimer-apr", "campaign.yaml"))
    one = mutation.judge(made, "trials", spec.Criterion("one", "refused == 0", ""))
    assert (one.status, one.why, one.faults) == (mutation.FAILS, "the result fails it as it is", ())


def test_a_number_that_no_step_states_beside_one_that_is_stated_is_not_judged(liquid):
    assert status(liquid(), "produce", "pressure_mean > 0 and frames >= 0") == mutation.UNKNOWN


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
        ("criteria plateau and error of green_kubo", ["green_kubo.plateau", "green_kubo.error"]),
        ("green_kubo.error", ["green_kubo.error"]),
        ("a person of green_kubo; error of the paper", []),
    ],
)
def test_criteria_are_read_from_the_words_of_an_assumption(liquid, text, found):
    assert [f"{stage}.{one.id}" for stage, one in mutation.cited(liquid(), text)] == found


def test_what_checks_a_statement_is_a_criterion_or_a_probe_and_no_file_or_person(liquid):
    text = "probe repeated-seeds; criterion plateau of green_kubo; bench/results/liquid_size.json; many-body-heat-flux"
    assert criteria_review.checks(liquid(), text) == ["green_kubo.plateau", "probe repeated-seeds"]
    assert criteria_review.checks(liquid(), "the person who asked, and build, which makes one") == []


PLATEAU = "criterion plateau of green_kubo"


def test_an_assumption_that_only_an_empty_check_verifies_closes_the_gate(liquid):
    (sentence,) = criteria_review.closed(liquid((PLATEAU, "criterion replicas of green_kubo")))
    assert "method.assumptions[2].verified_by: the assumption plateau is verified only by green_kubo.rep" in sentence
    (both,) = criteria_review.closed(liquid((PLATEAU, "criteria atoms of build, replicas of green_kubo")))
    assert "only by build.atoms and green_kubo.replicas" in both


@pytest.mark.parametrize(
    "text",
    [
        "criteria replicas of green_kubo, error of green_kubo",
        "replicas of green_kubo; probe run-shorter-than-relaxation",
    ],
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


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("the `replicas` criterion, in green_kubo", "only by green_kubo.replicas, which cannot fail"),
        ("criterion replicas of green_kubo; no probe looks at it", "only by green_kubo.replicas, which cannot fail"),
        ("criterion replicas of green_kubo; probe windows-too-short", "only by green_kubo.replicas, which cannot fail"),
        ("criterion plateaus of green_kubo", "by green_kubo.plateaus, which is not there"),
        (
            "criteria plateaus and errors of green_kubo",
            "by green_kubo.plateaus and green_kubo.errors, which is not there",
        ),
        ("probe plateau-too-short", "by plateau-too-short, which is not there"),
    ],
)
def test_other_words_open_no_gate(liquid, text, fault):
    (sentence,) = criteria_review.closed(liquid((PLATEAU, f'"{text}"')))
    assert f"the assumption plateau is verified {fault}" in sentence


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
