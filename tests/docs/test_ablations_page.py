"""The page on ablations shows the recorded numbers."""

import json
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "explanation" / "ablations.md").read_text()
PARTS = json.loads((TOP / "bench" / "results" / "ablations.json").read_text())["result"]


def result(part):
    return PARTS[part]["result"]


def arms():
    for name, arm in result("ablation_faults")["arms"].items():
        counts = [arm[key] for key in ("faults", "complete", "false_completions", "verified", "stopped_at_the_gate")]
        wall = arm["median_wall_s_to_verified"] or "-"
        yield [name, *counts, arm["amendments"], arm["interventions"], arm["controls_verified"], wall]


def chaining():
    keys = ("stages", "snakemake_processes", "step_tries", "model_calls", "tokens", "signatures")
    for name, way in result("chaining")["ways"].items():
        yield [name, *(way[key] for key in keys)]


def observables():
    for name, found in result("observables_cross_backend")["observables"].items():
        for row in found["ways"]:
            yield [name, row["way"], f"{row['value']:.4f} ± {row['error']:.4f}"]
        numbers = [found["p_value"], 100 * found["power_at_shift"], 100 * found["detectable_shift"]]
        yield [
            f"{name}, all",
            f"{found['pooled']:.4f} ± {found['pooled_error']:.4f}",
            *(f"{one:.3g}" for one in numbers),
        ]


def regret():
    curves = result("sequence_bo")["curves"]
    for name, curve in curves.items():
        at = {row["evaluations"]: row for row in curve}
        yield [name, *(f"{1000 * at[count]['mean']:.2f}" for count in (20, 35, 100))]


@pytest.mark.parametrize("rows", [arms, chaining, observables, regret])
def test_the_page_has_the_numbers_that_were_recorded(rows):
    lacking = [line for line in (f"| {' | '.join(map(str, row))} |" for row in rows()) if line not in PAGE]
    assert lacking == []
