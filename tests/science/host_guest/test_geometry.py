"""Anchors, dummies and angles."""

import numpy as np
import pytest

from sophron.records.errors import UserError
from sophron.science.estimators.restraints import Frame, Harmonic
from sophron.science.host_guest.preparation import geometry
from sophron.science.host_guest.preparation.geometry import Anchors
from sophron.science.host_guest.protocols import apr_setup, restrained_system
from sophron.science.host_guest.sampling import openmm_system, window_sampling

from .conftest import CHEM, T, from_smiles, ghost

GENERATOR = np.random.default_rng(4)


def test_dummies_stand_in_the_frame_of_the_data():
    positions = GENERATOR.normal(size=(12, 3)) * 4
    anchors = Anchors((0, 4, 8), (10, 11))
    points = geometry.dummies(positions, anchors)
    first, second = positions[10], positions[11]
    turned = (np.concatenate([points, [second]]) - first) @ geometry.rotation_to_z(second - first).T
    assert turned[:2] == pytest.approx(np.array([[0, 0, -6.0], [0, 0, -9.0]]), abs=1e-9)
    assert turned[2][2] == pytest.approx(-11.2)
    assert np.hypot(*turned[2][:2]) == pytest.approx(2.2)
    assert turned[3][:2] == pytest.approx([0, 0], abs=1e-9)
    assert geometry.angle(points[1], points[0], first) == pytest.approx(180.0)
    assert geometry.angle(points[0], first, second) == pytest.approx(180.0)


def test_rotations_turn_and_nothing_else():
    matrix = geometry.rotation_to_z(np.array([1.0, -2.0, 0.5]))
    assert matrix @ matrix.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(1.0)


def test_anchors_in_a_line_are_refused():
    points = np.array([[0.0, 0, -6], [0, 0, -9], [0, 2.2, -11.2]])
    with pytest.raises(UserError, match="lie in a line"):
        geometry.check_frame(points, np.array([[0.0, 0, 1], [0, 0, 5], [1, 1, 1]]))


def test_anchors_are_chosen_where_none_are_published():
    host, guest = from_smiles("C1C2CC3CC1CC(C2)C3", "HST"), from_smiles("CCC[NH3+]", "GST", offset=(0.0, 0.0, 6.5))
    found = geometry.chosen(host, guest)
    assert {host.atoms[at].element for at in found.host} == {"C"}
    assert all(len(set(host.neighbours(at)) & set(host.heavy)) == 3 for at in found.host)
    names = [guest.atoms[at - len(host.names)].name for at in found.guest]
    assert set(names) == {"C1", "N1"}


class TestWithOpenmm:
    """The same numbers from OpenMM's forces."""

    @pytest.fixture(autouse=True)
    def _openmm(self):
        pytest.importorskip("openmm", reason=f"OpenMM {CHEM}")

    @pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
    def test_energies_are_those_that_analysis_counts(self, strength):
        from sophron.science.host_guest.protocols import analysis

        made = ghost(((0.0, 0.3), (4.0, 5.0)))
        engine = window_sampling.Engine(made, asked="Reference")
        shaken = made.positions_a + np.concatenate(
            [np.zeros((3, 3)), GENERATOR.normal(size=(3, 3)) * 3, np.zeros((3, 3))]
        )
        place = {0.0: 0, 0.3: 1, 1.0: 3}[strength]
        engine.begin(made.windows[place], window_sampling.State(shaken), 3)
        row = np.array(engine.sample())[:, None]
        counted = made.reduced(row)[place, 0] * analysis.rt(T)
        assert restrained_system.group_energy(engine.context, restrained_system.GUEST_GROUP) == pytest.approx(
            counted, rel=1e-5, abs=1e-6
        )

    def test_host_restraints_are_zero_at_the_start_and_hold_a_rigid_body(self):
        import openmm

        made = ghost(((0.0,), (4.0,)))
        system = openmm.System()
        for _ in range(9):
            system.addParticle(12.0)
        host = np.array([[3.0, 0.0, 1.0], [-2.0, 3.0, 1.5], [-1.0, -3.0, 2.0]])
        positions = np.concatenate([host, host + 1.0, made.positions_a[6:]])
        held = restrained_system.RestrainedParticles((6, 7, 8), Anchors((0, 1, 2), (3, 4)), (0, 1, 2))
        restrained_system.hold_host(system, held, positions)
        context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
        context.setPositions(positions * 0.1)
        assert restrained_system.group_energy(context, restrained_system.HOST_GROUP) == pytest.approx(0.0, abs=1e-9)
        positions[:6] += 0.5
        context.setPositions(positions * 0.1)
        assert restrained_system.group_energy(context, restrained_system.HOST_GROUP) > 0.1

    def test_dummies_exert_nothing(self, small_task, tmp_path):
        import openmm

        pytest.importorskip("parmed", reason=f"ParmEd {CHEM}")
        from sophron.science.host_guest.preparation.complex_builder import build
        from sophron.science.host_guest.sampling import equilibration

        built = build(small_task, tmp_path / "built")
        begun = equilibration.start(built)
        energies = []
        for dummies in (False, True):
            system, _ = openmm_system.solvated(built.prmtop, "obc2")
            positions = begun.positions_a
            if dummies:
                restrained_system.add_dummies(system)
                positions = np.concatenate([positions, geometry.dummies(positions, built.anchors)])
            context = openmm.Context(
                system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference")
            )
            context.setPositions(positions * 0.1)
            energies.append(context.getState(getEnergy=True).getPotentialEnergy()._value)
        assert energies[1] == pytest.approx(energies[0], abs=1e-2)

    def test_a_platform_that_is_not_there_is_no_cpu(self):
        with pytest.raises(UserError, match=r"platform CUDA2 does not work here, and .*CPU.* do; set SOPHRON_PLATFORM"):
            openmm_system.platform("CUDA2")
        assert openmm_system.platform("Reference")[0].getName() == "Reference"

    def test_an_experiment_is_read_as_it_was_saved(self, tmp_path):
        made = ghost(((0.0, 0.3), (4.0, 5.0)))
        made.save(tmp_path)
        again = apr_setup.Experiment.load(tmp_path)
        assert (again.held, again.site, again.windows, again.temperature_k) == (
            made.held,
            made.site,
            made.windows,
            made.temperature_k,
        )
        assert np.array_equal(again.positions_a, made.positions_a)
        assert again.system.getNumForces() == made.system.getNumForces()


def test_the_chain_has_walls_where_it_attaches():
    made = apr_setup.chain(apr_setup.Protocol(strengths=(0.0, 0.1), spacing_a=0.5, pull_a=2.0))
    assert [window.strength for window in made] == [0.0, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert [window.frame.distance.target for window in made[2:]] == [6.0, 6.5, 7.0, 7.5, 8.0]
    assert [window.wall is not None for window in made] == [True, True, False, False, False, False, False]
    assert made[0].frame == Frame(Harmonic(6.0, 5.0), theta=Harmonic(180.0, 100.0), beta=Harmonic(180.0, 100.0))
