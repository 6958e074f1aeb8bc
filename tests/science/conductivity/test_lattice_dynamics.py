"""Silicon with Tersoff's potential in a tiny supercell: forces by the real LAMMPS, phonons by phono3py, and limits."""

import sys
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from sophron.interfaces.kind import EngineFailure, EnvironmentFailure, StepContext, UpstreamStep
from sophron.records import documents
from sophron.science.conductivity import lattice_dynamics
from sophron.science.conductivity.displace import cell_of, read_masses
from sophron.science.conductivity.lattice_dynamics import modes, solved
from sophron.science.conductivity.phonon_transport import conductivity, mean
from sophron.science.conductivity.transport import gather

DEFINITIONS: dict[str, dict[str, Any]] = {
    "build": {
        "units": "metal",
        "lattice": {"style": "zincblende", "constant": 5.432},
        "cells": [2, 2, 2],
        "species": [{"element": "Si", "mass": 28.0855}] * 2,
        "pair_style": "tersoff",
        "potential": "Si.tersoff",
    },
    "displace": {"cells": 2, "harmonic_cells": 2, "displacement": 0.03},
    "forces": {"batches": 2},
    "transport": {
        "temperature": 300.0,
        "statistics": "classical",
        "isotopes": "none",
        "meshes": [3, 5, 7],
        "lengths": [50.0, 500.0],
    },
}
MESH = 5


@dataclass
class Chain:
    """Finished steps by stage."""

    steps: dict[str, list[UpstreamStep]]

    def run(self, folder, stage, *before, changes=None, **wildcards):
        """Run a stage on the stages `before` it, and keep its step."""
        for name in ("work", "log"):
            (folder / name).mkdir(parents=True)
        definition = DEFINITIONS[stage] | (changes or {})
        upstream = {name: self.steps[name] for name in before}
        context = StepContext(stage, wildcards, definition, upstream, folder / "work", folder / "log", 1, runtime_min=5)
        result = import_module(f"sophron.science.conductivity.{stage}").run(context)
        schema = documents.schema(f"conductivity/{stage}")
        Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/result"}).validate(result.result)
        step = UpstreamStep(stage, wildcards, result.result, result.files)
        self.steps.setdefault(stage, []).append(step)
        return step


@pytest.fixture(scope="module")
def silicon(tmp_path_factory):
    """Every stage up to the forces of both batches."""
    pytest.importorskip("phono3py")
    folder, chain = tmp_path_factory.mktemp("silicon"), Chain({})
    chain.run(folder / "build", "build", replica="0")
    chain.run(folder / "displace", "displace", "build")
    for batch in "01":
        chain.run(folder / f"forces-{batch}", "forces", "displace", batch=batch)
    return chain


@pytest.fixture(scope="module")
def crystal(silicon, tmp_path_factory):
    """phono3py with force constants."""
    folder = tmp_path_factory.mktemp("crystal")
    transport = import_module("sophron.science.conductivity.transport")
    upstream = {name: silicon.steps[name] for name in ("displace", "forces")}
    return transport.force_constants(StepContext("transport", {}, {}, upstream, folder, folder, 1))


def test_the_cell_is_that_of_build(silicon):
    cell = cell_of(silicon.steps["build"][0])
    assert cell == lattice_dynamics.Cell("zincblende", 5.432, ("Si", "Si"), (28.0855, 28.0855))
    assert read_masses(silicon.steps["build"][0].files["system"]) == (28.0855, 28.0855)


def test_single_atoms_and_pairs_are_displaced(silicon):
    with np.load(silicon.steps["displace"][0].files["displacements"]) as planned:
        distance = {order: np.sqrt((planned[order] ** 2).sum(axis=-1)) for order in planned.files}
    assert set((distance["second"] > 1e-6).sum(axis=1)) == {1}
    assert set((distance["third"] > 1e-6).sum(axis=1)) == {1, 2}
    assert distance["second"].max() == pytest.approx(0.03)


def test_forces_add_up_to_nothing_and_vanish_at_rest(silicon):
    for step in silicon.steps["forces"]:
        assert step.result["residual_force"] < 1e-9
        assert 0.05 < step.result["largest_force"] < 5
        with np.load(step.files["forces"]) as forces:
            assert np.abs(forces["third"].sum(axis=1)).max() < 1e-9


def test_batches_together_are_what_one_batch_is(silicon, tmp_path):
    whole = Chain(dict(silicon.steps, forces=[])).run(
        tmp_path / "whole", "forces", "displace", changes={"batches": 1}, batch="0"
    )
    with np.load(silicon.steps["displace"][0].files["displacements"]) as planned:
        shapes = {order: planned[order] for order in planned.files}
    parts = {int(step.wildcards["batch"]): step.files["forces"] for step in silicon.steps["forces"]}
    found = gather(shapes, parts)
    with np.load(whole.files["forces"]) as kept:
        for order in ("third", "second"):
            np.testing.assert_allclose(found[order], kept[order], atol=1e-12)
    with pytest.raises(EngineFailure, match="supercells of third order have no forces"):
        gather(shapes, {1: parts[1]})


@pytest.mark.parametrize(("temperature", "least", "most"), [(3000.0, 0.0, 3e-3), (100.0, 0.1, 10.0)])
def test_quantum_is_classical_when_hot_and_not_when_cold(crystal, temperature, least, most):
    both = modes(crystal, MESH, temperature)
    quantum, classical = (mean(conductivity(both[name], isotopes=False)) for name in ("quantum", "classical"))
    assert least <= abs(np.log(quantum / classical)) < most


def test_the_classical_conductivity_goes_as_the_inverse_temperature_without_isotopes_only(crystal):
    at = {temperature: modes(crystal, MESH, temperature)["classical"] for temperature in (300.0, 600.0)}
    pure = [mean(conductivity(found, isotopes=False)) for found in at.values()]
    assert pure[0] == pytest.approx(2 * pure[1], rel=1e-3)
    mixed = [mean(conductivity(found, isotopes=True)) for found in at.values()]
    assert mixed[0] < 1.99 * mixed[1]
    assert mixed[0] < pure[0]


@pytest.mark.parametrize(("isotopes", "length"), [(False, None), (True, None), (False, 200.0), (True, 200.0)])
@pytest.mark.parametrize("classical", [True, False])
def test_rates_that_phono3py_adds_up_are_those_added_here(crystal, classical, isotopes, length):
    # Here each rate is scaled by itself; phono3py gets isotopes and walls scaled up to its high temperature.
    found = modes(crystal, MESH, 300.0)["classical" if classical else "quantum"]
    here = conductivity(found, isotopes=isotopes, length=length)
    asked = {"classical": classical, "isotopes": isotopes, "length": length}
    there = solved(crystal, MESH, 300.0, relaxation_time=True, **asked)
    np.testing.assert_allclose(here, there, rtol=2e-3, atol=1e-6 * mean(here))


def test_the_classical_limit_does_not_depend_on_how_hot_it_is_taken(crystal, monkeypatch):
    asked = {"classical": True, "isotopes": True, "length": 500.0}
    usual = solved(crystal, MESH, 300.0, **asked)
    monkeypatch.setattr(lattice_dynamics, "HOT", 1000.0)
    np.testing.assert_allclose(solved(crystal, MESH, 300.0, **asked), usual, rtol=2e-3, atol=1e-6 * mean(usual))


def test_isotopes_without_variance_scatter_nothing(crystal):
    found = modes(crystal, MESH, 300.0)["classical"]
    pure = replace(found, isotope=0 * found.isotope)
    np.testing.assert_allclose(conductivity(pure, isotopes=True), conductivity(found, isotopes=False))
    # Silicon: 92.23 % 28, 4.67 % 29, 3.10 % 30.
    assert lattice_dynamics.mass_variances(crystal) == pytest.approx([2.01e-4] * 2, rel=0.01)


def test_transport_gives_a_tensor_of_a_cubic_crystal(silicon, tmp_path):
    result = silicon.run(tmp_path / "transport", "transport", "displace", "forces").result
    assert result["anisotropy"] < 1e-6
    assert result["lowest_frequency"] > -1e-3
    assert 14 < result["highest_frequency"] < 18
    assert [row["mesh"] for row in result["meshes"]] == [3, 5, 7]
    for row in result["meshes"]:
        assert row["classical_isotopes"] < row["classical"]
        assert row["solved"] == pytest.approx(row["classical"], rel=0.25)  # nearly all scattering resists in silicon
    short, long = result["lengths"]
    assert short["conductivity"] < long["conductivity"] < result["meshes"][-1]["classical"]
    assert result["free_path_10"] < result["free_path_50"] < result["free_path_90"]
    assert result["conductivity_relative_error"] == pytest.approx(
        result["conductivity_standard_error"] / result["conductivity"]
    )


def test_without_phono3py_a_sentence_says_what_to_install(silicon, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "phono3py", None)
    with pytest.raises(EnvironmentFailure, match=r"phono3py is not installed; pip install 'sophron\[phonons\]'"):
        Chain(dict(silicon.steps)).run(tmp_path / "none", "displace", "build")


def test_another_unit_system_is_refused(argon):
    result = argon.results["build"]
    with pytest.raises(EngineFailure, match="lattice dynamics needs metal"):
        cell_of(UpstreamStep("build", {}, result.result, result.files))
