"""Symmetry and powder lines of silicon: Fd-3m is 227; Bragg's law gives 28.442 degrees for (111) with Cu K alpha 1."""

import json

from pymatgen.analysis.diffraction.xrd import XRDCalculator
from pymatgen.core import Lattice, Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

silicon = Structure.from_spacegroup("Fd-3m", Lattice.cubic(5.4310), ["Si"], [[0, 0, 0]])
pattern = XRDCalculator("CuKa1").get_pattern(silicon, two_theta_range=(20, 40))
print(
    json.dumps(
        {"space_group": SpacegroupAnalyzer(silicon).get_space_group_number(), "two_theta_111": float(pattern.x[0])}
    )
)
