"""Equilibration: the canonical energy is found, and handed to production exactly."""

import numpy as np
import pytest
from scipy.signal import lfilter

from sophron.interfaces.kind import EngineFailure
from sophron.science.viscosity.equilibrate import canonical_energy


def ensemble(seed, count=4000, atoms=256, target=0.722, slow=0.99):
    """Kinetic temperature and energy a bead of a fluid with heat capacities 3/2 and 1, in contact with a slow bath.

    The total energy is an Ornstein-Uhlenbeck series with its canonical variance; kinetic energy is its share of that
    plus fast noise, so that both have their canonical variances and covariance.
    """
    rng = np.random.default_rng(seed)
    kinetic_capacity, potential_capacity = 1.5 * atoms, 1.0 * atoms
    capacity = kinetic_capacity + potential_capacity
    noise = rng.normal(size=count) * np.sqrt(1 - slow**2)
    noise[0] = rng.normal()
    energy = lfilter([1.0], [1.0, -slow], noise)
    energy *= target * np.sqrt(capacity)
    fast = rng.normal(size=count) * target * np.sqrt(kinetic_capacity * potential_capacity / capacity)
    kinetic = target + (energy * kinetic_capacity / capacity + fast) / kinetic_capacity
    return kinetic, -4.0 + energy / atoms


def test_the_control_variate_finds_the_canonical_mean():
    found = [canonical_energy(*ensemble(seed), 0.722, 256) for seed in range(100)]
    means = np.array([energy.mean for energy in found])
    plain = np.array([ensemble(seed)[1].mean() for seed in range(100)])
    assert means.mean() == pytest.approx(-4.0, abs=4 * means.std() / 10)
    assert means.std() < 0.35 * plain.std()  # most of the slow exchange with the bath is taken out
    assert np.mean([energy.error for energy in found]) == pytest.approx(means.std(), rel=0.5)
    assert np.mean([energy.heat_capacity for energy in found]) == pytest.approx(2.5, rel=0.1)


def test_the_energy_that_was_wanted_is_set(liquid):
    result = liquid.results["equilibrate"].result
    assert result["settled_energy"] == pytest.approx(result["energy_target"], abs=1e-3)
    assert result["temperature_mean"] == pytest.approx(0.722, abs=0.03)
    # 200 samples of a thermostat that forgets in about 8 are too few for an error.
    assert result["correlation_time"] / (10 * 0.006) > 200 / 50
    assert result["temperature_error"] is None
    assert result["temperature_uncertainty"] is None or result["temperature_uncertainty"] < 0.02


def test_a_liquid_has_no_order_and_a_solid_has(liquid, tmp_path):
    assert liquid.results["equilibrate"].result["structure_peak"] < 0.3  # of 108 beads
    solid = type(liquid)({**liquid.definitions, "build": {**liquid.definitions["build"], "density": 1.1}})
    for stage in ("build", "relax", "equilibrate"):
        solid.results[stage] = solid.run(tmp_path / stage, stage)
    assert solid.results["equilibrate"].result["structure_peak"] > 0.6


def test_the_centre_of_mass_rests(liquid):
    lines = liquid.results["equilibrate"].files["system"].read_text().split("Velocities\n\n")[1].splitlines()
    velocities = np.array([line.split()[1:4] for line in lines if line], float)
    assert velocities.shape == (108, 3)
    assert velocities.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-9)


def test_it_goes_on_from_a_restart_file(liquid, tmp_path):
    liquid.run(tmp_path, "equilibrate", {"restart_every": 500})
    assert (tmp_path / "work" / "run.0.a.restart").is_file()
    (tmp_path / "work" / "energy.0.dat").write_text(
        "".join((tmp_path / "work" / "energy.0.dat").read_text().splitlines(keepends=True)[:-30])
    )
    (tmp_path / "work" / "run.0.a.restart").unlink()  # the newer one, of step 2500
    result = liquid.run(tmp_path, "equilibrate", {"restart_every": 500}).result
    assert result["samples"] == 200


def test_steps_between_samples_are_refused(liquid, tmp_path):
    with pytest.raises(EngineFailure, match=r"equilibrate\.definition\.steps: 2005 is no multiple of 10"):
        liquid.run(tmp_path, "equilibrate", {"steps": 2005})


def test_it_repeats_to_the_byte(liquid, tmp_path):
    again = liquid.run(tmp_path, "equilibrate")
    assert again.result == liquid.results["equilibrate"].result
    assert again.files["system"].read_bytes() == liquid.results["equilibrate"].files["system"].read_bytes()


FRAGMENTS = {"fragments": ["compute msd all msd", "fix msd all ave/time 10 1 10 c_msd[4] file msd.dat"]}


def test_fragments_run_in_the_sandbox(liquid, tmp_path, monkeypatch):
    inside = []
    from sophron.science.lammps import run

    original = run.run_in_sandbox
    monkeypatch.setattr(run, "run_in_sandbox", lambda *args: inside.append(args) or original(*args))
    result = liquid.run(tmp_path, "equilibrate", FRAGMENTS)
    assert len(inside) == 1  # the settling run has no free text
    assert (tmp_path / "work" / "msd.dat").read_text().count("\n") > 200
    assert (tmp_path / "log" / "log.equilibrate.lammps").is_file()
    assert result.result["samples"] == liquid.results["equilibrate"].result["samples"]


def test_fragments_run_outside_only_where_that_was_asked_for(liquid, tmp_path, monkeypatch):
    monkeypatch.setattr("sophron.science.lammps.run.run_in_sandbox", lambda *args: pytest.fail("in the sandbox"))
    liquid.run(tmp_path, "equilibrate", FRAGMENTS, unsandboxed_fragments=True)
    assert (tmp_path / "work" / "msd.dat").is_file()


def test_fragments_do_not_run_without_a_sandbox(liquid, tmp_path, monkeypatch):
    monkeypatch.setattr("sophron.science.lammps.run.entry_points.names", lambda group: [])
    with pytest.raises(EngineFailure, match="in a sandbox or not at all"):
        liquid.run(tmp_path, "equilibrate", FRAGMENTS)
    assert not (tmp_path / "work" / "msd.dat").exists()


def test_a_fragment_that_calls_shell_is_refused(liquid, tmp_path):
    with pytest.raises(EngineFailure, match=r"in\.equilibrate:\d+: the command `shell` starts programs; remove it"):
        liquid.run(tmp_path, "equilibrate", {"fragments": ["shell touch owned"]}, unsandboxed_fragments=True)
    assert not (tmp_path / "work" / "owned").exists()
