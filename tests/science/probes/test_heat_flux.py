"""The heat flux probe against real LAMMPS: both ways in which a many-body heat flux goes wrong are found."""

import pytest

from sophron.interfaces.kind import EngineFailure
from sophron.science.lammps import executable as finding
from sophron.science.probes import heat_flux
from sophron.science.probes.heat_flux_cluster import STAND_INS

PARAMETERS = {"tolerance": 1e-3}


def spec(compute, style, **stages):
    return {"method": {"name": "green-kubo", "heat_flux": {"compute": compute}, "pair_style": style}, "stages": stages}


@pytest.fixture(scope="module")
def lmp():
    try:
        return finding.find()
    except EngineFailure as failure:
        pytest.skip(failure.reason)


def test_centroid_stress_of_tersoff_stops_at_the_run(lmp):
    found = heat_flux.many_body(spec("centroid/stress/atom", "tersoff"), PARAMETERS)
    assert found.status == "hit"
    assert "does not support compute centroid/stress/atom" in found.evidence


def test_stress_of_tersoff_runs_silently_and_is_wrong(lmp):
    found = heat_flux.many_body(spec("stress/atom", "tersoff"), PARAMETERS)
    assert found.status == "hit"
    assert "runs" in found.evidence
    assert "20." in found.evidence  # per cent off the exact derivative


@pytest.mark.parametrize("style", ["lj/cut", "morse", "buck"])
def test_stress_of_pairwise_styles_is_exact(lmp, style):
    assert heat_flux.many_body(spec("stress/atom", style), PARAMETERS).status == "clear"


@pytest.mark.parametrize("style", [style for style in STAND_INS if style not in {"lj/cut", "morse", "buck"}])
def test_no_many_body_style_gets_away(lmp, style):
    found = heat_flux.many_body(spec("stress/atom", style), PARAMETERS)
    assert found.status in {"hit", "unknown"}, found.evidence  # unknown: this lmp was built without the style
    assert found.status == "hit" or "could not be tried" in found.evidence


def test_options_and_accelerators_are_part_of_the_style(lmp):
    assert heat_flux.many_body(spec("stress/atom", "tersoff/omp shift 0.05"), PARAMETERS).status == "hit"


def test_a_heat_flux_in_free_lines(lmp):
    lines = [
        "pair_style sw",
        "compute e all pe/atom",
        "compute k all ke/atom",
        "compute s all stress/atom NULL & ",
        "  virial  # of all interactions",
        "compute J all heat/flux k e s",
    ]
    free = {"produce": {"definition": {"fragments": lines}}}
    assert heat_flux.many_body({"stages": free}, PARAMETERS).status == "hit"
    free["produce"]["definition"]["fragments"] = lines[:-1]  # per-atom stress alone does no harm
    assert heat_flux.many_body({"stages": free}, PARAMETERS).status == "clear"


def test_the_worst_of_several_findings_counts(lmp):
    both = spec(
        "stress/atom", "lj/cut", produce={"definition": {"heat_flux": {"compute": "stress/atom"}, "pair_style": "sw"}}
    )
    assert heat_flux.many_body(both, PARAMETERS).status == "hit"


def test_nothing_from_the_spec_is_run(lmp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = heat_flux.many_body(spec("stress/atom", "lj/cut\nshell touch here"), PARAMETERS)
    assert found.status == "clear"
    assert heat_flux.many_body(spec("stress/atom\nshell touch here", "lj/cut"), PARAMETERS).status == "unknown"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("compute", "style"), [("stress/atom", "reaxff"), ("heat/flux/tally", "tersoff")])
def test_what_cannot_be_tried_is_unknown(lmp, compute, style):
    assert heat_flux.many_body(spec(compute, style), PARAMETERS).status == "unknown"


def test_no_pair_style_is_unknown():
    assert heat_flux.many_body({"method": {"heat_flux": {"compute": "stress/atom"}}}, PARAMETERS).status == "unknown"


def test_no_heat_flux_is_clear():
    assert heat_flux.many_body({"method": {"name": "green-kubo"}}, PARAMETERS).status == "clear"


def test_without_lammps_it_is_unknown(monkeypatch):
    monkeypatch.setenv("SOPHRON_LMP", "/nowhere/lmp")
    found = heat_flux.many_body(spec("stress/atom", "tersoff"), PARAMETERS)
    assert found.status == "unknown"
    assert "/nowhere/lmp" in found.evidence


def test_a_lammps_that_does_not_start_is_unknown(monkeypatch, tmp_path):
    broken = tmp_path / "lmp"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("SOPHRON_LMP", str(broken))
    assert heat_flux.many_body(spec("stress/atom", "tersoff"), PARAMETERS).status == "unknown"
