"""Probe of the question against the stages: a condition that is asked for is the one that is simulated."""

from sophron.interfaces.probe import Finding
from sophron.science.probes.spec_access import MissingValueError, Parameters, Spec, clear, hit, number, value, wanted


def agree(spec: Spec, parameters: Parameters) -> Finding:
    """Check that each of question.conditions that parameters.simulated maps to keys of stages has the same value there.

    parameters.simulated: condition -> list of dotted keys; parameters.tolerance: relative. Keys that the spec lacks
    do not count.
    """
    compared = 0
    for name, keys in wanted(parameters, "simulated").items():
        asked = number(spec, f"question.conditions.{name}")
        if isinstance(text := value(spec, f"question.conditions.{name}"), str):
            return hit(f'question.conditions.{name} is the text "{text}", which no stage can be compared with')
        for key in keys:
            found = number(spec, key)
            if asked is None or found is None:
                continue
            compared += 1
            if abs(found - asked) > wanted(parameters, "tolerance") * max(abs(found), abs(asked)):
                return hit(f"question.conditions.{name} is {asked:g}, but {key} is {found:g}")
    if not compared:
        return MissingValueError("question.conditions").finding
    return clear(f"{compared} values in the stages are those of question.conditions")
