"""Double decoupling: lambdas, six restraints, and the sum of the cycle."""

import math

import numpy as np
import pytest

from sophron.records.errors import UserError
from sophron.science.estimators.mbar import Run, estimate
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import release, rt
from sophron.science.estimators.thermodynamic_cycle import Term, closure
from sophron.science.host_guest.preparation.complex_builder import build
from sophron.science.host_guest.protocols import (
    apr_setup,
    decoupling,
    decoupling_legs,
    lambda_schedule,
    restrained_system,
)
from sophron.science.host_guest.protocols.decoupling import BoreschAnchors
from sophron.science.host_guest.protocols.lambda_schedule import Stage
from sophron.science.host_guest.protocols.residual_interaction import Charges, charges_of
from sophron.science.host_guest.sampling import equilibration
from sophron.science.host_guest.sampling.samples import Sampled

from .conftest import CHEM, T, ghost, small

FEW = lambda_schedule.Lambdas((0.0, 1.0), (0.5, 0.0), (0.5, 0.0))


def test_charges_go_before_sterics():
    stages = lambda_schedule.chain((0.0, 0.5, 1.0), (0.5, 0.0), (0.5, 0.0))
    assert stages[2:5] == [Stage(1.0, 1.0, 1.0), Stage(1.0, 0.5, 1.0), Stage(1.0, 0.0, 1.0)]
    assert stages[-1] == Stage(1.0, 0.0, 0.0)
    assert lambda_schedule.chain((), (0.0,), (0.0,))[0] == Stage(0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="charges are turned off before sterics"):
        Stage(1.0, 0.5, 0.5)


def test_what_is_put_between_is_between():
    first, second = Stage(0.0, 1.0, 1.0), Stage(0.04, 1.0, 1.0)
    assert first.halfway(second) == Stage(0.01, 1.0, 1.0)
    assert second.halfway(Stage(1.0, 1.0, 1.0)) == Stage(0.2, 1.0, 1.0)
    assert Stage(1.0, 0.5, 1.0).halfway(Stage(1.0, 0.0, 1.0)) == Stage(1.0, 0.25, 1.0)
    assert Stage(1.0, 0.0, 0.5).halfway(Stage(1.0, 0.0, 0.0)) == Stage(1.0, 0.0, 0.25)


class TestComplex:
    """A small complex in OBC2."""

    @pytest.fixture(autouse=True)
    def _installed(self):
        for name in ("openmmtools", "parmed", "pymbar"):
            pytest.importorskip(name, reason=f"{name} {CHEM}")

    @pytest.fixture
    def both(self, small_task, tmp_path):
        built = build(small_task, tmp_path / "built", alone=True)
        begun, _ = equilibration.minimise(built, equilibration.start(built), "Reference")
        alone, _ = equilibration.minimise(built.alone, equilibration.start(built.alone), "Reference")
        return built, begun, decoupling_legs.prepare(built, begun, alone, T, locked=False, lambdas=FEW)

    def test_coupled_is_the_system_as_it_was_and_decoupled_feels_no_host(self, both):
        built, begun, made = both
        plain = apr_setup.prepare(built, begun, apr_setup.Protocol(), T, locked=False)
        guest = slice(built.host_atoms, built.atoms)
        gone = []
        for shift in (0.0, 30.0):
            moved = made.host.positions_a.copy()
            moved[guest] += [0.0, 0.0, shift]
            context = started(made.host.system, moved)
            made.host.apply(context, made.host.windows[0])
            context.setParameter("walled", 0.0)  # nor is there a wall in the other one
            assert energy(context) == pytest.approx(energy(started(plain.system, moved)), abs=1e-2)
            made.host.apply(context, made.host.windows[-1])
            restraints = restrained_system.group_energy(context, restrained_system.GUEST_GROUP) / rt(T)
            assert (restraints > 100) == (shift > 0)  # at their targets at the start
            gone.append(energy(context) - restraints)
        assert gone[0] == pytest.approx(gone[1], abs=1e-2)

    def test_a_leg_is_read_as_it_was_saved(self, both, tmp_path):
        _, _, made = both
        made.save(tmp_path / "legs")
        again = decoupling_legs.Legs.load(tmp_path / "legs")
        for leg, other in ((made.host, again.host), (made.alone, again.alone)):
            assert leg.windows == other.windows
            assert leg.frame == other.frame
            contexts = [started(each.system, each.positions_a) for each in (leg, other)]
            assert leg.energies(contexts[0]) == pytest.approx(other.energies(contexts[1]), abs=1e-4)


def started(system, positions_a):
    import openmm

    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions_a * 0.1)
    return context


def energy(context):
    """In units of RT."""
    return context.getState(getEnergy=True).getPotentialEnergy()._value / (4.184 * rt(T))


@pytest.fixture(scope="module")
def boxed(tmp_path_factory):
    for name in ("openmmtools", "parmed", "rdkit"):
        pytest.importorskip(name, reason=f"{name} {CHEM}")
    inputs, folder = tmp_path_factory.mktemp("inputs"), tmp_path_factory.mktemp("built")
    built = build(small(inputs, solvent="tip3p"), folder, pull_a=0.0, alone=True)
    parts = [equilibration.start(each) for each in (built, built.alone)]
    return built, decoupling_legs.prepare(built, *parts, T, locked=False, lambdas=FEW)


class TestBox:
    """The same in water, where the charge of the guest does not go alone."""

    def test_no_window_has_a_charged_box(self, boxed):
        _, made = boxed
        for leg in (made.host, made.alone):
            charges = [total_charge(leg.system, window.electrostatics) for window in leg.windows]
            assert charges == pytest.approx([0.0] * len(leg.windows), abs=1e-6)

    def test_the_ions_that_go_are_the_farthest_ones_and_are_kept_away(self, boxed):
        built, made = boxed
        (ion,) = offset_ions(made.host.system, built)
        positions = made.host.positions_a
        apart = positions[ion] - positions[built.host_atoms]
        edges = np.array(made.host.box_a)
        assert np.linalg.norm(apart - edges * np.round(apart / edges)) > decoupling.ION_AWAY_A

    def test_charges_and_ions_are_those_of_the_box(self, boxed):
        built, made = boxed
        found = charges_of(made.host.complex)
        assert (len(found.host), len(found.guest)) == (built.host_atoms, built.atoms - built.host_atoms)
        assert (found.host.sum(), found.guest.sum()) == pytest.approx((0.0, 1.0), abs=1e-3)
        assert 5.0 < found.debye_length_a < 60.0
        (walls,) = decoupling_legs._ion_walls(made, made.host.complex)
        assert 0 <= walls.systematic < 0.1

    def test_a_box_without_such_ions_is_refused(self, boxed):
        built, _ = boxed
        with pytest.raises(UserError, match="has 2 ions for a guest of \\+3 e"):
            decoupling_legs._counterions(built.alone.prmtop, 3, equilibration.start(built.alone), range(11))


def total_charge(system, electrostatics):
    """Of all particles, in a window."""
    import openmm

    (force,) = (each for each in system.getForces() if isinstance(each, openmm.NonbondedForce))
    fixed = sum(force.getParticleParameters(at)[0]._value for at in range(force.getNumParticles()))
    offsets = [force.getParticleParameterOffset(at) for at in range(force.getNumParticleParameterOffsets())]
    assert {name for name, *_ in offsets} == {"lambda_electrostatics"}
    return fixed + electrostatics * sum(each[2] for each in offsets)


def offset_ions(system, built):
    """Particles beyond host and guest whose charge goes."""
    import openmm

    (force,) = (each for each in system.getForces() if isinstance(each, openmm.NonbondedForce))
    offsets = [force.getParticleParameterOffset(at) for at in range(force.getNumParticleParameterOffsets())]
    return [each[1] for each in offsets if each[1] >= built.atoms]


class TestCycle:
    """The sum, on samples whose free energies are known."""

    @pytest.fixture(autouse=True)
    def _pymbar(self):
        pytest.importorskip("pymbar", reason=f"pymbar {CHEM}")

    FRAME = decoupling.frame_at(np.random.default_rng(2).normal(size=(6, 3)) * 4, BoreschAnchors((2, 1, 0), (3, 4, 5)))

    @staticmethod
    def leg(difference, seed, gap=0.5):
        """Three harmonic windows a little apart, whose free energies rise to `difference` in kT."""
        source = np.random.default_rng(seed)
        runs = []
        for place in range(3):
            x = source.normal(gap * place, 1.0, 900)
            rows = [0.5 * (x - gap * each) ** 2 + difference * each / 2 for each in range(3)]
            runs.append(Run(place, np.array(rows), x[None], "forward"))
        return estimate(runs, T)

    def test_terms_have_their_signs(self):
        found = decoupling.binding(self.leg(40.0, 1), self.leg(30.0, 2), self.FRAME, T, [Term("symmetry", -0.4)]).total
        exact = -10.0 * rt(T) - release(self.FRAME, T) - 0.4
        assert abs(found.value - exact) < 3 * found.statistical + 1e-9

    def test_a_closed_cycle_is_nothing(self):
        there = decoupling.binding(self.leg(40.0, 1), self.leg(30.0, 2), self.FRAME, T).total
        back = decoupling.binding(self.leg(40.0, 3), self.leg(30.0, 4), self.FRAME, T).total
        assert not isinstance(closure([there, -back]), Refusal)
        wrong = decoupling.binding(self.leg(40.0, 3), self.leg(37.0, 4), self.FRAME, T).total
        assert closure([there, -wrong]).reason is Reason.CYCLE_OPEN


class TestRefused:
    """Refusals name windows of the common row."""

    @staticmethod
    def both():
        source = np.random.default_rng(3)
        stages = lambda_schedule.chain((), (0.0,), ())
        made = ghost(((0.0,), (4.0,)))
        held = decoupling_legs.Leg(made.system, stages, T, made.positions_a, None, made, TestCycle.FRAME)
        free = decoupling_legs.Leg(made.system, stages, T, made.positions_a, None)
        sampled = []
        for row, gap in ((0, 0.5), (1, 0.5), (2, 30.0), (3, 30.0)):
            x = source.normal(gap * (row % 2), 1.0, 900)
            energies = np.array([0.5 * (x - gap * each) ** 2 for each in range(2)])
            sampled.append(Sampled(row, "forward", np.concatenate([np.tile(x, (7, 1)), energies])))
        return decoupling_legs.Legs(held, free), sampled

    def test_a_leg_without_overlap(self):
        pytest.importorskip("pymbar", reason=f"pymbar {CHEM}")
        found = decoupling_legs.binding(
            *self.both(), {"symmetry": {"equivalent_sites": 1, "locked_by_restraint": False}}
        )
        assert found.reason is Reason.NO_OVERLAP
        assert found.windows == (2, 3)
        assert found.sentence.startswith("of the guest alone (the row from 2 on): windows 0 and 1 overlap")

    def test_steps_across_both_legs(self):
        made, _ = self.both()
        assert [(name, own) for name, _, own in made.of(range(1, 4))] == [("host", range(1, 2)), ("alone", range(2))]
        assert [name for name, _, _ in made.of(range(2, 3))] == ["alone"]


def test_atoms_in_a_line_cannot_be_held():
    line = np.array([[0.0, 0.0, each] for each in range(6)])
    with pytest.raises(UserError, match="take attach-pull-release"):
        decoupling.choose_anchors(line, (0, 1, 2), [(3, 4, 5)])


def charged(host, guest):
    """Charges of a pair in water with a screening length of 20 Angstrom."""
    place = np.zeros((1, 3))
    along = np.array([0.0, 0.0, 1.0])
    return Charges(np.array([host]), np.array([guest]), place, place, along, 0.0, 78.4, 20.0)


class TestIonWall:
    """What keeping the ions away costs in each leg, by a mean field."""

    def test_an_ion_that_feels_nothing_loses_the_volume_within(self):
        volume, end = 60.0**3, (3 * 60.0**3 / (4 * math.pi)) ** (1 / 3)
        found = decoupling.wall_cost(np.zeros_like, volume, T)
        within = (decoupling.ION_AWAY_A**3 - decoupling.ION_CONTACT_A**3) / (end**3 - decoupling.ION_CONTACT_A**3)
        assert found == pytest.approx(-rt(T) * math.log(1 - within), rel=0.1)

    def test_it_cancels_in_equal_boxes_without_a_charge_of_the_host(self):
        assert decoupling.ion_wall(charged(0.0, 1.0), (60.0**3, 60.0**3), T).value == pytest.approx(0, abs=1e-12)

    def test_it_counts_beside_a_charged_host_and_its_size_is_its_error(self):
        found = decoupling.ion_wall(charged(-8.0, -1.0), (60.0**3, 40.0**3), T)
        assert found.value < -0.1
        assert found.systematic == -found.value
