"""Conductivity of SiC in boxes with an imposed flux, by length, beside the Boltzmann equation in boxes with walls.

Mueller-Plathe in boxes of 4 x 4 x {12, 24, 48, 96, 192} cells by the stages of the kind, at the lattice constant of
bench/phonons.py; the shortest box again with rarer swaps, with reservoirs (eHEX) in place of swaps, and 6 x 6 cells
wide. Each has replicas, whose spread is the error if blocks of a picosecond correlate. A box that did not keep its
temperature is recorded as `heated`, one whose gradient still grows as `unsteady`, with what its replicas would have
said; neither is among the boxes. What has ended is not run again, so it can be stopped and called again; what was not
run is listed. 96 cells take half an hour a replica, 192 would take hours.

    python bench/nemd_ladder.py --keep nemd --replica 0 --run 12 24 12-rare 48 12-reservoir 12-wide    # 15 CPU minutes
    python bench/nemd_ladder.py --keep nemd    # record what is there
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from conductivity import run
from numpy.typing import NDArray
from phonons import COMMON, CRYSTALS
from record import RESULTS, record

from sophron.science.conductivity.build import UNITS
from sophron.science.conductivity.temperature_profile import Profile, conductivity, gradients, read_profile
from sophron.science.estimators.statistical_power import compare_two
from sophron.science.estimators.statistics import Estimated, replica_mean
from sophron.science.lammps.executable import find, potential

TEMPERATURE, TIMESTEP, CELLS = 300.0, 0.001, 12
"""With 0.002 SiC warms by 12 K a picosecond by itself, with 0.001 by 0.6 (tersoff_drift.py)."""
SWAP_EVERY, BLOCK, SAMPLE, FIT_SHARE = 50, 1000, 10, 0.7
WARMER = 15.0
"""K that the mean of a box may differ from the temperature."""
GROWS = 0.1
"""Share by which the gradient may grow from the first half of what is measured to the second.

Replicas of 12, 24 and 48 cells of campaigns/sic-phonons, steady after 15 ps, have -5 to 4 %, single ones up to 14 %."""
LONG: dict[str, Any] = {"timestep": 0.0008, "swap_every": 125}
"""Of 96 cells and more: a profile takes longer to be steady, in which the box must stay cool (a third of the drift).
Half the swaps a picosecond keep hot and cold slabs near the temperature."""
EQUILIBRATE = {
    "temperature": TEMPERATURE, "timestep": TIMESTEP, "damping": 0.1, "discard_steps": 2000, "steps": 3000,
    "settle_steps": 1000, "sample_every": SAMPLE,
}  # fmt: skip
IMPOSED = {
    "timestep": TIMESTEP, "damping": 0.1, "settle_steps": 2000, "steps": 10_000, "slab_cells": 1,
    "sample_every": SAMPLE, "block_steps": BLOCK, "fit_share": FIT_SHARE,
}  # fmt: skip
SHARES = (1.0, 0.5, 0.25)
"""Length of the walls' box over that of the periodic one, whose hot and cold slabs lie half a length apart."""


@dataclass(frozen=True)
class Box:
    """One box: copies of 12 cells along z, steps between swaps, cells across; `reservoir`: no swaps, but eHEX."""

    copies: int
    swap_every: int = SWAP_EVERY
    width: int = 4
    reservoir: bool = False
    timestep: float = TIMESTEP

    @property
    def discard(self) -> int:
        """Steps before the profile is steady: 5, 7 and 14 ps were seen for 1, 2 and 4 copies, then as heat diffuses."""
        return self.steps(max(10_000, 4000 * self.copies, 875 * self.copies**2))

    def steps(self, usual: int) -> int:
        """Return the steps of this box in the time of so many of TIMESTEP."""
        return round(usual * TIMESTEP / self.timestep)

    def definition(self) -> dict[str, Any]:
        """Return what the stage is asked for: IMPOSED, with as many picoseconds at any time step."""
        times = {name: self.steps(IMPOSED[name]) for name in ("settle_steps", "steps", "block_steps")}
        own = {"timestep": self.timestep, "swap_every": self.swap_every, "discard_steps": self.discard}
        return IMPOSED | times | own | {"copies": [self.copies]}


BOXES = {str(CELLS * copies): Box(copies) for copies in (1, 2, 4)} | {
    "96": Box(8, **LONG),
    "192": Box(16, **LONG),
    "12-rare": Box(1, swap_every=2 * SWAP_EVERY),
    "12-wide": Box(1, width=6),
    "12-reservoir": Box(1, reservoir=True),
}


def measure(box: Box, kept: Path, replica: int) -> dict[str, Any]:
    """Run the stages up to the box; its conductivity with the error of its blocks, None if they correlate."""
    build, constant = CRYSTALS["sic"]
    cells = {"cells": [box.width, box.width, CELLS], "lattice": {"style": "zincblende", "constant": constant}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = run(folder, "build", COMMON | build | cells, [], 1, replica="0")
        started = run(folder, "equilibrate", EQUILIBRATE, [built], 2 + 10 * replica, replica="0")
        if box.reservoir:
            swapped = json.loads((kept / "12.0.json").read_text())
            return by_reservoirs(folder, box, started.files["system"], swapped)
        wildcards = {"copies": str(box.copies), "replica": "0"}
        ended = run(folder, "mueller_plathe", box.definition(), [started], 3 + 10 * replica, **wildcards)
        whole = np.load(ended.files["profile"])
        profile = Profile(whole["temperature"], whole["swapped"], ended.result["length"], ended.result["area"], 1.0)
        return {**ended.result, "gradients": mean_gradients(profile).tolist()}


def mean_gradients(profile: Profile) -> NDArray[np.float64]:
    """Gradient of each block, the discarded ones too, over both halves of the box in K/angstrom."""
    rising, falling = gradients(profile, IMPOSED["fit_share"]).T
    return np.asarray(rising - falling) / 2


def by_reservoirs(folder: Path, box: Box, system: Path, swapped: dict[str, Any]) -> dict[str, Any]:
    """Run the box of 12 cells with the power of its swaps, added to the middle slab and taken from the first (eHEX)."""
    length, area = swapped["length"], swapped["area"]
    power = swapped["energy_swapped"] / (IMPOSED["steps"] * TIMESTEP)
    file = str(CRYSTALS["sic"][0]["potential"])
    shutil.copy(potential(find(), file), folder)
    shutil.copy(system, folder / "start.data")
    slab, middle = length / CELLS, length / 2
    (folder / "in").write_text(
        "units metal\natom_style atomic\nread_data start.data\npair_style tersoff\n"
        f"pair_coeff * * {file} Si C\ntimestep {TIMESTEP}\n"
        f"region cold block INF INF INF INF 0 {slab}\nregion hot block INF INF INF INF {middle} {middle + slab}\n"
        f"fix move all nve\nfix add all ehex 1 {power} region hot\nfix take all ehex 1 {-power} region cold\n"
        f"compute slab all chunk/atom bin/1d z lower {(1 + 1e-9) / CELLS} units reduced\n"
        f"fix profile all ave/chunk {SAMPLE} {BLOCK // SAMPLE} {BLOCK} slab temp file profile\n"
        f"run {box.discard + IMPOSED['steps']}\n"
    )
    subprocess.run(["lmp", "-in", "in", "-log", "log", "-screen", "none"], cwd=folder, check=True)
    first = box.discard // BLOCK
    blocks = read_profile(folder / "profile", CELLS)[first:]
    energy = power * BLOCK * TIMESTEP * np.arange(len(blocks) + 1)
    profile = Profile(blocks, energy, length, area, BLOCK * TIMESTEP)
    found = conductivity(profile, FIT_SHARE, UNITS["metal"].to_conductivity)
    return found | {"length": length, "area": area, "temperature_mean": float(blocks.mean())}


def run_missing(kept: Path, names: list[str], replica: int) -> None:
    """Run what is not there yet, in this order."""
    for name in names:
        path = kept / f"{name}.{replica}.json"
        if not path.exists():
            found = measure(BOXES[name], kept, replica)
            path.write_text(json.dumps(found))
            print(name, found["conductivity"], found["conductivity_error"], found["temperature_mean"], flush=True)


def warmed(found: dict[str, Any]) -> bool:
    """Tell whether a box is no longer at the temperature asked for."""
    return bool(abs(found["temperature_mean"] - TEMPERATURE) > WARMER)


def growth(runs: list[dict[str, Any]]) -> float | None:
    """Share by which the gradient grows from half to half, over replicas; None if none kept its gradients."""
    kept = [np.array_split(one["gradients"][-one["blocks"] :], 2) for one in runs if "gradients" in one]
    before, after = (sum(float(halves[part].mean()) for halves in kept) for part in (0, 1))
    return after / before - 1 if kept else None


def over_replicas(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first replica with the mean of all, its error, and the degrees of freedom of that."""
    values, errors = ([one[key] for one in runs] for key in ("conductivity", "conductivity_error"))
    freedoms = [one["conductivity_degrees_of_freedom"] or 1.0 for one in runs]
    mean, error, freedom = replica_mean(values, errors, freedoms)
    about = {"conductivity": mean, "conductivity_error": error, "conductivity_degrees_of_freedom": freedom}
    return {**runs[0], **about, "replicas": len(runs)}


def row(name: str, found: dict[str, Any], walls: dict[int, float]) -> dict[str, Any]:
    """One line of the table: a box, and what walls at shares of its length leave of the conductivity."""
    keys = ("length", "conductivity", "conductivity_error", "conductivity_degrees_of_freedom", "temperature_span",
            "temperature_mean", "replicas")  # fmt: skip
    beside = {str(share): walls.get(round(share * found["length"])) for share in SHARES}
    return {
        **asdict(BOXES[name]),
        "discard_steps": BOXES[name].discard,
        **{key: found[key] for key in keys},
        "with_walls": beside,
    }


def against(found: dict[str, dict[str, Any]], name: str) -> dict[str, Any] | None:
    """Compare a variant of the shortest box with it."""
    if not all(one in found and found[one]["conductivity_error"] for one in ("12", name)):
        return None
    keys = ("conductivity", "conductivity_error", "conductivity_degrees_of_freedom")
    compared = compare_two(*(Estimated(*(found[one][key] for key in keys)) for one in ("12", name)))
    return {**asdict(compared), "agreement": compared.agreement(0.2)}


def payload(kept: Path) -> dict[str, Any]:
    """Return all that has run, and what has not."""
    runs = {name: [json.loads(path.read_text()) for path in sorted(kept.glob(f"{name}.[0-9].json"))] for name in BOXES}
    heated = {name: [one["temperature_mean"] for one in all_ if warmed(one)] for name, all_ in runs.items()}
    grown = {name: share for name, all_ in runs.items() if (share := growth(all_)) is not None}
    unsteady = {name: [one["conductivity"] for one in runs[name]] for name, share in grown.items() if share > GROWS}
    sound = {name: one for name, one in runs.items() if one and not heated[name] and name not in unsteady}
    found = {name: over_replicas(one) for name, one in sound.items()}
    phonons = json.loads((RESULTS / "phonons_sic.json").read_text())["result"]["transport"]
    walls = {round(one["length"]): one["conductivity"] for one in phonons["lengths"]}
    return {
        "protocol": IMPOSED | {"temperature": TEMPERATURE, "swap_every": SWAP_EVERY},
        "boxes": {name: row(name, one, walls) for name, one in found.items()},
        "variants": {name: against(found, name) for name in ("12-rare", "12-wide", "12-reservoir")},
        "heated": {name: temperatures for name, temperatures in heated.items() if temperatures},
        "unsteady": unsteady,
        "growth": grown,
        "gradients": {name: [one["gradients"] for one in runs[name] if "gradients" in one] for name in grown},
        "not_run": [name for name, one in runs.items() if not one],
        "bulk_by_phonons": phonons["conductivity"],
        "paper": {"boxes": [12, 24, 48], "width": 6, "straight_line": 8.87, "error": 0.06},
    }


def main() -> None:
    """Run what is asked for, or record what is there."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--keep", type=Path, required=True, help="folder of the boxes that have ended")
    given.add_argument("--run", nargs="+", choices=BOXES, default=[])
    given.add_argument("--replica", type=int, default=0)
    args = given.parse_args()
    args.keep.mkdir(parents=True, exist_ok=True)
    if args.run:
        run_missing(args.keep, args.run, args.replica)
        return
    print(record("nemd_ladder", payload(args.keep)))


if __name__ == "__main__":
    main()
