"""Stage validate: the sequences that the model recommends, and the best of the warm-up, run longer with fresh seeds."""

from __future__ import annotations

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.science.sequence_bo.evaluate import evaluate


def run(ctx: StepContext) -> StepResult:
    """Evaluate the candidate of this step: a place in the ranking of the model, or `warm_up`.

    The seed is one of this stage, so no value that chose the candidate is in its result.
    """
    before = ctx.one("rounds").result
    ranked = before["ranked"]
    name = ctx.wildcards["candidate"]
    if name == "warm_up":
        one = next(row for row in ranked if row["sequence"] == before["best_of_warm_up"])
    elif int(name) < len(ranked):
        one = ranked[int(name)]
    else:
        raise EngineFailure(
            f"validate.definition.candidates: only {len(ranked)} sequences were evaluated; ask for fewer"
        )
    result, tools = evaluate(ctx, one["sequence"], before["model"])
    about = {"blocks": one["blocks"], "expected": one["expected"], "expected_deviation": one["deviation"]}
    return StepResult({**result, **about}, {}, tools)
