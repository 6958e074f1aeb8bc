"""Stage rounds: a loop that proposes sequences, evaluates them beside each other, and updates what is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult, UpstreamStep
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json, to_json
from sophron.science.sequence_bo.evaluate import evaluate as evaluated
from sophron.science.sequence_bo.sequences import blocks, expand, forward

if TYPE_CHECKING:
    from sophron.science.sequence_bo.proposals import Observation

WARM_UP = "warm_up"
AGENT = "propose_sequences"
MODEL = "model"


def propose(ctx: StepContext) -> StepResult:
    """Fit the model to all evaluations before this round and choose those of the round."""
    import numpy as np

    from sophron.science.sequence_bo import proposals

    if ctx.definition["repeats"] >= ctx.definition["batch"]:
        raise EngineFailure("rounds.definition.repeats: a round has room for none that is new; make it less than batch")
    names = ("batch", "repeats", "acquisition", "draws", "parents", "candidates")
    settings = from_json(proposals.Settings, {name: ctx.definition[name] for name in names})
    known = _before(ctx)
    given, dropped = _of_agent(ctx, {one.sequence for one in known})
    found = proposals.propose(known, settings, np.random.default_rng(ctx.seed), given=given)
    result = {**to_json(found), "dropped": dropped, MODEL: ctx.upstream[WARM_UP][0].result[MODEL]}
    return StepResult(result, {}, {"numpy": np.__version__})


def _of_agent(ctx: StepContext, known: Collection[str]) -> tuple[list[str], int]:
    """Return the new sequences that the agent proposed and the round has room for, and how many were dropped."""
    answers = [step.result for step in ctx.upstream.get(AGENT, []) if not step.failed]
    proposed = [one["sequence"] for answer in answers for one in answer["proposals"]]
    beads = sorted(ctx.upstream[WARM_UP][0].result["sequence"])
    new = dict.fromkeys(one for text in proposed for one in _fitting(text, beads) if one not in known)
    kept = list(new)[: ctx.definition.get("agent_proposals", 0)]
    return kept, len(proposed) - len(kept)


def _fitting(text: str, beads: Sequence[str]) -> list[str]:
    """Return the sequence that `text` writes if it has these beads, sorted."""
    try:
        sequence = expand(text)
    except UserError:
        return []
    return [forward(sequence)] if sorted(sequence) == beads else []


def evaluate(ctx: StepContext) -> StepResult:
    """Evaluate one proposal of the round."""
    proposed = ctx.one("propose").result
    one = proposed["proposals"][int(ctx.wildcards["item"])]
    result, tools = evaluated(ctx, one["sequence"], proposed[MODEL])
    return StepResult({**result, "origin": one["origin"]}, {}, tools)


def update(ctx: StepContext) -> StepResult:
    """Add the evaluations of the round to those before; say what the model recommends, and whether rounds are over."""
    from sophron.science.sequence_bo.proposals import Fit

    number, proposed = int(ctx.wildcards["round"]), ctx.one("propose").result
    steps = ctx.upstream["evaluate"]
    known = [
        *_before(ctx),
        *(_observation(step, f"{number}/{step.wildcards['item']}") for step in steps if not step.failed),
    ]
    fit = Fit.of(known)
    best = fit.order[0]
    little = proposed["expected_gain"] < ctx.definition["least_gain"]
    result = {
        "observations": [asdict(one) for one in known],
        "failed": sum(step.failed is not None for step in steps),
        "best": fit.sequences[best],
        "expected": float(fit.mean[best]),
        "deviation": float(fit.deviation[best]),
        "expected_gain": proposed["expected_gain"],
        "over": little or number + 1 == ctx.definition["rounds"],
        "little_to_gain": little,
    }
    return StepResult(result)


def run(ctx: StepContext) -> StepResult:
    """Rank all sequences by the model of all evaluations, and draw how the best of them grew: `progress.svg`."""
    from sophron.science.sequence_bo.proposals import Fit

    last = ctx.upstream["update"][-1].result
    known = _observations(last)
    fit = Fit.of(known)
    start = [one for one in known if one.source.startswith(WARM_UP)]
    ranked = [
        {
            "blocks": blocks(fit.sequences[place]),
            "deviation": float(fit.deviation[place]),
            "evaluations": fit.counts[place],
            "expected": float(fit.mean[place]),
            "sequence": fit.sequences[place],
        }
        for place in fit.order
    ]
    path = ctx.workdir / "progress.svg"
    _draw(path, known, [step.result for step in ctx.upstream["update"]], len(start))
    result = {
        "best": ranked[0]["sequence"],
        "best_blocks": ranked[0]["blocks"],
        "expected": ranked[0]["expected"],
        "deviation": ranked[0]["deviation"],
        "best_of_warm_up": max(start, key=lambda one: one.value).sequence,
        "evaluations": len(known),
        "repeats": len(known) - len(ranked),
        "failed": sum(step.result["failed"] for step in ctx.upstream["update"]),
        "rounds": len(ctx.upstream["update"]),
        "little_to_gain": last["little_to_gain"],
        "progress": [_progress(step.result) for step in ctx.upstream["update"]],
        "ranked": ranked,
        MODEL: ctx.upstream[WARM_UP][0].result[MODEL],
    }
    return StepResult(result, {"progress_plot": path})


def _progress(result: Mapping[str, object]) -> dict[str, object]:
    """What was known after one round."""
    return {
        "best": blocks(str(result["best"])),
        "deviation": result["deviation"],
        "evaluations": len(result["observations"]),  # type: ignore[arg-type]
        "expected": result["expected"],
        "expected_gain": result["expected_gain"],
    }


def _before(ctx: StepContext) -> list[Observation]:
    """All evaluations before this round, those of the warm-up first."""
    if ctx.previous.get("update"):
        return _observations(ctx.previous["update"][-1].result)
    return [_observation(step, f"{WARM_UP}/{step.wildcards['sequence']}") for step in ctx.upstream[WARM_UP]]


def _observations(result: Mapping[str, object]) -> list[Observation]:
    from sophron.science.sequence_bo.proposals import Observation

    return [from_json(Observation, one) for one in result["observations"]]  # type: ignore[attr-defined]


def _observation(step: UpstreamStep, source: str) -> Observation:
    from sophron.science.sequence_bo.proposals import Observation

    result = step.result
    return Observation(result["sequence"], result["radius_of_gyration"], result["radius_of_gyration_error"], source)


def _draw(path: Path, known: Sequence[Observation], rounds: Sequence[Mapping[str, float]], warm: int) -> None:
    """Each evaluation with its error, and what the model recommended after each round."""
    from sophron.science.figures import BLUE, VERMILION, saved_figure

    ends = [len(result["observations"]) for result in rounds]  # type: ignore[arg-type]
    with saved_figure(path) as figure:
        axes = figure.subplots()
        values, errors = [one.value for one in known], [one.error for one in known]
        axes.errorbar(range(1, len(known) + 1), values, errors, fmt=".", color=BLUE, label="evaluation ± 1 s.e.")
        expected, deviation = [one["expected"] for one in rounds], [one["deviation"] for one in rounds]
        axes.errorbar(
            ends, expected, deviation, fmt="o-", color=VERMILION, capsize=3, label="best by the model ± 1 s.d."
        )
        axes.axvline(warm + 0.5, color="grey", linestyle=":", label="end of the warm-up")
        axes.set_xlabel("evaluations")
        axes.set_ylabel("radius of gyration (\N{GREEK SMALL LETTER SIGMA})")
        axes.legend(loc="best")
