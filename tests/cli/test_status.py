import json
import os
import pty
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path

import pytest

from sophron.campaign.execution import outcome_store
from sophron.campaign.spec import spec
from sophron.campaign.state import projector
from sophron.cli import status
from sophron.records import documents, events, process_identity, step_progress
from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.records.typed_json import to_json
from sophron.science.lammps import executable

STAGES = [
    {"id": "build", "depends_on": [], "parameters": {}, "success_criteria": [], "steps": 1},
    {"id": "produce", "depends_on": ["build"], "parameters": {}, "success_criteria": [], "steps": 12},
]
INPUT = """
units lj
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0
fix 1 all nve
thermo_style custom step cpu temp
thermo_modify flush yes
thermo 50
run 5000000
"""


def shown(root, *options):
    parser = ArgumentParser()
    status.add_arguments(parser)
    return parser.parse_args([str(root), *options])


def page(root, capsys):
    assert status.run(shown(root)) == 0
    return capsys.readouterr().out


def live(root, capsys):
    assert status.run(shown(root, "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    documents.validate(documents.Document(told, root), "workflow-state")
    return told


def entry(pid):
    return {"pid": pid, "pid_start": process_identity.start_of(pid), "host": process_identity.host()}


def begin(root):
    fields = {"workflow_id": "my-melt", "version": 1, "digest": "a" * 64, "stages": STAGES}
    tell(root, "spec_loaded", **fields, experiment_design="e.md", workflow_plan="w.md")
    tell(root, "approved", version=1, approver="ann", record="r")


def tell(root, event, **fields):
    events.append(root, "sophron", event, **fields)


def start(root, replica, owner, attempt=1):
    step = f"produce-{replica}"
    log = f"records/{step}/{attempt}"
    (root / log).mkdir(parents=True, exist_ok=True)
    about = {"step": step, "stage": "produce", "rule": "produce", "wildcards": {"replica": replica}}
    tell(root, "step_started", **about, **owner, log=log, digest="d", **{"try": attempt})
    return root / log


def run_of(root, owner):
    tell(root, "run_started", **owner, snakemake_version="9.27.1")
    tell(root, "run_progress", done=3, total=21)


@pytest.fixture(name="lmp")
def _lmp():
    """function(folder) -> a real LAMMPS run that logs into the folder and would take minutes."""
    running = []

    def begin_run(folder):
        found = executable.find()
        (folder / "in.lj").write_text(INPUT)
        command = [found.program, "-in", "in.lj", "-log", "log.lammps", "-screen", "none"]
        env = {**os.environ, **found.environment, "OMP_NUM_THREADS": "1"}
        running.append(subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL))
        return running[-1]

    yield begin_run
    for one in running:
        one.kill()
        one.wait()


def test_a_live_lammps_run_its_death_and_the_way_on(tmp_path, capsys, lmp):
    begin(tmp_path)
    run_of(tmp_path, entry(os.getpid()))
    folder = tmp_path / "records" / "produce-0" / "1"
    folder.mkdir(parents=True)
    engine = lmp(folder)
    start(tmp_path, "0", entry(engine.pid))
    deadline = time.monotonic() + 30
    while not (step := live(tmp_path, capsys)["live"]["steps"][0])["progress"] or step["progress"]["step"] < 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert step["state"] == "running"
    assert step["progress"]["total"] == 5_000_000
    assert step["log_age_s"] < 30
    text = page(tmp_path, capsys)
    assert "of 5,000,000 steps" in text
    assert "left" in text
    assert "Next: nothing: snakemake is at work" in text
    assert "3 of 21 jobs done" in text

    engine.kill()
    engine.wait()
    text = page(tmp_path, capsys)
    assert "produce-0        lost; run snakemake again (" in text
    tell(tmp_path, "run_ended", pid=os.getpid(), host=process_identity.host(), done=3, total=21)
    text = page(tmp_path, capsys)
    assert "3 of 21 jobs done" in text
    assert text.endswith(f"Next, in {tmp_path}: snakemake\n")


def dead():
    child = subprocess.Popen(["sleep", "60"])
    gone = entry(child.pid)
    child.kill()
    child.wait()
    return gone


def test_a_dead_campaign(tmp_path, capsys):
    begin(tmp_path)
    gone = dead()
    run_of(tmp_path, gone)
    start(tmp_path, "0", gone)
    start(tmp_path, "1", entry(os.getpid()) | {"pid_start": "boot/1"})  # the pid lives, but is another process
    start(tmp_path, "2", entry(os.getpid()) | {"host": "node7"})
    told = live(tmp_path, capsys)["live"]
    assert told["driver"] == "lost"
    assert [step["state"] for step in told["steps"]] == ["lost", "lost", "elsewhere"]
    text = page(tmp_path, capsys)
    assert "snakemake 9.27.1" in text
    assert text.count("lost; run snakemake again") == 3
    assert "produce-2        (on another machine)" in text
    assert text.endswith(f"Next, in {tmp_path}: snakemake\n")
    assert "\x1b" not in text


def test_a_copy_of_the_three_files(tmp_path, capsys):
    whole, copy = tmp_path / "whole", tmp_path / "copy"
    copy.mkdir()
    begin(whole)
    run_of(whole, dead())
    start(whole, "0", dead())
    projector.project(whole)
    for name in ("workflow-state.json", "progress.log", "init.sh"):
        shutil.copy(whole / name, copy)
    copy.chmod(0o555)
    assert page(copy, capsys) == page(whole, capsys).replace(str(whole), str(copy))
    assert {path.name for path in copy.iterdir()} == {"workflow-state.json", "progress.log", "init.sh"}
    assert live(copy, capsys)["workflow_id"] == "my-melt"


def test_what_failed_what_waits_and_what_is_refused(tmp_path, capsys):
    begin(tmp_path)
    start(tmp_path, "0", entry(os.getpid()))
    start(tmp_path, "0", entry(os.getpid()), attempt=2)
    about = {"step": "produce-0", "stage": "produce", "wildcards": {"replica": "0"}}
    tell(tmp_path, "step_ended", **about, status="done", reason=None)
    tell(tmp_path, "verdict", stage="produce", verdict="fail", failed=["drift: 2 < 1 is false"])
    tell(tmp_path, "drafted", version=2, rationale="a smaller\x1b[2K step", invalidated_stages=["produce"])
    tell(tmp_path, "refused", step="produce-1", reason="the rules changed")
    text = page(tmp_path, capsys)
    row = next(line for line in text.splitlines() if line.startswith("produce "))
    assert row.split() == ["produce", "failed", "1/12", "1", "fail"]
    assert "produce: verdict on produce: fail (drift: 2 < 1 is false)" in text
    assert "Amend gate: version 2 is drafted: a smaller step" in text
    assert "refused: the rules changed" in text
    assert text.endswith(f"Next, in {tmp_path}: sophron approve\n")


def test_a_dispatched_job_that_left_its_marker(tmp_path, capsys):
    begin(tmp_path)
    about = {"step": "produce-0", "stage": "produce", "rule": "produce", "wildcards": {"replica": "0"}, "digest": "d"}
    marked = {**entry(os.getpid()), "host": "node7", "log": "l", "try": 1, "marker": "scratch/DPDISP_DONE"}
    tell(tmp_path, "step_started", **about, **marked)
    assert live(tmp_path, capsys)["live"]["steps"][0]["state"] == "elsewhere"
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "DPDISP_DONE").touch()
    assert "produce-0        has ended; run snakemake to collect it" in page(tmp_path, capsys)


def test_queued_steps_are_named_and_counted(tmp_path, capsys):
    begin(tmp_path)
    run_of(tmp_path, entry(os.getpid()))
    for number in range(8):
        about = {"step": f"produce-{number}", "stage": "produce", "rule": "produce", "wildcards": {}}
        tell(tmp_path, "step_queued", **about, jobid=number)
    assert "Queued: produce-0, produce-1, produce-2, produce-3, produce-4, produce-5 and 2 more" in page(
        tmp_path, capsys
    )


def test_what_runs_at_once_beside_snakemake_is_not_queued(tmp_path, capsys):
    begin(tmp_path)
    run_of(tmp_path, entry(os.getpid()))
    for number, rule in enumerate(("gate", "verify", "accept", "report")):
        stage = "produce" if rule in ("verify", "accept") else None
        step = f"{rule}-{stage}" if stage else rule
        tell(tmp_path, "step_queued", step=step, stage=stage, rule=rule, wildcards={}, jobid=number)
    assert "Queued" not in page(tmp_path, capsys)
    assert live(tmp_path, capsys)["queued"] == {}


def test_the_next_command_names_its_folder_unless_one_is_in_it(tmp_path, capsys, monkeypatch):
    begin(tmp_path / "melt")
    monkeypatch.chdir(tmp_path)
    assert page(tmp_path / "melt", capsys).splitlines()[-1] == "Next, in melt: snakemake"
    monkeypatch.chdir(tmp_path / "melt")
    assert page(Path(), capsys).splitlines()[-1] == "Next: snakemake"
    assert page(tmp_path / "melt", capsys).splitlines()[-1] == "Next: snakemake"


def test_an_edited_spec_and_results_of_another_definition(tmp_path, capsys):
    path = tmp_path / "campaign.yaml"
    shutil.copy(resource("campaigns", "lj-liquid-viscosity", "campaign.yaml"), path)
    recorded = spec.load(path)
    tell(
        tmp_path,
        "spec_loaded",
        workflow_id=recorded.campaign,
        version=1,
        digest=recorded.digest,
        stages=STAGES,
        experiment_design=None,
        workflow_plan=None,
    )
    tell(tmp_path, "approved", version=1, approver="ann", record="r")
    for replica, digest in (("0", recorded.definition_digest("produce")), ("1", "f" * 64)):
        outcome = tmp_path / "results" / "produce" / replica / "outcome.json"
        outcome.parent.mkdir(parents=True)
        made = outcome_store.Outcome("done", None, {}, {}, {}, definition_digest=digest)
        outcome.write_text(json.dumps(to_json(made)))
        outcome_store.publish(tmp_path, f"produce-{replica}", outcome)
    told = live(tmp_path, capsys)["live"]
    assert (told["edited"], told["stale"], told["next"]) == (False, {"produce": 1}, "snakemake")
    text = path.read_text()
    assert text.count("seed: ") == 1
    path.write_text(text.replace("seed: ", "seed: 1"))
    told = live(tmp_path, capsys)["live"]
    assert (told["edited"], told["stale"], told["next"]) == (True, {"produce": 2}, "sophron amend")
    assert "Amend gate: campaign.yaml is not the spec that was signed" in page(tmp_path, capsys)


def test_before_anything_happened(tmp_path, capsys):
    (tmp_path / "campaign.yaml").write_text("campaign: [unfinished")
    text = page(tmp_path, capsys)
    assert "Specify gate: no version is signed yet" in text
    assert text.endswith(f"Next, in {tmp_path}: sophron review\n")
    assert [path.name for path in tmp_path.iterdir()] == ["campaign.yaml"]


def test_faults_are_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"neither campaign.yaml nor workflow-state.json; give the folder"):
        status.run(shown(tmp_path))
    (tmp_path / "workflow-state.json").write_text("{")
    with pytest.raises(UserError, match="is damaged"):
        status.run(shown(tmp_path))
    begin(tmp_path)
    now = projector.project(tmp_path)
    for path in (tmp_path / "records").iterdir():
        path.unlink()
    (tmp_path / "workflow-state.json").write_text(json.dumps(now | {"version": "two"}))
    with pytest.raises(UserError, match="version"):
        status.run(shown(tmp_path))


def test_colour_for_people_only(tmp_path):
    begin(tmp_path)
    projector.project(tmp_path)
    code = "import sys; from sophron.cli import status; from argparse import Namespace\n"
    code += "status.run(Namespace(campaign=sys.argv[1], json=False))"
    start(tmp_path, "0", entry(os.getpid()))

    def through_terminal(env):
        reader, writer = pty.openpty()
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], stdout=writer, env=os.environ | env, check=True, timeout=60
        )
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            return stream.read1().decode()

    plain = {key: value for key, value in os.environ.items() if key == "NO_COLOR"}
    assert not plain
    assert "\x1b[36min_progress\x1b[0m" in through_terminal({})
    assert "\x1b" not in through_terminal({"NO_COLOR": "1"})


def test_all_stages_accepted_and_the_driver_killed_is_not_completed(tmp_path, capsys):
    begin(tmp_path)
    run_of(tmp_path, dead())
    for stage in STAGES:
        tell(tmp_path, "verdict", stage=stage["id"], verdict="pass", failed=[])
        tell(tmp_path, "accepted", stage=stage["id"])
    text = page(tmp_path, capsys)
    assert text.startswith("Campaign my-melt, version 1: all stages accepted, the rest is not done\n")
    assert "lost; run snakemake again" in text
    assert text.endswith(f"Next, in {tmp_path}: snakemake\n")
    now = projector.project(tmp_path)["run"]
    tell(tmp_path, "run_ended", pid=now["pid"], host=now["host"], done=21, total=21)
    tell(tmp_path, "refused", step="snakemake", reason="the rules changed")
    assert page(tmp_path, capsys).startswith("Campaign my-melt, version 1: completed\n")


def test_the_engine_that_a_try_names_says_how_far_it_is(tmp_path, capsys):
    begin(tmp_path)
    log = start(tmp_path, "0", entry(os.getpid()))
    (log / "try.json").write_text(json.dumps({"engine": "rietx", "digest": "d", "step": "produce-0"}))
    with step_progress.Meter(tmp_path / "scratch" / "d" / "produce-0", total=8) as meter:
        meter.at(2)
        (step,) = live(tmp_path, capsys)["live"]["steps"]
        assert (step["progress"]["step"], step["progress"]["total"], step["progress"]["unit"]) == (2, 8, "patterns")
        assert "25 %  2 of 8 patterns" in page(tmp_path, capsys)
    assert live(tmp_path, capsys)["live"]["steps"][0]["progress"] is None
