"""Probes of integration: time step and sampling against the stiffest motion, and no thermostat in production."""

from sophron.interfaces.probe import Finding
from sophron.science.probes import estimates
from sophron.science.probes.estimates import SEQUENCES
from sophron.science.probes.spec_access import (
    MissingValueError,
    Parameters,
    Spec,
    clear,
    fragments,
    hit,
    needed,
    number,
    value,
    wanted,
)

_INTEGRATED = ("relax", "equilibrate", "produce", "shear", "green_kubo_flux", "mueller_plathe")
_BLOCKS = (*(f"stages.{stage}.definition" for stage in _INTEGRATED), SEQUENCES)
_SAMPLED = ("produce", "green_kubo_flux")
_CHANGES = ("velocity", "displace_atoms", "set", "change_box", "minimize", "delete_atoms", "create_atoms")


def time_step(spec: Spec, parameters: Parameters) -> Finding:
    """Check that every stage resolves the period of the stiffest motion by parameters.steps_per_period time steps."""
    steps = {block: number(spec, f"{block}.timestep") for block in _BLOCKS}
    known = {block: step for block, step in steps.items() if step is not None}
    if not known:
        return MissingValueError("stages.produce.definition.timestep").finding
    try:
        period = estimates.shortest_period(spec)
    except MissingValueError as missing:
        return missing.finding
    block, longest = max(known.items(), key=lambda entry: entry[1])
    text = f"{block}.timestep is {longest:g}, the stiffest motion has a period of {period:.3g}"
    return hit(text) if longest * wanted(parameters, "steps_per_period") > period else clear(text)


def sampling(spec: Spec, parameters: Parameters) -> Finding:
    """Check that stress or flux is sampled parameters.samples_per_period times a period of the stiffest motion."""
    where = next((f"stages.{stage}.definition" for stage in _SAMPLED if value(spec, f"stages.{stage}")), "stages")
    try:
        interval = needed(spec, f"{where}.timestep") * needed(spec, f"{where}.sample_every")
        period = estimates.shortest_period(spec)
    except MissingValueError as missing:
        return missing.finding
    text = f"{where} takes a sample every {interval:g}, the stiffest motion has a period of {period:.3g}"
    if interval * wanted(parameters, "samples_per_period") > period:
        return hit(f"{text}: the first decay of the autocorrelation is lost between samples")
    return clear(text)


def thermostat(spec: Spec, parameters: Parameters) -> Finding:
    """Check that nothing but its integrator acts on velocities, forces or box of production.

    parameters.passive: fixes, or beginnings of their styles, that only look on; any other fix is taken to act.
    """
    for key in ("thermostat", "barostat"):
        if value(spec, f"stages.produce.definition.{key}") not in (None, "none"):
            return hit(f"stages.produce.definition.{key} is set")
    passive = tuple(wanted(parameters, "passive"))
    for line in fragments(spec):
        style = line.words[3] if line.words[0] == "fix" and len(line.words) > 3 else ""
        acts = line.words[0] in _CHANGES or (style and not style.startswith(passive))
        if line.stage == "produce" and acts:
            return hit(f"{line} acts on the velocities, forces or positions whose fluctuations are measured")
    return clear("production is NVE: nothing in it sets temperature or pressure, or adds a force")


def coupling(spec: Spec, parameters: Parameters) -> Finding:
    """Check that each thermostat relaxes over parameters.steps time steps at least.

    A faster one decides the velocities itself: what it then holds is no trajectory of the liquid.
    """
    known = []
    for block in _BLOCKS:
        times = [number(spec, f"{block}.{key}") for key in ("damping", "timestep")]
        known += [(times[0] / times[1], block)] if times[0] is not None and times[1] else []
    if not known:
        return MissingValueError("stages.equilibrate.definition.damping").finding
    steps, block = min(known)
    text = f"{block}.damping is {steps:.3g} time steps"
    return hit(f"{text}, under {parameters['steps']:g}") if steps < wanted(parameters, "steps") else clear(text)


def energy_span(spec: Spec, parameters: Parameters) -> Finding:
    """Check that equilibrate measures its energy for long enough.

    parameters.times: relaxation times of its thermostat; parameters.periods: of the stiffest motion.
    """
    where = "stages.equilibrate.definition"
    try:
        lasts = needed(spec, f"{where}.timestep") * needed(spec, f"{where}.steps")
        damping, period = needed(spec, f"{where}.damping"), estimates.shortest_period(spec)
    except MissingValueError as missing:
        return missing.finding
    text = f"equilibrate measures for {lasts:g}, its thermostat relaxes in {damping:g}"
    if lasts < wanted(parameters, "times") * damping:
        return hit(f"{text}: too briefly for the energy")
    if lasts < wanted(parameters, "periods") * period:
        return hit(f"{text}, and atoms have swung {lasts / period:.3g} times: too briefly for what moves slowly")
    return clear(text)


def discarded(spec: Spec, parameters: Parameters) -> Finding:
    """Check that each stage discards a start: parameters.times relaxation times of its thermostat, .share of the rest.

    An imposed flux has a probe of its own.
    """
    known = 0
    for stage in ("equilibrate", "shear"):
        where = f"stages.{stage}.definition"
        waits, lasts = number(spec, f"{where}.discard_steps"), number(spec, f"{where}.steps")
        if waits is None or lasts is None:
            continue
        known += 1
        step, damping = number(spec, f"{where}.timestep") or 0.0, number(spec, f"{where}.damping") or 0.0
        text = f"{where}.discard_steps is {waits:g} of {waits + lasts:g} steps"
        if waits * step < wanted(parameters, "times") * damping or waits < wanted(parameters, "share") * lasts:
            return hit(f"{text}: what is measured is how the start is forgotten")
    return clear(f"{known} stages discard their start") if known else clear("no stage measures after a start")
