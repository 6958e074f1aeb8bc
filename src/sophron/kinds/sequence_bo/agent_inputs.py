"""Inputs of the agent propose-sequences: the chain, and what was evaluated before its round."""

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

    warm_up, rounds = spec.definition("warm_up"), spec.definition("rounds")
    names, values, errors, counts = merged(_observed(root, spec, int(wildcards["round"])))
    rows = [
        {
            "sequence": names[place],
            "blocks": blocks(names[place]),
            "radius": round(float(values[place]), SIGMA_DIGITS),
            "error": round(float(errors[place]), SIGMA_DIGITS),
            "evaluations": counts[place],
        }
        for place in (-values).argsort(kind="stable")
    ]
    about = {"round": int(wildcards["round"]) + 1, "of_rounds": rounds["rounds"]}
    return {
        "chain": {**warm_up["chain"], **warm_up["model"]},
        "evaluated": rows,
        "wanted": {"proposals": rounds["agent_proposals"], **about},
    }


def _observed(root: Path, spec: Spec, number: int) -> list[tuple[str, float, float]]:
    """Sequence, radius and error of each evaluation before the round."""
    if number == 0:
        names = ("sequence", "radius_of_gyration", "radius_of_gyration_error")
        steps = outcome_store.all_finished(root, spec, "warm_up")
        return [(*(step.outcome.result[name] for name in names),) for step in steps]
    (last,) = outcome_store.of_loop(root, spec, "update", {"round": str(number - 1)})
    return [(one["sequence"], one["value"], one["error"]) for one in last.outcome.result["observations"]]
