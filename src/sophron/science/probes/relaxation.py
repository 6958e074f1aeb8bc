"""Probes of duration: runs, windows and shear rates against the longest relaxation time of the liquid or melt."""

import itertools
import math
import re
from collections.abc import Callable, Mapping

from sophron.interfaces.probe import Finding
from sophron.science.probes import estimates
from sophron.science.probes.spec_access import (
    MissingValueError,
    Parameters,
    Spec,
    clear,
    hit,
    needed,
    unknown,
    value,
    wanted,
)

GREEN_KUBO = "stages.green_kubo.definition"
_SAMPLED = {"discard_steps": "discarded", "steps": "measured"}
_COMPONENTS = 5  # independent ones of the stress tensor


def _estimated(judge: Callable[[Spec, Parameters, int], Finding]) -> Callable[[Spec, Parameters], Finding]:
    """Give `judge` the chain length, and answer unknown if the Rouse estimate does not hold or a key is missing."""

    def probe(spec: Spec, parameters: Parameters) -> Finding:
        try:
            beads = estimates.chain_length(spec)
            if beads > 1 and not estimates.known_melt(spec):
                return unknown("the relaxation time of chains is only known here near density 0.85 and temperature 1")
            return judge(spec, parameters, beads)
        except MissingValueError as missing:
            return missing.finding

    probe.__doc__ = judge.__doc__
    return probe


@_estimated
def window(spec: Spec, parameters: Parameters, beads: int) -> Finding:
    """Check that the correlation window spans parameters.times longest stress relaxation times."""
    longest, lag = estimates.stress_tau(beads), needed(spec, f"{GREEN_KUBO}.max_lag_tau")
    text = f"max_lag_tau is {lag:g}, the longest stress relaxation time about {longest:.3g} tau"
    if lag < wanted(parameters, "times") * longest:
        return hit(f"the integral would be cut off early: {text}, of which {parameters['times']:g} are needed")
    return clear(text)


@_estimated
def run_length(spec: Spec, parameters: Parameters, beads: int) -> Finding:
    """Check that one production run lasts parameters.times relaxation times, and longer than the correlation window."""
    longest = estimates.stress_tau(1) if beads == 1 else estimates.rouse_tau(beads)
    lasts, lag = estimates.duration_tau(spec, "produce", "steps"), needed(spec, f"{GREEN_KUBO}.max_lag_tau")
    text = f"a production run lasts {lasts:g} tau, the longest relaxation time is about {longest:.3g} tau"
    if lasts < max(wanted(parameters, "times") * longest, lag):
        return hit(f"{text} and max_lag_tau is {lag:g}: the run samples too few independent stretches")
    return clear(text)


@_estimated
def equilibration(spec: Spec, parameters: Parameters, beads: int) -> Finding:
    """Check that chains are equilibrated for parameters.times Rouse times before production."""
    if beads == 1:
        return clear("single beads forget their start within a few tau")
    longest, lasts = estimates.rouse_tau(beads), estimates.duration_tau(spec, "equilibrate", "discard_steps", "steps")
    text = f"equilibration lasts {lasts:g} tau, chains of {beads} relax in about {longest:.0f} tau"
    if lasts < wanted(parameters, "times") * longest:
        return hit(f"{text}: fewer than {parameters['times']:g} relaxation times")
    return clear(text)


@_estimated
def shear_rates(spec: Spec, parameters: Parameters, beads: int) -> Finding:
    """Check that the lowest shear rate times the longest stress relaxation time is at most parameters.weissenberg."""
    rates = value(spec, "stages.shear.definition.rates")
    if not isinstance(rates, list) or not rates:
        return MissingValueError("stages.shear.definition.rates").finding
    lowest, longest = min(map(float, rates)), estimates.stress_tau(beads)
    text = f"the lowest rate {lowest:g} times the stress relaxation time {longest:.3g} tau is {lowest * longest:.2g}"
    if lowest * longest > wanted(parameters, "weissenberg"):
        return hit(f"{text}: every rate shears the liquid thin, and zero rate is out of reach of an extrapolation")
    return clear(text)


@_estimated
def expected_error(spec: Spec, _parameters: Parameters, beads: int) -> Finding:
    """Check that the relative error that a criterion of green_kubo asks for can come out of so much production.

    Estimate: 2 sqrt(t / (5 T)), with t the longest stress relaxation time (the most hopeful cut-off) and T the
    production of all replicas; box size does not enter (Jones and Mandadapu 2012, 10.1063/1.3700344).
    """
    asked = _asked_error(spec)
    if asked is None:
        return clear("no criterion of green_kubo asks for a relative error")
    total = estimates.duration_tau(spec, "produce", "steps") * needed(spec, f"{GREEN_KUBO}.replicas")
    if total <= 0:
        return MissingValueError("stages.produce.definition.steps").finding
    best = 2 * math.sqrt(estimates.stress_tau(beads) / (_COMPONENTS * total))
    text = f"{total:g} tau of production give a relative error of {best:.2g} at best, {asked:g} is asked for"
    return hit(text) if best > asked else clear(text)


def _asked_error(spec: Spec) -> float | None:
    criteria = value(spec, "stages.green_kubo.criteria")
    for one in criteria if isinstance(criteria, list) else []:
        expression = str(one.get("expression", "")) if isinstance(one, Mapping) else ""
        found = re.search(r"viscosity_relative_error\s*<=?\s*([0-9][0-9.eE+-]*)", expression)
        if found:
            return float(found[1])
    return None


def chain_sampling(spec: Spec, parameters: Parameters) -> Finding:
    """Check that each stage sample_* discards and measures enough relaxation times of a chain.

    parameters.discarded, parameters.measured: in swollen Rouse times (`estimates.solvent_tau`), of a melt in Rouse
    times; between the two nothing is known.
    """
    stages = value(spec, "stages")
    named = [name for name in (stages if isinstance(stages, Mapping) else ()) if name.startswith("sample_")]
    if not named:
        return clear("no stage samples chains")
    try:
        longest, step = _chain_tau(spec), needed(spec, "stages.equilibrate.definition.timestep")
        if longest is None:
            return unknown("coils overlap; how fast such chains relax is only known here of dilute ones and of melts")
        for name, (key, share) in itertools.product(named, _SAMPLED.items()):
            lasts, times = step * needed(spec, f"stages.{name}.definition.{key}"), wanted(parameters, share)
            if lasts < times * longest:
                text = f"stages.{name}.definition.{key} last {lasts:g} tau, the chains relax in about {longest:.3g}"
                return hit(f"{text}: fewer than {times:g} relaxation times")
    except MissingValueError as missing:
        return missing.finding
    return clear(f"chains relax in about {longest:.3g} tau, and every way samples for long enough")


def _chain_tau(spec: Spec) -> float | None:
    """Longest relaxation time of a chain in tau, dilute or in a melt; None between. Raises MissingValueError."""
    beads, dilute = estimates.chain_length(spec), estimates.solvent_tau(spec)
    if needed(spec, f"{estimates.BUILD}.density") <= estimates.overlap_density(beads):
        return dilute
    return max(dilute, estimates.rouse_tau(beads)) if estimates.known_melt(spec) else None
