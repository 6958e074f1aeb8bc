"""The two unit systems of the kind: what LAMMPS calls `metal`, and reduced Lennard-Jones units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Units:
    """A unit system of LAMMPS.

    boltzmann: Boltzmann's constant in energy a degree; to_conductivity: unit of the conductivity that energy, length,
    time and temperature make, in `conductivity`; skin: reach of neighbour lists beyond the cut-off, in `length`.
    """

    boltzmann: float
    to_conductivity: float
    conductivity: str
    length: str
    time: str
    skin: float


SIGMA = "\N{GREEK SMALL LETTER SIGMA}"

UNITS = {
    # eV/K and 1 eV/(K ps A) in W/(m K), from the exact elementary charge and Boltzmann constant of the SI (2019)
    "metal": Units(8.617333262e-5, 1602.176634, "W/(m K)", "Å", "ps", 1.0),
    "lj": Units(1.0, 1.0, f"k_B {SIGMA}⁻¹ τ⁻¹", SIGMA, "τ", 0.3),
}
