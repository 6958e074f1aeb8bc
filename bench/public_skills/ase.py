"""Equation of state of copper with EMT, whose own lattice constant is 3.59 angstrom."""

import json

import numpy as np
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.eos import EquationOfState

volumes, energies = [], []
for a in np.linspace(3.45, 3.75, 9):
    copper = bulk("Cu", "fcc", a=a)
    copper.calc = EMT()
    volumes.append(copper.get_volume())
    energies.append(copper.get_potential_energy())
volume = EquationOfState(volumes, energies).fit()[0]
print(json.dumps({"a_angstrom": (4 * volume) ** (1 / 3)}))
