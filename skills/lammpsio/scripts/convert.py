#!/usr/bin/env python3
"""Read a LAMMPS data or dump file, describe one frame, and write it in other formats."""

import argparse
import json
import sys
from pathlib import Path

import lammpsio
import numpy as np

DEFAULTS = {"data": None, "dump": None, "schema": None, "frame": -1, "atom_style": None, "write": []}
FORMATS = ("data", "gsd")


def checked(given):
    """The input with its defaults; ends with a sentence if it is not of the form."""
    for key in given.keys() - DEFAULTS.keys():
        sys.exit(f"input: {key} is unknown; known are {', '.join(DEFAULTS)}")
    about = {**DEFAULTS, **given}
    if about["data"] is None and about["dump"] is None:
        sys.exit("input: give data, dump, or both: bonds of the data file and positions of the dump")
    for one in about["write"]:
        if one not in FORMATS:
            sys.exit(f"input: write: {one} is unknown; known are {', '.join(FORMATS)}")
    return about


def load(about, folder):
    """The frame that is asked for, and how many there are."""
    known = None
    if about["data"]:
        known = lammpsio.DataFile(str(folder / about["data"]), atom_style=about["atom_style"]).read()
    if not about["dump"]:
        return known, 1
    if known is not None and known.has_id():
        known.reorder(np.argsort(known.id))
    frames = list(lammpsio.DumpFile(str(folder / about["dump"]), about["schema"], copy_from=known))
    return frames[about["frame"]], len(frames)


def write_data(snapshot, path, atom_style):
    """A data file; the largest difference after it is read again."""
    style = atom_style or ("molecular" if snapshot.has_molecule() else "atomic")
    lammpsio.DataFile.create(str(path), snapshot, atom_style=style)
    again = lammpsio.DataFile(str(path), atom_style=style).read()
    order = np.argsort(again.id) if again.has_id() else slice(None)
    return float(np.abs(again.position[order] - snapshot.position).max())


def write_gsd(snapshot, path):
    """A GSD file; the largest difference of a coordinate, both boxes centred."""
    import gsd.hoomd

    made = snapshot.to_hoomd_gsd()
    frame = made[0] if isinstance(made, tuple) else made  # some versions return the labels of types too
    frame.particles.body = None  # lammpsio puts the molecule there, which HOOMD takes for a rigid body
    with gsd.hoomd.open(str(path), "w") as out:
        out.append(frame)
    with gsd.hoomd.open(str(path), "r") as stored:
        middle = (np.asarray(snapshot.box.low) + np.asarray(snapshot.box.high)) / 2
        return float(np.abs(stored[0].particles.position - (snapshot.position - middle)).max())


def main():
    """Read, describe, convert, write result.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True, help="taken, not used")
    args = parser.parse_args()
    about = checked(json.loads(args.input.read_text()))
    args.work.mkdir(parents=True, exist_ok=True)
    snapshot, frames = load(about, args.input.parent)
    if snapshot.has_id():
        snapshot.reorder(np.argsort(snapshot.id))
    low, high = np.asarray(snapshot.box.low, float), np.asarray(snapshot.box.high, float)
    errors, written = [0.0], []
    for one in about["write"]:
        path = args.work / f"converted.{one}"
        errors.append(write_data(snapshot, path, about["atom_style"]) if one == "data" else write_gsd(snapshot, path))
        written.append(path.name)
    masses = snapshot.mass if snapshot.has_mass() else np.ones(snapshot.N)
    result = {
        "particles": int(snapshot.N),
        "step": snapshot.step,
        "frames": frames,
        "types": sorted({int(one) for one in snapshot.typeid}) if snapshot.has_typeid() else [],
        "box": {
            "low": low.tolist(),
            "high": high.tolist(),
            "tilt": None if snapshot.box.tilt is None else np.asarray(snapshot.box.tilt).tolist(),
        },
        "bonds": int(snapshot.bonds.N) if snapshot.has_bonds() else 0,
        "number_density": float(snapshot.N / np.prod(high - low)),
        "centre_of_mass": (masses @ snapshot.position / masses.sum()).tolist(),
        "round_trip_error": max(errors),
        "written": written,
    }
    (args.work / "result.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
