"""The reported model as files: the engine's state with its weights, for whoever recomputes it, curves, and CIFs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sophron.interfaces.rietveld import Freed, Pattern, State
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.files import write_json, write_text
from sophron.records.typed_json import from_json, to_json
from sophron.science.rietveld import refined_cif
from sophron.science.rietveld.refinement import save_curves
from sophron.science.rietveld.session.session import Reached, Session, Weights

MODEL, CIF, CURVES = "model.json", "model.cif", "curves.npz"


@dataclass(frozen=True)
class Model:
    """Content of `model.json`. number: of the state; sigma: of each point, None for raw counts; free: in its cycle."""

    number: int
    weights: Weights
    sigma: tuple[float, ...] | None
    free: tuple[Freed, ...]
    equal: tuple[tuple[str, ...], ...]
    phases: tuple[str, ...]
    state: State


def write(session: Session, state: Reached) -> None:
    """Put the model of `state` into the session's folder: `model.json`, `model.cif`, `curves.npz`."""
    fit = state.fit
    if fit is None:
        raise UserError("nothing was refined yet; there is no model to keep")
    sigma = state.pattern.sigma
    deviations = None if sigma is None else tuple(sigma.tolist())
    equal = (*session.sample.equal_in(state.phases), *state.equal)
    kept = Model(state.number, state.weights, deviations, state.free, equal, state.phases, state.kept.state)
    write_json(session.folder / MODEL, to_json(kept))
    save_curves(session.folder / CURVES, fit.curves)
    cif = refined_cif.structures(state.phases, session.sample.cifs, state.kept.state, fit)
    write_text(session.folder / CIF, cif)


def read(path: Path, pattern: Pattern) -> tuple[Pattern, Model]:
    """Return the pattern with the weights of the model in `path`, and that model. UserError."""
    try:
        kept = from_json(Model, documents.load_json(path))
        sigma = None if kept.sigma is None else np.array(kept.sigma, dtype=float)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: is no model of a refinement ({type(error).__name__}); refine again") from None
    return Pattern(pattern.name, pattern.two_theta_deg, pattern.intensity, sigma), kept
