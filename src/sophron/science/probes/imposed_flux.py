"""Probes of heat: an imposed flux is neither too rare nor too frequent, and a fluctuating one is followed for long."""

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

_WHERE = "stages.mueller_plathe.definition"
_FLUX = "stages.green_kubo_flux.definition"


def swaps(spec: Spec, parameters: Parameters) -> Finding:
    """Check swap interval, swaps a block and discarded share of an imposed flux.

    parameters.least_interval: steps between swaps; a_block: swaps in each block; discarded: share of the measured steps
    (Mueller-Plathe 1997, 10.1063/1.473271).
    """
    try:
        every, block, steps, discarded = (
            needed(spec, f"{_WHERE}.{key}") for key in ("swap_every", "block_steps", "steps", "discard_steps")
        )
    except MissingValueError as missing:
        return missing.finding
    text = f"{_WHERE}.swap_every is {every:g}"
    if every < wanted(parameters, "least_interval"):
        return hit(f"{text}: hot and cold slab are swapped again before they have a temperature")
    if block < every * wanted(parameters, "a_block"):
        return hit(f"{text}, a block has {block:g} steps: {block / every:.2g} swaps a block are no mean flux")
    if discarded < steps * wanted(parameters, "discarded"):
        share = f"{discarded:g} steps are discarded before {steps:g} measured ones"
        return hit(f"{_WHERE}.discard_steps: {share}; the profile is not steady yet")
    return clear(f"{text}, {block / every:g} swaps a block, and {discarded:g} steps are discarded")


def window(spec: Spec, parameters: Parameters) -> Finding:
    """Check that flux is correlated over parameters.periods of the stiffest motion, in runs of .windows lags."""
    try:
        lag, steps = needed(spec, "stages.green_kubo.definition.max_lag"), needed(spec, f"{_FLUX}.steps")
        lasts, period = steps * needed(spec, f"{_FLUX}.timestep"), estimates.shortest_period(spec)
    except MissingValueError as missing:
        return missing.finding
    text = f"max_lag is {lag:g}, a run lasts {lasts:g}, the stiffest motion has a period of {period:.3g}"
    if lag < wanted(parameters, "periods") * period:
        return hit(f"{text}: the flux has only begun to relax")
    if lasts < wanted(parameters, "windows") * lag:
        return hit(f"{text}: a run holds too few windows")
    return clear(text)


def lengths(spec: Spec, parameters: Parameters) -> Finding:
    """Check that the longest box of an imposed flux is parameters.factor times the shortest.

    Unknown for a fluctuating flux: it comes from one box, which shows nothing of its length.
    """
    copies = value(spec, f"{_WHERE}.copies")
    if not isinstance(copies, list) or not copies:
        return unknown("the conductivity is that of one box; whether the bulk has another, a larger box must show")
    text = f"{_WHERE}.copies reach from {min(copies):g} to {max(copies):g} boxes"
    if max(copies) < wanted(parameters, "factor") * min(copies):
        return hit(f"{text}: so little tells any way to the bulk from another")
    return clear(text)
