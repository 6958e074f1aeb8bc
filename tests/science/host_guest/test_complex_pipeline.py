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

from sophron.records import documents
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import rt
from sophron.science.estimators.thermodynamic_cycle import Term
from sophron.science.host_guest.pipelines import reference_pipelines
from sophron.science.host_guest.preparation.complex_builder import Complex
from sophron.science.host_guest.preparation.geometry import Anchors
from sophron.science.host_guest.protocols import analysis, complex_diagnostics, seeding
from sophron.science.host_guest.sampling import replica_exchange_block, samples, window_sampling
from sophron.science.host_guest.sampling.samples import Sampled

from .conftest import CHEM, T, ghost

TASK = {"symmetry": {"equivalent_sites": 2, "locked_by_restraint": True}, "ph": 7.0}


@pytest.mark.parametrize(
    ("draft", "steps"),
    [
        (reference_pipelines.apr, 44),
        (reference_pipelines.replica_exchange, 11),
        (reference_pipelines.double_decoupling, 44),
    ],
)
def test_all_files_are_python_that_names_no_molecule(draft, steps):
    text = draft()
    for name in reference_pipelines.FILES:
        source = text.partition(f"FILE {name}\n```python\n")[2].partition("\n```")[0]
        assert ast.get_docstring(ast.parse(source, name))
    assert not any(f'"{code}"' in text for code in ("cb7", "CB7", "chm", "oah", "CLP"))
    assert f"03_production.py windows={steps}\n" in text


def test_an_author_needs_no_engine_to_write():
    """Agents run in an environment without the chemistry."""
    program = "import sys; from sophron.science.host_guest.pipelines import reference_pipelines as one; one.double_decoupling(); one.apr()"
    program += "; print({'numpy', 'scipy', 'openmm', 'pymbar'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "set()"


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


SHORT = reference_pipelines.AprShape(windows=5, strengths=(0.0, 0.3), spacing=0.5, pull_length=0.5, interval=25)
GONE = reference_pipelines.DecouplingShape(
    windows=11, strengths=(0.0, 0.02, 0.2, 1.0), electrostatics=(0.0,), sterics=(0.5, 0.0), interval=25
)


@pytest.mark.parametrize(
    ("shape", "steps", "least"),
    [
        pytest.param(SHORT, 5, 4, id="pulled"),
        pytest.param(replace(SHORT, together=2), 3, 4, id="exchanged"),
        pytest.param(GONE, 11, 11, id="decoupled", marks=pytest.mark.slow),
        pytest.param(replace(GONE, together=4), 3, 11, id="decoupled-exchanged", marks=pytest.mark.slow),
    ],
)
def test_the_four_files_run_one_after_the_other(shape, steps, least, small_task, tmp_path):
    """As the loop runs them, without its sandbox; too short for a number, and they say so."""
    for name in ("sophron.science.host_guest.stage_file_api", "openmm", "openmmtools", "parmed", "pymbar"):
        pytest.importorskip(name, reason=f"{name} is not there")
    sources = reference_pipelines.files(shape)

    def run(name, folder, earlier, window=0):
        shutil.copytree(small_task, folder)
        for link, target in earlier.items():
            (folder / link).parent.mkdir(exist_ok=True)
            (folder / link).symlink_to(target)
        (folder / name).write_text(sources[name])
        own = {"NS_PER_WINDOW": "0.004", "WINDOWS": str(steps), "SEED": "17", "PLATFORM": "CPU", "WINDOW": str(window)}
        environment = os.environ | {f"SOPHRON_{key}": value for key, value in own.items()}
        ended = subprocess.run(
            [sys.executable, name], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        (path,) = folder.glob("stage_0?_result.json")
        documents.validate(documents.Document(documents.load_json(path), path), "debate/stage_result")
        return json.loads(path.read_text())

    first = run("01_prep.py", tmp_path / "s1", {})
    assert first["diagnostics"]["atom_type_changes"] == []
    earlier = {"stage_01": tmp_path / "s1", "stage_02": tmp_path / "s2"}
    second = run("02_equilibrate.py", tmp_path / "s2", {"stage_01": tmp_path / "s1"})
    assert second["diagnostics"].get("restraint_energy_kcal_per_mol", 0.0) == pytest.approx(0.0, abs=1e-9)
    used = second["diagnostics"]["window_count"]
    assert used >= least
    sampled_ns = 0.0
    for step in range(steps):
        third = run("03_production.py", tmp_path / f"w{step}", earlier, step)
        sampled_ns += third["diagnostics"]["sampled_ns"]
        assert third["diagnostics"]["planned_ns"] == pytest.approx(third["diagnostics"]["sampled_ns"])
    assert sampled_ns == pytest.approx(0.004 * used)
    windows = {f"windows/{step}": tmp_path / f"w{step}" for step in range(steps)}
    last = run("04_analysis.py", tmp_path / "s4", earlier | windows)
    assert last["status"] == "refused"
    assert last["failure"]["kind"] == "few_samples"
    assert last["diagnostics"]["window_count"] == used
    assert last["delta_g_kcal_per_mol"] is None


def test_where_a_gpu_was_asked_for_no_stage_file_takes_the_cpu(small_task):
    openmm = pytest.importorskip("openmm", reason=f"OpenMM {CHEM}")
    if "CUDA" in {openmm.Platform.getPlatform(at).getName() for at in range(openmm.Platform.getNumPlatforms())}:
        pytest.skip("CUDA is here")
    (small_task / "01_prep.py").write_text(reference_pipelines.files(SHORT)["01_prep.py"])
    command = [sys.executable, "01_prep.py"]
    ended = subprocess.run(
        command, cwd=small_task, env=os.environ | {"SOPHRON_PLATFORM": "CUDA"}, capture_output=True, check=False
    )
    failure = json.loads((small_task / "stage_01_result.json").read_text())["failure"]
    assert ended.returncode != 0
    assert "CUDA" in failure["sentence"]


class TestRuns:
    """Short runs of a guest without interactions."""

    @pytest.fixture(autouse=True)
    def _installed(self):
        for name in ("openmm", "pymbar"):
            pytest.importorskip(name, reason=f"{name} {CHEM}")

    @pytest.fixture
    def engine(self):
        return window_sampling.Engine(ghost(((0.0, 0.3), (4.0, 5.0, 9.0))), 0.01, "Reference")

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
        plan = window_sampling.Plan(samples=30, interval=10, settle=10, time_step_ps=0.01)
        start = window_sampling.State(engine.experiment.positions_a)
        ran = replica_exchange_block.run(engine, range(2, 4), [start, start], plan, seed=5, folder=tmp_path)
        both = [
            complex_diagnostics.of_window(
                engine.experiment, [Sampled(place, way, values) for way in samples.WAYS], plan
            )
            for place, values in zip((2, 3), ran.values, strict=True)
        ]
        found = complex_diagnostics.of_block(both[:1], range(2, 3), [])
        assert found["sampled_ns"] == pytest.approx(2 * 30 * 10 * 0.01e-3)
        assert found["dwell_within_target"] > 0.7
        assert found["statistical_inefficiency"] >= 1
        assert all(isinstance(each, float | int) for each in found.values())
        worst = complex_diagnostics.of_block(both, range(2, 4), [ran.accepted])
        assert worst["sampled_ns"] == pytest.approx(4 * 30 * 10 * 0.01e-3)
        assert worst["dwell_within_target"] == min(each["dwell_within_target"] for each in both)
        assert "distance_mean_a" not in worst


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
