"""Free energies of a point in closed form, to check restraints and cycles against."""

import math

from sophron.science.estimators.restraints import STANDARD_VOLUME, rt


def turned_on_in_space(k: float, temperature_k: float) -> float:
    """Free energy in kcal/mol of holding a point at 1 mol/l by U = k r^2 in three dimensions."""
    unit = rt(temperature_k)
    return -unit * math.log((math.pi * unit / k) ** 1.5 / STANDARD_VOLUME)


def standard_state(volume_a3: float, temperature_k: float) -> float:
    """Free energy in kcal/mol of letting a point go from a volume in Angstrom^3 into 1 mol/l: RT ln(V / V0)."""
    return rt(temperature_k) * math.log(volume_a3 / STANDARD_VOLUME)
