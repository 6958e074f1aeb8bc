"""Probes of integration: time step and sampling against the stiffest motion, and no thermostat in production."""

from sophron.interfaces.probe import Finding
from sophron.science.probes import estimates
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

_INTEGRATED = ("relax", "equilibrate", "produce", "shear")
_THERMOSTATS = (
    "nvt",
    "npt",
    "nph",
    "langevin",
    "temp/",
    "gjf",
    "gle",
    "gld",
    "brownian",
    "press/",
    "ffl",
    "tgnvt",
    "tgnpt",
    "bd/",
)


def time_step(spec: Spec, parameters: Parameters) -> Finding:
    """Check that every stage resolves the period of the stiffest motion by parameters.steps_per_period time steps."""
    steps = {stage: number(spec, f"stages.{stage}.definition.timestep") for stage in _INTEGRATED}
    known = {stage: step for stage, step in steps.items() if step is not None}
    if not known:
        return MissingValueError("stages.produce.definition.timestep").finding
    try:
        period = estimates.shortest_period_tau(spec)
    except MissingValueError as missing:
        return missing.finding
    stage, longest = max(known.items(), key=lambda entry: entry[1])
    text = (
        f"stages.{stage}.definition.timestep is {longest:g} tau, the stiffest motion has a period of {period:.3g} tau"
    )
    return hit(text) if longest * wanted(parameters, "steps_per_period") > period else clear(text)


def sampling(spec: Spec, parameters: Parameters) -> Finding:
    """Check that stress is sampled parameters.samples_per_period times within the period of the stiffest motion."""
    try:
        where = "stages.produce.definition"
        interval = needed(spec, f"{where}.timestep") * needed(spec, f"{where}.sample_every")
        period = estimates.shortest_period_tau(spec)
    except MissingValueError as missing:
        return missing.finding
    text = f"stress is sampled every {interval:g} tau, the stiffest motion has a period of {period:.3g} tau"
    if interval * wanted(parameters, "samples_per_period") > period:
        return hit(f"{text}: the first decay of the autocorrelation is lost between samples")
    return clear(text)


def thermostat(spec: Spec, _parameters: Parameters) -> Finding:
    """No thermostat or barostat acts on production, by its definition or by a free line."""
    for key in ("thermostat", "barostat"):
        if value(spec, f"stages.produce.definition.{key}") not in (None, "none"):
            return hit(f"stages.produce.definition.{key} is set")
    for line in fragments(spec):
        style = line.words[3] if line.words[0] == "fix" and len(line.words) > 3 else ""
        if line.stage == "produce" and style.startswith(_THERMOSTATS):
            return hit(f"{line} acts on the velocities whose correlations are measured")
    return clear("production is NVE: nothing in it sets temperature or pressure")
