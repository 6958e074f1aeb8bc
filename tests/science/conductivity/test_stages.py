"""The compute stages on the real LAMMPS: energies held, fluxes sampled, swaps that conserve, failures that say why."""

import contextlib

import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure
from sophron.science.conductivity import extrapolate, green_kubo, mueller_plathe


def test_the_energy_handed_on_holds_the_temperature(argon, silicon_carbide, tmp_path):
    for name, system in (("argon", argon), ("sic", silicon_carbide)):
        wanted = system.definitions["equilibrate"]["temperature"]
        result = system.run(tmp_path / name, "green_kubo_flux").result
        # 128 atoms fluctuate by 5 % at one instant; the mean of a short NVT run is known to about 3 %.
        assert abs(result["temperature_mean"] / wanted - 1) < 0.12
        assert abs(result["energy_drift"]) < 0.01 * abs(system.results["equilibrate"].result["energy_mean"])
        assert result["samples"] == system.definitions["green_kubo_flux"]["steps"] // 5 + 1


def test_tersoff_with_the_centroid_stress_is_a_failure_in_the_words_of_lammps(silicon_carbide, tmp_path):
    with pytest.raises(EngineFailure) as failure:
        silicon_carbide.run(tmp_path, "green_kubo_flux", {"heat_flux": {"compute": "centroid/stress/atom"}})
    assert failure.value.reason == "LAMMPS stopped: Pair style does not support compute centroid/stress/atom"
    assert failure.value.curable_by is None


def test_for_a_pair_potential_both_stresses_give_one_flux(argon, tmp_path):
    fluxes = []
    for compute in ("stress/atom", "centroid/stress/atom"):
        result = argon.run(tmp_path / compute[:4], "green_kubo_flux", {"heat_flux": {"compute": compute}})
        fluxes.append(np.load(result.files["flux"])["flux"])
    assert np.abs(fluxes[0]).max() > 1
    np.testing.assert_allclose(fluxes[0], fluxes[1], atol=1e-6 * np.abs(fluxes[0]).max())


def test_a_flux_run_goes_on_from_its_restart_file(argon, tmp_path):
    argon.run(tmp_path, "green_kubo_flux", {"steps": 600})
    result = argon.run(tmp_path, "green_kubo_flux", {"steps": 1000})
    assert result.result["continued"] == 1
    assert np.load(result.files["flux"])["flux"].shape == (201, 3)


def test_swaps_move_exactly_the_energy_that_is_booked(argon, tmp_path):
    # With next to no time between steps nothing flows back: what a slab gains or loses is what was swapped.
    still = {"timestep": 1e-9, "settle_steps": 1, "discard_steps": 0, "steps": 200, "sample_every": 10}
    still |= {"block_steps": 10, "swap_every": 10}
    context = argon.context(tmp_path, "mueller_plathe", still)
    with contextlib.suppress(EngineFailure):  # nothing flows, so the gradient may be lost in its noise
        mueller_plathe.run(context)
    with np.load(context.workdir / "profile.npz") as kept:
        temperature, swapped, total = kept["temperature"], kept["swapped"], kept["total"]
    atoms_a_slab = 9 * 4
    kinetic = 1.5 * atoms_a_slab * temperature
    booked = np.diff(swapped)
    assert booked[:5].min() > 0  # later on the hot slab has no atom left that is colder than one in the cold slab
    change = np.diff(kinetic, axis=0)
    first = len(booked) - len(change)
    np.testing.assert_allclose(change[:, 4], booked[first:], atol=1e-4 * booked.max())
    np.testing.assert_allclose(change[:, 0], -booked[first:], atol=1e-4 * booked.max())
    others = np.delete(change, [0, 4], axis=1)
    assert np.abs(others).max() < 1e-4 * booked.max()
    np.testing.assert_allclose(total, total[0], rtol=1e-6)


def test_an_imposed_flux_gives_one_gradient_in_both_halves(argon, tmp_path):
    result = argon.run(tmp_path, "mueller_plathe").result
    assert result["gradient_rising"] > 0 > result["gradient_falling"]
    assert abs(result["halves_z"]) < 6
    assert result["temperature_span"] > 0
    assert result["length"] == pytest.approx(12.8)
    assert result["slabs"] == 8
    assert result["swaps"] == 100
    assert abs(result["energy_drift"]) < 0.005
    assert abs(result["temperature_mean"] / 0.4 - 1) < 0.06
    gradient = (result["gradient_rising"] - result["gradient_falling"]) / 2
    flux = result["energy_swapped"] / (2 * result["area"] * 2000 * 0.005)
    assert result["conductivity"] == pytest.approx(flux / gradient)


def test_slabs_that_cannot_be_paired_are_refused(argon, tmp_path):
    with pytest.raises(EngineFailure, match="8 cells along z, which slabs of 3 do not divide"):
        argon.run(tmp_path, "mueller_plathe", {"slab_cells": 3})


def test_a_run_of_too_few_blocks_is_refused(argon, tmp_path):
    with pytest.raises(EngineFailure, match="3 blocks have no error"):
        argon.run(tmp_path, "mueller_plathe", {"discard_steps": 0, "steps": 300})


def test_lengths_are_averaged_over_replicas():
    def box(length, value, error):
        return {"length": length, "conductivity": value, "conductivity_error": error}

    boxes = [box(20.0, 3.0, 0.3), box(10.0, 2.0, 0.1), box(10.0, 3.0, 0.1), box(40.0, 4.0, 0.3), box(80.0, 5.0, None)]
    lengths = extrapolate.by_length(boxes)
    assert [one.length for one in lengths] == [10.0, 20.0, 40.0]
    assert lengths[0] == extrapolate.BoxLength(10.0, 2.5, 0.5, replicas=2, degrees_of_freedom=1)
    assert lengths[1].conductivity_error == 0.3
    assert lengths[1].degrees_of_freedom is None
    few = extrapolate.by_length([one | {"conductivity_degrees_of_freedom": 1.0} for one in boxes])
    assert few[1] == extrapolate.BoxLength(20.0, 3.0, 0.3, replicas=1, degrees_of_freedom=1.0)
    # Seven errors apart: not below p = 0.01 if each error has one degree of freedom, so that they combine.
    assert (few[0].conductivity_error, few[0].degrees_of_freedom) == (pytest.approx(0.5), pytest.approx(2.0))
    with pytest.raises(EngineFailure, match="2 lengths have a conductivity with an error"):
        extrapolate.by_length(boxes[:3])


def test_green_kubo_wants_every_replica(argon, tmp_path):
    context = argon.context(tmp_path, "green_kubo_flux")
    object.__setattr__(context, "upstream", {"green_kubo_flux": []})
    object.__setattr__(context, "definition", {"replicas": 2, "max_lag": 1.0})
    with pytest.raises(EngineFailure, match="wants 2 replicas; there are 0"):
        green_kubo.run(context)
