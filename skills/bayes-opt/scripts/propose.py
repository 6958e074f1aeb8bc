#!/usr/bin/env python3
"""Propose the next points of a Bayesian optimisation from what was observed."""

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm, qmc
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

DEFAULTS = {"bounds": None, "observations": [], "batch": 1, "goal": "min"}
CANDIDATES, STARTS = 2048, 8


def checked(given):
    """The input with its defaults; ends with a sentence if it is not of the form."""
    for key in given.keys() - DEFAULTS.keys():
        sys.exit(f"input: {key} is unknown; known are {', '.join(DEFAULTS)}")
    about = {**DEFAULTS, **given}
    if not about["bounds"] or any(low >= high for low, high in about["bounds"].values()):
        sys.exit("input: bounds must be there, each with its lower value first")
    if about["goal"] not in ("min", "max"):
        sys.exit("input: goal is min or max")
    for number, one in enumerate(about["observations"]):
        if missing := [key for key in (*about["bounds"], "y") if not isinstance(one.get(key), int | float)]:
            sys.exit(f"input: observations[{number}]: {missing[0]} is not a number")
    return about


class Model:
    """A Gaussian process over the unit cube; `y` of unit variance, to be minimised."""

    def __init__(self, points, values, errors, seed):
        self.mean, self.scale = values.mean(), values.std() or 1.0
        self.points, self.values = points, (values - self.mean) / self.scale
        self.noise = (errors / self.scale) ** 2 + 1e-8
        kernel = ConstantKernel(1.0, (1e-2, 1e3)) * Matern([0.3] * points.shape[1], (1e-2, 10.0), nu=2.5)
        if not errors.any():
            kernel += WhiteKernel(1e-4, (1e-10, 1.0))
        self.process = GaussianProcessRegressor(kernel, alpha=self.noise, n_restarts_optimizer=4, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.process.fit(points, self.values)

    def predict(self, points):
        """Mean and standard deviation of the function itself, without the noise of an observation."""
        mean, deviation = self.process.predict(np.atleast_2d(points), return_std=True)
        white = getattr(self.process.kernel_, "k2", None)
        noise = white.noise_level if isinstance(white, WhiteKernel) else 0.0
        return mean, np.sqrt(np.maximum(deviation**2 - noise, 1e-16))

    def believe(self, point):
        """Take the prediction at a point for an observation, the kernel as it is."""
        self.points = np.vstack([self.points, point])
        self.values = np.append(self.values, self.predict(point)[0])
        self.noise = np.append(self.noise, 1e-8)
        self.process = GaussianProcessRegressor(self.process.kernel_, alpha=self.noise, optimizer=None).fit(
            self.points, self.values
        )


def smallest(function, dimension, seed):
    """Where a function of points of the unit cube is smallest: many candidates, the best of them refined."""
    candidates = qmc.Sobol(dimension, seed=seed).random(CANDIDATES)
    best = candidates[np.argsort(function(candidates))[:STARTS]]
    found = [minimize(lambda x: float(function(x[None])[0]), start, bounds=[(0, 1)] * dimension) for start in best]
    return min(found, key=lambda one: one.fun).x


def improvement(model, points, best):
    """Expected improvement below `best`."""
    mean, deviation = model.predict(points)
    z = (best - mean) / deviation
    return (best - mean) * norm.cdf(z) + deviation * norm.pdf(z)


def main():
    """Fit, propose, write result.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    args = parser.parse_args()
    about = checked(json.loads(args.input.read_text()))
    args.work.mkdir(parents=True, exist_ok=True)
    names, low, high = list(about["bounds"]), *np.array(list(about["bounds"].values()), float).T
    seen, sign = about["observations"], 1.0 if about["goal"] == "min" else -1.0

    def named(point):
        return {name: float(value) for name, value in zip(names, low + point * (high - low))}

    if len(seen) < 2 * len(names) + 2:
        points = qmc.Sobol(len(names), seed=args.seed).random(len(seen) + about["batch"])[len(seen) :]
        result = {"phase": "design", "next": [named(point) for point in points]}
    else:
        points = (np.array([[one[name] for name in names] for one in seen]) - low) / (high - low)
        values, errors = (np.array([float(one.get(key) or 0) for one in seen]) for key in ("y", "se"))
        model = Model(points, sign * values, errors, args.seed)
        where = smallest(lambda x: model.predict(x)[0], len(names), args.seed)
        (mean,), (deviation,) = model.predict(where)
        kernel = model.process.kernel_
        matern = kernel.k1.k2 if hasattr(kernel.k1, "k2") else kernel.k2
        result = {
            "phase": "model",
            "best_observed": min(seen, key=lambda one: sign * one["y"]),
            "best_predicted": {
                **named(where),
                "y": sign * (model.mean + model.scale * mean),
                "se": model.scale * deviation,
            },
            "length_scales": dict(zip(names, np.atleast_1d(matern.length_scale).tolist())),
            "next": [],
            "expected_improvement": [],
        }
        for number in range(about["batch"]):
            best = model.predict(model.points)[0].min()
            point = smallest(lambda x: -improvement(model, x, best), len(names), args.seed + number)
            result["next"].append(named(point))
            result["expected_improvement"].append(model.scale * float(improvement(model, point, best)[0]))
            model.believe(point)
    (args.work / "result.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
