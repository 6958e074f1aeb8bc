"""Specs of a liquid and a melt that no probe objects to, and ways to change them and to ask a probe."""

import copy
from functools import cache
from pathlib import Path

from sophron.campaign.spec.pitfalls import catalogue
from sophron.records.entry_points import load

WCA = 2 ** (1 / 6)

LIQUID = {
    "kind": "viscosity",
    "question": {"conditions": {"density": 0.8442, "temperature": 0.722}},
    "method": {"name": "green-kubo", "assumptions": []},
    "stages": {
        "build": {
            "definition": {
                "atoms": 256,
                "chain_length": 1,
                "density": 0.8442,
                "model": {"pair": "lj", "cutoff": 2.5, "shift": True},
            }
        },
        "relax": {"definition": {"temperature": 2.0, "timestep": 0.005, "steps": 4000}},
        "equilibrate": {
            "definition": {
                "temperature": 0.722,
                "timestep": 0.005,
                "damping": 0.5,
                "discard_steps": 8000,
                "steps": 60000,
            }
        },
        "produce": {"definition": {"timestep": 0.005, "steps": 500000, "sample_every": 5}},
        "green_kubo": {
            "definition": {"replicas": 6, "max_lag_tau": 10.0},
            "criteria": [{"id": "error", "expression": "viscosity_relative_error < 0.02"}],
        },
    },
}

MELT = copy.deepcopy(LIQUID)
MELT["question"]["conditions"] = {"density": 0.85, "temperature": 1.0, "chain_length": 10}
MELT["stages"]["build"]["definition"] = {
    "atoms": 500,
    "chain_length": 10,
    "density": 0.85,
    "model": {
        "pair": "lj",
        "cutoff": WCA,
        "shift": True,
        "bonds": {"style": "fene", "k": 30.0, "r0": 1.5},
        "special_bonds": "fene",
    },
}
MELT["stages"]["equilibrate"]["definition"] |= {"temperature": 1.0, "discard_steps": 100000, "steps": 100000}
MELT["stages"]["produce"]["definition"]["steps"] = 1600000
MELT["stages"]["green_kubo"]["definition"]["max_lag_tau"] = 400.0
MELT["stages"]["green_kubo"]["criteria"][0]["expression"] = "viscosity_relative_error < 0.06"
MELT["stages"]["shear"] = {"definition": {"rates": [0.01, 0.1], "temperature": 1.0, "timestep": 0.005, "damping": 0.5}}
MELT["stages"]["cross_check"] = {"definition": {}}


def changed(spec, **values):
    """A copy of `spec` with values at keys such as `build__model__cutoff` below its stages' definitions."""
    new = copy.deepcopy(spec)
    for key, value in values.items():
        stage, *keys, last = key.split("__")
        here = new["stages"][stage]["definition"]
        for part in keys:
            here = here[part]
        here[last] = value
    return new


@cache
def shipped():
    return catalogue(Path("/nonexistent"))


def parameters(probe):
    """The parameters that the shipped catalogue gives a probe."""
    (found,) = [entry.parameters for entry in shipped() if entry.probe == probe]
    return found


def probed(pitfall, spec):
    return load("sophron.probes", pitfall.probe)(spec, pitfall.parameters)
