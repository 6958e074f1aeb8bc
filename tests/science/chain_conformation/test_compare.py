"""The comparison: agreement, one shifted set, sets that are one sample, and evidence that contradicts a claim."""

import json
from pathlib import Path

import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure, StepContext, UpstreamStep
from sophron.science.chain_conformation import compare
from sophron.science.chain_conformation.gyration import squared_radii

from .conftest import LOCAL, PARSL, SLURM, valid

PLACES = {"sample_local": LOCAL, "sample_slurm": SLURM, "sample_parsl": PARSL}
CLOCK = "2026-01-01T00:{:02}:00+00:00"


def finished(
    folder: Path, stage: str, replica: int, squared: np.ndarray, *, ran: dict | None = None, result: dict | None = None
) -> UpstreamStep:
    """A finished run of `stage`, with a record that bears out its claim unless `ran` says otherwise."""
    minute = 3 * replica + list(PLACES).index(stage)
    record = {
        "step": f"{stage}-{replica}",
        "try": "1",
        "placement": PLACES[stage],
        "ranks": 2 if stage == "sample_slurm" else 1,
        "suffixes": [],
        "lammps": "22 Jul 2025",
        "engine_s": 40.0,
        "started": CLOCK.format(minute),
        "ended": CLOCK.format(minute + 1),
        "wall_s": 30.0 if stage == "sample_slurm" else 60.0,
    } | (ran or {})
    typed = {"seed": 5, "start_sha256": str(replica) * 64, "temperature_target": 1.0, "samples": len(squared)}
    typed |= {"effective_samples": 100.0} | (result or {})
    place = folder / stage / str(replica)
    place.mkdir(parents=True)
    np.savez(place / "series.npz", squared_radius=squared)
    (place / "ran.json").write_text(json.dumps(record))
    files = {"series": place / "series.npz", "ran": place / "ran.json"}
    return UpstreamStep(stage, {"replica": str(replica)}, typed, files)


def compared(folder: Path, upstream: dict[str, list[UpstreamStep]]) -> dict:
    """The result of compare; it must be valid against its schema."""
    work = folder / "work"
    work.mkdir()
    context = StepContext(
        stage="compare",
        wildcards={},
        definition={"replicas": 2, "significance": 0.01, "shift": 0.022},
        upstream=upstream,
        workdir=work,
        log_dir=work,
        seed=1,
    )
    done = compare.run(context)
    assert done.files["sets_plot"].read_text().startswith("<?xml")
    valid("compare", done.result)
    return dict(done.result)


def series(seed: int, mean: float = 12.0) -> np.ndarray:
    """Independent squared radii of spread 1."""
    return mean + np.random.default_rng(seed).normal(size=4000)


def sets(folder: Path, means=(12.0, 12.0, 12.0), **more) -> dict[str, list[UpstreamStep]]:
    """Two replicas of each way, independent of each other."""
    return {
        stage: [finished(folder, stage, one, series(10 * number + one, mean), **more.get(stage, {})) for one in (0, 1)]
        for number, (stage, mean) in enumerate(zip(PLACES, means, strict=True))
    }


def test_sets_that_agree_are_pooled(tmp_path):
    result = compared(tmp_path, sets(tmp_path))
    assert result["agree"]
    assert not result["refused"]
    assert result["radius_of_gyration"] == pytest.approx(12**0.5, abs=4 * result["radius_of_gyration_error"])
    exact = 1 / np.sqrt(6 * 4000) / (2 * 12**0.5)
    assert exact * 0.95 < result["radius_of_gyration_error"] < 2 * exact  # wider if replicas scatter more
    assert (result["degrees_of_freedom"], result["distinct_sets"], result["replicas"]) == (2, 3, 2)
    assert result["power"] > 0.99
    assert 0 < result["detectable_shift"] < 0.022


def test_one_shifted_set_is_found_and_nothing_is_pooled(tmp_path):
    result = compared(tmp_path, sets(tmp_path, means=(12.0, 12.2, 12.0)))
    assert result["p_value"] < 1e-6
    assert not result["agree"]
    assert result["radius_of_gyration"] is None
    assert result["refusal"].startswith("disagreement: the 3 values differ with F = ")


def test_sets_that_are_equal_to_the_last_bit_count_once(tmp_path):
    upstream = sets(tmp_path / "a")
    upstream["sample_parsl"] = [finished(tmp_path / "b", "sample_parsl", one, series(one)) for one in (0, 1)]
    result = compared(tmp_path, upstream)
    assert [one["equal_to"] for one in result["sets"]] == [None, None, "sample_local"]
    assert (result["distinct_sets"], result["degrees_of_freedom"]) == (2, 1)
    alone = {name: upstream[name] for name in ("sample_local", "sample_parsl")}
    (tmp_path / "c").mkdir()
    result = compared(tmp_path / "c", alone)
    assert (result["agree"], result["p_value"], result["power"], result["degrees_of_freedom"]) == (True, 1.0, 1.0, 0)


def test_sets_that_could_not_differ_do_not_agree():
    values = [compare.Radius(3.4, 0.1, 900.0), compare.Radius(3.5, 0.1, 900.0)]
    verdict, test = compare.decide(values, significance=0.01, shift=0.022)
    assert test.p_value > 0.4
    assert (verdict.agree, verdict.refused) == (None, False)
    assert verdict.detectable_shift > 0.1


def test_two_sets_of_two_short_replicas_do_not_disagree_by_chance():
    """Errors from the spread of two replicas each: 7 of them apart are nothing."""
    values = [compare.Radius(1.52, 0.004, 1.0), compare.Radius(1.56, 0.004, 1.0)]
    verdict, test = compare.decide(values, significance=0.01, shift=0.022)
    assert test.p_value == pytest.approx(0.0194, abs=0.001)
    assert (verdict.agree, verdict.refused, verdict.radius_of_gyration) == (None, False, pytest.approx(1.54))
    assert verdict.interval_high - verdict.interval_low > 8 * verdict.radius_of_gyration_error
    assert verdict.power < 0.9


def test_sets_without_an_error_are_refused_in_one_sentence(tmp_path):
    upstream = sets(tmp_path)
    short = {
        stage: [finished(tmp_path / "short", stage, one, np.linspace(10.0, 14.0, 40) + number / 9) for one in (0,)]
        for number, stage in enumerate(upstream)
    }
    result = compared(tmp_path, short)
    assert [one["radius_of_gyration_error"] for one in result["sets"]] == [None] * 3
    assert (result["agree"], result["refused"], result["radius_of_gyration"]) == (None, True, None)
    assert result["refusal"].startswith("no_error: 3 of 3 sets are too short for an error of their radius")


def test_wall_times_are_ratios_of_runs_that_took_turns(tmp_path):
    result = compared(tmp_path, sets(tmp_path))
    assert [one["wall_ratio"] for one in result["sets"]] == pytest.approx([1.0, 0.5, 1.0])
    assert [one["wall_ratio_error"] for one in result["sets"]] == pytest.approx([0.0, 0.0, 0.0])
    assert result["took_turns"] is True


def test_runs_that_overlapped_or_came_in_one_piece_did_not_take_turns(tmp_path):
    late = {"sample_local": {"ran": {"ended": CLOCK.format(30)}}}
    assert compared(tmp_path, sets(tmp_path, **late))["took_turns"] is False
    upstream = sets(tmp_path / "b")
    upstream["sample_local"] = [
        finished(
            tmp_path / "c",
            "sample_local",
            one,
            series(one),
            ran={"started": CLOCK.format(40 + one), "ended": CLOCK.format(41 + one)},
        )
        for one in (0, 1)
    ]
    (tmp_path / "d").mkdir()
    assert compared(tmp_path / "d", upstream)["took_turns"] is False


@pytest.mark.parametrize(
    ("stage", "ran", "said"),
    [
        ("sample_slurm", {"placement": LOCAL}, "it ran outside of any queue on "),
        ("sample_local", {"placement": SLURM}, "it ran in a job of slurm (17) on "),
        ("sample_parsl", {"placement": SLURM}, "it ran in a job of slurm (17) on "),
        ("sample_slurm", {"ranks": 1}, "LAMMPS ran on 1 of at least 2 ranks"),
        ("sample_slurm", {"step": "sample_local-0"}, "its record is that of sample_local-0"),
    ],
)
def test_a_set_that_did_not_run_where_it_claims_is_refused_in_one_sentence(tmp_path, stage, ran, said):
    with pytest.raises(EngineFailure) as refused:
        compared(tmp_path, sets(tmp_path, **{stage: {"ran": ran}}))
    sentence = refused.value.reason
    assert sentence.startswith(f"{stage}-")
    assert said in sentence
    assert sentence.endswith(f"snakemake --profile {stage.removeprefix('sample_')} --until {stage}")
    assert "\n" not in sentence


@pytest.mark.parametrize(("name", "value"), [("seed", 6), ("start_sha256", "f" * 64), ("samples", 3)])
def test_runs_of_another_start_or_seed_are_not_compared(tmp_path, name, value):
    with pytest.raises(EngineFailure, match=rf"sample_slurm-0 and sample_local-0 differ in {name}"):
        compared(tmp_path, sets(tmp_path, sample_slurm={"result": {name: value}}))


def test_a_discrete_gaussian_chain_has_the_radius_of_the_closed_form():
    beads, chains = 16, 40_000
    steps = np.random.default_rng(3).normal(scale=1 / np.sqrt(3), size=(chains, beads, 3))
    squared = squared_radii(np.cumsum(steps, axis=1))
    exact = (beads**2 - 1) / (6 * beads)
    assert squared.mean() == pytest.approx(exact, abs=4 * squared.std() / np.sqrt(chains))
    assert squared_radii(np.array([[[0.0, 0, 0], [2.0, 0, 0]]])) == pytest.approx([1.0])
