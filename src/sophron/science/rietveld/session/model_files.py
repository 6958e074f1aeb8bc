"""The reported model as files: the engine's state with its weights, for whoever recomputes it, curves, and CIFs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sophron.interfaces.rietveld import Freed, Pattern, State
from sophron.records import documents
from sophron.records.atomic import write_json, write_text
from sophron.records.errors import UserError
from sophron.science.rietveld import engine_messages, refined_cif
from sophron.science.rietveld.refinement import save_curves
from sophron.science.rietveld.session.session import Reached, Session
from sophron.science.rietveld.session.trajectory import freed_data

MODEL, CIF, CURVES = "model.json", "model.cif", "curves.npz"


def write(session: Session, state: Reached) -> None:
    """Put the model of `state` into the session's folder: `model.json`, `model.cif`, `curves.npz`."""
    fit = state.fit
    if fit is None:
        raise UserError("nothing was refined yet; there is no model to keep")
    sigma = state.pattern.sigma
    kept = {
        "number": state.number,
        "weights": state.weights,
        "sigma": None if sigma is None else sigma.tolist(),
        "free": freed_data(state.free),
        "equal": [list(one) for one in state.equal],
        "phases": list(state.phases),
        "state": engine_messages.state(state.kept.state),
    }
    write_json(session.folder / MODEL, kept)
    save_curves(session.folder / CURVES, fit.curves)
    sources = {one.phase.name: one.phase.cif for one in session.sample.phases}
    cifs = [
        refined_cif.refined(name, sources[name], state.kept.state.values, {one.name: one for one in fit.parameters})
        for name in state.phases
    ]
    write_text(session.folder / CIF, "\n".join(cifs))


def read(path: Path, pattern: Pattern) -> tuple[Pattern, State, dict[str, Any]]:
    """The pattern with the weights of the model in `path`, its state, and the rest of the file. UserError."""
    kept = documents.load_json(path)
    try:
        sigma = None if kept["sigma"] is None else np.array(kept["sigma"], dtype=float)
        state = engine_messages.state_back(kept["state"])
        kept["free"] = tuple(Freed(**one) for one in kept["free"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: is no model of a refinement ({type(error).__name__}); refine again") from None
    return Pattern(pattern.name, pattern.two_theta_deg, pattern.intensity, sigma), state, kept
