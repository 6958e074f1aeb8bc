"""D4, the computed half: no cell, displacement or pair of freed effects that the sample cannot have."""

from collections.abc import Iterable, Iterator
from typing import cast

from sophron.agentbuild.case_run import CaseRun, Checked, Fault, Json, grave, minor
from sophron.agentbuild.checks import cycles
from sophron.interfaces.rietveld import Group
from sophron.records.errors import UserError
from sophron.science.rietveld.request_validation import check_pair

PPM = 1e-6
LARGEST_DISPLACEMENT_MM = 1.0
LARGEST_ZERO_DEG = 0.5


def plausible(run: CaseRun, parameters: Json) -> Checked:
    """Cells within the reference's bounds, parameters within physical ones, zero and displacement never both free.

    parameters: `u_iso_angstrom2`, least and largest displacement parameter; `deviations`, by how many of its own
    standard deviations a parameter may lie beyond a bound before it is one of the model.
    """
    report, trajectory = run.report or {"phases": [], "refined": {"parameters": []}}, run.trajectory or {"calls": []}
    faults = [
        *(fault for one in run.reference["phases"] for fault in _cell(report, one)),
        *(fault for one in report["refined"]["parameters"] for fault in _bounds(one, parameters, run)),
        *_trap(trajectory),
    ]
    names = [f"{one['name']} {axis}" for one in report["phases"] for axis in one["cell"]]
    return Checked(tuple(faults), f"cells looked at: {', '.join(names) or 'none'}")


def _cell(report: Json, reference: Json) -> Iterator[Fault]:
    """A main phase's cell may be off by what its reference allows, in parts per million."""
    name, wanted = reference["name"], reference.get("cell", {})
    phase = next((one for one in report["phases"] if one["name"] == name and one["in_model"]), None)
    if phase is None:
        return
    for axis, bounds in wanted.items():
        if axis not in phase["cell"]:
            yield grave("cell_absent", f"the cell of {name} has no {axis}", phase=name)
            continue
        off = (phase["cell"][axis]["value"] / bounds["value"] - 1) / PPM
        if abs(off) > bounds["within_ppm"]:
            yield grave(
                "cell_impossible", f"{axis} of {name} is {off:+.0f} ppm from where the sample's lies", phase=name
            )


def _bounds(parameter: Json, parameters: Json, run: CaseRun) -> Iterator[Fault]:
    name, value, esd = parameter["name"], parameter["value"], parameter["esd"] or 0.0
    group = name.split("/")[0]
    low, high = _limits(group, parameters)
    about = {"group": group, "counts": cycles.counts(run.trajectory or {"calls": []})}
    slack = parameters["deviations"] * esd
    if low is not None and not low - slack <= value <= (high if high is not None else value) + slack:
        yield grave("value_impossible", f"{name} is {value:.4g}", parameter=name, **about)
    elif low is not None and esd > abs(value) > 0 and group == "u_iso":
        yield minor("value_undetermined", f"{name} is {value:.4g} with a deviation of {esd:.2g}", **about)


def _limits(group: str, parameters: Json) -> tuple[float | None, float | None]:
    least, largest = parameters["u_iso_angstrom2"]
    known: dict[str, tuple[float, float | None]] = {
        "u_iso": (least, largest),
        "occupancy": (0.0, 1.0),
        "scale": (0.0, None),
        "size": (0.0, None),
        "strain": (0.0, None),
        "displacement": (-LARGEST_DISPLACEMENT_MM, LARGEST_DISPLACEMENT_MM),
        "zero": (-LARGEST_ZERO_DEG, LARGEST_ZERO_DEG),
    }
    return known.get(group, (None, None))


def _trap(trajectory: Json) -> Iterator[Fault]:
    """The same predicate that the engine layer refuses with, over every cycle: a lower Rwp, and a wrong cell."""
    moved: dict[int | None, frozenset[str]] = {}
    for cycle in cycles.cycles(trajectory):
        before = moved.get(cycle.before, frozenset())
        try:
            check_pair(cast("Iterable[Group]", cycle.groups), cast("Iterable[Group]", before))
        except UserError:
            yield grave("zero_and_displacement", f"call {cycle.number} frees zero and displacement on one way")
        if cycle.well:
            moved[cycle.after] = before | cycle.groups
