"""Viscosity of simple liquids in mPa s from the reduced one: eta = eta* sqrt(m epsilon) / sigma^2."""

import csv
import json
import math
import sys
from pathlib import Path

BOLTZMANN_J_K = 1.380649e-23
ATOMIC_MASS_KG = 1.66053906660e-27


def main(outcome: str, liquids: str) -> None:
    """Write one row a liquid to standard output."""
    result = json.loads(Path(outcome).read_text())["result"]
    rows = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    rows.writerow(["liquid", "temperature_K", "viscosity_mPa_s", "standard_error_mPa_s"])
    for row in csv.DictReader(Path(liquids).read_text().splitlines(), delimiter="\t"):
        epsilon_k, sigma_m, mass_kg = (
            float(row["epsilon_over_k_K"]),
            float(row["sigma_nm"]) * 1e-9,
            float(row["mass_u"]) * ATOMIC_MASS_KG,
        )
        unit = math.sqrt(mass_kg * BOLTZMANN_J_K * epsilon_k) / sigma_m**2 * 1e3
        numbers = (
            result["temperature_mean"] * epsilon_k,
            result["viscosity"] * unit,
            result["viscosity_standard_error"] * unit,
        )
        rows.writerow([row["liquid"], *(f"{number:.4g}" for number in numbers)])


if __name__ == "__main__":
    main(*sys.argv[1:])
