"""Running LAMMPS: results and logs in their places, failures told apart."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from sophron.interfaces.kind import Cores, EngineFailure, EnvironmentFailure, StepContext
from sophron.science.lammps import logfile, run
from sophron.science.lammps.executable import Lammps, find
from sophron.science.lammps.run import run_lammps

BOX = """units lj
lattice fcc 0.8
region b block 0 3 0 3 0 3
create_box 1 b
create_atoms 1 box
mass 1 1.0
pair_style lj/cut 2.3
pair_coeff 1 1 1.0 1.0
velocity all create 1.0 4711
fix move all nve
thermo_style custom step cpu temp pe
thermo_modify flush yes
thermo 50
"""


def context(tmp_path, **more):
    work, log = tmp_path / "work", tmp_path / "log"
    work.mkdir()
    log.mkdir()
    values = {"stage": "any", "wildcards": {}, "definition": {}, "upstream": {}, "seed": 1, "runtime_min": 1, **more}
    return StepContext(workdir=work, log_dir=log, **values)


def test_a_run_leaves_its_input_and_its_log(tmp_path):
    ctx = context(tmp_path)
    log = run_lammps(find(), "short", BOX + "run 100\nwrite_data end.data\n", ctx)
    assert log == ctx.log_dir / "log.short.lammps"
    assert not (ctx.log_dir / "log.lammps").exists()
    assert (ctx.log_dir / "in.short").read_text() == (ctx.workdir / "in.short").read_text()
    assert (ctx.workdir / "end.data").is_file()
    (table,) = logfile.tables(log.read_text())
    assert table.column("Step") == [0.0, 50.0, 100.0]
    assert table.ended


def test_what_lammps_says_is_the_reason(tmp_path):
    with pytest.raises(EngineFailure, match="LAMMPS stopped: Unrecognized pair style 'nonsense'") as failure:
        run_lammps(find(), "wrong", "units lj\npair_style nonsense\n", context(tmp_path))
    assert failure.value.curable_by is None


def test_a_refused_input_is_not_started(tmp_path):
    ctx = context(tmp_path)
    with pytest.raises(EngineFailure, match=r"in\.bad:2: the command `shell` starts programs"):
        run_lammps(find(), "bad", "units lj\nshell touch x\n", ctx)
    assert list(ctx.workdir.iterdir()) == []


def started_by_this_process():
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = entry.read_text().rpartition(")")[::2]
        except OSError:
            continue
        if fields.split()[1] == str(os.getpid()) and name.endswith("(lmp"):
            return int(entry.parent.name)
    return None


@pytest.mark.parametrize(
    ("number", "cure", "said"),
    [(signal.SIGKILL, "memory", "was killed"), (signal.SIGTERM, "time", "SIGTERM"), (signal.SIGSEGV, None, "code")],
)
def test_signals_say_what_can_cure_them(tmp_path, number, cure, said):
    def kill():
        while (pid := started_by_this_process()) is None:
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(pid, number)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(EngineFailure, match=said) as failure:
        run_lammps(find(), "long", BOX + "run 10000000\n", context(tmp_path))
    killer.join()
    assert failure.value.curable_by == cure


@pytest.mark.parametrize("code", [-9, 137, 247])
def test_a_killed_lammps_is_known_behind_a_shell_and_behind_a_python_wrapper(tmp_path, code):
    failure = run._failure(code, tmp_path / "output", tmp_path / "log")
    assert (failure.curable_by, "was killed" in failure.reason) == ("memory", True)


def test_too_little_memory_is_curable(tmp_path):
    program = tmp_path / "lmp"
    program.write_text(
        "#!/bin/sh\necho 'ERROR on proc 0: Failed to allocate 8 bytes for array (memory.cpp:51)'\nexit 1\n"
    )
    program.chmod(0o755)
    with pytest.raises(EngineFailure, match="out of memory") as failure:
        run_lammps(Lammps(program), "big", "units lj\n", context(tmp_path))
    assert failure.value.curable_by == "memory"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "#!/bin/sh\necho 'lmp: error while loading shared libraries: libmpi.so.12: cannot open'\nexit 127\n",
            "libmpi",
        ),
        (
            "#!/bin/sh\necho \"ERROR: pair style 'x' is not enabled in this LAMMPS binary (a.cpp:5)\"\nexit 1\n",
            "enabled",
        ),
        ("#!/bin/sh\necho 'ERROR: Cannot open restart file: No space left on device'\nexit 1\n", "No space left"),
        ("#!/nowhere/sh\n", "No such file or directory"),
        ("#!/bin/sh\nkill -ILL $$\n", "another processor"),
    ],
)
def test_what_the_machine_lacks_is_no_fault_of_the_science(tmp_path, script, said):
    program = tmp_path / "lmp"
    program.write_text(script)
    program.chmod(0o755)
    with pytest.raises(EnvironmentFailure, match=said):
        run_lammps(Lammps(program), "any", "units lj\n", context(tmp_path))


def test_lammps_without_its_mpi_library_is_a_fault_of_the_machine(tmp_path, monkeypatch):
    lammps = find()
    if lammps.libraries is None:
        pytest.skip("this lmp brings its MPI library along")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    with pytest.raises(EnvironmentFailure, match="error while loading shared libraries: libmpi"):
        run_lammps(Lammps(lammps.program), "any", "units lj\n", context(tmp_path))


def test_a_run_that_hangs_is_ended(tmp_path):
    started = time.monotonic()
    with pytest.raises(EngineFailure, match="did not end within") as failure:
        run_lammps(find(), "long", BOX + "run 100000000\n", context(tmp_path, runtime_min=0.01))
    assert failure.value.curable_by == "time"
    assert time.monotonic() - started < 5
    assert started_by_this_process() is None


def test_two_ranks_and_threads_and_suffixes_reach_lammps(tmp_path):
    log = run_lammps(find(), "two", BOX + "run 10\n", context(tmp_path, cores=Cores(2, 1, "omp"))).read_text()
    assert "using 2 MPI task" in log or "1 by 1 by 2 MPI processor grid" in log
    assert "lj/cut/omp" in log


def test_a_suffix_that_this_program_lacks_is_left_out(tmp_path):
    log = run_lammps(find(), "plain", BOX + "run 10\n", context(tmp_path, cores=Cores(1, 1, "gpu"))).read_text()
    assert "lj/cut/gpu" not in log


def test_free_text_sees_its_work_folder_only(tmp_path):
    ctx = context(tmp_path)
    (tmp_path / "secret.data").write_text("x")
    (ctx.workdir / "link.data").symlink_to(tmp_path / "secret.data")
    with pytest.raises(EngineFailure, match=r"Cannot open file link\.data"):
        run_lammps(find(), "free", "units lj\nread_data link.data\n", ctx, free_text=True)


def test_free_text_results_and_log_are_the_same(tmp_path):
    ctx = context(tmp_path)
    log = run_lammps(find(), "free", BOX + "run 100\nwrite_data end.data\n", ctx, free_text=True)
    assert logfile.tables(log.read_text())[0].column("Step") == [0.0, 50.0, 100.0]
    assert (ctx.workdir / "end.data").is_file()


def test_free_text_needs_one_rank(tmp_path):
    with pytest.raises(EngineFailure, match="one rank"):
        run_lammps(find(), "free", BOX, context(tmp_path, cores=Cores(ranks=2)), free_text=True)


def test_free_text_time_is_limited(tmp_path):
    with pytest.raises(EngineFailure, match="limit wall_s") as failure:
        run_lammps(find(), "free", BOX + "run 100000000\n", context(tmp_path, runtime_min=0.02), free_text=True)
    assert failure.value.curable_by == "time"
