"""Probes of the box: particles, volume and density agree, and nothing reaches around the periodic boundary."""

import math

from sophron.interfaces.probe import Finding
from sophron.science.probes import estimates
from sophron.science.probes.estimates import BUILD, MODEL
from sophron.science.probes.spec_access import MissingValueError, Parameters, Spec, clear, hit, needed, number, wanted

_ATTRACTIVE = 2.0  # cutoff in sigma from which on the phase diagram of the whole potential is near
_COLDEST = 0.95  # of the triple point: a cut potential has one that is a little lower


def density(spec: Spec, parameters: Parameters) -> Finding:
    """All densities that the spec states, or atoms over volume give, agree within parameters.tolerance (relative)."""
    stated = {key: number(spec, key) for key in ("question.conditions.density", f"{BUILD}.density")}
    for where in (BUILD, "question.conditions"):
        volume, atoms = (
            number(spec, f"{where}.volume"),
            number(spec, f"{where}.atoms") or number(spec, f"{BUILD}.atoms"),
        )
        if atoms is not None and volume:
            stated[f"{atoms:g} atoms in {where}.volume {volume:g}"] = atoms / volume
    known = {key: found for key, found in stated.items() if found is not None}
    if not known:
        return MissingValueError(f"{BUILD}.density").finding
    text = ", ".join(f"{key} gives {found:.4g}" for key, found in known.items())
    low, high = min(known.values()), max(known.values())
    if high - low > wanted(parameters, "tolerance") * abs(high):
        return hit(f"densities contradict each other: {text} (LJ units)")
    return clear(f"density is the same wherever it is stated: {text} (LJ units)")


def cutoff(spec: Spec, parameters: Parameters) -> Finding:
    """Check that the cutoff plus parameters.skin (sigma) fits into half of the smallest box edge."""
    try:
        edge, reach = _edge(spec), needed(spec, f"{MODEL}.cutoff") + wanted(parameters, "skin")
    except MissingValueError as missing:
        return missing.finding
    text = f"cutoff plus skin is {reach:.3f} sigma, half of the box edge {edge / 2:.3f} sigma"
    return hit(f"a bead meets the same neighbour twice: {text}") if reach > edge / 2 else clear(text)


def chain_extent(spec: Spec, parameters: Parameters) -> Finding:
    """Check that the end-to-end distance of a melt chain is below parameters.share of the box edge."""
    try:
        edge, beads = _edge(spec), estimates.chain_length(spec)
    except MissingValueError as missing:
        return missing.finding
    extent = estimates.end_to_end(beads)
    text = f"chains of {beads} span about {extent:.2f} sigma, the box edge is {edge:.2f} sigma"
    return hit(f"chains meet their own images: {text}") if extent > wanted(parameters, "share") * edge else clear(text)


def liquid(spec: Spec, _parameters: Parameters) -> Finding:
    """Check that single Lennard-Jones beads are not so dense, or so cold, that they freeze (whole potential)."""
    try:
        dense, warm = needed(spec, f"{BUILD}.density"), estimates.temperature(spec)
        if estimates.chain_length(spec) > 1 or needed(spec, f"{MODEL}.cutoff") < _ATTRACTIVE:
            return clear("chains and repulsive beads are not looked at: they stay fluid at densities of melts")
    except MissingValueError as missing:
        return missing.finding
    if warm < estimates.TRIPLE_POINT * _COLDEST:
        return hit(f"the temperature {warm:g} is below the triple point, {estimates.TRIPLE_POINT:g}")
    freezes = estimates.freezing_density(max(warm, estimates.TRIPLE_POINT))
    text = f"at temperature {warm:g} the liquid freezes from density {freezes:.3f} on, {dense:g} is asked for"
    return hit(text) if dense > freezes else clear(text)


def two_phase(spec: Spec, parameters: Parameters) -> Finding:
    """Check that single Lennard-Jones beads are not at a density between those of vapour and liquid that coexist.

    parameters.inside: share of the liquid's density below which it counts; the potential is that of cutoff 2.5.
    """
    try:
        dense, warm = needed(spec, f"{BUILD}.density"), estimates.temperature(spec)
        if estimates.chain_length(spec) > 1 or needed(spec, f"{MODEL}.cutoff") < _ATTRACTIVE:
            return clear("chains and repulsive beads are not looked at")
    except MissingValueError as missing:
        return missing.finding
    if warm >= estimates.CRITICAL_POINT:
        return clear(f"the temperature {warm:g} is above the critical point, {estimates.CRITICAL_POINT:g}")
    vapour, liquid = estimates.coexisting_densities(warm)
    text = f"at temperature {warm:g} vapour of {vapour:.3f} and liquid of {liquid:.3f} coexist, {dense:g} is asked for"
    return hit(text) if vapour < dense < wanted(parameters, "inside") * liquid else clear(text)


def cells(spec: Spec, parameters: Parameters) -> Finding:
    """Check that a crystal has parameters.least cells along each edge."""
    counts = [number(spec, f"{BUILD}.cells.{axis}") for axis in range(3)]
    known = [count for count in counts if count is not None]
    if len(known) < 3:
        return MissingValueError(f"{BUILD}.cells").finding
    text = f"{BUILD}.cells are {' x '.join(f'{count:g}' for count in known)}"
    return hit(f"{text}: atoms meet their own images") if min(known) < wanted(parameters, "least") else clear(text)


def _edge(spec: Spec) -> float:
    dense, chains = needed(spec, f"{BUILD}.density"), number(spec, f"{BUILD}.chains")
    atoms = needed(spec, f"{BUILD}.atoms") if chains is None else chains * estimates.chain_length(spec)
    if atoms <= 0 or dense <= 0:
        raise MissingValueError(f"{BUILD}.density")
    return math.cbrt(atoms / dense)
