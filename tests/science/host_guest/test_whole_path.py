"""The path of a real complex, on a guest without interactions: its answer is an integral."""

import math

import numpy as np
import pytest

from sophron.science.estimators.binding_corrections import locked_symmetry
from sophron.science.estimators.refusal import Refusal
from sophron.science.estimators.restraints import rt
from sophron.science.host_guest.protocols import analysis, decoupling, decoupling_legs, lambda_schedule, seeding
from sophron.science.host_guest.sampling import replica_exchange_block, samples, window_sampling
from sophron.science.host_guest.sampling.samples import Sampled
from sophron.science.host_guest.systems import exact_reference

from . import dimer_chain
from .conftest import CHEM, T, ghost

ATTACH = (0.0, 0.005, 0.02, 0.06, 0.15, 0.4)
PULL = tuple(4.0 + 0.7 * place for place in range(9))
TASK = {"symmetry": {"equivalent_sites": 2, "locked_by_restraint": True}, "ph": 7.0}


def locked_part(lock):
    """Part of all directions that a lock leaves, by quadrature."""
    angles = np.linspace(0.0, math.pi, 200_001)
    energy = lock.k * np.maximum(math.radians(lock.least) - angles, 0.0) ** 2
    return 0.5 * np.trapezoid(np.sin(angles) * np.exp(-energy / rt(T)), angles)


def sampled(chain, folder, plan, seeded, seed=3):
    engine = window_sampling.Engine(chain, plan.time_step_ps, "Reference")
    found = []
    for place in range(len(chain.windows)):
        for number, way in enumerate(samples.WAYS):
            start, places = [seeded.starts[way][place]], range(place, place + 1)
            own = seed + 2 * place + number
            ran = replica_exchange_block.run(engine, places, start, plan, seed=own, folder=folder / f"{way}{place}")
            found.append(Sampled(place, way, ran.values[0]))
    return found


def answer(site):
    """Binding of a guest that feels its site alone, at one of two places."""
    return (
        exact_reference.binding(dimer_chain.ideal_gas, site.wall, T)
        - rt(T) * math.log(locked_part(site.lock))
        + locked_symmetry(2, T)
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """All samples of the ghost, on its way out and back."""
    pytest.importorskip("pymbar", reason=f"pymbar {CHEM}")
    experiment = ghost((ATTACH, PULL))
    engine = window_sampling.Engine(experiment, 0.01, "Reference")
    seeded = seeding.seed_windows(engine, len(experiment.windows) + 2, seeding.Short(40, 40), 5)
    experiment = experiment.with_windows(seeded.windows)
    plan = window_sampling.Plan(samples=450, interval=110, settle=200, segment=450, time_step_ps=0.01)
    return experiment, sampled(experiment, tmp_path_factory.mktemp("ghost"), plan, seeded)


def test_a_guest_without_interactions_gives_the_analytic_value(whole):
    experiment, sampled_ = whole
    found = analysis.binding(experiment, sampled_, TASK)
    assert not isinstance(found, Refusal), found
    assert abs(found.total.value - answer(experiment.site)) < 3 * found.total.statistical + found.total.systematic
    assert found.total.statistical < 0.25
    names = [leg.name for leg in found.legs]
    assert names == ["attach and pull", "release", "residual interaction", "symmetry"]
    assert found.total.value == pytest.approx(sum(leg.value for leg in found.legs))


STRENGTHS = (0.0, 0.002, 0.008, 0.025, 0.07, 0.2, 0.5, 1.0)


@pytest.fixture(scope="module")
def decoupled(tmp_path_factory):
    """Both legs of the ghost: in its site, where six restraints are turned on, and alone, where nothing happens."""
    pytest.importorskip("pymbar", reason=f"pymbar {CHEM}")
    made = ghost(((0.0,), (4.0,)))
    six = decoupling.choose_anchors(made.positions_a, (0, 1, 2), [(3, 4, 5)])
    frame = decoupling.frame_at(made.positions_a, six)
    decoupling.add_boresch_restraints(made.system, six, frame)
    held = decoupling_legs.Leg(
        made.system, lambda_schedule.chain(STRENGTHS, (), ()), T, made.positions_a, None, made, frame
    )
    free = decoupling_legs.Leg(made.system, lambda_schedule.chain((), (0.0,), ()), T, made.positions_a, None)
    plan = window_sampling.Plan(samples=450, interval=110, settle=200, segment=450, time_step_ps=0.01)
    found, folder = [], tmp_path_factory.mktemp("legs")
    parts = []
    for leg, room in ((held, 3), (free, 0)):
        longer, seeded = seeding.seed_leg(leg, len(leg.windows) + room, seeding.Short(40, 40), 5, "Reference")
        parts.append(longer)
        found.append(sampled(longer, folder / str(room), plan, seeded))
    made = decoupling_legs.Legs(*parts)
    first = len(made.host.windows)
    return made, found[0] + [Sampled(first + each.window, each.seeded, each.values) for each in found[1]]


def test_double_decoupling_of_it_gives_the_same(decoupled):
    made, sampled_ = decoupled
    found = decoupling_legs.binding(made, sampled_, TASK)
    assert not isinstance(found, Refusal), found
    assert (
        abs(found.total.value - answer(made.host.complex.site)) < 3 * found.total.statistical + found.total.systematic
    )
    assert found.total.statistical < 0.25
    named = {leg.name: leg for leg in found.legs}
    assert [*named] == ["decoupled in the host", "release", "decoupled alone", "symmetry"]
    assert named["decoupled alone"].value == pytest.approx(0.0, abs=1e-9)
