"""A refinement: states one after another, in memory and in a folder, from which any earlier one can be taken up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sophron.interfaces.rietveld import Curves, Cycle, Fit, Pattern, Request, RietveldEngine, Setup, State
from sophron.records.digests import digest
from sophron.records.errors import UserError
from sophron.records.files import write_json
from sophron.records.typed_json import from_json, to_json
from sophron.science.rietveld import engine_messages


@dataclass(frozen=True, eq=False)
class Kept:
    """One state that a refinement holds. number: from 0, the setup; parent: the state it was refined from."""

    number: int
    parent: int | None
    label: str
    state: State
    fit: Fit | None


class Refinement:
    """States of one pattern, each kept in `folder/<number>/`; a process that was killed loses nothing but its cycle."""

    def __init__(self, engine: RietveldEngine, pattern: Pattern, folder: Path, kept: list[Kept]) -> None:
        self.engine = engine
        self.pattern = pattern
        self.folder = folder
        self.kept = kept
        self.current = kept[-1]

    @classmethod
    def begin(cls, engine: RietveldEngine, setup: Setup, folder: Path) -> Refinement:
        """Return a new one in an empty or absent `folder`. UserError for a setup that cannot be."""
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder}: not empty; give a folder for this refinement alone")
        first = Kept(0, None, "start", engine.start(setup), None)
        write_kept(folder, first)
        return cls(engine, setup.pattern, folder, [first])

    @classmethod
    def restore(cls, engine: RietveldEngine, pattern: Pattern, folder: Path) -> Refinement:
        """Return the one that was kept in `folder`, at its last state.

        Raise UserError if its files are not what was written.
        """
        kept: list[Kept] = []
        while (folder / str(len(kept)) / "state.json").is_file():
            kept.append(read_kept(folder, len(kept)))
        if not kept:
            raise UserError(f"{folder}: holds no refinement; give the folder of one")
        return cls(engine, pattern, folder, kept)

    def refine(self, request: Request, label: str) -> Cycle:
        """Return one cycle from the current state.

        If it ends well, its state becomes the current one.
        """
        cycle = self.engine.refine(self.pattern, self.current.state, request)
        if cycle.ended in ("converged", "unfinished"):
            after = Kept(len(self.kept), self.current.number, label, cycle.state, cycle.fit)
            write_kept(self.folder, after)
            self.kept.append(after)
            self.current = after
        return cycle

    def roll_back(self, number: int | None = None) -> Kept:
        """Take up state `number`, or the one before the current; nothing is deleted. UserError if there is none."""
        wanted = self.current.parent if number is None else number
        if wanted is None or not 0 <= wanted < len(self.kept):
            raise UserError(f"there is no state {wanted} to go back to; there are 0 to {len(self.kept) - 1}")
        self.current = self.kept[wanted]
        return self.current


CURVES = "curves.npz"
"""Beside each state that has a fit."""


def write_kept(folder: Path, kept: Kept) -> None:
    """Put one state into `folder/<number>/`. The state comes last: what has one is whole."""
    at = folder / str(kept.number)
    at.mkdir(parents=True, exist_ok=True)
    if kept.fit is not None:
        write_json(at / "fit.json", {"engine": kept.fit.rwp.engine, **engine_messages.fit(kept.fit)})
        save_curves(at / CURVES, kept.fit.curves)
    data = to_json(kept.state)
    named = {"number": kept.number, "parent": kept.parent, "label": kept.label, "digest": digest(data), "state": data}
    write_json(at / "state.json", named)


def read_kept(folder: Path, number: int) -> Kept:
    """Return what `write_kept` wrote. UserError if its files are not that."""
    at = folder / str(number)
    try:
        named = json.loads((at / "state.json").read_text(encoding="utf-8"))
        if digest(named["state"]) != named["digest"]:
            raise UserError(f"{at / 'state.json'}: was changed since it was written; begin anew")
        fit = _fit(at) if (at / "fit.json").is_file() else None
        return Kept(number, named["parent"], named["label"], from_json(State, named["state"]), fit)
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise UserError(f"{at}: not a state of a refinement ({type(error).__name__}); begin anew") from None


def _fit(at: Path) -> Fit:
    data = json.loads((at / "fit.json").read_text(encoding="utf-8"))
    return engine_messages.fit_back(data, data["engine"], load_curves(at / CURVES))


_CURVES = ("two_theta_deg", "observed", "calculated", "background", "sigma")
_TICKS = "ticks_deg/"


def save_curves(path: Path, curves: Curves) -> None:
    """Arrays of a fit as NPZ: five columns, and `ticks_deg/<phase>`."""
    columns = {name: getattr(curves, name) for name in _CURVES}
    ticks = {_TICKS + phase: at for phase, at in curves.ticks_deg.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        np.savez_compressed(stream, **{**columns, **ticks})


def load_curves(path: Path) -> Curves:
    """Return what `save_curves` wrote."""
    with np.load(path, allow_pickle=False) as found:
        ticks = {name.removeprefix(_TICKS): found[name] for name in found.files if name.startswith(_TICKS)}
        return Curves(**{name: found[name] for name in _CURVES}, ticks_deg=ticks)
