"""The step of a stage file: what it takes over, what it skips, which limits a further try may cure, and its seed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sophron.debate.pipelines.pipeline import Pipeline
from sophron.debate.trials import execute_stage_file
from sophron.interfaces.kind import EngineFailure, StepContext, UpstreamStep
from sophron.records.documents import Document, validate
from sophron.sandbox.select_backend import choose
from sophron.science.host_guest.pipelines import reference_pipelines

from . import dimers

pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")


@pytest.fixture
def context(tmp_path):
    """Preparation of one guest in a trial; source: of the first file, ours where it is None."""

    def made(name, source=None, **about):
        folder = tmp_path / name
        (folder / "empty").mkdir(parents=True)
        ours = dimers.pipeline()
        files = ours.files if source is None else {**ours.files, "01_prep.py": source}
        written = folder / "pipeline.txt"
        written.write_text(reference_pipelines.reply(ours.rationale, files, ours.windows))
        task = {"metadata": dimers.task(), "form": "particles", "names": [], "remarks": []}
        left = {"left": execute_stage_file.packed(folder / "empty", folder / "task.tar")}
        upstream = {
            "tasks": [UpstreamStep("tasks", {"guest": "a"}, task, left)],
            "rehearse": [UpstreamStep("rehearse", {"trial": "0"}, {"state": "ready"}, {"pipeline": written})],
        }
        definition = {"ns_per_window": 0.04, "platform": "Reference"}
        where = {"trial": "0", "guest": "a"}
        return replace(StepContext("prepare", where, definition, upstream, folder, folder, 1), **about)

    return made


def fits(result):
    validate(Document(dict(result.result), Path("outcome")), "host_guest/executed", "result")
    return result.result


def test_equal_work_gives_equal_bytes_but_for_clocks_and_says_with_what(context):
    first, second = execute_stage_file.execute(context("one")), execute_stage_file.execute(context("two"))
    assert fits(first) == fits(second)
    chains = [
        execute_stage_file.extracted(each.files["left"], each.files["left"].parent / "out") for each in (first, second)
    ]
    assert (chains[0] / "chain.json").read_bytes() == (chains[1] / "chain.json").read_bytes()
    assert first.tools["openmm"][0].isdigit()


def test_the_seed_is_that_of_the_campaign_and_not_of_the_trial(context):
    found = [
        fits(
            execute_stage_file.execute(
                context(name, spec_seed=seed, wildcards={"trial": trial, "guest": "a"}, seed=step)
            )
        )
        for name, seed, trial, step in (("one", 34, "0", 1), ("other", 34, "3", 9), ("again", 35, "0", 1))
    ]
    assert found[0] == found[1]
    assert found[0]["seed"] != found[2]["seed"]
    assert found[0]["key"] != found[2]["key"]


def test_the_same_of_the_trial_before_is_taken_over(context):
    first = execute_stage_file.execute(context("one"))
    before = UpstreamStep("prepare", {"trial": "0", "guest": "a"}, first.result, first.files, tools={"openmm": "7.7"})
    folder = context("two", previous={"prepare": [before]})
    second = execute_stage_file.execute(folder)
    assert second.result == first.result
    assert second.files["left"].read_bytes() == first.files["left"].read_bytes()
    assert second.tools == {"openmm": "7.7"}  # what the reused result was computed with, not what is installed
    assert not (folder.workdir / "stage_01").exists()  # nothing ran
    failed = replace(before, result={**first.result, "status": "failed"})
    execute_stage_file.execute(replace(context("three"), previous={"prepare": [failed]}))
    assert (folder.workdir.parent / "three" / "stage_01").exists()


def test_after_a_stage_that_failed_nothing_runs(context):
    made = context("one")
    failed = UpstreamStep("prepare", {"guest": "a"}, {"status": "failed", "key": ""}, {})
    made = replace(made, stage="equilibrate", upstream={**made.upstream, "prepare": [failed]})
    skipped = execute_stage_file.execute(made)
    assert fits(skipped)["status"] == "skipped"
    assert skipped.tools == {}


def test_a_limit_is_a_failure_of_the_file_only_where_no_try_has_more(context):
    endless, minutes = "while True: pass\n", 0.03
    with pytest.raises(EngineFailure, match="passed its limit wall_s") as found:
        execute_stage_file.execute(context("one", endless, runtime_min=minutes, may_grow=frozenset({"time"})))
    assert found.value.curable_by == "time"
    last = execute_stage_file.execute(context("two", endless, runtime_min=minutes, may_grow=frozenset({"memory"})))
    assert fits(last)["failure"]["kind"] == "limit"


COUNTS = """
import os, time
from pathlib import Path
from sophron.science.host_guest.stage_file_api import reporting
with reporting(1) as account:
    found = sorted(path.name for path in Path().glob("part_*"))
    account.diagnostics["found"] = found
    if not found:
        os.symlink("/", "windows")
    for number in range(len(found), 40):
        Path(f"part_{number:02d}").write_text(str(os.getpid()))
        time.sleep(0.05 if len(found) == 0 else 0)
"""
DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from debate import dimers
from sophron.debate.pipelines.pipeline import Pipeline
made = dimers.pipeline()
source = Path(sys.argv[3]).read_text()
dimers.stage(Pipeline(made.rationale, made.windows, {**made.files, "01_prep.py": source}), 1, Path(sys.argv[2]))
"""


def test_a_killed_file_goes_on_where_it_was(tmp_path):
    """Killed with its driver, as a queue or a crash does it; links that it left lead nowhere."""
    source = tmp_path / "source.py"
    source.write_text(COUNTS)
    command = [sys.executable, "-c", DRIVER, str(Path(__file__).parents[1]), str(tmp_path), str(source)]
    running = subprocess.Popen(command, start_new_session=True)
    work = tmp_path / "stage_01" / "work"
    until = time.monotonic() + 60
    while not (work / "part_05").exists():
        assert time.monotonic() < until
        assert running.poll() is None
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    time.sleep(0.3)
    kept = {path.name: path.read_text() for path in work.glob("part_*")}
    assert 6 <= len(kept) < 40
    made = dimers.pipeline()
    made = Pipeline(made.rationale, made.windows, {**made.files, "01_prep.py": COUNTS})
    place, executed = dimers.stage(made, 1, tmp_path, sandbox=choose())
    assert executed.completed, executed
    assert executed.result.diagnostics["found"] == sorted(kept)
    assert all((place.workdir / name).read_text() == text for name, text in kept.items())
    assert not (place.workdir / "windows").is_symlink()
    assert json.loads((place.workdir / "stage_01_result.json").read_text())["status"] == "completed"
