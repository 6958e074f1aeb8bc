"""How long a campaign will still take, from its steps: never from counts of jobs, of which a few take all the time."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from statistics import median
from typing import Any, NamedTuple

from sophron.campaign.state.campaign_state import Record, own


class Estimate(NamedTuple):
    """Seconds, and what they rest on: "measured" (engines, medians), "ceiling" (at most), "unknown" (0 seconds)."""

    seconds: float
    basis: str


def left(state: Record, running: Iterable[Record], ceilings: Mapping[str, Mapping[str, Any]], now: datetime) -> Record:
    """Return `{seconds, basis}` of what is left; seconds is None if the basis is "unknown".

    running: steps as `sophron status` looks at them; ceilings: signed ones by stage, with `runtime_min`. Steps of a
    stage are assumed to run as many at a time as this run has had at most, and stages one after the other.
    """
    by_stage: dict[str | None, list[Record]] = {}
    for step in running:
        by_stage.setdefault(step["stage"], []).append(step)
    width = max(1, state["run"]["widest"] if state["run"] else 1)
    total, bases = 0.0, {"measured" if state["stages"] else "unknown"}
    for stage in state["stages"]:
        if stage["accepted"]:
            continue
        ceiling = ceilings.get(stage["id"], {}).get("runtime_min")
        typical = _typical(state["durations"].get(stage["id"]), ceiling)
        steps = _steps(stage, by_stage.get(stage["id"], []), typical, now)
        bases |= {one.basis for one in steps}
        seconds = [one.seconds for one in steps]
        total += max([sum(seconds) / min(width, len(steps)), *seconds]) if steps else 0.0
    basis = next(one for one in ("unknown", "ceiling", "measured") if one in bases)
    return {"seconds": None if basis == "unknown" else round(total, 1), "basis": basis}


def _steps(stage: Record, running: list[Record], typical: Estimate, now: datetime) -> list[Estimate]:
    """Estimate each unfinished step of a stage."""
    begun = [_running(step, typical, now) for step in running if own(stage, step["step"])]
    waiting = max(0, stage["steps"] - len(stage["outputs"]) - len(begun))
    return begun + [typical] * waiting


def _typical(measured: list[float] | None, ceiling_min: float | None) -> Estimate:
    if measured:
        return Estimate(median(measured), "measured")
    return Estimate(60.0 * ceiling_min, "ceiling") if ceiling_min else Estimate(0.0, "unknown")


def _running(step: Record, typical: Estimate, now: datetime) -> Estimate:
    """Estimate a running step: as its engine says, else what is left of what it typically takes."""
    progress = step["progress"]
    if progress and progress["seconds_left"] is not None:
        return Estimate(progress["seconds_left"], "measured")
    elapsed = (now - datetime.fromisoformat(step["started_at"])).total_seconds()
    return typical._replace(seconds=max(0.0, typical.seconds - elapsed))
