"""Our pipeline for molecules: its text, and what its stages share."""

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from sophron.science.estimators.cycle import Term
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import rt
from sophron.science.host_guest import analysis, complex_diagnostics, complex_pipeline, sampling, seeding
from sophron.science.host_guest.analysis import Sampled
from sophron.science.host_guest.build import Complex
from sophron.science.host_guest.geometry import Anchors

from .conftest import CHEM, T, ghost

TASK = {"symmetry": {"equivalent_sites": 2, "locked_by_restraint": True}, "ph": 7.0}


def test_all_files_are_python_that_names_no_molecule():
    text = complex_pipeline.draft()
    for name, source in complex_pipeline.files(complex_pipeline.Shape()).items():
        ast.parse(source, name)
        assert f"FILE {name}\n" in text
    assert not any(f'"{code}"' in text for code in ("cb7", "CB7", "chm", "oah", "CLP"))
    assert "03_production.py windows=44\n" in text


def test_a_complex_is_read_as_it_was_saved(tmp_path):
    made = Complex(
        tmp_path / "complex.prmtop",
        tmp_path / "complex.rst7",
        "obc2",
        Anchors((0, 1, 2), (3, 4)),
        3,
        5,
        (0, 1),
        1.0,
        0.002,
        ("N1 nz to n4",),
        ("Warning: none",),
    )
    made.save(tmp_path)
    assert Complex.load(tmp_path) == made


def test_the_four_files_run_one_after_the_other(small_task, tmp_path):
    """As the loop runs them, without its sandbox; too short for a number, and they say so."""
    for name in ("sophron.science.host_guest.stage_file", "openmm", "parmed", "pymbar"):
        pytest.importorskip(name, reason=f"{name} is not there")
    shape = complex_pipeline.Shape(windows=5, strengths=(0.0, 0.3), spacing=0.5, pull_length=0.5, interval=25)
    sources = complex_pipeline.files(shape)

    def run(name, folder, earlier, window=0):
        shutil.copytree(small_task, folder)
        for link, target in earlier.items():
            (folder / link).parent.mkdir(exist_ok=True)
            (folder / link).symlink_to(target)
        (folder / name).write_text(sources[name])
        own = {"NS_PER_WINDOW": "0.004", "WINDOWS": "5", "SEED": "17", "PLATFORM": "CPU", "WINDOW": str(window)}
        environment = os.environ | {f"SOPHRON_{key}": value for key, value in own.items()}
        ended = subprocess.run(
            [sys.executable, name], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        (path,) = folder.glob("stage_0?_result.json")
        return json.loads(path.read_text())

    first = run("01_prep.py", tmp_path / "s1", {})
    assert first["diagnostics"]["atom_type_changes"] == []
    earlier = {"stage_01": tmp_path / "s1", "stage_02": tmp_path / "s2"}
    second = run("02_equilibrate.py", tmp_path / "s2", {"stage_01": tmp_path / "s1"})
    assert second["diagnostics"]["restraint_energy_kcal_per_mol"] == pytest.approx(0.0, abs=1e-9)
    used = second["diagnostics"]["window_count"]
    for window in range(5):
        third = run("03_production.py", tmp_path / f"w{window}", earlier, window)
        assert third["diagnostics"]["sampled_ns"] == pytest.approx(0.004 if window < used else 0.0)
    windows = {f"windows/{window}": tmp_path / f"w{window}" for window in range(5)}
    last = run("04_analysis.py", tmp_path / "s4", earlier | windows)
    assert last["status"] == "refused"
    assert last["failure"]["kind"] == "few_samples"
    assert last["delta_g_kcal_per_mol"] is None


class TestRuns:
    """Short runs of a guest without interactions."""

    @pytest.fixture(autouse=True)
    def _installed(self):
        for name in ("openmm", "pymbar"):
            pytest.importorskip(name, reason=f"{name} {CHEM}")

    @pytest.fixture
    def engine(self):
        return sampling.Engine(ghost(((0.0, 0.3), (4.0, 5.0, 9.0))), 0.01, "Reference")

    def test_a_killed_window_goes_on_to_the_same_samples(self, engine, tmp_path):
        plan = sampling.Plan(samples=25, interval=10, settle=10, segment=10, time_step_ps=0.01)
        start = sampling.State(engine.experiment.positions_a)
        window = engine.experiment.windows[2]
        whole = sampling.run(engine, window, start, plan, seed=5, folder=tmp_path / "whole")
        assert whole.shape == (len(sampling.COLUMNS), 25)
        sampling.run(engine, window, start, plan, seed=5, folder=tmp_path / "killed")
        for path in sorted((tmp_path / "killed").iterdir())[1:]:
            path.unlink()
        kept = (tmp_path / "killed" / "segment_0000.npz").stat().st_mtime_ns
        another = sampling.Engine(engine.experiment, 0.01, "Reference")
        again = sampling.run(another, window, start, plan, seed=5, folder=tmp_path / "killed")
        assert np.array_equal(again, whole)
        assert (tmp_path / "killed" / "segment_0000.npz").stat().st_mtime_ns == kept
        other = sampling.run(another, window, start, plan, seed=6, folder=tmp_path / "other")
        assert not np.array_equal(other, whole)

    def test_windows_are_put_in_where_neighbours_do_not_overlap(self, engine, tmp_path):
        found = seeding.seed_windows(engine, 9, seeding.Short(20, 20), 4)
        targets = [window.frame.distance.target for window in found.windows]
        assert 7.0 in targets
        assert 5 < len(found.windows) <= 9
        assert len(found.starts["backward"]) == len(found.starts["forward"]) == len(found.windows)
        seeding.save(found, tmp_path / "starts.npz")
        again = seeding.load_start(tmp_path / "starts.npz", "backward", 2)
        assert np.array_equal(again.positions_a, found.starts["backward"][2].positions_a)
        full = seeding.seed_windows(engine, 5, seeding.Short(20, 20), 4)
        assert full.thin == (3,)

    def test_diagnostics_are_plain(self, engine, tmp_path):
        plan = sampling.Plan(samples=30, interval=10, settle=10, time_step_ps=0.01)
        start = sampling.State(engine.experiment.positions_a)
        values = sampling.run(engine, engine.experiment.windows[2], start, plan, seed=5, folder=tmp_path)
        found = complex_diagnostics.of_window(engine.experiment, 2, {"forward": values, "backward": values}, plan)
        assert found["sampled_ns"] == pytest.approx(2 * 30 * 10 * 0.01e-3)
        assert found["dwell_within_target"] > 0.7
        assert found["statistical_inefficiency"] >= 1
        assert all(isinstance(each, float | int) for each in found.values())


class TestRefusals:
    """What analysis does not give."""

    @pytest.fixture(autouse=True)
    def _installed(self):
        for name in ("openmm", "pymbar"):
            pytest.importorskip(name, reason=f"{name} {CHEM}")

    @staticmethod
    def samples(experiment, spread=0.3, lock_deg=170.0):
        """Drawn, not simulated: distances around each target, angles nearly straight."""
        source = np.random.default_rng(1)
        rows = []
        for place, window in enumerate(experiment.windows):
            distance = source.normal(window.frame.distance.target, spread, 400)
            angle = 180 - np.abs(source.normal(0, 5, 400))
            rest = np.stack([np.full(400, 1.0), np.full(400, lock_deg), np.zeros(400), np.full(400, 298.0)])
            rows.append(Sampled(place, None, np.concatenate([[distance], [angle], [angle], rest])))
        return rows

    def test_windows_that_do_not_overlap_are_refused(self):
        made = ghost(((0.5,), (4.0, 8.0)))
        found = analysis.binding(made, self.samples(made), TASK)
        assert found.reason is Reason.NO_OVERLAP
        assert found.windows == (1, 2)

    def test_runs_that_are_too_short_are_refused_not_failed(self):
        made = ghost(((0.5,), (4.0, 4.4)))
        short = [replace(each, values=each.values[:, :5]) for each in self.samples(made)]
        found = analysis.binding(made, short, TASK)
        assert (found.reason, found.windows) == (Reason.FEW_SAMPLES, (0, 1, 2))

    def test_what_is_left_of_the_host_is_felt_as_a_mean_force(self):
        made = ghost(((0.5,), (4.0, 4.4)))
        restraint = made.frame.distance
        free = restraint.target + rt(T) / (restraint.k * restraint.target)
        samples = self.samples(made)
        samples[-1].values[0] += free - samples[-1].values[0].mean()
        assert analysis.residual(made, samples) == pytest.approx(0.0, abs=1e-9)
        samples[-1].values[0] -= 0.1
        assert analysis.residual(made, samples) == pytest.approx(-0.2 * restraint.k)

    def test_implicit_solvent_predicts_nothing(self):
        made = ghost(((0.5,), (4.0, 4.4)))
        found = analysis.binding(made, self.samples(made), TASK)
        assert not isinstance(found, Refusal), found
        assert analysis.prediction(made, found).reason is Reason.NO_PREDICTION
        assert analysis.prediction(replace(made, implicit=False), found) is found

    def test_symmetry_has_its_condition(self):
        locked, free = ghost(((0.5,), (4.0, 4.4))), ghost(((0.5,), (4.0, 4.4)), lock=False)
        unlocked = {"symmetry": {"equivalent_sites": 2, "locked_by_restraint": False}, "ph": 7.0}
        term = next(leg for leg in analysis.binding(locked, self.samples(locked), TASK).legs if leg.name == "symmetry")
        assert term.value == pytest.approx(-0.41068, abs=1e-4)
        half = self.samples(free)
        half[0].values[4][::2] = 20.0
        both = next(leg for leg in analysis.binding(free, half, unlocked).legs if leg.name == "symmetry")
        assert both.value == 0.0
        some = self.samples(free)
        some[0].values[4][:40] = 20.0
        assert analysis.binding(free, some, unlocked).reason is Reason.SITES_UNEQUAL

    def test_protonation_comes_from_the_metadata(self):
        made = ghost(((0.5,), (4.0, 4.4)))
        task = TASK | {"ph": 9.2, "protonation": {"pka": 9.2, "simulated_protonated": True}}
        plain, corrected = (analysis.binding(made, self.samples(made), each) for each in (TASK, task))
        assert corrected.total.value - plain.total.value == pytest.approx(0.41068, abs=1e-4)
        assert corrected.legs[-1] == Term("protonation", pytest.approx(0.41068, abs=1e-4))
