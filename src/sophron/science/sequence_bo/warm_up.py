"""Stage warm_up: sequences that are given, and random ones, are evaluated before there is a model."""

from __future__ import annotations

from sophron.interfaces.kind import StepContext, StepResult
from sophron.science.sequence_bo.evaluate import evaluate
from sophron.science.sequence_bo.sequences import expand, forward, random_sequences


def run(ctx: StepContext) -> StepResult:
    """Evaluate the sequence of this step's number: first those given, then random ones drawn from the spec's seed."""
    chain, model = ctx.definition["chain"], ctx.definition["model"]
    result, tools = evaluate(ctx, chosen(ctx)[int(ctx.wildcards["sequence"])], model)
    return StepResult({**result, "chain": dict(chain), "model": dict(model)}, {}, tools)


def chosen(ctx: StepContext) -> list[str]:
    """Return all sequences of the stage, the same in each of its steps."""
    import numpy as np

    given = [forward(expand(text)) for text in ctx.definition["given"]]
    rng = np.random.default_rng(ctx.spec_seed)
    return given + random_sequences(**ctx.definition["chain"], count=ctx.definition["random"], rng=rng, but=given)
