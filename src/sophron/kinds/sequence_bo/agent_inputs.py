"""Inputs of the agent propose-sequences: the chain, what was evaluated before its round, and why it asked for that."""

import math
from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Wildcards

SIGMA_DIGITS = 5


def propose_sequences(root: Path, spec: Spec, wildcards: Wildcards) -> JsonObject:
    """Return the inputs of one round. UserError if the warm-up is not there."""
    from sophron.science.sequence_bo.gaussian_process import merged
    from sophron.science.sequence_bo.sequences import blocks

    warm_up, rounds, number = spec.definition("warm_up"), spec.definition("rounds"), int(wildcards["round"])
    names, values, errors, counts = merged(_observed(root, spec, number))
    reasons = _reasons(root, spec, number)
    rows = [
        {
            "sequence": names[place],
            "blocks": blocks(names[place]),
            "radius": round(float(values[place]), SIGMA_DIGITS),
            "error": round(float(errors[place]), SIGMA_DIGITS),
            "evaluations": counts[place],
            **({"your_reason": reasons[names[place]]} if names[place] in reasons else {}),
        }
        for place in (-values).argsort(kind="stable")
    ]
    chain, model = warm_up["chain"], warm_up["model"]
    unlike = model.get("epsilon_ab", math.sqrt(model["epsilon_a"] * model["epsilon_b"]))
    about = {"round": number + 1, "of_rounds": rounds["rounds"], "repeats_of_the_best_beside_them": rounds["repeats"]}
    return {
        "chain": {**chain, "count_a": chain["length"] - chain["count_b"], **model, "epsilon_ab": round(unlike, 4)},
        "evaluated": rows,
        "wanted": {"proposals": rounds["agent_proposals"], **about},
    }


def _reasons(root: Path, spec: Spec, number: int) -> dict[str, str]:
    """Return what the agent said of the sequences that it proposed in earlier rounds."""
    from sophron.science.sequence_bo.sequences import expand, forward

    rounds = (outcome_store.of_loop(root, spec, "propose_sequences", {"round": str(one)}) for one in range(number))
    answers = [answer.outcome.result for found in rounds for answer in found if not answer.outcome.reason]
    return {forward(expand(one["sequence"])): one["reason"] for answer in answers for one in answer["proposals"]}


def _observed(root: Path, spec: Spec, number: int) -> list[tuple[str, float, float]]:
    """Sequence, radius and error of each evaluation before the round."""
    if number == 0:
        names = ("sequence", "radius_of_gyration", "radius_of_gyration_error")
        steps = outcome_store.all_finished(root, spec, "warm_up")
        return [(*(step.outcome.result[name] for name in names),) for step in steps]
    (last,) = outcome_store.of_loop(root, spec, "update", {"round": str(number - 1)})
    return [(one["sequence"], one["value"], one["error"]) for one in last.outcome.result["observations"]]
