"""What the harness measures of samples that production saved: on series that are drawn, and on a small real run."""

import numpy as np
import pytest

from sophron.debate.pipelines import measured_diagnostics
from sophron.debate.pipelines.pipeline import STAGES, Pipeline
from sophron.debate.trials import stage_sandbox
from sophron.records.documents import Document, validate
from sophron.sandbox.select_backend import choose
from sophron.science.host_guest.sampling import observables

from . import dimers

T = 300.0
RT = measured_diagnostics.GAS_CONSTANT * T
REQUIRED = ("temperature", "energy_drift", "overlap", "autocorrelation", "blocks")


def chain(folder, centres, samples=400, k=2.0, shift=0.0, *, drawn=1.0):
    """Windows of harmonic umbrellas k (x - centre)^2 in kT over nothing: normal samples of known overlap.

    drawn: how many times stiffer the umbrellas are that samples come from.
    """
    generator = np.random.default_rng(3)
    made = []
    for state, centre in enumerate(centres):
        x = generator.normal(centre, np.sqrt(0.5 / (k * drawn)), samples)
        x[samples // 2 :] += shift
        place = folder / str(state)
        place.mkdir(parents=True)
        reduced = k * (x - np.array(centres)[:, None]) ** 2
        arrays = {"temperature_k": generator.normal(T, 100.0, samples), "potential_kcal_per_mol": reduced[state] * RT}
        time_ps = np.arange(1, samples + 1) * 1.0
        observables.save(place, state=np.full(samples, state), reduced_potentials=reduced, time_ps=time_ps, **arrays)
        made.append(place)
    return made


def test_a_chain_that_overlaps_and_one_that_does_not(tmp_path):
    near = measured_diagnostics.of_chain(chain(tmp_path / "near", [0.0, 0.5, 1.0]), T)
    far = measured_diagnostics.of_chain(chain(tmp_path / "far", [0.0, 0.5, 4.0]), T)
    assert near["minimum_overlap"] > 0.2
    assert far["minimum_overlap"] < 0.01
    assert far["overlaps"][0] > 0.2
    assert abs(near["block_difference_kcal_per_mol"]) < 0.1
    assert len(near["effective_samples"]) == 3
    assert "effective_samples" not in far  # a chain that is broken has none
    assert near["window_count"] == 3


def test_halves_that_differ_are_seen(tmp_path):
    found = measured_diagnostics.of_chain(chain(tmp_path, [0.0, 0.5, 1.0], shift=0.7), T)
    assert abs(found["block_difference_kcal_per_mol"]) > 0.5


@pytest.mark.parametrize("drawn", [0.7, 1.0, 2.0])
def test_samples_of_another_potential_than_is_saved_are_seen(tmp_path, drawn):
    found = measured_diagnostics.of_chain(chain(tmp_path, [0.0, 0.5, 1.0, 1.5], samples=2000, drawn=drawn), T)
    assert abs(found["ensemble_slope"] - drawn) < 5 * found["ensemble_slope_error"]
    assert found["ensemble_slope_error"] < 0.06 * drawn
    assert abs(found["chain_difference_kcal_per_mol"]) < 0.1  # equal springs are equal free energies


def test_samples_that_tell_no_slope_have_none(tmp_path):
    assert "ensemble_slope" not in measured_diagnostics.of_chain(chain(tmp_path, [0.0, 0.0]), T)


def test_a_window_that_nobody_sampled_overlaps_with_nothing(tmp_path):
    folders = chain(tmp_path, [0.0, 0.4, 0.8, 1.2])
    found = measured_diagnostics.of_chain([*folders[:1], *folders[2:]], T)
    assert found["minimum_overlap"] == 0.0
    assert found["window_count"] == 3


def test_two_legs_have_no_overlap_with_each_other(tmp_path):
    folders = chain(tmp_path, [0.0, 0.4, 9.0, 9.4])
    for number, folder in enumerate(folders):
        arrays = observables.load(folder)
        arrays["reduced_potentials"][[2, 3] if number < 2 else [0, 1]] = np.nan
        observables.save(folder, **arrays)
    found = measured_diagnostics.of_chain(folders, T)
    assert len(found["overlaps"]) == 2
    assert found["minimum_overlap"] > 0.2


def test_one_window_says_its_temperature_and_its_drift(tmp_path):
    (folder, _) = chain(tmp_path, [0.0, 0.5])
    found = measured_diagnostics.of_window(folder)
    assert found["temperature_k"] == pytest.approx(T, abs=20.0)
    drift, error = (found[f"energy_drift{each}_kcal_per_mol_per_ns"] for each in ("", "_error"))
    assert abs(drift) < 4 * error
    arrays = observables.load(folder)
    arrays["potential_kcal_per_mol"] += 50.0 * arrays["time_ps"] * 1e-3
    observables.save(folder, **arrays)
    assert measured_diagnostics.of_window(folder)["energy_drift_kcal_per_mol_per_ns"] == pytest.approx(drift + 50.0)


def test_all_that_is_missing_is_said_at_once(tmp_path):
    assert measured_diagnostics.missing(tmp_path, REQUIRED) == ["there is no observables.npz"]
    observables.save(tmp_path, state=[0, 0, 0], temperature_k=[T, T, T])
    said = measured_diagnostics.missing(tmp_path, REQUIRED)
    assert [each.split(",")[0] for each in said[:3]] == [
        "observables.npz lacks potential_kcal_per_mol",
        "observables.npz lacks time_ps",
        "observables.npz lacks reduced_potentials",
    ]
    assert "temperature_k does not scatter" in said[3]
    assert measured_diagnostics.missing(tmp_path, ()) == []


def test_a_wrong_file_is_said_in_full(tmp_path):
    np.savez(tmp_path / "observables.npz", state=np.zeros(3), temperature=np.zeros(3), time_ps=np.zeros(2))
    with pytest.raises(ValueError, match=r"temperature is no array .*; time_ps has the shape \(2,\)"):
        observables.load(tmp_path)
    (tmp_path / "observables.npz").write_text("not an archive")
    with pytest.raises(ValueError, match="cannot be read"):
        observables.load(tmp_path)


@pytest.mark.parametrize(
    ("said", "measured", "count"),
    [
        ({"minimum_overlap": 0.5}, {"minimum_overlap": 0.01}, 1),
        ({"minimum_overlap": 0.2}, {"minimum_overlap": 0.19}, 0),
        ({"minimum_overlap": 0.05}, {"minimum_overlap": 0.2}, 0),
        ({"block_difference_kcal_per_mol": 0.01}, {"block_difference_kcal_per_mol": -2.0}, 1),
        ({"minimum_overlap": 0.5}, {}, 0),
        ({}, {"minimum_overlap": 0.01}, 0),
    ],
)
def test_what_contradicts_the_samples(said, measured, count):
    assert len(measured_diagnostics.contradictions(said, measured)) == count


@pytest.fixture(scope="module")
def torn(tmp_path_factory):
    """Three windows of the real dimer that are far too far apart, and production's folders."""
    pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")
    made, folder = (
        dimers.pipeline(windows=5, spring=20.0, strengths=(0.0, 0.5), pull_length=12.0),
        tmp_path_factory.mktemp("torn"),
    )
    dimers.stage(made, 1, folder)
    dimers.stage(made, 2, folder, earlier=["stage_01"])
    for window in range(made.windows):
        work, executed = dimers.stage(made, 3, folder, window=window, earlier=["stage_01", "stage_02"])
        assert executed.completed
        assert measured_diagnostics.missing(work.workdir, REQUIRED, states=made.windows) == []
        assert executed.measured.diagnostics["temperature_k"] > 100.0
    return made, folder


LIE = '''"""An analysis that states what it likes."""
import json


def main():
    """Write a fine result."""
    diagnostics = {"minimum_overlap": float("0.5")}
    json.dump({"stage": 4, "status": "completed", "wall_time_seconds": 1.0, "delta_g_kcal_per_mol": -1.0,
               "statistical_error_kcal_per_mol": 0.1, "systematic_error_kcal_per_mol": 0.0, "convergence_flags": {},
               "energy_components": {}, "diagnostics": diagnostics, "writer_notes": ""}, open("stage_04_result.json", "w"))


if __name__ == "__main__":
    main()
'''


def test_an_overlap_that_is_stated_and_not_there_is_caught(torn):
    """It prints 0.5 where its own samples have less than 0.01: no number, and what was measured is kept."""
    made, folder = torn
    lying = Pipeline(made.rationale, made.windows, {**made.files, "04_analysis.py": LIE})
    _, executed = dimers.stage(lying, 4, folder, earlier=["stage_01", "stage_02"])
    assert executed.result.failure.kind == "contradicted"
    assert "it states minimum_overlap 0.5, and its own samples show" in executed.result.failure.sentence
    assert executed.measured.diagnostics["minimum_overlap"] < 0.01
    assert executed.result.delta_g_kcal_per_mol is None
    validate(Document(executed.as_document(), "executed"), "debate/executed")


def test_a_pipeline_that_cannot_be_measured_is_told_all_that_lacks(torn, tmp_path):
    made, folder = torn
    silent = dimers.edited(made, "03_production.py", r"        lj_dimer\.save_observables\(.*\n", "")
    left = {name: folder / name / "work" for name in ("stage_01", "stage_02")}
    place = tmp_path / "windows" / "0"
    work = stage_sandbox.Work(
        silent, STAGES[2], dimers.task(), place, 7, 0.02, "Reference", 0, earlier=left, wall_s=60, required=REQUIRED
    )
    executed = stage_sandbox.run(work, choose())
    assert executed.result.failure.kind == "not_measurable"
    assert executed.result.failure.sentence == "there is no observables.npz"
