"""Probe of the question against the stages: a condition that is asked for is the one that is simulated."""

from sophron.interfaces.probe import Finding
from sophron.science.probes.spec_access import Parameters, Spec, clear, hit, number, unknown, value, wanted


def agree(spec: Spec, parameters: Parameters) -> Finding:
    """Check that each of question.conditions that parameters.simulated maps to keys of stages has the same value there.

    parameters.simulated: condition -> list of dotted keys; parameters.tolerance: relative. Keys that the spec lacks
    do not count.
    """
    compared = 0
    for name, keys in wanted(parameters, "simulated").items():
        asked = number(spec, f"question.conditions.{name}")
        text = value(spec, f"question.conditions.{name}")
        if isinstance(text, str) and any(number(spec, key) is not None for key in keys):
            return hit(f'question.conditions.{name} is the text "{text}", which no stage can be compared with')
        for key in keys:
            found = number(spec, key)
            if asked is None or found is None:
                continue
            compared += 1
            if abs(found - asked) > wanted(parameters, "tolerance") * max(abs(found), abs(asked)):
                return hit(f"question.conditions.{name} is {asked:g}, but {key} is {found:g}")
    if not compared and not isinstance(value(spec, "question.conditions"), dict):
        return unknown("question.conditions is not in the spec, so this could not be looked for")
    if not compared:
        return clear("no stage of this campaign states a number that question.conditions asks for")
    return clear(f"{compared} values in the stages are those of question.conditions")
