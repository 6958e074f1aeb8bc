"""Probes of a search for the best sequence: evaluations that tell sequences apart, and a stricter validation."""

from sophron.interfaces.probe import Finding
from sophron.science.probes.spec_access import MissingValueError, Parameters, Spec, clear, hit, needed, wanted

_STAGES = ("warm_up", "rounds", "validate")
_RELAXATION = 10.0
"""Longest correlation time of the squared radius of a globule of 20 beads at damping 1 tau, in tau; measured."""


def evaluation_length(spec: Spec, parameters: Parameters) -> Finding:
    """Check that each stage discards and measures parameters.discarded and .measured relaxation times of a globule.

    One of 20 beads is taken for all: it grows with the beads, so that a short run of a longer chain may pass.
    """
    try:
        step = needed(spec, "stages.warm_up.definition.model.timestep")
        for stage in _STAGES:
            for name, times in (("discard_steps", "discarded"), ("steps", "measured")):
                key = f"stages.{stage}.definition.{name}"
                lasts, least = needed(spec, key) * step, wanted(parameters, times) * _RELAXATION
                if lasts < least:
                    return hit(
                        f"{key} lasts {lasts:g} tau, and {least:g} tau are {parameters[times]:g} relaxation times"
                    )
    except MissingValueError as missing:
        return missing.finding
    return clear("every run discards and measures enough relaxation times of a globule of 20 beads")


def validation_length(spec: Spec, parameters: Parameters) -> Finding:
    """Check that a validation run has parameters.times the steps of an evaluation of the rounds."""
    try:
        long, short = (needed(spec, f"stages.{stage}.definition.steps") for stage in ("validate", "rounds"))
    except MissingValueError as missing:
        return missing.finding
    text = f"validate runs {long:g} steps, rounds {short:g}"
    if long < wanted(parameters, "times") * short:
        return hit(f"{text}: what chose a sequence is known as well as what confirms it")
    return clear(text)
