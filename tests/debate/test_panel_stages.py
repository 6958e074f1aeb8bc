"""Steps that weigh and count, on finished steps as they find them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sophron.debate.panel.reputation import Reputation, thompson
from sophron.debate.trials import execute_stage_file, panel_stages, trial_setup
from sophron.debate.trials.methods import EXPERTS
from sophron.debate.trials.trial_loop import Trial, held_out_of
from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.records.documents import Document, validate
from sophron.records.typed_json import from_json, to_json

from . import dimers
from .panels import vote

REFERENCES = {"weak": -1.0, "strong": -2.0, "between": -1.5}
DEFINITION = {
    "method": "full",
    "training": ["weak", "strong"],
    "held_out": ["between"],
    "successes": 2,
    "failures": 2,
    "theta_pass": 0.8,
    "attempts": 2,
    "most_windows": 18,
    "ns_per_window": 1.0,
    "platform": "Reference",
    "reputation": "mean",
    "draw_seed": 3,
}


def upstream(name, result, files=None, **wildcards):
    return UpstreamStep(name, {key: str(value) for key, value in wildcards.items()}, result, files or {})


@pytest.fixture
def context(tmp_path):
    def made(found, previous=None, **wildcards):
        names = (
            "tasks",
            "pipeline_author",
            "pipeline_critic",
            "rehearse",
            "screen",
            "benchmark",
            "review",
            "close",
            *execute_stage_file.PARTS,
        )
        votes = [f"vote_{stem}" for stem in ("pre", "single", "post", "design")]
        grouped = {name: [one for one in found if one.stage == name] for name in (*names, *votes, "references")}
        return StepContext(
            stage="trials",
            wildcards={key: str(value) for key, value in wildcards.items()},
            definition=DEFINITION,
            upstream=grouped,
            previous={"close": previous or []},
            workdir=tmp_path,
            log_dir=tmp_path,
            seed=1,
        )

    return made


def kept(folder):
    path = folder / "references.json"
    path.write_text(json.dumps(REFERENCES))
    return upstream("references", {"guests": 3}, {"references": path})


def executed(trial, values, status="completed", windows=2):
    found = []
    for guest, value in values.items():
        where = {"trial": trial, "guest": guest}
        found += [
            upstream(part, {"status": "completed", "delta_g_kcal_per_mol": None}, **where)
            for part in execute_stage_file.PARTS[:2]
        ]
        found += [
            upstream("produce", {"status": status, "delta_g_kcal_per_mol": None}, window=window, **where)
            for window in range(windows)
        ]
        last = "skipped" if status == "failed" else "completed" if value is not None else "refused"
        found.append(upstream("analyse", {"status": last, "delta_g_kcal_per_mol": value}, **where))
    return found


def votes(stem, label, trial=0):
    said = to_json(vote(label, 0.9, ("high", "analysis", "look")))
    return [
        upstream(f"vote_{stem}", said, expert=expert, trial=trial, turn=turn) for expert in EXPERTS for turn in (1, 2)
    ]


def rehearsed(state, trial=0):
    return upstream("rehearse", {"state": state, "windows": 12}, trial=trial, attempt=0)


def fits(result, schema):
    validate(Document(json.loads(json.dumps(result.result)), Path("outcome")), f"host_guest/{schema}", "result")
    return result.result


def closed(context, tmp_path, label="pass", *, trial=0, previous=None):
    ran = executed(trial, {"weak": -1.1, "strong": -2.2})
    made = fits(panel_stages.benchmark(context([kept(tmp_path), *ran], trial=trial)), "benchmark")
    told = context([*votes("pre", label, trial), *votes("post", label, trial)], previous, trial=trial)
    before = fits(panel_stages.screen(told), "critique")
    after = fits(panel_stages.review(told), "critique")
    found = [
        rehearsed("ready", trial),
        upstream("benchmark", made, trial=trial),
        upstream("screen", before, trial=trial),
        upstream("review", after, trial=trial),
    ]
    result = fits(panel_stages.close(context(found, previous, trial=trial)), "close")
    return upstream("close", result, trial=trial)


def test_a_good_trial_that_the_panel_passes_ends_the_loop(context, tmp_path):
    done = closed(context, tmp_path).result
    assert (done["failure"], done["succeeded"], done["over"]) == ("clean", True, True)
    assert done["standing"] == {"successes": 1, "failures_in_a_row": 0, "end": "passed", "deployed": 0}


def test_an_uncertain_panel_lets_it_go_on_until_enough_succeeded(context, tmp_path):
    first = closed(context, tmp_path, "uncertain")
    assert first.result["over"] is False
    second = closed(context, tmp_path, "uncertain", trial=1, previous=[first])
    assert second.result["standing"]["end"] == "successes"
    assert len(second.result["trials"]) == 2


def test_a_trial_that_never_ran_or_crashed_is_typed(context, tmp_path):
    for state, failure in (("rejected", "layer1"), ("stuck", "mid_pipeline_crash")):
        result = fits(panel_stages.close(context([rehearsed(state)], trial=0)), "close")
        assert (result["failure"], result["over"], result["standing"]["deployed"]) == (failure, False, None)
    ran = executed(0, {"weak": None, "strong": None}, status="failed")
    made = fits(panel_stages.benchmark(context([kept(tmp_path), *ran], trial=0)), "benchmark")
    assert (made["failure"], made["analysed"], made["succeeded"]) == ("mid_pipeline_crash", False, False)


def test_refusals_on_all_guests_are_a_failure_of_their_own(context, tmp_path):
    ran = executed(0, {"weak": None, "strong": None})
    made = fits(panel_stages.benchmark(context([kept(tmp_path), *ran], trial=0)), "benchmark")
    assert (made["failure"], made["succeeded"], made["reward_kcal_per_mol"]) == ("analysis_refusal", False, None)
    assert made["analysed"]  # the panel sees it, although it counts as a failure


def test_no_outcome_of_a_trial_holds_a_reference(context, tmp_path):
    text = json.dumps(closed(context, tmp_path).result)
    assert not any(f'"{name}": {value}' in text for name, value in REFERENCES.items())


def test_a_panel_learns_whom_to_trust(context, tmp_path):
    first = closed(context, tmp_path, "pass")
    told = context(votes("pre", "fail", 1), [first], trial=1)
    weights = panel_stages.screen(told).result["critique"]["reputations"]
    assert weights == dict.fromkeys(EXPERTS.values(), pytest.approx(2 / 3))


def test_by_option_reputations_are_drawn_and_the_draw_can_be_repeated(context, tmp_path):
    first = closed(context, tmp_path, "pass")

    def weights(trial, seed):
        told = context(votes("pre", "fail", trial), [first], trial=trial)
        definition = {**told.definition, "reputation": "thompson", "draw_seed": seed}
        return panel_stages.screen(replace(told, definition=definition)).result["critique"]["reputations"]

    drawn = weights(1, 3)
    assert drawn == weights(1, 3)
    assert drawn == thompson(dict.fromkeys(EXPERTS.values(), Reputation(2, 1)), 3, 1)
    assert len({*drawn.values(), *weights(1, 4).values(), *weights(2, 3).values()}) == 3 * len(EXPERTS)


def test_the_discussion_is_weighed_equally(context):
    found = [
        upstream("vote_design", to_json(vote("uncertain", 0.3)), expert=expert, turn=turn)
        for expert in EXPERTS
        for turn in (1, 2)
    ]
    critique = fits(panel_stages.discussion(context(found)), "discussion")["critique"]
    assert (critique["label"], set(critique["reputations"].values())) == ("uncertain", {0.5})


def test_one_guest_is_weighed_by_what_was_learnt_of_the_experts(context, tmp_path):
    first = closed(context, tmp_path, "pass")
    found = [
        upstream("vote_single", to_json(vote("fail", 0.9)), expert=expert, trial=1, guest="weak", turn=turn)
        for expert in EXPERTS
        for turn in (1, 2)
    ]
    told = context(found, [first], trial=1, guest="weak")
    critique = fits(panel_stages.examine(told), "critique")["critique"]
    assert (critique["mode"], critique["label"], len(critique["rounds"])) == ("post_single", "fail", 2)
    assert critique["reputations"] == dict.fromkeys(EXPERTS.values(), pytest.approx(2 / 3))


@pytest.mark.parametrize("criticised", [False, True])
def test_layer1_looks_at_what_the_critic_made_of_a_draft(context, criticised):
    draft, rewritten = dimers.pipeline(4), dimers.pipeline(6)
    found = [
        upstream("tasks", {"names": ["weak"]}, guest="weak"),
        upstream("pipeline_author", {"reply": draft.reply}, trial=0),
        *([upstream("pipeline_critic", {"reply": rewritten.reply}, trial=0)] if criticised else []),
    ]
    made = trial_setup.looked_at(context(found, trial=0))
    assert fits(made, "layer1")["windows"] == (6 if criticised else 4)


def test_the_end_of_the_loop_judges_the_held_out_guests(context, tmp_path):
    pytest.importorskip("matplotlib")
    done = closed(context, tmp_path)
    reply = tmp_path / "kept.txt"
    reply.write_text(dimers.pipeline().reply)
    ready = upstream("rehearse", {"state": "ready", "windows": 12}, {"pipeline": reply}, trial=0, attempt=0)
    made = panel_stages.trials(context([done, ready, analysed(tmp_path, "between"), kept(tmp_path)]))
    result = fits(made, "trials")
    assert (result["deployed"], result["predicted"], result["failures"]) == (0, {"between": -1.4}, {"clean": 1})
    assert result["held_out"]["mae_kcal_per_mol"] == result["held_out_error_kcal_per_mol"] == pytest.approx(0.1)
    assert (result["predictions"], result["refused"], result["refusal"]) == (2, 0, None)
    assert made.files["pipeline"].read_text() == dimers.pipeline().reply
    assert made.files["trials_plot"].read_text().startswith("<?xml")


STATED = {
    "minimum_overlap": 0.1,
    "effective_samples": [900.0, 80.0, 300.0],
    "block_difference_kcal_per_mol": -0.2,
    "hysteresis_kcal_per_mol": 0.1,
}
HANDED_ON = {
    "least_overlap": 0.1,
    "fewest_effective_samples": 80.0,
    "largest_statistical_error_kcal_per_mol": 0.05,
    "largest_block_difference_kcal_per_mol": 0.2,
    "largest_hysteresis_kcal_per_mol": 0.1,
}


def analysed(folder, guest, value=-1.4, trial=0, **diagnostics):
    """The analysis of a guest: what it states is in its file."""
    said = {"diagnostics": {**STATED, **diagnostics}, "statistical_error_kcal_per_mol": 0.05}
    path = folder / f"{guest}-{trial}.json"
    path.write_text(json.dumps({"result": said}))
    about = {"status": "refused" if value is None else "completed", "delta_g_kcal_per_mol": value, "failure": None}
    return upstream("analyse", about, {"executed": path}, trial=trial, guest=guest)


@pytest.fixture
def ended(context, tmp_path):
    """Return a function: the result of a loop whose deployed pipeline left these analyses of two held-out guests."""
    pytest.importorskip("matplotlib")
    done = closed(context, tmp_path)
    reply = tmp_path / "kept.txt"
    reply.write_text(dimers.pipeline().reply)
    ready = upstream("rehearse", {"state": "ready", "windows": 12}, {"pipeline": reply}, trial=0, attempt=0)

    def result(*analyses):
        told = context([done, ready, kept(tmp_path), *analyses])
        both = replace(told, definition={**DEFINITION, "training": ["weak"], "held_out": ["between", "strong"]})
        return fits(panel_stages.trials(both), "trials")

    return result


def test_the_worst_of_what_held_out_analyses_state_is_handed_on(ended, tmp_path):
    worse = analysed(tmp_path, "strong", minimum_overlap=0.02, hysteresis_kcal_per_mol=-0.7)
    others = analysed(tmp_path, "weak", minimum_overlap=0.001), analysed(tmp_path, "strong", -9.0, 1, minimum_overlap=0)
    result = ended(analysed(tmp_path, "between"), worse, *others)
    expected = {**HANDED_ON, "least_overlap": 0.02, "largest_hysteresis_kcal_per_mol": 0.7, "unanswered": 0}
    assert {name: result[name] for name in expected} == pytest.approx(expected)


def test_each_trial_is_judged_by_the_held_out_guests_only_if_that_was_signed_and_after_the_loop(context, tmp_path):
    pytest.importorskip("matplotlib")
    reply = tmp_path / "kept.txt"
    reply.write_text(dimers.pipeline().reply)
    ready = upstream("rehearse", {"state": "ready", "windows": 12}, {"pipeline": reply}, trial=0, attempt=0)
    done = closed(context, tmp_path)
    (first,) = done.result["trials"]
    second = {**first, "number": 1, "guests": {"weak": first["guests"]["weak"]}}  # never came to all its guests
    both = replace(done, result={**done.result, "trials": [first, second, {**first, "number": 2}]})
    analyses = [analysed(tmp_path, "between", value, trial) for trial, value in ((0, -1.4), (2, -1.2))]
    told = context([both, ready, replace(ready, wildcards={"trial": "2", "attempt": "0"}), *analyses, kept(tmp_path)])
    alone = fits(panel_stages.trials(told), "trials")
    assert "held_out_by_trial" not in alone
    asked = fits(panel_stages.trials(replace(told, definition={**DEFINITION, "held_out_each_trial": True})), "trials")
    errors = {trial: scores["mae_kcal_per_mol"] for trial, scores in asked.pop("held_out_by_trial").items()}
    assert errors == pytest.approx({"0": 0.1, "2": 0.3})
    assert asked == alone
    assert alone["deployed"] == 2  # though it is the worse one there: nothing is chosen by the held-out guests
    trials = [from_json(Trial, each) for each in both.result["trials"]]
    assert [held_out_of(trials, each=each) for each in (False, True)] == [[2], [0, 2]]
    assert fits(panel_stages.close(context([rehearsed("rejected")], trial=0)), "close")["held_out_of"] == []


def test_a_refused_guest_is_counted_and_its_diagnostics_are_not(ended, tmp_path):
    refused = analysed(tmp_path, "strong", None, minimum_overlap=0.001)
    result = ended(analysed(tmp_path, "between"), refused)
    assert {name: result[name] for name in HANDED_ON} == pytest.approx(HANDED_ON)
    assert result["unanswered"] == 1


@pytest.mark.parametrize(
    "missing", [{"effective_samples": []}, {"effective_samples": [60.0, None]}, {"effective_samples": None}]
)
def test_what_one_analysis_does_not_state_is_not_handed_on(ended, tmp_path, missing):
    result = ended(analysed(tmp_path, "between"), analysed(tmp_path, "strong", **missing))
    expected = {**HANDED_ON, "fewest_effective_samples": None}
    assert {name: result[name] for name in expected} == expected


def test_a_loop_without_a_deployable_trial_says_so(context, tmp_path):
    pytest.importorskip("matplotlib")
    failed = upstream("close", panel_stages.close(context([rehearsed("rejected")], trial=0)).result, trial=0)
    result = fits(panel_stages.trials(context([failed, kept(tmp_path)])), "trials")
    assert (result["deployed"], result["held_out"], result["training"], result["predicted"]) == (None, None, None, {})
    assert (result["predictions"], result["refusal"]) == (0, "no pipeline ran to its end")
    assert {result[name] for name in (*HANDED_ON, "unanswered")} == {None}


def test_a_loop_of_refusals_says_why_there_is_no_number(context, tmp_path):
    pytest.importorskip("matplotlib")
    analyses = [
        upstream("analyse", {"status": "refused", "failure": {"sentence": said}}, trial=trial, guest=guest)
        for trial, guest, said in ((0, "weak", "too early"), (1, "weak", "run longer"), (1, "strong", "too few"))
    ]
    done = [
        panel_stages.close(context([ran_and_refused(context, tmp_path), rehearsed("ready")], trial=0)).result,
    ]
    closed_ = [upstream("close", result, trial=0) for result in done]
    result = fits(panel_stages.trials(context([*closed_, *analyses, kept(tmp_path)])), "trials")
    assert (result["refused"], result["predictions"], result["held_out_error_kcal_per_mol"]) == (1, 0, None)
    assert result["refusal"] == "the analysis of strong in trial 1 refused: too few"


def ran_and_refused(context, folder):
    ran = executed(0, {"weak": None, "strong": None})
    made = panel_stages.benchmark(context([kept(folder), *ran], trial=0))
    return upstream("benchmark", made.result, trial=0)
