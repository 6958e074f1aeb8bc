"""Logs: finished, live and torn ones."""

import subprocess
import sys

import pytest

from sophron.science.lammps import logfile

LOG = """LAMMPS (22 Jul 2025)
variable        n equal 200
run             ${n}
run             200
Per MPI rank memory allocation (min/avg/max) = 3.1 | 3.1 | 3.1 Mbytes
   Step          CPU            Temp          PotEng
         0   0              1.0           -6.0
       100   0.5            0.9           -5.8
       200   1.0            0.8           -5.7
Loop time of 1.0 on 1 procs for 200 steps with 108 atoms
run 400 upto
   Step          CPU            Temp          PotEng
       200   0              0.8           -5.7
       250   0.25           0.8           -5.6
       300   0.5            0.8           -5.6"""


def test_tables_hold_whole_lines_only():
    first, second = logfile.tables(LOG)
    assert first.columns == ("Step", "CPU", "Temp", "PotEng")
    assert first.column("Temp") == [1.0, 0.9, 0.8]
    assert first.ended
    assert not second.ended
    assert second.column("Step") == [200.0, 250.0]  # the last line has no end yet


def test_warnings_between_lines_are_passed_over():
    text = LOG.replace("       250", "WARNING: a b c\n       250") + "\n"
    assert logfile.tables(text)[1].column("Step") == [200.0, 250.0, 300.0]


def test_progress_of_a_live_run(tmp_path):
    path = tmp_path / "log.lammps"
    path.write_text(LOG)
    assert logfile.progress(path) == logfile.Progress(250, 400, 200.0, 0.75)
    assert logfile.progress(path, 1250) == logfile.Progress(250, 1250, 200.0, 5.0)


def test_a_run_without_upto_counts_from_its_first_step(tmp_path):
    path = tmp_path / "log.lammps"
    path.write_text(LOG.replace("400 upto", "400"))
    assert logfile.progress(path).total == 600


def test_progress_of_a_finished_run(tmp_path):
    path = tmp_path / "log.lammps"
    path.write_text(LOG.partition("run 400")[0])
    assert logfile.progress(path) == logfile.Progress(200, 200, 200.0, 0.0)


@pytest.mark.parametrize("text", ["", "LAMMPS (22 Jul 2025)\n", "run 5\n   Step   Temp\n", "\x00\xff\n"])
def test_no_progress_before_the_first_line(tmp_path, text):
    (tmp_path / "log.lammps").write_text(text, encoding="latin-1")
    assert logfile.progress(tmp_path / "log.lammps") is None


def test_no_progress_without_a_log(tmp_path):
    assert logfile.progress(tmp_path / "log.lammps") is None


def test_without_a_cpu_column_the_speed_is_unknown(tmp_path):
    path = tmp_path / "log.lammps"
    path.write_text("run 5\n   Step   Temp\n 0 1.0\n 2 1.0\n")
    assert logfile.progress(path) == logfile.Progress(2, 5, None, None)


def test_errors_are_given_without_their_source():
    text = "ERROR on proc 0: Lost atoms: original 108 current 107 (src/thermo.cpp:526)\nERROR: Unknown command: x (src/input.cpp:1)\n"
    assert logfile.errors(text) == ["Lost atoms: original 108 current 107", "Unknown command: x"]


def test_the_log_names_its_lammps():
    assert logfile.version(LOG) == "22 Jul 2025"
    assert logfile.version("") == "unknown"


def test_importing_it_loads_nothing_heavy():
    code = "import sys, sophron.science.lammps.logfile; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "jinja2", "subprocess", "yaml"} & set(loaded)
