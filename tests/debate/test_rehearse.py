"""The rehearsal of a trial with the Engineer's fixes: the real step, in the real sandbox where something runs."""

import time

import pytest

from sophron.debate.pipelines.edits import mechanical_edits
from sophron.debate.pipelines.pipeline import Pipeline
from sophron.debate.trials import execute_stage_file, trial_setup
from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.records.documents import Document, validate

from . import dimers

DEFINITION = {
    "system": "dimers",
    "settings": {"sigma_a": 3.4, "temperature_k": 298.15, "epsilon_kcal_per_mol": {"weak": 1.0, "strong": 3.0}},
    "method": "full",
    "training": ["weak", "strong"],
    "attempts": 3,
    "most_windows": 18,
    "ns_per_window": 0.02,
    "platform": "Reference",
}
NO_PATH = ("01_prep.py", "from pathlib import Path\n", "")
IMPORT = ("01_prep.py", "from sophron.records import files\n", "from pathlib import Path\nfrom sophron.records import files\n")  # fmt: skip
AWAY = ("01_prep.py", 'Path("chain.json")', 'Path("out/chain.json")')
BACK = (AWAY[0], AWAY[2], AWAY[1])
AGAIN = ("01_prep.py", 'Path("chain.json")', "Path( 'out/chain.json' )")


def fix(number, *edits, action="edit"):
    made = [{"file": file, "old": old, "new": new, "reason": "so"} for file, old, new in edits]
    return UpstreamStep(
        "pipeline_engineer", {"fix": str(number)}, {"diagnosis": "hm", "action": action, "edits": made}, {}
    )


@pytest.fixture
def rehearsed(tmp_path):
    def made(pipeline, fixes=(), *, attempt=0, label="pass", **definition):
        def context(name, wildcards, upstream):
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            return StepContext("trials", wildcards, {**DEFINITION, **definition}, upstream, folder, folder, 5)

        tasks = []
        for guest in DEFINITION["training"]:
            told = trial_setup.tasks(context(f"tasks-{guest}", {"guest": guest}, {}))
            tasks.append(UpstreamStep("tasks", {"guest": guest}, told.result, told.files))
        reply = tmp_path / "looked.txt"
        reply.write_text(pipeline.reply)
        looked = UpstreamStep("layer1", {}, {"label": label}, {"pipeline": reply})
        upstream = {"layer1": [looked], "pipeline_engineer": list(fixes), "tasks": tasks}
        step = trial_setup.rehearse(context("rehearse", {"trial": "0", "attempt": str(attempt)}, upstream))
        validate(Document(step.result, tmp_path), "host_guest/rehearse", "result")
        return step

    return made


def broken(file, old, new, rationale=dimers.RATIONALE):
    sound = dimers.pipeline()
    assert old in sound.files[file]
    return Pipeline(rationale, sound.windows, {**sound.files, file: sound.files[file].replace(old, new)})


def test_a_crash_is_told_and_the_fix_of_it_comes_through(rehearsed):
    crashed = rehearsed(broken(*NO_PATH))
    assert (crashed.result["state"], crashed.result["file"]) == ("crashed", "01_prep.py")
    assert "name 'Path' is not defined" in crashed.result["said"]
    ready = rehearsed(broken(*NO_PATH), [fix(0, IMPORT), fix(1, action="give_up")], attempt=1)
    assert ready.result == {"state": "ready", "file": "", "said": "", "windows": 12}
    assert crashed.tools == ready.tools == execute_stage_file.versions() != {}
    mended = Pipeline.parse(ready.files["pipeline"].read_text())
    assert mended.files["01_prep.py"] == broken(*NO_PATH).files["01_prep.py"].replace(*IMPORT[1:])


@pytest.mark.slow
def test_what_only_a_search_of_the_author_found_may_still_be_cited(rehearsed):
    """The rationale was looked at with the author's reply; no fix can edit it, and no fix is refused for it."""
    cites = broken(*NO_PATH, rationale="As a search found (10.1021/acs.jctc.9b99999).")
    assert rehearsed(cites, [fix(0, IMPORT)], attempt=1).result["state"] == "ready"


def test_the_last_attempt_that_crashes_ends_the_trial(rehearsed):
    assert rehearsed(broken(*NO_PATH), attempt=3).result["state"] == "stuck"
    assert rehearsed(broken(*NO_PATH), method="no_feedback").result["state"] == "stuck"


@pytest.mark.parametrize(
    ("fixes", "said"),
    [
        ([fix(0, AWAY), fix(1, BACK), fix(2, AGAIN)], "the same fix was tried twice"),
        ([fix(0, action="give_up")], "the Engineer gave up: hm"),
        ([fix(0, ("01_prep.py", "PULL_LENGTH_A = 10.0", "PULL_LENGTH_A = 9.0"))], "an edit was refused (methodology): 01_prep.py: it changes a number"),
        ([fix(0, ("03_production.py", "ns_per_window()", "x"))], "an edit was refused (not_found)"),
        ([fix(0, ("03_production.py", "length_ps = ns_per_window()", "length_ps = short()"))], "an edit was refused (production)"),
        ([fix(0, IMPORT, ("01_prep.py", "PULL_LENGTH_A = 10.0", "PULL_LENGTH_A = 9.0"))], "an edit was refused"),
        # mechanical by what it changes; what comes of it is no pipeline that Layer-1 lets through
        ([fix(0, ("03_production.py", 'Path("stage_01/chain.json")', 'Path("held_out/chain.json")'))], "an edit was refused (references): 03_production.py, line "),
    ],
)  # fmt: skip
def test_where_the_engineer_ends(rehearsed, fixes, said):
    step = rehearsed(dimers.pipeline(), fixes, attempt=len(fixes))
    assert step.result["state"] == "stuck"
    assert step.result["said"].startswith(said)
    Pipeline.parse(step.files["pipeline"].read_text())  # as it stood before what was refused


def test_what_layer1_rejected_is_not_rehearsed(rehearsed):
    step = rehearsed(dimers.pipeline(), label="fail")
    assert step.result["state"] == "rejected"
    assert step.files["pipeline"].read_text() == ""


def test_more_windows_than_were_signed_end_the_trial(rehearsed):
    step = rehearsed(dimers.pipeline(), most_windows=11)
    assert step.tools == {}  # nothing ran
    assert (step.result["state"], step.result["said"]) == ("stuck", "12 windows are more than the signed 11")


def test_attempts_share_the_session(rehearsed, monkeypatch):
    """Of an hour for four attempts each has a quarter; here of twelve seconds."""
    assert mechanical_edits.SESSION_S == 3600.0
    monkeypatch.setattr(mechanical_edits, "SESSION_S", 12.0)
    begun = time.monotonic()
    step = rehearsed(
        broken("01_prep.py", "    with reporting(1)", "    while True:\n        pass\n    with reporting(1)")
    )
    took_s = time.monotonic() - begun
    assert (step.result["state"], step.result["said"].startswith("limit: it passed its limit wall_s")) == (
        "crashed",
        True,
    )
    assert 3.0 <= took_s < 10.0
