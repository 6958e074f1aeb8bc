"""Double decoupling: lambdas, six restraints, and the sum of the cycle."""

import numpy as np
import pytest

from sophron.science.estimators.cycle import Term, closure
from sophron.science.estimators.mbar import Run
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import release
from sophron.science.host_guest import decoupling, forces, relax
from sophron.science.host_guest.build import build
from sophron.science.host_guest.decoupling import Six, Stage
from sophron.science.host_guest.sampling import Plan

from .conftest import CHEM, T


def test_charges_go_before_sterics():
    stages = decoupling.chain((0.0, 0.5, 1.0), (0.5, 0.0), (0.5, 0.0))
    assert stages[2:5] == [Stage(1.0, 1.0, 1.0), Stage(1.0, 0.5, 1.0), Stage(1.0, 0.0, 1.0)]
    assert stages[-1] == Stage(1.0, 0.0, 0.0)
    assert decoupling.chain((), (0.0,), (0.0,))[0] == Stage(0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="charges are turned off before sterics"):
        Stage(1.0, 0.5, 0.5)


class TestComplex:
    """A small complex in OBC2."""

    @pytest.fixture(autouse=True)
    def _installed(self):
        for name in ("openmmtools", "parmed", "pymbar"):
            pytest.importorskip(name, reason=f"{name} {CHEM}")

    @pytest.fixture
    def held(self, small_task, tmp_path):
        built = build(small_task, tmp_path / "built")
        begun, _ = relax.minimise(built, relax.start(built), "Reference")
        system, _ = forces.solvated(built.prmtop, built.solvent)
        first = built.host_atoms
        six = Six(tuple(built.anchors.host), (*built.anchors.guest, first + 5))
        frame = decoupling.frame_at(begun.positions_a, six)
        made = decoupling.alchemical(system, range(first, built.atoms))
        decoupling.hold(made, six, frame)
        return system, made, begun.positions_a, frame

    def test_coupled_is_the_system_as_it_was_and_decoupled_feels_no_host(self, held):
        import openmm

        system, made, positions, _ = held
        stages = decoupling.chain((0.0, 1.0), (0.0,), (0.0,))
        energies = []
        for shift in (0.0, 30.0):
            moved = positions.copy()
            moved[-11:] += [0.0, 0.0, shift]
            row = []
            for each in (made, system):
                context = openmm.Context(
                    each, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
                )
                context.setPositions(moved * 0.1)
                if each is made:
                    row += list(decoupling.reduced(context, stages, T))
                else:
                    unit = 4.184 * decoupling.rt(T)
                    row.append(context.getState(getEnergy=True).getPotentialEnergy()._value / unit)
            energies.append(row)
        near, far = energies
        assert near[0] == pytest.approx(near[-1], abs=1e-2)
        assert near[0] == pytest.approx(near[1], abs=1e-6)  # restraints are at their targets
        assert far[0] == pytest.approx(far[-1], abs=1e-2)
        restraint = far[1] - far[0]
        assert far[3] - restraint == pytest.approx(near[3], abs=1e-2)

    def test_a_leg_runs(self, held):
        _, made, positions, _ = held
        stages = decoupling.chain((1.0,), (0.5, 0.0), ())
        runs = decoupling.sample(made, stages, positions, T, Plan(10, 5, 5), seed=3, asked="Reference")
        assert [run.reduced.shape for run in runs] == [(3, 10)] * 3
        assert all(np.all(np.isfinite(run.reduced)) for run in runs)


class TestCycle:
    """The sum, on samples whose free energies are known."""

    @pytest.fixture(autouse=True)
    def _pymbar(self):
        pytest.importorskip("pymbar", reason=f"pymbar {CHEM}")

    @staticmethod
    def leg(difference, seed, gap=0.5):
        """Three harmonic windows a little apart, whose free energies rise to `difference` in kT."""
        source = np.random.default_rng(seed)
        runs = []
        for place in range(3):
            x = source.normal(gap * place, 1.0, 900)
            rows = [0.5 * (x - gap * each) ** 2 + difference * each / 2 for each in range(3)]
            runs.append(Run(place, np.array(rows), x[None], "forward"))
        return runs

    FRAME = decoupling.frame_at(np.random.default_rng(2).normal(size=(6, 3)) * 4, Six((2, 1, 0), (3, 4, 5)))

    def test_terms_have_their_signs(self):
        found = decoupling.binding(self.leg(40.0, 1), self.leg(30.0, 2), self.FRAME, T, [Term("symmetry", -0.4)])
        exact = -10.0 * decoupling.rt(T) - release(self.FRAME, T) - 0.4
        assert abs(found.value - exact) < 3 * found.statistical + 1e-9

    def test_a_closed_cycle_is_nothing(self):
        there = decoupling.binding(self.leg(40.0, 1), self.leg(30.0, 2), self.FRAME, T)
        back = decoupling.binding(self.leg(40.0, 3), self.leg(30.0, 4), self.FRAME, T)
        assert not isinstance(closure([there, -back]), Refusal)
        wrong = decoupling.binding(self.leg(40.0, 3), self.leg(37.0, 4), self.FRAME, T)
        assert closure([there, -wrong]).reason is Reason.CYCLE_OPEN

    def test_windows_without_overlap_are_refused(self):
        found = decoupling.binding(self.leg(40.0, 1, gap=30.0), self.leg(30.0, 2), self.FRAME, T)
        assert found.reason is Reason.NO_OVERLAP
