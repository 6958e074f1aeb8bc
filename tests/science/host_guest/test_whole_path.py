"""The path of a real complex, on a guest without interactions: its answer is an integral."""

import math

import numpy as np
import pytest

from sophron.science.estimators.corrections import symmetry
from sophron.science.estimators.refusal import Refusal
from sophron.science.estimators.restraints import rt
from sophron.science.host_guest import analysis, exact, sampling, seeding
from sophron.science.host_guest.analysis import Sampled

from .conftest import CHEM, T, ghost

ATTACH = (0.0, 0.005, 0.02, 0.06, 0.15, 0.4)
PULL = tuple(4.0 + 0.7 * place for place in range(9))
TASK = {"symmetry": {"equivalent_sites": 2, "locked_by_restraint": True}, "ph": 7.0}


def locked_part(lock):
    """Part of all directions that a lock leaves, by quadrature."""
    angles = np.linspace(0.0, math.pi, 200_001)
    energy = lock.k * np.maximum(math.radians(lock.least) - angles, 0.0) ** 2
    return 0.5 * np.trapezoid(np.sin(angles) * np.exp(-energy / rt(T)), angles)


def sampled(experiment, folder, plan, seeded, seed=3):
    engine = sampling.Engine(experiment, plan.time_step_ps, "Reference")
    return [
        Sampled(
            place,
            way,
            sampling.run(
                engine,
                window,
                seeded.starts[way][place],
                plan,
                seed=seed + 2 * place + number,
                folder=folder / f"{way}{place}",
            ),
        )
        for place, window in enumerate(experiment.windows)
        for number, way in enumerate(seeding.WAYS)
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """All samples of the ghost, on its way out and back."""
    pytest.importorskip("pymbar", reason=f"pymbar {CHEM}")
    experiment = ghost((ATTACH, PULL))
    engine = sampling.Engine(experiment, 0.01, "Reference")
    seeded = seeding.seed_windows(engine, len(experiment.windows) + 2, seeding.Short(40, 40), 5)
    experiment = experiment.with_windows(seeded.windows)
    plan = sampling.Plan(samples=450, interval=110, settle=200, segment=450, time_step_ps=0.01)
    return experiment, sampled(experiment, tmp_path_factory.mktemp("ghost"), plan, seeded)


def test_a_guest_without_interactions_gives_the_analytic_value(whole):
    experiment, samples = whole
    found = analysis.binding(experiment, samples, TASK)
    assert not isinstance(found, Refusal), found
    answer = exact.binding(exact.ideal_gas, experiment.site.wall, T) - rt(T) * math.log(
        locked_part(experiment.site.lock)
    )
    answer += symmetry([1, 0], T)
    assert abs(found.total.value - answer) < 3 * found.total.statistical + found.total.systematic
    assert found.total.statistical < 0.25
    names = [leg.name for leg in found.legs]
    assert names == ["attach and pull", "release", "symmetry"]
    assert found.total.value == pytest.approx(sum(leg.value for leg in found.legs))
