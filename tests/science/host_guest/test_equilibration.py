"""From a built complex to an experiment, in implicit solvent and in a box."""

import numpy as np
import pytest

from sophron.records.errors import UserError
from sophron.science.host_guest.preparation import ambertools
from sophron.science.host_guest.preparation.complex_builder import build
from sophron.science.host_guest.protocols import apr_setup, restrained_system
from sophron.science.host_guest.sampling import equilibration, window_sampling

from .conftest import CHEM, T

PROTOCOL = apr_setup.Protocol(strengths=(0.0, 0.3), spacing_a=0.5, pull_a=2.0)


@pytest.fixture(autouse=True)
def _installed():
    for name in ("openmm", "parmed"):
        pytest.importorskip(name, reason=f"{name} {CHEM}")
    try:
        ambertools.find("tleap")
    except UserError:
        pytest.skip(f"AmberTools {CHEM}")


def test_an_experiment_begins_with_restraints_at_rest(small_task, tmp_path):
    built = build(small_task, tmp_path / "built")
    begun, _ = equilibration.minimise(built, equilibration.start(built), "CPU")
    relaxed = equilibration.equilibrate(built, begun, equilibration.Bath(T, 5), 2.0, "CPU")
    assert set(relaxed.diagnostics) == {
        "temperature_k",
        "temperature_drift_k_per_ns",
        "energy_drift_kcal_per_mol_per_ns",
    }
    made = apr_setup.prepare(built, relaxed, PROTOCOL, T, locked=True)
    assert made.implicit
    assert made.site.lock is not None
    engine = window_sampling.Engine(made, asked="CPU")
    engine.begin(made.windows[2], window_sampling.State(made.positions_a), 4)
    assert restrained_system.group_energy(engine.context, restrained_system.HOST_GROUP) == pytest.approx(0.0, abs=1e-9)
    assert restrained_system.group_energy(engine.context, restrained_system.GUEST_GROUP) == pytest.approx(0.0, abs=1e-9)
    engine.step(50)
    assert np.array_equal(engine.state().positions_a[-3:].round(6), made.positions_a[-3:].round(6))
    again = equilibration.equilibrate(built, begun, equilibration.Bath(T, 5), 2.0, "CPU")
    assert np.array_equal(again.positions_a, relaxed.positions_a)


def test_a_box_nears_its_density_before_there_are_dummies(small_task, tmp_path, monkeypatch):
    monkeypatch.setattr(equilibration, "BAROSTAT_STEPS", 5)
    built = build(small_task, tmp_path / "built", solvent="tip3p", pull_a=2.0)
    begun = equilibration.start(built)
    relaxed = equilibration.equilibrate(built, begun, equilibration.Bath(T, 5), 0.3, "CPU")
    assert np.prod(relaxed.box_a) < np.prod(begun.box_a)
    assert 0.6 < relaxed.diagnostics["density_g_per_ml"] < 1.1
    assert {"pressure_bar", "density_drift_g_per_ml_per_ns"} <= set(relaxed.diagnostics)
    made = apr_setup.prepare(built, relaxed, PROTOCOL, T, locked=False)
    assert not made.implicit
    assert made.box_a == relaxed.box_a
    assert not any("Barostat" in force.getName() for force in made.system.getForces())
    engine = window_sampling.Engine(made, asked="CPU")
    engine.begin(made.windows[2], window_sampling.State(made.positions_a), 4)
    engine.step(5)
    assert np.array_equal(engine.state().positions_a[-3:].round(6), made.positions_a[-3:].round(6))
    assert np.isfinite(engine.sample()).all()
