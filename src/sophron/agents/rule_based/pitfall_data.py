"""Pitfalls as the agents see them: entries of the catalogue as plain data, and whether a spec could fall into one."""

from sophron.agents.rule_based.input_checks import listed, mapping, objects, stages_of, texts
from sophron.campaign.spec.pitfalls import Condition
from sophron.interfaces.json_object import UncheckedObject

TESTS = ("present", "equals", "at_least", "mentions")


def applies(pitfall: UncheckedObject, spec: UncheckedObject) -> bool:
    """What `Pitfall.applies` says, for an entry as it stands in its YAML file. ValueError where it is none."""
    demands = mapping(pitfall.get("applies_to") or {}, "applies_to of a pitfall")
    kinds = listed(demands.get("kinds", []), "kinds of a pitfall")
    named = texts(demands.get("stages", []), "stages of a pitfall")
    stages = stages_of(spec)
    return (
        (not kinds or spec.get("kind") in kinds)
        and all(name in stages for name in named)
        and all(_condition(entry).holds(spec) for entry in objects(demands.get("when", []), "when of a pitfall"))
    )


def _condition(entry: UncheckedObject) -> Condition:
    test = next((name for name in TESTS if name in entry), None)
    if test is None:
        raise ValueError("a condition of a pitfall has no test")
    wanted, key = entry[test], entry.get("key")
    if test == "mentions":
        wanted = texts(wanted, "mentions of a pitfall")
    if test == "at_least" and (isinstance(wanted, bool) or not isinstance(wanted, int | float)):
        raise ValueError("at_least of a pitfall is no number")
    if key is not None and not isinstance(key, str):
        raise ValueError("the key of a condition is no text")
    return Condition(test, wanted, key)
