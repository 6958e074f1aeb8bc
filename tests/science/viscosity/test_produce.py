"""Production: repeatable to the byte, and after kills complete, without gap or overlap."""

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from sophron.interfaces.kind import Cores, EngineFailure
from sophron.science.viscosity import produce

LONG = {"steps": 20_000, "restart_every": 500, "sample_every": 5, "thermo_every": 10}


def children(pid):
    """Living children of a process."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[1]) == pid and after_name[0] not in "ZX":
            found.append(int(entry.parent.name))
    return found


def gone(pid, seconds=5.0):
    """Whether a process ends within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def in_process(ctx):
    """Start the stage in a process of its own, and return it with its LAMMPS (None if it ended at once)."""
    process = multiprocessing.get_context("fork").Process(target=quietly, args=(ctx,))
    process.start()
    while process.is_alive():
        started = children(process.pid)
        if started:
            return process, started[0]
        time.sleep(0.002)
    return process, None


def wait_for_restart_file(workdir, process):
    """Wait until this try has begun to write a restart file, so that the next one gets further."""
    begun = time.time_ns()
    while process.is_alive():
        if any(path.stat().st_mtime_ns > begun for path in workdir.glob("run.*.restart")):
            return
        time.sleep(0.002)


def quietly(ctx):
    """Run the stage; exit code 3 where it says that more resources can cure its failure."""
    try:
        produce.run(ctx)
    except EngineFailure as failure:
        os._exit(3 if failure.curable_by else 4)


def test_a_run_in_one_piece_repeats_to_the_byte(melt, tmp_path):
    first = melt.run(tmp_path / "first", "produce")
    again = melt.run(tmp_path / "again", "produce")
    assert first.result == again.result
    for name in ("stress", "trajectory"):
        assert first.files[name].read_bytes() == again.files[name].read_bytes()


def test_files_have_the_form_that_the_analysis_reads(melt, tmp_path):
    result = melt.run(tmp_path, "produce")
    stress = np.load(result.files["stress"])
    assert stress["pressure"].shape == (81, 6)
    assert stress["pressure"].dtype == np.float64
    assert {name: float(stress[name]) for name in stress.files if name != "pressure"} == pytest.approx(
        {"interval_tau": 0.025, "volume": 200 / 0.85, "temperature_target": 1.0, "first_step": 0, "every_steps": 5}
    )
    trajectory = np.load(result.files["trajectory"])
    assert trajectory["positions"].shape == (9, 200, 3)
    assert trajectory["positions"].dtype == np.float32
    assert int(trajectory["chain_length"]) == 10
    assert float(trajectory["interval_tau"]) == pytest.approx(0.25)
    bonds = np.diff(trajectory["positions"].reshape(9, 20, 10, 3), axis=2)
    assert np.linalg.norm(bonds, axis=-1).max() < 1.5  # unwrapped: no bond crosses the box


def test_the_trace_of_the_stress_is_the_pressure(melt, tmp_path):
    result = melt.run(tmp_path, "produce", {"thermo_every": 5})
    stress = np.load(result.files["stress"])["pressure"]
    assert stress[:, :3].mean() == pytest.approx(result.result["pressure_mean"], rel=1e-6)


def test_a_liquid_has_a_trajectory_without_frames(liquid, tmp_path):
    result = liquid.run(tmp_path, "produce")
    assert np.load(result.files["trajectory"])["positions"].shape == (0, 108, 3)
    assert result.result["frames"] == 0


def test_energy_is_conserved_and_the_temperature_held(liquid, tmp_path):
    result = liquid.run(tmp_path, "produce", {"steps": 10_000}).result
    assert abs(result["energy_drift"]) < 0.003
    wanted = liquid.results["equilibrate"].result
    assert result["energy_mean"] == pytest.approx(wanted["energy_target"], abs=0.002)
    error = np.hypot(result["temperature_error"], wanted["temperature_uncertainty"])
    assert result["temperature_mean"] == pytest.approx(0.722, abs=5 * error)


def test_after_kills_of_lammps_no_sample_is_missing_or_there_twice(melt, tmp_path):
    moments = random.Random(7)
    changes = {**LONG, "frame_every": 100}
    whole = melt.run(tmp_path / "whole", "produce", changes)
    ctx = melt.context(tmp_path / "killed", "produce", changes)
    kills = 0
    while True:
        process, engine = in_process(ctx)
        if engine is not None and kills < 6:
            wait_for_restart_file(ctx.workdir, process)
            time.sleep(moments.uniform(0.0, 0.1))
            if process.is_alive():
                os.kill(engine, signal.SIGKILL)
                kills += 1
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == 3
    killed = melt.run(tmp_path / "killed", "produce", changes)
    assert killed.result["continued"] >= 2
    same = ("samples", "frames", "steps", "volume")
    assert {name: killed.result[name] for name in same} == {name: whole.result[name] for name in same}
    before, after = (np.load(run.files["stress"])["pressure"] for run in (whole, killed))
    assert np.array_equal(before[:50], after[:50])  # the same run, until it was first continued
    error = np.hypot(whole.result["temperature_error"], killed.result["temperature_error"])
    assert killed.result["temperature_mean"] == pytest.approx(whole.result["temperature_mean"], abs=5 * error)
    assert abs(killed.result["energy_drift"]) < 0.003


def test_a_step_killed_after_its_run_repeats_to_the_byte(melt, tmp_path):
    first = melt.run(tmp_path, "produce")
    stress = first.files["stress"].read_bytes()
    for path in first.files.values():
        path.unlink()
    again = melt.run(tmp_path, "produce")
    assert again.result == first.result
    assert again.files["stress"].read_bytes() == stress


def test_a_run_killed_before_its_first_restart_file_repeats_to_the_byte(liquid, tmp_path):
    changes = {**LONG, "steps": 5_000, "restart_every": 5_000}
    whole = liquid.run(tmp_path / "whole", "produce", changes)
    ctx = liquid.context(tmp_path / "killed", "produce", changes)
    process, engine = in_process(ctx)
    time.sleep(0.1)
    os.kill(engine, signal.SIGKILL)
    process.join()
    again = liquid.run(tmp_path / "killed", "produce", changes)
    assert again.result == whole.result
    assert again.files["stress"].read_bytes() == whole.files["stress"].read_bytes()


def test_lammps_dies_with_its_step(liquid, tmp_path):
    process, engine = in_process(liquid.context(tmp_path, "produce", LONG))
    process.kill()
    process.join()
    assert gone(engine)


def test_ranks_die_with_their_step(melt, tmp_path):
    process, starter = in_process(melt.context(tmp_path, "produce", LONG, cores=Cores(ranks=2)))
    time.sleep(0.7)
    ranks = [pid for proxy in children(starter) for pid in children(proxy)]
    assert ranks
    process.kill()
    process.join()
    assert all(gone(pid) for pid in [starter, *ranks])


def test_two_ranks_give_every_sample(melt, tmp_path):
    result = melt.run(tmp_path, "produce", cores=Cores(ranks=2)).result
    assert (result["samples"], result["frames"]) == (81, 9)


def test_a_run_that_stops_for_time_is_curable_and_goes_on(liquid, tmp_path, monkeypatch):
    monkeypatch.setattr("sophron.science.lammps.stage_run.stop_after_s", lambda ctx: 1)
    changes = {**LONG, "steps": 40_000, "restart_every": 40_000}
    with pytest.raises(EngineFailure, match="wall time") as failure:
        liquid.run(tmp_path, "produce", changes)
    assert failure.value.curable_by == "time"
    monkeypatch.undo()
    result = liquid.run(tmp_path, "produce", changes).result
    assert result["samples"] == 8_001
    assert result["continued"] == 1


@pytest.mark.parametrize("name", ["steps", "restart_every"])
def test_steps_that_do_not_fit_each_other_are_refused(liquid, tmp_path, name):
    with pytest.raises(EngineFailure, match=rf"produce\.definition\.{name}: 401 is not a multiple of sample_every"):
        liquid.run(tmp_path, "produce", {name: 401})
