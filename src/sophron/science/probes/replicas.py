"""Probes of independence: enough replicas for a t interval, and no random seed that they share."""

from sophron.interfaces.probe import Finding
from sophron.science.probes.spec_access import (
    Line,
    MissingValueError,
    Parameters,
    Spec,
    clear,
    fragments,
    hit,
    needed,
    value,
    wanted,
)

_KEY = "stages.green_kubo.definition.replicas"
_SEEDED_FIXES = ("langevin", "temp/csvr", "temp/csld", "gle", "brownian", "brownian/sphere", "bd", "gjf")


def count(spec: Spec, parameters: Parameters) -> Finding:
    """There are at least parameters.least replicas."""
    try:
        replicas = needed(spec, _KEY)
    except MissingValueError as missing:
        return missing.finding
    if replicas < wanted(parameters, "least"):
        return hit(f"{_KEY} is {replicas:g}; an interval over replicas needs {parameters['least']:g}")
    return clear(f"{_KEY} is {replicas:g}")


def comparison(spec: Spec, parameters: Parameters) -> Finding:
    """Check that a comparison may fail: a shift of parameters.shift at most is to be found, at a usual significance.

    parameters.significance: least and most of it.
    """
    where = "stages.compare.definition"
    try:
        shift, significance = needed(spec, f"{where}.shift"), needed(spec, f"{where}.significance")
    except MissingValueError as missing:
        return missing.finding
    least, most = wanted(parameters, "significance")
    if shift > wanted(parameters, "shift"):
        return hit(f"{where}.shift is {shift:g}: values that differ by less are said to agree")
    if not least <= significance <= most:
        return hit(f"{where}.significance is {significance:g}, not between {least:g} and {most:g}")
    return clear(f"a shift of {shift:g} is to be found, at a significance of {significance:g}")


def seeds(spec: Spec, _parameters: Parameters) -> Finding:
    """No stage or free line fixes a random seed that all replicas would then share."""
    stages = value(spec, "stages")
    for stage in stages if isinstance(stages, dict) else ():
        for key in ("seed", "seeds"):
            found = value(spec, f"stages.{stage}.definition.{key}")
            if isinstance(found, int) or (isinstance(found, list) and len(set(map(str, found))) < len(found)):
                return hit(f"stages.{stage}.definition.{key} gives several replicas the same seed")
    fixed = next((line for line in fragments(spec) if _fixes_seed(line)), None)
    if fixed is not None:
        return hit(f"{fixed} uses the same seed in every replica")
    return clear("every step derives its own seed from the spec's, its stage and its replica")


def _fixes_seed(line: Line) -> bool:
    """Whether a free line draws random numbers from a literal seed: `velocity ... create T SEED`, stochastic fixes."""
    words = line.words
    if words[0] == "velocity" and "create" in words:
        return words[words.index("create") + 2 :][:1] != () and words[words.index("create") + 2].isdigit()
    if words[0] == "fix" and len(words) > 4 and words[3] in _SEEDED_FIXES:
        return any(word.isdigit() for word in words[4:])
    return words[0] == "displace_atoms" and "random" in words
