"""Analysis with known answers: a flux of known correlation, a profile of known slopes, exact lengths."""

from dataclasses import replace

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from scipy import signal

from sophron.interfaces.kind import EngineFailure, StepContext, UpstreamStep
from sophron.records import documents
from sophron.science.conductivity import extrapolate as extrapolate_stage
from sophron.science.conductivity import green_kubo
from sophron.science.conductivity.build import UNITS
from sophron.science.conductivity.temperature_profile import Profile, conductivity, gradients, read_profile

EV, ANGSTROM, PICOSECOND = 1.602176634e-19, 1e-10, 1e-12


def valid(stage, result):
    schema = documents.schema(f"conductivity/{stage}")
    Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/result"}).validate(result)


def context(folder, stage, definition, upstream):
    return StepContext(stage, {}, definition, upstream, folder, folder, 1)


def write_flux(path, seed, tau, variance, volume):
    """A flux whose components are Ornstein-Uhlenbeck processes: autocorrelation variance exp(-t / tau)."""
    rng, interval, samples = np.random.default_rng(seed), tau / 10, 200_000
    keep = np.exp(-interval / tau)
    noise = rng.normal(size=(samples, 3)) * np.sqrt(variance * (1 - keep**2))
    noise[0] = rng.normal(size=3) * np.sqrt(variance)
    flux = signal.lfilter([1.0], [1.0, -keep], noise, axis=0)
    np.savez(path, flux=flux, interval=interval, volume=volume, temperature_target=300.0)
    return path


def test_a_synthetic_flux_gives_its_exact_conductivity(tmp_path):
    tau, variance, volume, temperature = 0.5, 4.0, 1000.0, 300.0
    result = {"temperature_mean": temperature, "model": {"units": "metal"}}
    files = [{"flux": write_flux(tmp_path / f"{seed}.npz", seed, tau, variance, volume)} for seed in range(4)]
    steps = [UpstreamStep("green_kubo_flux", {"replica": str(at)}, result, one) for at, one in enumerate(files)]
    definition = {"replicas": 4, "max_lag": 20 * tau}
    made = green_kubo.run(context(tmp_path, "green_kubo", definition, {"green_kubo_flux": steps}))
    valid("green_kubo", made.result)
    # kappa = variance tau / (V k_B T^2), here in SI units from the constants themselves
    si = (variance * (EV * ANGSTROM / PICOSECOND) ** 2 * tau * PICOSECOND) / (
        volume * ANGSTROM**3 * 1.380649e-23 * temperature**2
    )
    assert made.result["conductivity"] == pytest.approx(si, abs=4 * made.result["conductivity_standard_error"])
    assert made.result["conductivity_relative_error"] < 0.05
    assert made.result["independent_units"] == 12
    assert made.result["units"] == "W/(m K)"
    assert made.files["integral_plot"].read_text().startswith("<?xml")


def test_units_follow_from_the_constants_of_the_si():
    metal = UNITS["metal"]
    assert metal.to_conductivity == pytest.approx(EV / (PICOSECOND * ANGSTROM))
    assert metal.boltzmann == pytest.approx(1.380649e-23 / EV)


def wedge(slabs=16, length=32.0, slope=2.0, blocks=6):
    """Temperatures that rise from slab 0 to the middle one and fall again, kinked further at both."""
    at = np.minimum(np.arange(slabs), slabs - np.arange(slabs)) * length / slabs
    temperature = np.tile(300.0 + slope * at, (blocks, 1))
    temperature[:, 0] -= 50
    temperature[:, slabs // 2] += 50
    return Profile(temperature, np.arange(blocks + 1) * 12.0, length, 6.0, 0.5)


def test_gradients_are_those_between_the_driven_slabs():
    np.testing.assert_allclose(gradients(wedge(), 0.7), [[2.0, -2.0]] * 6)


def test_conductivity_is_flux_over_gradient_through_two_cross_sections():
    found = conductivity(wedge(), 0.7, 10.0)
    assert found["heat_flux"] == pytest.approx(12.0 / (2 * 6.0 * 0.5))
    assert found["conductivity"] == pytest.approx(10.0 * 2.0 / 2.0)
    assert found["gradient_rising"] == pytest.approx(2.0)
    assert found["gradient_falling"] == pytest.approx(-2.0)
    assert found["energy_swapped"] == 72.0


def test_few_blocks_know_their_error_badly():
    rng, made = np.random.default_rng(3), wedge(blocks=4)
    noisy = replace(
        made,
        temperature=made.temperature + 0.3 * rng.normal(size=made.temperature.shape),
        swapped=np.concatenate([[0.0], np.cumsum(12.0 + 0.2 * rng.normal(size=4))]),
    )
    found = conductivity(noisy, 0.7, 1.0)
    assert 3.0 <= found["conductivity_degrees_of_freedom"] <= 6.0
    assert conductivity(wedge(), 0.7, 1.0)["conductivity_degrees_of_freedom"] is None  # without any scatter


def test_a_gradient_with_the_wrong_sign_gives_no_conductivity():
    with pytest.raises(EngineFailure, match="lost in its noise"):
        conductivity(wedge(slope=-2.0), 0.7, 1.0)


def test_too_few_slabs_or_blocks_give_no_conductivity():
    with pytest.raises(EngineFailure, match="1 slabs in each half"):
        conductivity(wedge(slabs=8), 0.3, 1.0)
    with pytest.raises(EngineFailure, match="3 blocks have no error"):
        conductivity(wedge(blocks=3), 0.7, 1.0)


def test_a_torn_profile_is_refused(tmp_path):
    path = tmp_path / "profile.0.dat"
    path.write_text("# head\n1000 2 64\n  1 0.25 32 1.5\n  2 0.75 32 2.5\n")
    np.testing.assert_array_equal(read_profile(path, 2), [[1.5, 2.5]])
    with pytest.raises(EngineFailure, match="do not have 3 slabs"):
        read_profile(path, 3)


def test_the_stage_extrapolates_and_refuses(tmp_path):
    far, near = (50.0, 100.0, 200.0), (100.0, 400.0, 1600.0)

    def boxes(intercept, lengths=far):
        values = {length: 1 / (intercept + 20 / length) for length in lengths}
        return [
            UpstreamStep(
                "mueller_plathe",
                {},
                {
                    "length": length,
                    "conductivity": value,
                    "conductivity_error": 0.002 * value,
                    "model": {"units": "metal"},
                },
                {},
            )
            for length, value in values.items()
        ]

    made = extrapolate_stage.run(
        context(tmp_path, "extrapolate", {"replicas": 1}, {"mueller_plathe": boxes(0.1, near)})
    )
    valid("extrapolate", made.result)
    assert made.result["conductivity"] == pytest.approx(10.0)
    assert made.result["extrapolation_ratio"] == pytest.approx(1.125)
    refused = extrapolate_stage.run(context(tmp_path, "extrapolate", {"replicas": 1}, {"mueller_plathe": boxes(0.1)}))
    valid("extrapolate", refused.result)
    assert refused.result["refusal"].startswith("extrapolated_far: ")
    assert refused.result["lower_bound"] == pytest.approx(5.0, rel=0.01)
    refused = extrapolate_stage.run(
        context(tmp_path, "extrapolate", {"replicas": 1}, {"mueller_plathe": boxes(0.00001)})
    )
    valid("extrapolate", refused.result)
    assert refused.result["conductivity"] is None
    assert refused.result["refusal"].startswith("no_intercept: ")
