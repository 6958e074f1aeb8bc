#!/usr/bin/env python3
"""Radial distribution function, or Steinhardt order, of positions in a periodic box."""

import argparse
import json
import sys
from pathlib import Path

import freud
import numpy as np

DEFAULTS = {
    "positions": None,
    "box": None,
    "lattice": None,
    "measure": None,
    "r_max": None,
    "bins": 100,
    "l": 6,
    "neighbours": 12,
    "average": False,
}
LATTICES = ("fcc", "bcc", "sc")


def checked(given):
    """The input with its defaults; ends with a sentence if it is not of the form."""
    for key in given.keys() - DEFAULTS.keys():
        sys.exit(f"input: {key} is unknown; known are {', '.join(DEFAULTS)}")
    about = {**DEFAULTS, **given}
    if about["measure"] not in ("rdf", "steinhardt"):
        sys.exit("input: measure is rdf or steinhardt")
    if (about["positions"] is None) == (about["lattice"] is None):
        sys.exit("input: give one of positions and lattice")
    if about["positions"] and not about["box"]:
        sys.exit("input: box must be there, three lengths or six with tilts")
    return about


def frames_of(about, folder, seed):
    """The box, and positions of shape (frames, N, 3)."""
    if about["positions"]:
        positions = np.load(folder / about["positions"], allow_pickle=False)
        return freud.box.Box.from_box(about["box"]), positions.reshape(-1, *positions.shape[-2:])
    lattice = about["lattice"]
    if lattice["kind"] not in LATTICES:
        sys.exit(f"input: lattice: {lattice['kind']} is unknown; known are {', '.join(LATTICES)}")
    cell = getattr(freud.data.UnitCell, lattice["kind"])()
    box, points = cell.generate_system(lattice.get("cells", 4), sigma_noise=lattice.get("noise", 0.0), seed=seed)
    return box, points[None]


def rdf(box, frames, about):
    """g(r), its first peak and minimum, and the coordination up to there."""
    most = about["r_max"] or 0.49 * min(box.L)
    made = freud.density.RDF(bins=about["bins"], r_max=most)
    for points in frames:
        made.compute((box, points), reset=False)
    r, g = made.bin_centers, made.rdf
    peak = int(np.argmax(g))
    minimum = peak + int(np.argmin(g[peak:]))
    for place in range(peak + 1, len(g) - 1):
        if g[place] < 1 and g[place] <= g[place + 1]:
            minimum = place
            break
    return {
        "r": r.tolist(),
        "g": g.tolist(),
        "first_peak": float(r[peak]),
        "first_minimum": float(r[minimum]),
        "coordination": float(made.n_r[minimum]),
    }


def steinhardt(box, frames, about):
    """q_l over all particles and frames, and of each particle (frames, particles)."""
    made, found = freud.order.Steinhardt(about["l"]), []
    for points in frames:
        made.compute((box, points), neighbors={"num_neighbors": about["neighbours"], "exclude_ii": True})
        found.append(np.array(made.particle_order))
    values = np.concatenate(found)
    return {
        "l": about["l"],
        "mean": float(values.mean()),
        "standard_deviation": float(values.std()),
        "samples": len(values),
        "each": np.array(found),
    }


def main():
    """Read, measure, write result.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    args = parser.parse_args()
    about = checked(json.loads(args.input.read_text()))
    args.work.mkdir(parents=True, exist_ok=True)
    freud.parallel.set_num_threads(1)
    box, frames = frames_of(about, args.input.parent, args.seed)
    frames = [box.wrap(points) for points in frames]
    if about["average"]:
        away = np.mean([box.wrap(points - frames[0]) for points in frames], axis=0)
        frames = [box.wrap(frames[0] + away)]
    measured = (rdf if about["measure"] == "rdf" else steinhardt)(box, frames, about)
    if "each" in measured:
        np.save(args.work / "each.npy", measured.pop("each"))
    count = len(frames[0])
    result = {"particles": count, "frames": len(frames), "number_density": count / box.volume, **measured}
    (args.work / "result.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
