"""Runs on the spectra of the contract peak-fitting: its own tools, played by a script that knows the answer."""

import copy
import json

from sophron.agentbuild import aud, curriculum, tool_server
from sophron.agentbuild.rubric import CaseRun
from sophron.records.documents import load_json
from sophron.records.files import write_json

SUMMARY = (
    "The spectrum was looked at first, then models of rising freedom were fitted; the reported one is the simplest whose "
    "residuals scatter evenly, a simpler one is worse by far, and a richer one gains nothing that the counts bear out."
)


def session(made, case, folder):
    """The tools of the blank agent on a case, as a `with`."""
    given = curriculum.sample(made.folder, made.curriculum.cases[case])
    write_json(folder / "agent.json", aud.packed(made.blank))
    write_json(folder / "sample.json", dict(given.sample))
    return tool_server.opened(folder / "agent.json", folder / "sample.json", folder / "session")


def said(tools, name, **arguments):
    """What a tool says, as data."""
    result = tools.call(name, arguments)
    assert result.ok, result.text
    return json.loads(result.text)


def starts(made, case):
    """(degree, peaks) to start from: what was put in, a little off."""
    about = made.curriculum.cases[case].parameters
    peaks = [{key: value for key, value in peak.items() if key != "area"} for peak in about["peaks"]]
    for peak in peaks:
        peak["position"] += 0.7
    return len(about["background"]) - 1, peaks


def simpler(degree, peaks):
    """A model with less in it."""
    if degree:
        return degree - 1, peaks
    if peaks[0]["shape"] == "voigt":
        width = peaks[0]["fwhm_gauss"] + peaks[0]["fwhm_lorentz"]
        return degree, [{"shape": "gaussian", "position": peaks[0]["position"], "fwhm": width}]
    return (degree, peaks[:-1])


def run(made, case, folder):
    """A sound run on a case, as the judge is given it."""
    degree, peaks = starts(made, case)
    with session(made, case, folder) as tools:
        said(tools, "look")
        for model in (simpler(degree, peaks), (degree + 1, peaks), (degree, peaks)):
            said(tools, "model", background_degree=model[0], peaks=model[1])
            said(tools, "fit")
        said(tools, "look")
        said(tools, "look", low=peaks[0]["position"] - 20, high=peaks[0]["position"] + 20)
        told = said(tools, "report")
    trajectory = load_json(folder / "session" / "trajectory.json")
    shown = [call for call in trajectory["calls"] if call["plot"]][1:]
    plots = [
        {
            **{key: call["plot"][key] for key in ("low", "high", "whole")},
            "state": call["state"],
            "reading": f"Plot {at}: even.",
        }
        for at, call in enumerate(shown)
    ]
    report = told | {
        "decisions": ["kept the middle of three models"],
        "plots": plots,
        "caveats": ["widths and tails are correlated"],
        "alternatives": ["one more degree of the background, no better"],
        "confidence": "medium",
        "summary": SUMMARY,
    }
    return CaseRun(case, report, trajectory, made.references[case])


def spoiled(sound, **report):
    """The same run with other fields in its report."""
    return CaseRun(sound.case, copy.deepcopy({**sound.report, **report}), sound.trajectory, sound.reference)
