"""A small MACE model with random weights: rotation leaves the energy, and forces are the slope of the energy."""

import json
import os

os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # e3nn 0.4.4, which MACE wants, cannot load its tables else

import ase.build
import numpy as np
import torch
from e3nn import o3
from mace import modules
from mace.calculators import MACECalculator

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
model = modules.MACE(
    r_max=4.0, num_bessel=4, num_polynomial_cutoff=3, max_ell=2, num_interactions=2, num_elements=2,
    interaction_cls=modules.interaction_classes["RealAgnosticResidualInteractionBlock"],
    interaction_cls_first=modules.interaction_classes["RealAgnosticResidualInteractionBlock"],
    hidden_irreps=o3.Irreps("8x0e + 8x1o"), MLP_irreps=o3.Irreps("8x0e"), gate=torch.nn.functional.silu,
    atomic_energies=np.array([-13.6, -430.0]), avg_num_neighbors=2, atomic_numbers=[1, 8], correlation=2,
)  # fmt: skip
water = ase.build.molecule("H2O")
water.calc = MACECalculator(models=[model], device="cpu", default_dtype="float64")
energy, force = water.get_potential_energy(), water.get_forces()[0, 2]
turned = water.copy()
turned.rotate(37, (1, 2, 3))
turned.calc = water.calc
step = 1e-4
sides = []
for sign in (1, -1):
    moved = water.copy()
    moved.positions[0, 2] += sign * step
    moved.calc = water.calc
    sides.append(moved.get_potential_energy())
slope = (sides[1] - sides[0]) / (2 * step)
print(json.dumps({
    "rotated_energy_difference": abs(turned.get_potential_energy() - energy),
    "force_against_difference": abs(slope - force),
    "force_is_zero": int(abs(force) < 1e-4),
    "torch": torch.__version__,
}))  # fmt: skip
