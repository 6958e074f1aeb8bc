"""Anharmonic lattice dynamics of a crystal with phono3py: displacements, force constants, the Boltzmann equation.

Units: angstrom, eV, K, ps; conductivities in W/(m K).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.science.conductivity.build import Crystal, crystal
from sophron.science.conductivity.phonon_transport import Modes, mode_capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from phono3py import Phono3py

HOT = 100.0
"""Classical statistics are those of a temperature so many times higher, where every occupation is k_B T over the
phonon's energy. What is left of the quantum is 1/12 of (energy / k_B T)^2: 2e-4 for 30 THz at 300 K."""
PAIRS = 6
"""Independent elements of a symmetric tensor."""


@dataclass(frozen=True)
class Cell:
    """Unit cell of a crystal: `style` and `constant` as in stage build, one element and mass (g/mol) a sublattice."""

    style: str
    constant: float
    elements: tuple[str, ...]
    masses: tuple[float, ...]


@dataclass(frozen=True)
class Supercells:
    """What is displaced: pairs of atoms in `cells`^3 unit cells, single ones in harmonic_cells^3, by `displacement`."""

    cells: int
    harmonic_cells: int
    displacement: float


def phonons(cell: Cell, supercells: Supercells) -> Phono3py:
    """Return phono3py with its displacements. The same arguments give the same ones, in the same order."""
    from phono3py import Phono3py
    from phonopy.structure.atoms import PhonopyAtoms

    one = crystal(cell.style, cell.constant, (1, 1, 1))
    unit = PhonopyAtoms(
        symbols=[cell.elements[kind] for kind in one.species],
        masses=[cell.masses[kind] for kind in one.species],
        scaled_positions=one.positions / cell.constant,
        cell=np.diag(one.box),
    )
    third, second = (np.diag([count] * 3) for count in (supercells.cells, supercells.harmonic_cells))
    made = Phono3py(unit, supercell_matrix=third, phonon_supercell_matrix=second, primitive_matrix="F")
    made.generate_displacements(distance=supercells.displacement)
    made.generate_fc2_displacements(distance=supercells.displacement)
    return made


def perfect(made: Phono3py, cell: Cell) -> dict[str, Crystal]:
    """Return the perfect supercells of both orders, `third` and `second`, as crystals in orthogonal boxes."""
    return {
        order: Crystal(
            np.array([cell.elements.index(symbol) for symbol in one.symbols]),
            np.asarray(one.positions, np.float64),
            (float(one.cell[0, 0]), float(one.cell[1, 1]), float(one.cell[2, 2])),
        )
        for order, one in (("third", made.supercell), ("second", made.phonon_supercell))
    }


def displacements(made: Phono3py) -> dict[str, NDArray[np.float64]]:
    """Return the displacements of both orders, angstrom, (supercells, atoms, 3): of one atom, or of a pair.

    From whole supercells, for phono3py's own array leaves the first atom of a pair out.
    """
    moved = {
        "third": (made.supercell, made.supercells_with_displacements),
        "second": (made.phonon_supercell, made.phonon_supercells_with_displacements),
    }
    return {
        order: np.array([one.positions - rest.positions for one in found], np.float64)
        for order, (rest, found) in moved.items()
    }


def set_forces(made: Phono3py, forces: dict[str, NDArray[np.float64]]) -> None:
    """Make the force constants of `made` from forces, eV/angstrom, in the order and shape of `displacements`."""
    made.forces, made.phonon_forces = forces["third"], forces["second"]
    made.produce_fc3()
    made.symmetrize_fc3()
    made.produce_fc2()
    made.symmetrize_fc2()


def modes(made: Phono3py, mesh: int, temperature: float) -> dict[str, Modes]:
    """Return the phonons on a mesh with their rates at `temperature` (K), by statistics: `classical` and `quantum`.

    Isotopes are those of nature. Classical rates are those at `HOT` times the temperature over `HOT`, for a rate of
    three phonons is linear in occupations. That of isotopes has no occupation in it, so it is taken as it is. One run
    gives both, as what phonons do to each other is computed once for all temperatures.
    """
    factors = {"quantum": 1.0, "classical": HOT}
    found = _run(made, mesh, [temperature * factor for factor in factors.values()], solve=False)
    frequency = np.asarray(found.frequencies, np.float64)
    velocity = np.asarray(found.group_velocities, np.float64)
    distance = np.sqrt(((found.qpoints @ np.linalg.inv(made.primitive.cell).T) ** 2).sum(axis=1))
    return {
        name: Modes(
            volume=float(made.primitive.volume),
            points=mesh**3,
            distance=distance,
            frequency=frequency,
            speed=np.sqrt((velocity**2).sum(axis=-1)),
            velocities=np.asarray(found.gv_by_gv, np.float64),
            capacity=mode_capacity(frequency, temperature * factor),
            anharmonic=4 * np.pi * np.asarray(found.gamma[0, place], np.float64) / factor,
            isotope=4 * np.pi * np.asarray(found.gamma_isotope[0], np.float64),
        )
        for place, (name, factor) in enumerate(factors.items())
    }


def solved(
    made: Phono3py,
    mesh: int,
    temperature: float,
    *,
    classical: bool,
    isotopes: bool,
    length: float | None = None,
    relaxation_time: bool = False,
) -> NDArray[np.float64]:
    """Solve the linearised Boltzmann equation by phono3py itself; xx, yy, zz, yz, xz, xy in W/(m K).

    Classical: at `HOT` times the temperature, every rate without an occupation (isotopes, walls at `length`,
    angstrom) is scaled up with those that have one, and the conductivity back. relaxation_time: in that approximation.
    """
    factor = HOT if classical else 1.0
    walls = None if length is None else length * 1e-4 / factor  # micrometres
    variances = factor * mass_variances(made) if isotopes else np.zeros(len(made.primitive))
    found = _run(made, mesh, [temperature * factor], solve=not relaxation_time, variances=variances, walls=walls)
    return factor * np.asarray(found.kappa, np.float64).reshape(PAIRS)


def mass_variances(made: Phono3py) -> NDArray[np.float64]:
    """Return the variance of each primitive atom's mass over nature's isotopes, in its mean squared."""
    from phono3py.other.isotope import get_mass_variances

    return np.asarray(get_mass_variances(made.primitive), np.float64)


def _run(
    made: Phono3py,
    mesh: int,
    temperatures: Sequence[float],
    *,
    solve: bool,
    variances: Sequence[float] | NDArray[np.float64] | None = None,
    walls: float | None = None,
) -> Any:
    """Run phono3py on the mesh; its result, which has one type with `solve` and another without."""
    made.mesh_numbers = [mesh] * 3
    made.init_phph_interaction()
    made.run_thermal_conductivity(
        is_LBTE=solve, temperatures=temperatures, is_isotope=True, mass_variances=variances, boundary_mfp=walls
    )
    return made.thermal_conductivity
