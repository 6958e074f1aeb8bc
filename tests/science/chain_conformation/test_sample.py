"""The sampled run: the closed form of the ideal chain, what LAMMPS measures, and the places where it refuses to run."""

import json

import numpy as np
import pytest

from sophron.records.errors import UserError
from sophron.science.chain_conformation.gyration import squared_radii
from sophron.science.viscosity import build

from .conftest import DISPATCHED, LOCAL, PARSL, SLURM


def ranks_here(system, tmp_path) -> str | None:
    """Why MPI cannot be tested here; None where it can."""
    from sophron.interfaces.kind import EngineFailure
    from sophron.science.lammps.executable import find

    try:
        find().mpiexec()
    except EngineFailure as failure:
        return str(failure)
    return None


def test_ideal_chains_have_the_radius_of_the_closed_form(ideal, tmp_path):
    result = ideal.run(tmp_path, "sample_local").result
    assert result["exact_squared_radius"] == pytest.approx(63 / 48)
    assert result["squared_radius_error"] < 0.018 * 63 / 48
    assert abs(result["squared_radius"] - 63 / 48) < 4 * result["squared_radius_error"]
    assert result["radius_of_gyration"] ** 2 == pytest.approx(result["squared_radius"])


def test_what_lammps_measures_is_the_radius_of_the_configuration(repelling, tmp_path):
    context = repelling.context(tmp_path, "sample_local")
    repelling.run(tmp_path, "sample_local")
    first = float((context.workdir / "radius.0.dat").read_text().splitlines()[2].split()[1])
    system = build.read_positions(repelling.results["equilibrate"].files["system"], 10)
    assert first == pytest.approx(squared_radii(system.chains).mean(), rel=1e-12)
    assert repelling.results["equilibrate"].result["longest_bond"] < 1.3


def test_the_record_tells_where_it_ran_and_repeats_nothing_of_the_clock_in_the_result(repelling, tmp_path):
    first, again = (repelling.run(tmp_path / name, "sample_local") for name in "ab")
    assert first.result == again.result
    assert first.files["series"].read_bytes() == again.files["series"].read_bytes()
    ran = json.loads(first.files["ran"].read_text())
    assert (ran["step"], ran["try"], ran["placement"], ran["ranks"]) == ("sample_local-0", "1", LOCAL, 1)
    assert 0 < ran["engine_s"] <= ran["wall_s"]
    with np.load(first.files["series"]) as arrays:
        assert arrays["squared_radius"].shape == arrays["temperature"].shape == (first.result["samples"],) == (200,)
        assert float(arrays["interval_tau"]) == pytest.approx(0.2)


def test_two_ranks_run_the_same_start_to_other_bits(repelling, tmp_path):
    if reason := ranks_here(repelling, tmp_path):
        pytest.skip(reason)
    local = repelling.run(tmp_path / "local", "sample_local")
    ranked = repelling.run(tmp_path / "slurm", "sample_slurm", place=SLURM, ranks=2)
    assert ranked.result["ranks"] == 2
    assert all(ranked.result[name] == local.result[name] for name in ("seed", "start_sha256", "samples"))
    assert ranked.files["series"].read_bytes() != local.files["series"].read_bytes()


@pytest.mark.parametrize(
    ("stage", "place", "said"),
    [
        ("sample_local", SLURM, "is to run outside of any queue, and this is in a job of slurm (17) on "),
        ("sample_local", PARSL, "is to run outside of any queue, and this is in a parsl pilot on "),
        ("sample_slurm", LOCAL, "is to run in a job of slurm, and this is outside of any queue on "),
        ("sample_slurm", {**SLURM, **PARSL, "scheduler": "slurm"}, "and this is in a parsl pilot on "),
        ("sample_slurm", {**SLURM, **DISPATCHED, "scheduler": "slurm"}, "and this is in a task of dpdispatcher on "),
        ("sample_dpdispatcher", SLURM, "is to run in a task of dpdispatcher, and this is in a job of slurm (17) on "),
        ("sample_parsl", SLURM, "is to run in a parsl pilot, and this is in a job of slurm (17) on "),
    ],
)
def test_it_refuses_to_run_where_its_stage_does_not_belong(repelling, tmp_path, stage, place, said):
    with pytest.raises(UserError) as refused:
        repelling.run(tmp_path, stage, place=place, ranks=2)
    assert said in str(refused.value)
    assert f"; run it so: snakemake --profile {stage.removeprefix('sample_')} --until {stage}" in str(refused.value)
    assert not (tmp_path / "work" / "in.sample").exists()


@pytest.mark.parametrize(("stage", "place"), [("sample_parsl", PARSL), ("sample_dpdispatcher", DISPATCHED)])
def test_a_pilot_or_a_task_may_stand_inside_a_job(repelling, tmp_path, stage, place):
    inside = {**place, "scheduler": "slurm", "job": "18"}
    assert repelling.run(tmp_path, stage, place=inside).result["ranks"] == 1


def test_it_refuses_fewer_ranks_than_its_stage_stands_for(repelling, tmp_path):
    with pytest.raises(UserError, match=r"sample_slurm-0 needs 2 MPI ranks at least and may use 1; give as many cores"):
        repelling.run(tmp_path, "sample_slurm", place=SLURM)
