from datetime import UTC, datetime, timedelta

import pytest

from sophron.campaign.state import time_left
from sophron.campaign.state.campaign_state import fresh, fresh_stage

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
CEILINGS = {"produce": {"runtime_min": 10}, "build": {"runtime_min": 2}}


def state(*, durations=None, widest=1, produced=0, **of_produce):
    stages = [fresh_stage("build") | {"steps": 1, "accepted": True, "outputs": ["results/build/0"]}]
    outputs = [f"results/produce/{number}" for number in range(produced)]
    stages.append(fresh_stage("produce") | {"steps": 4, "outputs": outputs} | of_produce)
    return fresh() | {"stages": stages, "durations": durations or {}, "run": {"widest": widest}}


def running(number, seconds_left=None, since_s=0.0):
    progress = None if seconds_left is None else {"seconds_left": seconds_left}
    started = (NOW - timedelta(seconds=since_s)).isoformat()
    return {"step": f"produce-{number}", "stage": "produce", "started_at": started, "progress": progress}


@pytest.mark.parametrize(
    ("now", "steps", "seconds", "basis"),
    [
        (state(durations={"produce": [90, 100, 200]}), [], 400, "measured"),  # the median, four times
        (state(durations={"produce": [100]}, widest=2), [], 200, "measured"),  # two at a time
        (state(durations={"produce": [100]}, widest=9), [], 100, "measured"),  # no less than one of them takes
        (state(durations={"produce": [100]}, produced=3), [running(3, since_s=30)], 70, "measured"),
        (state(durations={"produce": [100]}, produced=3), [running(3, since_s=300)], 0, "measured"),
        (state(produced=3), [running(3, seconds_left=12.5)], 12.5, "measured"),  # the engine knows best
        (state(produced=2), [running(3, seconds_left=12.5)], 612.5, "ceiling"),
        (state(accepted=True), [], 0, "measured"),
    ],
)
def test_what_is_left_comes_from_the_steps(now, steps, seconds, basis):
    assert time_left.left(now, steps, CEILINGS, NOW) == {"seconds": seconds, "basis": basis}


def test_nothing_known_is_no_number():
    unknown = {"seconds": None, "basis": "unknown"}
    assert time_left.left(state(), [], {}, NOW) == unknown
    assert time_left.left(fresh(), [], {}, NOW) == unknown
