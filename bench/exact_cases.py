"""Binding of charged pairs by the analysis of attach-pull-release, from independent samples, against exact answers.

Run as: python bench/exact_cases.py [--seeds 10]. The cases are those of tests/science/host_guest/test_charged_pairs.py.
"""

import argparse
import json
import logging
import sys
from pathlib import Path

import numpy as np
from record import record

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.science.host_guest import charged_pair

from sophron.science.estimators.refusal import Refusal
from sophron.science.host_guest.protocols import residual_interaction

SALT = {"ions": (1.0, -1.0) * 10, "box_a": (60.0,) * 3}
CASES = {
    "no charge": (0, 0, {}),
    "q1 q2 = -1": (-1, 1, {}),
    "q1 q2 = -2": (-2, 1, {}),
    "q1 q2 = +8": (-4, -2, {}),
    "q1 q2 = -2, box with 20 ions": (-2, 1, SALT),
    "q1 q2 = +8, box with 20 ions": (-4, -2, SALT),
}
SAMPLES = 3000


def measured(host: float, guest: float, box: dict[str, tuple[float, ...]], seeds: int) -> dict[str, float | int]:
    """One case over some seeds; energies in kcal/mol."""
    made = charged_pair.experiment(float(host), float(guest), **box)
    answers = [charged_pair.binding(made, host * guest, SAMPLES, seed) for seed in range(1, seeds + 1)]
    given = [found for found, _ in answers if not isinstance(found, Refusal)]
    exact, off = answers[0][1], np.array([found.total.value for found in given]) - answers[0][1]
    left = {leg.name: leg for leg in given[0].legs}[residual_interaction.NAME]
    return {
        "exact": exact,
        "seeds": seeds,
        "refused": seeds - len(given),
        "mean_off": float(off.mean()),
        "largest_off": float(np.abs(off).max()),
        "scatter": float(off.std(ddof=1)),
        "stated_statistical": float(np.mean([found.total.statistical for found in given])),
        "residual_interaction": left.value,
        "residual_interaction_systematic": left.systematic,
        "mean_off_without_it": float(off.mean()) - left.value,
    }


def main() -> None:
    """Measure all cases and record them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    logging.disable(logging.WARNING)  # pymbar's advice, for every call
    rows = {}
    for name, case in CASES.items():
        rows[name] = measured(*case, asked.seeds)
        print(name, json.dumps(rows[name]), flush=True)
    record("exact_cases", {"unit": "kcal/mol", "samples_a_run": SAMPLES, "cases": rows})


if __name__ == "__main__":
    main()
