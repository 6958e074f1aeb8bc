"""Contexts and checks that the tests of the analysis stages share."""

import json
import math
from pathlib import Path

import numpy as np

from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.records.documents import Document, validate


def context(folder, stage, definition, upstream):
    folder.mkdir(parents=True, exist_ok=True)
    return StepContext(stage, {}, definition, upstream, folder, folder, seed=1)


def checked(result, stage):
    """The result after a trip through strict JSON, valid against the stage's schema."""
    plain = json.loads(json.dumps(result, allow_nan=False))
    assert plain == result
    validate(Document(plain, Path("result")), f"viscosity/{stage}", "result")
    return plain


def produce_step(folder, replica, pressure, *, interval=0.1, volume=100.0, temperature=0.72):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"stress-{replica}.npz"
    np.savez(
        path,
        pressure=pressure,
        interval_tau=interval,
        volume=volume,
        temperature_target=temperature,
        first_step=0,
        every_steps=20,
    )
    result = {"temperature_mean": temperature, "temperature_error": 0.002}
    return UpstreamStep("produce", {"replica": str(replica)}, result, {"stress": path})


def liquid_stress(seed, samples, interval, tau, variance):
    """Pressure tensors whose five components relax with `tau`, on a fluctuating hydrostatic pressure."""
    rng = np.random.default_rng(seed)
    decay = math.exp(-interval / tau)
    shear = rng.normal(size=(samples, 5))
    for at in range(1, samples):
        shear[at] = decay * shear[at - 1] + math.sqrt(1 - decay**2) * shear[at]
    shear *= math.sqrt(variance)
    trace = 1.0 + 0.1 * rng.normal(size=samples)
    xy, xz, yz, half, third = shear.T
    zz = 2 * third / math.sqrt(3)
    return np.stack([trace + half - zz / 2, trace - half - zz / 2, trace + zz, xy, xz, yz], axis=1)


def ideal_rouse_chains(rng, frames, chains, beads, interval):
    """Overdamped free chains, dr = -L r dt + sqrt(2) dW with L the springs' matrix, moved exactly; start in equilibrium.

    Spring constant, friction and temperature are 1: mode p relaxes in 1/(4 sin^2(p pi/2N)), D = 1/N, bond^2 = 3.
    """
    springs = 2 * np.eye(beads) - np.eye(beads, k=1) - np.eye(beads, k=-1)
    springs[0, 0] = springs[-1, -1] = 1
    values, vectors = np.linalg.eigh(springs)
    rates = values[1:, None]
    decay = np.exp(-rates * interval)
    shape = (frames, chains, beads, 3)
    kicks = rng.normal(size=shape)
    modes = np.empty(shape)
    modes[0] = kicks[0]
    modes[0, :, 1:] /= np.sqrt(rates)
    for frame in range(1, frames):
        modes[frame, :, 0] = modes[frame - 1, :, 0] + math.sqrt(2 * interval) * kicks[frame, :, 0]
        noise = np.sqrt((1 - decay**2) / rates) * kicks[frame, :, 1:]
        modes[frame, :, 1:] = decay * modes[frame - 1, :, 1:] + noise
    return np.einsum("ip,fcpx->fcix", vectors, modes)
