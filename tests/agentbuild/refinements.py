"""Runs for tests of the judge: a sound refinement of fluorapatite written out, and the means to spoil it."""

import copy
from pathlib import Path

from sophron.agentbuild.rubric import CaseRun
from sophron.records import documents

ENGINE, VERSION = "rietx", "1.10.0"
PHASE = "FAP"
CELL = {"a": 9.37193, "c": 6.88604}
PARAMETERS = {
    "scale/FAP": (1.2e-3, 4.0e-6),
    "background/0": (480.0, 2.0),
    "background/1": (-120.0, 2.0),
    "cell/FAP/a": (CELL["a"], 1.4e-4),
    "cell/FAP/c": (CELL["c"], 1.1e-4),
    "displacement": (-0.03, 0.002),
    "size/FAP": (120.0, 5.0),
    "u_iso/FAP/Ca1": (0.0081, 0.0006),
}
RUNGS = [
    (("scale", "background"), 45.2),
    (("cell", "displacement"), 13.6),
    (("size",), 11.1),
    (("u_iso",), 10.1),
]
GOFS = {45.2: 7.4, 13.6: 2.23, 11.1: 1.82, 10.1: 1.656}
EXPECTED = 6.1


def freed(group):
    """A group as trajectory and report have it."""
    return {"group": group, "phase": PHASE if group in ("scale", "cell", "size", "u_iso") else None, "atom": None}


class Story:
    """A trajectory told call by call."""

    def __init__(self):
        self.calls, self.states, self.state = [], [], None

    def call(
        self, tool, arguments=None, *, ok=True, hint="", numbers=None, plot=None, decision=None, free=None, ended=None
    ):
        """One call; its state is the current one."""
        self.calls.append(
            {
                "number": len(self.calls) + 1,
                "tool": tool,
                "arguments": arguments or {},
                "ok": ok,
                "hint": hint,
                "numbers": numbers or {},
                "plot": plot,
                "decision": decision,
                "free": None if free is None else [freed(group) for group in free],
                "ended": ended,
                "state": self.state,
            }
        )

    def reach(self, rwp, gof, variables, weights="observed", phases=(PHASE,)):
        """A state that the next call makes."""
        self.states.append(
            {
                "number": len(self.states),
                "parent": self.state,
                "label": "",
                "call": len(self.calls) + 1,
                "phases": list(phases),
                "weights": weights,
                "variables": variables,
                "rwp_percent": rwp,
                "gof": gof,
            }
        )
        self.state = len(self.states) - 1

    def refine(self, groups, rwp, variables, ended="converged", gof=None):
        """A cycle with these groups free."""
        if ended in ("converged", "unfinished"):
            self.reach(rwp, GOFS.get(rwp, rwp / EXPECTED) if gof is None else gof, variables)
        self.call("refine", {"label": "+".join(groups)}, free=groups, ended=ended, ok=ended == "converged")

    def look(self, low=15.0, high=130.0, *, whole=True):
        """A plot of the current state."""
        tool = "get_pattern_plot" if whole else "get_zoomed_plot"
        plot = {"low_deg": low, "high_deg": high, "whole": whole, "sha256": f"{len(self.calls):064x}", "file": "p.png"}
        self.call(tool, {} if whole else {"low_deg": low, "high_deg": high}, plot=plot)

    def decide(self, text):
        """A decision in words."""
        self.call("note", {"decision": text}, decision=text)

    def told(self):
        """The trajectory as a document."""
        about = {"pattern": "FAP.XRA", "engine": ENGINE, "engine_version": VERSION, "setup": "0" * 64}
        return {**about, "calls": self.calls, "states": self.states}


def sound_story(rungs=RUNGS):
    """The staged way: what is settled first is freed first, and what was reached is looked at."""
    story = Story()
    story.reach(None, None, 0)
    story.call("project")
    groups = ()
    for added, rwp in rungs:
        groups += added
        story.call("release", {"groups": list(added)})
        story.refine(groups, rwp, len(PARAMETERS) if rwp == rungs[-1][1] else 2 * len(groups))
        story.look()
        story.decide(f"Rwp fell to {rwp}; the difference curve is flat enough to free more")
    story.look(25.0, 60.0, whole=False)
    story.look(60.0, 115.0, whole=False)
    story.decide("the windows show no line without a reflection, so no phase is added")
    return story


def sound_report(story, groups=("scale", "background", "cell", "displacement", "size", "u_iso")):
    """The report that a competent analyst writes of it."""
    state = story.states[-1]
    plots = [(call["plot"], call["state"]) for call in story.calls if call["plot"]]
    return {
        "pattern": "FAP.XRA",
        "engine": ENGINE,
        "engine_version": VERSION,
        "state": state["number"],
        "converged": True,
        "fit": {
            "rwp_percent": state["rwp_percent"],
            "rwp_engine": ENGINE,
            "rp_percent": 7.7,
            "r_expected_percent": EXPECTED,
            "chi2": 15600.0,
            "gof": state["gof"],
            "observations": 5753,
            "variables": state["variables"],
            "largest_shift_over_esd": 0.02,
            "weights": "observed",
            "limits_deg": [15.0, 130.0],
            "background": {"kind": "chebyshev", "count": 2},
        },
        "phases": [
            {
                "name": PHASE,
                "role": "main",
                "in_model": True,
                "claimed": True,
                "significance": 300.0,
                "weight_fraction": 1.0,
                "weight_fraction_esd": None,
                "cell": {axis: {"value": value, "esd": 1.4e-4, "esd_counting": 5e-5} for axis, value in CELL.items()},
                "r_f_percent": 4.0,
                "reflections": 280,
            }
        ],
        "refined": {
            "count": len(PARAMETERS),
            "groups": [freed(group) for group in groups],
            "parameters": [
                {"name": name, "value": value, "esd": esd, "esd_counting": esd / 3}
                for name, (value, esd) in PARAMETERS.items()
            ],
        },
        "held": [{"group": "zero", "phase": None, "reason": "displacement is the larger error of this geometry"}],
        "decisions": [call["decision"] for call in story.calls if call["decision"]],
        "plots": [
            {
                "low_deg": plot["low_deg"],
                "high_deg": plot["high_deg"],
                "whole": plot["whole"],
                "state": number,
                "reading": f"differences of state {number} between {plot['low_deg']} and {plot['high_deg']} are small",
            }
            for plot, number in plots
        ],
        "caveats": ["Axial divergence is not modelled, so the low-angle flanks are slightly off."],
        "alternatives": [],
        "confidence": "high",
        "summary": (
            "The pattern is that of fluorapatite alone. Scale, background, cell and displacement were settled before "
            "the widths and the displacement parameters were freed, and the whole pattern and two windows were looked "
            "at in the final state; no line is left without a reflection."
        ),
    }


REFERENCE = {
    "about": "One phase, staged.",
    "authors": ["Sophron developers"],
    "phases": [
        {
            "name": PHASE,
            "amount": "major",
            "claim": "yes",
            "weight_fraction": 1.0,
            "cell": {axis: {"value": value, "within_ppm": 100.0} for axis, value in CELL.items()},
        },
    ],
    "fit": {"rwp_percent": {ENGINE: [8.0, 10.5]}, "observations": [5000, 6000]},
    "scope": {
        "may": ["scale", "background", "cell", "displacement", "size", "strain", "profile_w", "u_iso", "position"],
        "candidate": ["scale"],
        "must": ["scale", "background", "cell"],
        "most": 40,
    },
}


def run(report=None, story=None, reference=None):
    """A case run of a sound refinement, or of the parts given."""
    story = story or sound_story()
    report = sound_report(story) if report is None else report
    told = story.told()
    documents.validate(documents.Document(report, Path("report")), "agents/refinement")
    documents.validate(documents.Document(told, Path("trajectory")), "rietveld/trajectory")
    reference = copy.deepcopy(REFERENCE) if reference is None else reference
    documents.validate(documents.Document(reference, Path("reference")), "build/refinement-reference")
    return CaseRun("fluorapatite", report, told, reference)
