"""Windows in one process: restart within them, and swaps between neighbours whose distributions are known."""

import numpy as np
import pytest

from sophron.science.estimators.restraints import rt
from sophron.science.host_guest.openmm_engine import OPENMM
from sophron.science.host_guest.sampling import replica_exchange_block, window_sampling

from .conftest import CHEM, T, ghost

PLAN = window_sampling.Plan(samples=300, interval=40, settle=200, time_step_ps=0.01)


@pytest.fixture(autouse=True)
def _installed():
    pytest.importorskip("openmm", reason=f"OpenMM {CHEM}")


def engine(made):
    return window_sampling.Engine(made, PLAN.time_step_ps, "Reference")


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory):
    pytest.importorskip("openmm", reason=f"OpenMM {CHEM}")
    made = ghost(((), (4.0, 4.5, 9.5)))
    starts = [window_sampling.State(made.positions_a)] * 3
    return made, replica_exchange_block.run(
        engine(made), range(3), starts, PLAN, seed=8, folder=tmp_path_factory.mktemp("block")
    )


def test_neighbours_that_overlap_swap_and_others_do_not(exchanged):
    _, found = exchanged
    assert found.accepted[0] > 0.3
    assert found.accepted[1] < 0.02
    assert {tuple(sorted(row)) for row in found.replicas} == {(0, 1, 2)}
    assert found.values.shape == (3, len(window_sampling.COLUMNS), 300)
    assert found.replicas.shape == (300, 3)


def test_each_window_keeps_its_distribution(exchanged):
    made, found = exchanged
    for place, target in ((0, 4.0), (1, 4.5)):
        distances = found.values[place][0][20:]
        width = np.sqrt(rt(T) / (2 * made.windows[place].frame.distance.k))
        assert distances.mean() == pytest.approx(target + 2 * width**2 / target, abs=0.1)
        assert distances.std() == pytest.approx(width, rel=0.2)


def killed_after(patched, segments):
    """From the segment on that comes after so many, as if the process were killed in it."""
    inside, left = replica_exchange_block._segment, [segments]

    def segment(*args):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return inside(*args)

    patched.setattr(replica_exchange_block, "_segment", segment)


@pytest.mark.parametrize("places", [range(2, 3), range(1, 4)])
def test_a_killed_block_goes_on_to_the_same_samples(places, tmp_path, monkeypatch):
    made = ghost(((0.0, 0.3), (4.0, 4.4, 9.0)))
    plan = window_sampling.Plan(samples=25, interval=10, settle=10, segment=10, time_step_ps=0.01)
    starts = [window_sampling.State(made.positions_a)] * len(places)

    def run(name, seed=5):
        return replica_exchange_block.run(engine(made), places, starts, plan, seed=seed, folder=tmp_path / name)

    whole = run("whole")
    assert whole.values.shape == (len(places), len(window_sampling.COLUMNS), 25)
    assert len(places) == 1 or max(whole.accepted) > 0
    with monkeypatch.context() as patched:
        killed_after(patched, 1)
        with pytest.raises(KeyboardInterrupt):
            run("killed")
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == ["segment_0000.npz", "state_0001.npz"]
    kept = (tmp_path / "killed" / "segment_0000.npz").stat().st_mtime_ns
    again = run("killed")
    assert np.array_equal(again.values, whole.values)
    assert np.array_equal(again.replicas, whole.replicas)
    assert again.accepted == whole.accepted
    assert (tmp_path / "killed" / "segment_0000.npz").stat().st_mtime_ns == kept
    assert len(list((tmp_path / "killed").glob("state_*"))) == 1
    for lost in ("segment_0000.npz", "state_0003.npz"):  # then it begins anew, and ends in the same
        (tmp_path / "killed" / lost).unlink()
        assert np.array_equal(run("killed").values, whole.values)
    assert not np.array_equal(run("other", seed=6).values, whole.values)


def test_steps_share_the_windows_out():
    assert [replica_exchange_block.places(step, 4, 10) for step in range(4)] == [
        range(4),
        range(4, 8),
        range(8, 10),
        range(10, 10),
    ]
    assert replica_exchange_block.places(7, 1, 9) == range(7, 8)


def test_a_run_that_goes_on_tells_how_far_it_is(tmp_path, monkeypatch):
    folder, seen = tmp_path / "03_production" / "work" / "segments_forward", []
    inside = replica_exchange_block._segment

    def segment(*args):
        seen.append(OPENMM.progress(tmp_path, tmp_path))
        return inside(*args)

    monkeypatch.setattr(replica_exchange_block, "_segment", segment)
    made = ghost(((), (4.0, 4.5)))
    plan = window_sampling.Plan(samples=25, interval=10, settle=10, segment=10, time_step_ps=0.01)
    starts = [window_sampling.State(made.positions_a)]
    replica_exchange_block.run(engine(made), range(1), starts, plan, seed=5, folder=folder)
    assert [(one.step, one.total, one.unit) for one in seen] == [(n, 25, "samples (forward)") for n in (0, 10, 20)]
    assert seen[1].steps_per_s > 0
    assert seen[1].seconds_left is None  # the run in the other direction follows
    assert OPENMM.progress(tmp_path, tmp_path) is None
