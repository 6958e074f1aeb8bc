"""Stages of the kind: one evaluation by the real LAMMPS, and a loop over a made-up radius, without the engine."""

import itertools

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from sequence_steps import MODEL, ROUNDS, RUN, VALIDATE, WARM_UP, evaluated, radius

from sophron.interfaces.kind import EngineFailure, UpstreamStep
from sophron.kinds.sequence_bo.kind import KIND
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json
from sophron.science.sequence_bo import compare, evaluate, proposals, rounds, validate, warm_up
from sophron.science.sequence_bo.sequences import blocks, expand, forward

DEFINITIONS = {"warm_up": WARM_UP, "rounds": ROUNDS, "validate": VALIDATE, "compare": {}}


def valid(name, result):
    """The result, which must fit its schema."""
    document = documents.schema(f"sequence_bo/{name}")
    Draft202012Validator({**document, "$ref": "#/$defs/result"}).validate(result)
    return result


def warmed(context):
    """The warm-up of the made-up radius."""
    chosen = warm_up.chosen(context("warm_up", WARM_UP))
    return [
        evaluated("warm_up", {"sequence": str(number)}, sequence, model=MODEL) for number, sequence in enumerate(chosen)
    ]


def loop(context, count, definition=ROUNDS, seed=7):
    """Results of `propose` and `update`, round by round, as Snakemake would run them."""
    start, previous, found = warmed(context), {}, []
    for number in range(count):
        here = {"round": str(number)}
        ctx = context("propose", definition, here, {"warm_up": start}, previous, seed=seed + number)
        proposed = valid("propose", rounds.propose(ctx).result)
        steps = [
            evaluated("evaluate", {**here, "item": str(item)}, one["sequence"])
            for item, one in enumerate(proposed["proposals"])
        ]
        upstream = {"warm_up": start, "propose": [UpstreamStep("propose", here, proposed, {})], "evaluate": steps}
        updated = valid("update", rounds.update(context("update", definition, here, upstream, previous)).result)
        previous = {"update": [UpstreamStep("update", here, updated, {})]}
        found.append((proposed, updated))
    return found


def test_lammps_evaluates_a_chain(context):
    ctx = context("warm_up", WARM_UP, {"sequence": "0"})
    done = warm_up.run(ctx)
    result = valid("warm_up", done.result)
    assert blocks(result["sequence"]) == "A4B4"
    assert result["samples"] == 3000
    assert 0.8 < result["radius_of_gyration"] < 1.4
    assert 0 < result["radius_of_gyration_error"] < 0.05
    assert result["temperature_mean"] == pytest.approx(1.0, abs=0.1)
    assert "lammps" in done.tools
    again = warm_up.run(context("warm_up", WARM_UP, {"sequence": "0"}, seed=8)).result
    assert again["radius_of_gyration"] != result["radius_of_gyration"]


def test_a_series_too_short_for_an_error_has_no_value(context):
    short = {**RUN, "steps": 2000, "sample_every": 2}
    with pytest.raises(EngineFailure, match=r"A4B4: .* run longer"):
        evaluate.evaluate(context("warm_up", short), "AAAABBBB", MODEL)


def test_the_input_has_the_energies_of_the_model(context):
    ctx = context("warm_up", {**RUN, "discard_steps": 0, "steps": 20_000}, seed=3)
    evaluate.evaluate(ctx, "ABABABAB", {**MODEL, "epsilon_b": 2.25})
    text = (ctx.workdir / "in.sample").read_text()
    assert "pair_coeff      1 2 1.5 1.0" in text
    assert "special_bonds   fene" in text
    assert "1 1 -" in evaluate.data_file("ABAB", 1.5)


def test_the_warm_up_is_the_same_in_each_step(context):
    chosen = warm_up.chosen(context("warm_up", WARM_UP))
    assert chosen[0] == "AAAABBBB"
    assert len(set(chosen)) == 6
    assert chosen == warm_up.chosen(context("warm_up", WARM_UP, {"sequence": "3"}))


def test_a_loop_finds_the_largest_and_keeps_to_its_budget(context):
    found = loop(context, 3)
    for proposed, _ in found:
        origins = [one["origin"] for one in proposed["proposals"]]
        assert origins.count("repeat") == ROUNDS["repeats"]
        assert len(origins) == ROUNDS["batch"]
    last = found[-1][1]
    assert len(last["observations"]) == 6 + 3 * 3
    assert [one["over"] for _, one in found] == [False, False, True]
    assert radius(last["best"]) == max(radius(one["sequence"]) for one in last["observations"])


def test_a_killed_loop_goes_on_as_it_would_have(context):
    whole = loop(context, 3)
    assert loop(context, 2) == whole[:2]  # equal steps give equal results, so what was lost is made again


def test_thompson_sampling_by_definition(context):
    drawn = loop(context, 1, {**ROUNDS, "acquisition": "thompson"})[0][0]
    assert len(drawn["proposals"]) == 3
    assert drawn == loop(context, 1, {**ROUNDS, "acquisition": "thompson"})[0][0]
    assert drawn != loop(context, 1, {**ROUNDS, "acquisition": "thompson"}, seed=99)[0][0]


def test_a_failed_evaluation_is_a_fact_of_the_loop(context):
    start, here = warmed(context), {"round": "0"}
    proposed = rounds.propose(context("propose", ROUNDS, here, {"warm_up": start})).result
    broken = UpstreamStep("evaluate", {**here, "item": "0"}, {}, {}, failed="too short")
    upstream = {"warm_up": start, "propose": [UpstreamStep("propose", here, proposed, {})], "evaluate": [broken]}
    result = valid("update", rounds.update(context("update", ROUNDS, here, upstream)).result)
    assert result["failed"] == 1
    assert len(result["observations"]) == 6


def test_little_to_gain_ends_the_loop(context):
    (_, updated), *_ = loop(context, 1, {**ROUNDS, "least_gain": 10.0})
    assert updated["over"]
    assert updated["little_to_gain"]


def test_ranking_validation_and_answer(context):
    start = warmed(context)
    updates = [
        UpstreamStep("update", {"round": str(number)}, updated, {})
        for number, (_, updated) in enumerate(loop(context, 2))
    ]
    done = rounds.run(context("rounds", ROUNDS, {}, {"warm_up": start, "update": updates}))
    ranked = valid("rounds", done.result)
    assert done.files["progress_plot"].read_text().startswith("<?xml")
    assert ranked["evaluations"] == 12
    assert [row["evaluations"] for row in ranked["progress"]] == [9, 12]
    assert ranked["progress"][-1]["best"] == ranked["best_blocks"]
    assert ranked["repeats"] == 12 - len(ranked["ranked"])
    values = [row["expected"] for row in ranked["ranked"]]
    assert values == sorted(values, reverse=True)
    steps = []
    for candidate in KIND.ranges(DEFINITIONS)["candidate"]:
        here = {"candidate": candidate}
        before = {"rounds": [UpstreamStep("rounds", {}, ranked, {})]}
        result = valid("validate", validate.run(context("validate", VALIDATE, here, before)).result)
        steps.append(UpstreamStep("validate", here, result, {}))
    assert steps[0].result["sequence"] == ranked["best"]
    assert steps[-1].result["sequence"] == ranked["best_of_warm_up"]
    compared = compare.run(context("compare", {}, {}, {"validate": steps}))
    answer = valid("compare", compared.result)
    assert answer["sequence"] == ranked["best_blocks"]
    assert answer["radius_of_gyration"] == steps[0].result["radius_of_gyration"]
    assert answer["gain"] == pytest.approx(answer["radius_of_gyration"] - steps[-1].result["radius_of_gyration"])
    assert compared.files["candidates_plot"].read_text().startswith("<?xml")


def test_more_candidates_than_sequences_are_refused(context):
    before = {"rounds": [UpstreamStep("rounds", {}, {"ranked": []}, {})]}
    with pytest.raises(EngineFailure, match="only 0 sequences were evaluated"):
        validate.run(context("validate", VALIDATE, {"candidate": "4"}, before))


def test_a_pool_is_all_that_may_be_proposed():
    names = ("batch", "repeats", "acquisition", "draws", "parents", "candidates")
    settings = from_json(proposals.Settings, {name: ROUNDS[name] for name in names})
    pool = sorted({forward("".join(one)) for one in itertools.permutations("AAABBB")})
    known = [proposals.Observation(one, radius(one), 0.01, "warm_up/0") for one in pool[:5]]
    found = proposals.propose(known, settings, np.random.default_rng(1), pool)
    fresh = [one.sequence for one in found.proposals if one.origin != proposals.REPEAT]
    assert len(fresh) == 2
    assert set(fresh) <= set(pool[5:])


@pytest.mark.parametrize(
    ("stage", "changed", "said"),
    [
        ("warm_up", {"given": ["A4B3"]}, "A4B3 has 7 beads, 3 of them B, and the chain 8 and 4"),
        ("warm_up", {"given": ["A4B4", "B4A4"]}, "two are the same chain"),
        ("warm_up", {"given": ["A4C4"]}, "is not a sequence"),
        ("warm_up", {"random": 1}, "four sequences at least"),
        ("warm_up", {"random": 500}, "there are 38 sequences"),
        ("rounds", {"repeats": 3}, "no new sequence; make it less than batch"),
    ],
)
def test_definitions_that_cannot_run_are_refused(stage, changed, said):
    with pytest.raises(UserError, match=said):
        KIND.ranges({**DEFINITIONS, stage: {**DEFINITIONS[stage], **changed}})


def test_ranges_bound_the_loop():
    assert KIND.ranges(DEFINITIONS) == {
        "sequence": [str(number) for number in range(6)],
        "round": ["0", "1", "2"],
        "item": ["0", "1", "2"],
        "candidate": ["0", "1", "warm_up"],
    }
    assert expand("A2B2") == "AABB"


@pytest.mark.parametrize("stage", ["warm_up", "rounds", "validate", "compare"])
def test_definitions_of_the_tests_fit_their_schemas(stage):
    document = documents.schema(f"sequence_bo/{stage}")
    Draft202012Validator({**document, "$ref": "#/$defs/definition"}).validate(DEFINITIONS[stage])


def agreed(context, *proposed, **more):
    """The proposals of a round in which the agent named `proposed`."""
    start = warmed(context)
    answer = {"proposals": [{"sequence": one, "reason": "x"} for one in proposed]}
    asked = UpstreamStep("propose_sequences", {"round": "0"}, answer, {}, **more)
    upstream = {"warm_up": start, "propose_sequences": [asked]}
    definition = {**ROUNDS, "agent_proposals": 2}
    return valid("propose", rounds.propose(context("propose", definition, {"round": "0"}, upstream)).result), start


def test_what_the_agent_proposes_is_evaluated(context):
    result, _ = agreed(context, "B2A4B2", "ABBAABBA")
    assert [one["origin"] for one in result["proposals"]] == ["agent", "agent", "repeat"]
    assert {one["sequence"] for one in result["proposals"][:2]} == {"BBAAAABB", "ABBAABBA"}
    assert result["dropped"] == 0


def test_what_does_not_fit_is_dropped_and_its_place_is_filled(context):
    result, start = agreed(context, "A4B4", "A5B3", "AB", "B2A4B2", "BBAAAABB", "A2B4A2", "A3B4A")
    assert blocks(start[0].result["sequence"]) == "A4B4"
    assert [one["origin"] for one in result["proposals"]] == ["agent", "agent", "repeat"]
    assert result["dropped"] == 5
    alone, _ = agreed(context, "A4B4", "A9")
    assert len({one["sequence"] for one in alone["proposals"][:2]}) == 2
    assert "agent" not in {one["origin"] for one in alone["proposals"]}


def test_a_round_whose_agent_failed_goes_on_without_it(context):
    result, _ = agreed(context, failed="no answer")
    assert len(result["proposals"]) == ROUNDS["batch"]
    assert result["dropped"] == 0


def test_an_agent_has_room_or_is_refused():
    with pytest.raises(UserError, match="agent_proposals"):
        KIND.ranges({**DEFINITIONS, "rounds": {**ROUNDS, "agent_proposals": 3}})
    assert list(KIND.left_out(DEFINITIONS)) == ["propose_sequences"]
    assert not KIND.left_out({**DEFINITIONS, "rounds": {**ROUNDS, "agent_proposals": 2}})
