"""Probes of the interaction model: bonded exclusions, truncation, and attraction at a density that it tears apart."""

import math
from collections.abc import Mapping

from sophron.interfaces.probe import Finding
from sophron.science.probes.estimates import BUILD, MODEL, WCA_CUTOFF
from sophron.science.probes.spec_access import (
    MissingValueError,
    Parameters,
    Spec,
    clear,
    fragments,
    hit,
    needed,
    number,
    unknown,
    value,
    wanted,
)


def fene_exclusions(spec: Spec, _parameters: Parameters) -> Finding:
    """A FENE model weights bonded neighbours 0, 1, 1: in the definition, and in every free line that sets weights."""
    lines = [line for line in fragments(spec) if line.words[0] == "special_bonds"]
    wrong = next((line for line in lines if not _fene_weights(line.words[1:])), None)
    styles = [line for line in fragments(spec) if line.words[:2] == ("bond_style", "fene")]
    if value(spec, f"{MODEL}.bonds.style") != "fene" and not styles:
        return clear("the model has no FENE bonds")
    if wrong is not None:
        return hit(f"{wrong} does not weight bonded neighbours 0, 1, 1")
    weights = value(spec, f"{MODEL}.special_bonds")
    if weights != "fene" and not lines:
        said = "is not set, which means 0, 0, 0" if weights is None else f'is "{weights}"'
        return hit(f"{MODEL}.special_bonds {said}; FENE needs fene (0, 1, 1)")
    return clear("FENE bonds come with special_bonds fene (0, 1, 1)")


def _fene_weights(words: tuple[str, ...]) -> bool:
    """Whether the LJ weights set by a `special_bonds` line are 0, 1, 1."""
    if "fene" in words:
        return True
    for keyword in ("lj/coul", "lj"):
        if keyword in words:
            weights = words[words.index(keyword) + 1 :][:3]
            return [_float(weight) for weight in weights] == [0.0, 1.0, 1.0]
    return True  # it sets something else


def _float(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan


def truncation(spec: Spec, parameters: Parameters) -> Finding:
    """Check that the cutoff is that of the published model which the spec compares itself with.

    parameters.conventions: DOI -> cutoff in sigma of the potential used there, as far as we know it.
    A source that is not among them is decided by an assumption named `truncation` with status verified.
    """
    reference = value(spec, "question.reference")
    if not isinstance(reference, Mapping):
        return clear("the spec names no published value to compare with")
    cut = number(spec, f"{MODEL}.cutoff")
    if cut is None:
        return MissingValueError(f"{MODEL}.cutoff").finding
    source = str(reference.get("source", ""))
    known = {doi: length for doi, length in wanted(parameters, "conventions").items() if doi.lower() in source.lower()}
    for doi, length in known.items():
        if abs(length - cut) > wanted(parameters, "tolerance"):
            return hit(f"{MODEL}.cutoff is {cut:.4g} sigma, but {doi} cuts the potential at {length:.4g} sigma")
    if known:
        return clear(f"the cutoff {cut:.4g} sigma is that of {', '.join(known)}")
    assumptions = value(spec, "method.assumptions")
    for one in assumptions if isinstance(assumptions, list) else []:
        if isinstance(one, Mapping) and one.get("id") == "truncation" and one.get("status") == "verified":
            return clear("the assumption `truncation` says so, and a person verified it")
    return unknown(
        f"whether question.reference.source cuts its potential at {cut:.4g} sigma too is not known here; "
        "verify it in an assumption with the id truncation"
    )


def cavitation(spec: Spec, parameters: Parameters) -> Finding:
    """Check that attractive chains at low pressure are guarded: a criterion of a sampled stage looks at its pressure.

    parameters.density, parameters.temperature: below this density, and below this temperature, the pressure of
    attractive chains is near zero or negative (LJ units).
    """
    try:
        cut, dense = needed(spec, f"{MODEL}.cutoff"), needed(spec, f"{BUILD}.density")
        warm = needed(spec, "stages.equilibrate.definition.temperature")
    except MissingValueError as missing:
        return missing.finding
    if cut <= WCA_CUTOFF * (1 + 1e-6):
        return clear("the pair potential is purely repulsive, so the pressure is positive")
    if dense > wanted(parameters, "density") or warm > wanted(parameters, "temperature"):
        return clear(f"density {dense:.4g} and temperature {warm:.4g} hold attractive chains under pressure")
    guards = [stage for stage in ("equilibrate", "produce") if _judges(spec, stage, "pressure")]
    if not guards:
        return hit(
            f"chains attract each other to {cut:.4g} sigma at density {dense:.4g}, where the pressure is near zero, "
            "and no criterion of equilibrate or produce looks at pressure_mean"
        )
    return clear(f"a criterion of {' and '.join(guards)} looks at the pressure")


def _judges(spec: Spec, stage: str, name: str) -> bool:
    criteria = value(spec, f"stages.{stage}.criteria")
    entries = criteria if isinstance(criteria, list) else []
    return any(isinstance(one, Mapping) and name in str(one.get("expression", "")) for one in entries)
