"""Probes of trials of pipelines: guests that are judged were not trained on, and windows are long enough to judge."""

from sophron.interfaces.probe import Finding
from sophron.records.errors import UserError
from sophron.science.probes.spec_access import (
    MissingValueError,
    Parameters,
    Spec,
    clear,
    hit,
    needed,
    number,
    unknown,
    value,
    wanted,
)

_TRIALS = "stages.trials.definition"


def guests(spec: Spec, _parameters: Parameters) -> Finding:
    """Check that training and held-out guests differ and are guests, and that references are of the same system."""
    training, held_out = set(value(spec, f"{_TRIALS}.training") or ()), set(value(spec, f"{_TRIALS}.held_out") or ())
    known = set(value(spec, "stages.tasks.definition.guests") or ())
    if both := sorted(training & held_out):
        return hit(f"{_TRIALS}: {', '.join(both)} in training and in held_out: what is judged was trained on")
    if strange := sorted((training | held_out) - known):
        return hit(f"{_TRIALS}: {', '.join(strange)} not among stages.tasks.definition.guests")
    for key in ("system", "settings"):
        if value(spec, f"stages.tasks.definition.{key}") != value(spec, f"stages.references.definition.{key}"):
            return hit(
                f"{key} of stages.tasks and stages.references differ: other values than those that were measured"
            )
    return clear("training and held-out guests differ, and references are of the same system")


def benchmark(spec: Spec, parameters: Parameters) -> Finding:
    """Check that temperature and pH of the question are those at which a SAMPL benchmark was measured.

    parameters.tolerance: condition -> how far off it may be.
    """
    from sophron.science.host_guest.systems import data

    if value(spec, "stages.tasks.definition.system") != "sampl":
        return clear("the guests are not those of a published benchmark")
    try:
        measured = data.benchmark(str(value(spec, "stages.tasks.definition.settings.benchmark")))
    except UserError as error:
        return unknown(str(error))
    there = {"temperature_k": measured.temperature_k, "ph": measured.ph}
    for name, off in wanted(parameters, "tolerance").items():
        asked = number(spec, f"question.conditions.{name}")
        if asked is not None and abs(asked - there[name]) > off:
            return hit(f"question.conditions.{name} is {asked:g}, {measured.name} was measured at {there[name]:g}")
    return clear(f"what question.conditions names is what {measured.name} was measured at")


def window_length(spec: Spec, parameters: Parameters) -> Finding:
    """Check that there may be parameters.windows and each samples parameters.ns, if a number is to come of it.

    None is to come if a criterion asks that no trial predicts anything.
    """
    try:
        lasts, most = needed(spec, f"{_TRIALS}.ns_per_window"), needed(spec, f"{_TRIALS}.most_windows")
    except MissingValueError as missing:
        return missing.finding
    texts = [str(one.get("expression")) for one in value(spec, "stages.trials.criteria") or () if isinstance(one, dict)]
    text = f"{_TRIALS}: {most:g} windows at most, of {lasts:g} ns"
    if lasts >= wanted(parameters, "ns") and most >= wanted(parameters, "windows"):
        return clear(text)
    if any(expression.replace(" ", "") == "predictions==0" for expression in texts):
        return clear(f"{text}, and a criterion asks that no number comes of it")
    if most < parameters["windows"]:
        return hit(f"{text}: neighbours on the way from bound to free do not overlap")
    return hit(f"{text}: hosts and guests rearrange more slowly than that, and errors do not show it")
