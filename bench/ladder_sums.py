"""What the scans of bench/ladder.py come to: by count time, against what has to hold, and as a picture."""

import json
import statistics
from pathlib import Path

import phase_significance
import rwp_floor

from sophron.science.rietveld.simulated import series

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "simulated-ladder.png"
EARLY_S, LATE_S = (87, 218), (3600, 14400)


def background_over_truth(found: dict[str, object], time_s: float) -> float:
    """Mean of the refined background over that of the true one."""
    true = series.rate_per_s() * float(series.background_shape(series.angles_deg()).mean())
    return found["background_mean"] / (true * time_s)


def gathered(work: Path, name: str) -> dict[str, object]:
    """A series: its floor, every scan, and what they come to by count time; empty where nothing was measured."""
    of, floor = series.series(name), None
    floor_path = work / f"{name}-0-0.json"
    if floor_path.is_file():
        floor = json.loads(floor_path.read_text())
        sums = rwp_floor.Floor(*(floor[key] for key in ("time_s", "misfit", "signal", "variance")))
    scans = [json.loads(path.read_text()) for path in work.glob(f"{name}-*.json") if path != floor_path]
    scans.sort(key=lambda one: (one["time_s"], one["seed"]))
    fitted = [one for one in scans if "rwp_percent" in one]  # a wrong phase may come to no fit at all
    for one in fitted:
        one["true_fraction"] = of.truth.get(of.candidate, 0.0)
        one["background_over_truth"] = background_over_truth(one, one["time_s"])
        if floor is not None:
            one["expected_rwp_percent"] = sums.rwp_percent(one["time_s"], one["variables"])
    by_time = [at_time([one for one in fitted if one["time_s"] == time_s], time_s) for time_s in of.times_s]
    found = {"title": of.title, "floor": floor, "by_time": [one for one in by_time if one], "scans": scans}
    return found if scans else {}


def at_time(scans: list[dict[str, float]], time_s: int) -> dict[str, object]:
    """All seeds of one count time. farthest: over the seeds, in esd or per cent of Rwp, where there is a truth."""
    if not scans:
        return {}
    found: dict[str, object] = {"time_s": time_s, "seeds": len(scans)}
    for key in ("rwp_percent", "misfit_percent", "significance", "background_over_truth"):
        values = [one[key] for one in scans]
        found[key] = {"least": min(values), "mean": statistics.mean(values), "most": max(values)}
    if all("expected_rwp_percent" in one for one in scans):
        found["expected_rwp_percent"] = scans[0]["expected_rwp_percent"]
        off = (abs(one["rwp_percent"] - one["expected_rwp_percent"]) for one in scans)
        found["farthest_from_expected_percent"] = max(off)
        found["cell_esd_ppm"] = statistics.mean(one["cell_esd_ppm"] for one in scans)
        found["farthest_cell_in_esd"] = max(abs(one["cell_error_ppm"]) / one["cell_esd_ppm"] for one in scans)
    if all(one["weight_fraction_esd"] for one in scans):
        off = (abs(one["weight_fraction"] - one["true_fraction"]) / one["weight_fraction_esd"] for one in scans)
        found["farthest_fraction_in_esd"] = max(off)
    return found


def thresholds(found: dict[str, dict[str, object]]) -> dict[str, float]:
    """What the seeds say of bounds.

    not_claimed_below: the most of the controls, the only scans where a claim is false. claimed_from: one standard
    deviation above it. most_misfit_right: of every scan with the right main phase.
    """
    ladder, control = found["ladder"]["scans"], found["control"]["scans"]
    of_controls = max(one["significance"] for one in control)
    early = max(one["significance"] for one in ladder if one["time_s"] in EARLY_S)
    late = min(one["significance"] for one in ladder if one["time_s"] in LATE_S)
    bounds = {"most_of_controls": of_controls, "most_of_early": early, "least_of_late": late}
    bounds |= {"not_claimed_below": of_controls, "claimed_from": of_controls + 1}
    right = max(one["misfit_percent"] for one in ladder + control)
    return bounds | {"most_misfit_right": right}


def missed(found: dict[str, dict[str, object]]) -> list[str]:
    """What the simulated ladder has to reach and does not, by the thresholds as they stand."""
    by = phase_significance.thresholds()
    said = []
    for name in ("ladder", "control"):
        for one in found[name]["scans"]:
            where = f"{name}, {one['time_s']} s, seed {one['seed']}"
            far = abs(one["cell_error_ppm"]) / one["cell_esd_ppm"]
            off = abs(one["rwp_percent"] - one["expected_rwp_percent"])
            claimed = one["significance"] >= by.claimed_from and one["misfit_percent"] <= by.misfit_percent
            said += [f"{where}: cell {far:.1f} esd off"] * (far > 4)
            said += [f"{where}: Rwp {off:.1f} off"] * (off > (2 if one["time_s"] == 87 else 1))
            said += [f"{where}: claimed"] * (claimed and name == "control")
            said += [f"{where}: not claimed"] * (not claimed and name == "ladder" and one["time_s"] in LATE_S)
    means = [one["rwp_percent"]["mean"] for one in found["ladder"]["by_time"]]
    return said + ["Rwp does not fall with the time"] * (means != sorted(means, reverse=True))


def draw(result: dict[str, object]) -> None:
    """Rwp beside its expectation, and significance with the thresholds, over the count time."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "ladder"
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, color, mark in (("ladder", "#D55E00", "o"), ("control", "#0072B2", "s")):
        scans = result["series"][name]["scans"]
        times = [one["time_s"] for one in scans]
        label = f"simulated {name}"
        if name == "ladder":
            left.plot(times, [one["rwp_percent"] for one in scans], mark, color=color, ms=4, label=label)
            lines = result["series"][name]["by_time"]
            left.plot(
                [one["time_s"] for one in lines],
                [one["expected_rwp_percent"] for one in lines],
                "k-",
                lw=1,
                label="expected",
            )
        right.plot(times, [one["significance"] for one in scans], mark, color=color, ms=4, alpha=0.7, label=label)
    by = phase_significance.thresholds()
    right.axhline(by.claimed_from, color="k", lw=1)
    right.axhline(by.not_claimed_below, color="k", lw=1, ls=":")
    right.annotate("claimed", (90, by.claimed_from + 0.2))
    right.annotate("not claimed", (4000, by.not_claimed_below - 0.8))
    left.set_ylabel("Rwp (rietx) / %")
    right.set_ylabel("scale of La2Zr2O7 / its esd from counting")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("count time / s a step")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    left.set_yscale("log")
    figure.savefig(PICTURE, format="png", dpi=110, metadata={"Software": None})


def rounded(value: object) -> object:
    """Five digits of every number: more are not the same on another machine."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
