"""Steps of the kind sequence_bo for tests: definitions that take a second, and evaluations that are made up."""

from itertools import pairwise

from sophron.interfaces.kind import UpstreamStep

MODEL = {
    "epsilon_a": 1.0, "epsilon_b": 1.5, "cutoff": 2.5, "special_bonds": "fene", "bond_k": 30.0, "bond_r0": 1.5,
    "temperature": 1.0, "damping": 1.0, "timestep": 0.01,
}  # fmt: skip
RUN = {"discard_steps": 2000, "steps": 60_000, "sample_every": 20}
WARM_UP = {"chain": {"length": 8, "count_b": 4}, "model": MODEL, "given": ["A4B4"], "random": 5, **RUN}
ROUNDS = {
    "rounds": 3, "batch": 3, "repeats": 1, "acquisition": "noisy_ei", "draws": 64, "parents": 3, "least_gain": 0.0,
    "candidates": {"mutations": 10, "block_moves": 10, "recombinations": 10, "random": 5}, **RUN,
}  # fmt: skip
VALIDATE = {"candidates": 2, **RUN, "steps": 120_000}


def radius(sequence):
    """A made-up radius: the more blocks, the smaller."""
    return 1.2 - 0.01 * sum(one != other for one, other in pairwise(sequence))


def evaluated(stage, wildcards, sequence, error=0.004, **more):
    """A finished evaluation of the made-up radius."""
    result = {"sequence": sequence, "radius_of_gyration": radius(sequence), "radius_of_gyration_error": error, **more}
    return UpstreamStep(stage, wildcards, result, {})
