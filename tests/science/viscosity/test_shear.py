"""Shear: known stresses give known viscosities, and the profile, the temperature and continuation are right."""

import numpy as np
import pytest

from sophron.science.viscosity.shear import summary


def test_a_known_stress_gives_a_known_viscosity():
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(20_000, 7))
    samples = noise * 0.3 + np.array([5.0, 5.2, 4.9, -0.35, 0.0, 0.0, 1.0])
    result = summary(samples, 0.05, 0.05)
    assert result["viscosity"] == pytest.approx(7.0, abs=4 * result["viscosity_error"])
    assert result["viscosity_error"] == pytest.approx(0.3 / np.sqrt(20_000) / 0.05, rel=0.15)
    assert result["viscosity_degrees_of_freedom"] > 100
    short = summary(samples[:8], 0.05, 0.05)
    assert (short["viscosity_error"], short["viscosity_degrees_of_freedom"]) == (None, None)
    assert result["first_normal_stress_difference"] == pytest.approx(0.2, abs=0.02)
    assert result["pressure_mean"] == pytest.approx(15.1 / 3, abs=0.01)


def test_a_sheared_melt_resists_and_keeps_its_temperature(melt, tmp_path):
    result = melt.run(tmp_path, "shear").result
    assert (result["rate"], result["samples"]) == (0.1, 200)
    assert result["strain"] == pytest.approx(1.0)
    assert 2.0 < result["viscosity"] < 12.0
    assert result["temperature_mean"] == pytest.approx(1.0, abs=0.06)


def test_the_velocity_profile_is_linear(melt, tmp_path):
    from sophron.science.lammps.executable import find
    from sophron.science.lammps.run import run_lammps

    fast = {"wildcards": {"rate": "1.0", "replica": "0"}}
    melt.run(tmp_path, "shear", **fast)
    ctx = melt.context(tmp_path, "shear", **fast)
    text = "read_restart run.0.end.restart\nwrite_data end.data nocoeff\n"
    run_lammps(find(), "read", text, ctx)
    lines = (tmp_path / "work" / "end.data").read_text()
    atoms = np.array([line.split() for line in lines.split("Atoms # bond\n\n")[1].split("\n\n")[0].splitlines()], float)
    velocities = np.array(
        [line.split() for line in lines.split("Velocities\n\n")[1].split("\n\n")[0].splitlines()], float
    )
    height = atoms[np.argsort(atoms[:, 0]), 4]
    along = velocities[np.argsort(velocities[:, 0]), 1]
    assert np.polyfit(height, along, 1)[0] == pytest.approx(1.0, abs=0.2)  # its error is sqrt(12 T / N) / L = 0.04
    assert (along - height).mean() == pytest.approx(0.0, abs=0.05)  # the flow rests at the box corner


def test_it_goes_on_from_a_restart_file(melt, tmp_path):
    whole = melt.run(tmp_path, "shear")
    pressure = np.load(whole.files["stress"])["pressure"]
    stress = tmp_path / "work" / "stress.0.dat"
    stress.write_text("".join(stress.read_text().splitlines(keepends=True)[:-20]) + "2440 0.1 0.")
    (tmp_path / "work" / "run.0.end.restart").unlink()
    newest = max((tmp_path / "work").glob("run.0.?.restart"), key=lambda path: path.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:-40])  # as a kill leaves it
    again = melt.run(tmp_path, "shear")
    assert again.result["continued"] == 1
    assert again.result["samples"] == 200
    assert np.array_equal(np.load(again.files["stress"])["pressure"][:150], pressure[:150])


def test_it_repeats_to_the_byte(melt, tmp_path):
    first, again = (melt.run(tmp_path / name, "shear") for name in "ab")
    assert first.result == again.result
    assert first.files["stress"].read_bytes() == again.files["stress"].read_bytes()
