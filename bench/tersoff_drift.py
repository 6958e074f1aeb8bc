"""How fast a crystal with Tersoff's potential of 1989 warms without a thermostat, by time step, and why SiC does most.

In SiC next-nearest silicon atoms lie just beyond where the potential ends. The last run has that end moved in by
0.15 angstrom: a test of the cause, and no potential to use.

    python bench/tersoff_drift.py    # about 2 CPU minutes
"""

import subprocess
import tempfile
from pathlib import Path

from record import record

from sophron.science.conductivity.build import UNITS
from sophron.science.lammps.executable import find, potential
from sophron.science.lammps.logfile import tables

FILE, END, MOVED = "SiC.tersoff", "2.85   0.15", "2.70   0.15"
"""Middle and half width of the step in which the potential between silicon atoms ends, angstrom."""
PICOSECONDS, FIRST = 10.0, 2.0
"""Length of a run, and when the drift begins to be measured."""
CRYSTALS = {
    "sic": ("diamond 4.3212", 2, " ".join(f"basis {place} {1 + (place > 4)}" for place in range(1, 9)), "Si C"),
    "silicon": ("diamond 5.432", 1, "", "Si"),
}
"""Lattice, species, which of them each atom of the cell is, and their names."""
RUNS = [
    ("sic", 0.002, END),
    ("sic", 0.001, END),
    ("silicon", 0.002, END),
    ("silicon", 0.004, END),
    ("sic", 0.002, MOVED),
]


def kelvin_a_picosecond(folder: Path, crystal: str, timestep: float, end: str) -> float:
    """Return the gain of energy of 512 or 1,536 atoms at some 300 K, as a temperature of 3 degrees of freedom twice."""
    lattice, species, basis, names = CRYSTALS[crystal]
    text = potential(find(), FILE).read_text()
    assert END in text
    (folder / "tersoff").write_text(text.replace(END, end))
    every = round(FIRST / timestep)
    (folder / "in").write_text(
        f"units metal\nlattice {lattice}\nregion all block 0 4 0 4 0 {12 if species == 2 else 4}\n"
        f"create_box {species} all\ncreate_atoms 1 box {basis}\nmass 1 28.0855\n"
        + ("mass 2 12.0107\n" if species == 2 else "")
        + f"pair_style tersoff\npair_coeff * * tersoff {names}\ntimestep {timestep}\n"
        f"velocity all create 600 1\nfix move all nve\nthermo_style custom step atoms etotal\nthermo {every}\n"
        f"run {round(PICOSECONDS / timestep)}\n"
    )
    subprocess.run(["lmp", "-in", "in", "-log", "log", "-screen", "none"], cwd=folder, check=True)
    rows = tables((folder / "log").read_text())[-1].rows
    (_, atoms, begun), (_, _, ended) = rows[1], rows[-1]
    return (ended - begun) / atoms / (3 * UNITS["metal"].boltzmann) / (PICOSECONDS - FIRST)


def main() -> None:
    """Run all, and record."""
    rows = []
    for crystal, timestep, end in RUNS:
        with tempfile.TemporaryDirectory() as name:
            drift = kelvin_a_picosecond(Path(name), crystal, timestep, end)
        rows.append({"crystal": crystal, "timestep_ps": timestep, "end_moved_in": end == MOVED, "k_per_ps": drift})
        print(rows[-1], flush=True)
    record("tersoff_drift", {"picoseconds": PICOSECONDS, "from_picosecond": FIRST, "runs": rows})


if __name__ == "__main__":
    main()
