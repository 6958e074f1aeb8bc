"""Steps of a trial that weigh and count: the panel's critiques, the benchmark, the end of a trial, and of the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sophron.debate.panel import reputation
from sophron.debate.panel.votes import STEMS, Critique, Label, Mode, Vote, aggregate
from sophron.debate.trials import execute_stage_file, trial_figures
from sophron.debate.trials.methods import EXPERTS, TURNS
from sophron.debate.trials.scores import Scores, compare
from sophron.debate.trials.trial_loop import (
    Bounds,
    Failure,
    Guest,
    Standing,
    Trial,
    TrialsResult,
    held_out_of,
    standing,
)
from sophron.debate.trials.trial_setup import PIPELINE_NAME
from sophron.interfaces.kind import StepContext, StepResult, UpstreamStep
from sophron.records import documents, files
from sophron.records.typed_json import from_json, to_json

WORST: Mapping[str, tuple[str, Callable[[Iterable[float]], float]]] = {
    "least_overlap": ("minimum_overlap", min),
    "fewest_effective_samples": ("effective_samples", min),
    "largest_statistical_error_kcal_per_mol": ("statistical_error_kcal_per_mol", max),
    "largest_block_difference_kcal_per_mol": ("block_difference_kcal_per_mol", max),
    "largest_hysteresis_kcal_per_mol": ("hysteresis_kcal_per_mol", max),
}
"""Name in the result of `trials` -> its name in that of an analysis (`debate/stage_result`), and which is the worst."""


def discussion(ctx: StepContext) -> StepResult:
    """The panel's recommendation before there is a pipeline."""
    return StepResult({"critique": to_json(_weighed(ctx, Mode.DESIGN, None))})


def screen(ctx: StepContext) -> StepResult:
    """The panel before the run; advice, whatever it says."""
    return _critique(ctx, Mode.PRE)


def examine(ctx: StepContext) -> StepResult:
    """The panel after one guest of the trial, before it knows the others."""
    return _critique(ctx, Mode.POST_SINGLE)


def review(ctx: StepContext) -> StepResult:
    """The panel after the benchmark."""
    return _critique(ctx, Mode.POST_BENCHMARK)


def _critique(ctx: StepContext, mode: Mode) -> StepResult:
    return StepResult({"critique": to_json(_weighed(ctx, mode, _entries(ctx)))})


def _weighed(ctx: StepContext, mode: Mode, entries: Sequence[Mapping[str, reputation.Reputation]] | None) -> Critique:
    stem = STEMS[mode]
    rounds = [dict(_votes(ctx, stem, turn)) for turn in TURNS]
    standing_now = entries[-1] if entries else {agent: reputation.Reputation() for agent in EXPERTS.values()}
    weights = reputation.means(standing_now)
    if entries and ctx.definition["reputation"] == "thompson":
        weights = reputation.thompson(standing_now, ctx.definition["draw_seed"], int(ctx.wildcards["trial"]))
    return aggregate(mode, rounds, weights)


def _votes(ctx: StepContext, stem: str, turn: str) -> Iterator[tuple[str, Vote]]:
    for rule, agent in EXPERTS.items():
        for one in ctx.upstream[f"vote_{stem}"]:
            if (one.wildcards["expert"], one.wildcards["turn"]) == (rule, turn):
                yield agent, Vote.read(one.result, Path(f"vote_{stem}-{rule}"))


def _entries(ctx: StepContext) -> list[dict[str, reputation.Reputation]]:
    """Reputations before the first trial and after each that ended, folded from the trials so far."""
    return _reputations(_trials(ctx.previous.get("close", [])))


def _reputations(trials: Sequence[Trial]) -> list[dict[str, reputation.Reputation]]:
    outcomes = [
        reputation.Outcome(trial.before, trial.label) for trial in trials if trial.succeeded and trial.label is not None
    ]
    return list(reputation.trajectory(list(EXPERTS.values()), outcomes))


def _trials(closed: Sequence[UpstreamStep]) -> list[Trial]:
    return [from_json(Trial, each) for each in closed[-1].result["trials"]] if closed else []


def benchmark(ctx: StepContext) -> StepResult:
    """All training guests against their references, which no other step of a trial sees."""
    training = ctx.definition["training"]
    guests = {name: _guest(ctx, name) for name in training}
    (kept,) = ctx.upstream["references"]
    values = documents.load_json(kept.files["references"])
    scores = compare(_predicted(guests), {name: values[name] for name in training})
    trial = Trial(int(ctx.wildcards["trial"]), runs=True, guests=guests, wanted=len(training), scores=scores, before={})
    about = {
        "failure": trial.failure.value,
        "analysed": trial.analysed,
        "succeeded": trial.succeeded,
        "reward_kcal_per_mol": trial.reward,
    }
    return StepResult({"trial": to_json(trial), **about})


def _predicted(guests: Mapping[str, Guest]) -> dict[str, float | None]:
    return {name: guest.delta_g_kcal_per_mol for name, guest in guests.items()}


def _guest(ctx: StepContext, name: str) -> Guest:
    statuses: dict[int, str] = {}
    number = None
    for stage, part in enumerate(execute_stage_file.PARTS, 1):
        mine = [one for one in ctx.upstream[part] if one.wildcards["guest"] == name]
        found = {one.result["status"] for one in mine}
        if found and found != {"skipped"}:
            statuses[stage] = next(status for status in ("failed", "refused", "completed") if status in found)
        if part == "analyse" and mine:
            number = mine[0].result["delta_g_kcal_per_mol"]
    return Guest(statuses, number)


def close(ctx: StepContext) -> StepResult:
    """What a trial was, and whether another one comes."""
    trial = _ended(ctx)
    trials = [*_trials(ctx.previous.get("close", [])), trial]
    now = standing(trials, _bounds(ctx))
    return StepResult(
        {
            "failure": trial.failure.value,
            "succeeded": trial.succeeded,
            "over": now.end is not None,
            "standing": to_json(now),
            "held_out_of": held_out_of(trials, each=_each(ctx)),
            "trials": to_json(trials),
        }
    )


def _each(ctx: StepContext) -> bool:
    return bool(ctx.definition.get("held_out_each_trial", False))


def _ended(ctx: StepContext) -> Trial:
    number, wanted = int(ctx.wildcards["trial"]), len(ctx.definition["training"])
    if not any(one.result["state"] == execute_stage_file.READY for one in ctx.upstream["rehearse"]):
        rejected = all(one.result["state"] == "rejected" for one in ctx.upstream["rehearse"])
        return Trial(number, runs=not rejected, guests={}, wanted=wanted, scores=None, before={})
    (made,) = ctx.upstream["benchmark"]
    trial = from_json(Trial, made.result["trial"])
    before = _last_labels(ctx.upstream["screen"])
    after = _critique_of(ctx.upstream["review"])
    label, score = (after.label, after.score) if after else (None, None)
    return replace(trial, before=before, label=label, score=score)


def _last_labels(screened: Sequence[UpstreamStep]) -> dict[str, Label]:
    critique = _critique_of(screened)
    return {expert: vote.label for expert, vote in critique.rounds[-1].items()} if critique else {}


def _critique_of(steps: Sequence[UpstreamStep]) -> Critique | None:
    """The critique of the first of these steps of a panel; None without one."""
    return next((from_json(Critique, one.result["critique"]) for one in steps), None)


def _bounds(ctx: StepContext) -> Bounds:
    definition = ctx.definition
    of_form = definition.get("form_failures", 0)
    return Bounds(definition["successes"], definition["failures"], definition["theta_pass"], of_form)


def trials(ctx: StepContext) -> StepResult:
    """The pipeline to deploy, its training scores, and what it says of the held-out guests, which no trial has seen."""
    made = _trials(ctx.upstream["close"])
    now = standing(made, _bounds(ctx))
    chosen = next((trial for trial in made if trial.number == now.deployed), None)
    path = ctx.workdir / PIPELINE_NAME
    files.write_text(path, _deployed(ctx, now))
    entries = _reputations(made)
    told = ctx.workdir / "reputation.json"
    files.write_json(told, reputation.as_document(entries))
    plot = ctx.workdir / "trials.svg"
    trial_figures.trials(made, entries, plot)
    held_out, predicted = _held_out(ctx, now.deployed)
    of_each = {str(number): _held_out(ctx, number)[0] for number in held_out_of(made, each=True)} if _each(ctx) else {}
    failures = _counted(made)
    error = held_out.mae_kcal_per_mol if held_out else None
    result = TrialsResult(
        trials=len(made),
        successes=now.successes,
        end=now.end,
        deployed=now.deployed,
        failures=failures,
        refused=failures.get(Failure.REFUSAL, 0),
        predictions=sum(trial.scores.guests for trial in made if trial.scores),
        training=chosen.scores if chosen else None,
        held_out=held_out,
        held_out_by_trial={trial: scores for trial, scores in of_each.items() if scores} or None,
        held_out_error_kcal_per_mol=error,
        held_out_standard_error_kcal_per_mol=held_out.mae_standard_error_kcal_per_mol if held_out else None,
        refusal=_why_no_number(ctx) if error is None else None,
        predicted=predicted,
        unanswered=held_out.unanswered if held_out else None,
        **_worst(ctx, now),
    )
    return StepResult(to_json(result), {"pipeline": path, "reputation": told, "trials_plot": plot})


def _why_no_number(ctx: StepContext) -> str:
    """What the last analysis said that refused; of equals the one of the first guest."""
    refused = [one for one in ctx.upstream["analyse"] if one.result["status"] == "refused"]
    if not refused:
        return "no guest was held out" if not ctx.definition["held_out"] else "no pipeline ran to its end"
    last = min(refused, key=lambda one: (-int(one.wildcards["trial"]), one.wildcards["guest"]))
    told = (last.result["failure"] or {}).get("sentence", "it gave no reason")
    return f"the analysis of {last.wildcards['guest']} in trial {last.wildcards['trial']} refused: {told}"


def _counted(made: Sequence[Trial]) -> dict[Failure, int]:
    kinds = [trial.failure for trial in made]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def _deployed(ctx: StepContext, now: Standing) -> str:
    if now.deployed is None:
        return ""
    mine = [one for one in ctx.upstream["rehearse"] if one.wildcards["trial"] == str(now.deployed)]
    return execute_stage_file.ready(mine).reply


def _held_out(ctx: StepContext, trial: int | None) -> tuple[Scores | None, dict[str, float | None]]:
    """Scores and predictions of a trial's pipeline on the held-out guests."""
    names = ctx.definition["held_out"]
    if trial is None or not names:
        return None, {}
    (kept,) = ctx.upstream["references"]
    values = documents.load_json(kept.files["references"])
    mine = {one.wildcards["guest"]: one.result["delta_g_kcal_per_mol"] for one in _analyses(ctx, trial)}
    predicted = {name: mine.get(name) for name in names}
    return compare(predicted, {name: values[name] for name in names}), predicted


def _analyses(ctx: StepContext, trial: int | None) -> list[UpstreamStep]:
    """The analyses of a trial's pipeline on held-out guests."""
    where = [(str(trial), guest) for guest in ctx.definition["held_out"]]
    return [one for one in ctx.upstream["analyse"] if (one.wildcards["trial"], one.wildcards["guest"]) in where]


def _worst(ctx: StepContext, now: Standing) -> dict[str, float | None]:
    """The worst of what the analyses of held-out guests with a number state, under the names of `WORST`."""
    executed = [
        documents.load_json(one.files["executed"])
        for one in _analyses(ctx, now.deployed)
        if one.result["delta_g_kcal_per_mol"] is not None
    ]
    stated = [{**each["result"]["diagnostics"], **each["result"]} for each in executed]
    measured = [each.get("measured", {}).get("diagnostics", {}) for each in executed]
    found = {
        called: [value for pair in zip(stated, measured, strict=True) for value in _both(called, *pair)]
        for called, _ in WORST.values()
    }
    return {name: _worst_of(found[called], choose) for name, (called, choose) in WORST.items()}


def _both(name: str, stated: Mapping[str, object], measured: Mapping[str, object]) -> list[object]:
    """What an analysis states and what the harness measured; what was measured needs no statement."""
    if measured.get(name) is None:
        return [stated.get(name)]
    return [measured[name], *([stated[name]] if stated.get(name) is not None else [])]


def _worst_of(stated: Sequence[object], choose: Callable[[Iterable[float]], float]) -> float | None:
    """The size of the worst of these numbers and lists of them; None if there are none, or if one is missing."""
    values = [value for each in stated for value in (each if isinstance(each, list) and each else [each])]
    numbers = [abs(value) for value in values if isinstance(value, int | float)]
    return choose(numbers) if values and len(numbers) == len(values) else None
