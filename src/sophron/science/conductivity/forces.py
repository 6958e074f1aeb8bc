"""Stage forces: forces on the displaced supercells of one batch, by LAMMPS with the pinned potential."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sophron.interfaces.kind import EngineFailure, StepContext, StepResult
from sophron.records.files import write_text
from sophron.records.typed_json import from_json
from sophron.science.conductivity.build import Crystal, interaction_values, write_data
from sophron.science.conductivity.displace import ORDERS, Displaced, available
from sophron.science.conductivity.lattice_dynamics import perfect
from sophron.science.lammps import logfile
from sophron.science.lammps.executable import Lammps, find
from sophron.science.lammps.render import FileName, render
from sophron.science.lammps.run import run_lammps, stop_after_s
from sophron.science.lammps.stage_run import template

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER = 9
"""Lines of a LAMMPS dump before the atoms of a frame."""


def run(ctx: StepContext) -> StepResult:
    """Compute the forces on every `batches`-th displaced supercell from number `batch` on; write `forces.npz`.

    It holds `third` and `second`, (supercells of the batch, atoms, 3), eV/angstrom, less those on the crystal at rest,
    which symmetry forbids: their largest is the result's residual_force.
    """
    step, lammps = ctx.one("displace"), find()
    plan = from_json(Displaced, step.result)
    batch, batches = int(ctx.wildcards["batch"]), ctx.definition["batches"]
    crystals = perfect(available(plan.cell, plan.supercells), plan.cell)
    values = interaction_values(ctx, lammps, plan.model)
    forces, residual, log = {}, 0.0, ""
    with np.load(step.files["displacements"]) as kept:
        for order in ORDERS:
            moved = crystals[order].positions + np.concatenate([0 * kept[order][:1], kept[order][batch::batches]])
            write_data(ctx.workdir / f"{order}.data", crystals[order], plan.cell.masses)
            write_frames(ctx.workdir / f"{order}.frames", crystals[order], moved)
            found, log = _lammps(ctx, lammps, order, values, moved.shape[:2])
            forces[order] = found[1:] - found[0]
            residual = max(residual, float(np.abs(found[0]).max()))
    path = ctx.workdir / "forces.npz"
    np.savez(path, **forces)
    result = {
        "batch": batch,
        "supercells_third": len(forces["third"]),
        "supercells_second": len(forces["second"]),
        "residual_force": residual,
        "largest_force": max(float(np.abs(found).max(initial=0.0)) for found in forces.values()),
    }
    return StepResult(result, {"forces": path}, {"lammps": logfile.version(log)})


def _lammps(
    ctx: StepContext, lammps: Lammps, order: str, values: dict[str, object], shape: tuple[int, ...]
) -> tuple[NDArray[np.float64], str]:
    """Forces on the frames of an order, (frames, atoms, 3), and the log."""
    names = {"data": f"{order}.data", "frames": f"{order}.frames", "forces_file": f"{order}.forces"}
    common = {"timestep": 0.001, "thermo_every": 1, "stop_after_s": stop_after_s(ctx)}
    files = {key: FileName(name) for key, name in names.items()}
    text = render(template("conductivity", "forces"), {**values, **common, **files})
    log = run_lammps(lammps, f"forces_{order}", text, ctx).read_text()
    return read_frames(ctx.workdir / names["forces_file"], shape), log


def write_frames(path: Path, crystal: Crystal, positions: NDArray[np.float64]) -> None:
    """Write positions (frames, atoms, 3) as a LAMMPS dump of text, atoms numbered from 1; 17 digits."""
    bounds = "\n".join(f"0.0 {edge!r}" for edge in crystal.box)
    head = f"ITEM: NUMBER OF ATOMS\n{len(crystal.positions)}\nITEM: BOX BOUNDS pp pp pp\n{bounds}\n"
    kinds = (crystal.species + 1).tolist()
    frames = [
        f"ITEM: TIMESTEP\n{number}\n{head}ITEM: ATOMS id type x y z\n"
        + "".join(
            f"{atom} {kind} {x!r} {y!r} {z!r}\n"
            for atom, (kind, (x, y, z)) in enumerate(zip(kinds, frame, strict=True), 1)
        )
        for number, frame in enumerate(positions.tolist())
    ]
    write_text(path, "".join(frames))


def read_frames(path: Path, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Read three numbers of each atom behind its id, (frames, atoms, 3); EngineFailure unless `shape` fits."""
    frames, atoms = shape
    lines = path.read_text().splitlines()
    if len(lines) != frames * (atoms + HEADER):
        raise EngineFailure(
            f"{path.name} has {len(lines)} lines, and {frames} frames of {atoms} atoms have {frames * (atoms + HEADER)}"
        )
    rows = [line for first in range(0, len(lines), atoms + HEADER) for line in lines[first + HEADER :][:atoms]]
    return np.loadtxt(rows, ndmin=2)[:, 1:].reshape(frames, atoms, 3)
