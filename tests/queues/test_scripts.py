"""The scripts that the profiles pbs and lsf submit, compared with golden files in the forms of the manuals.

Neither a PBS nor an LSF was there to try them on: the forms are those of the PBS Professional user's guide (`-l select`,
`-l walltime`, `-j oe`, `-v`) and of IBM's reference of `bsub` (`-n`, `-R`, `-M`, `-W`, `-gpu`, `-env`).
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from sophron.records.files import resource

GOLDEN = Path(__file__).parent / "golden"
BODY = '#!/bin/sh\n# properties = {"rule": "produce"}\ncd /scratch/melt && python -m snakemake --target-jobs produce:replica=3\n'
JOBS = {
    "serial": {"threads": 1, "resources": {"mem_mb": 1000, "runtime": 90}},
    "mpi": {
        "threads": 8,
        "resources": {"mem_mb": 16000, "runtime": 1500, "mpi": "mpiexec", "tasks": 4, "cpus_per_task": 2},
    },
    "nodes": {
        "threads": 8,
        "resources": {"mem_mb": 16000, "runtime": 1500, "mpi": "mpiexec", "tasks": 4, "cpus_per_task": 2, "nodes": 2},
    },
    "gpu": {"threads": 2, "resources": {"mem_mb": 8000, "runtime": 30, "gpu": 1}},
}


def load(profile, monkeypatch, name="submit"):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a script puts its own folder first
    spec = importlib.util.spec_from_file_location(f"{profile}_{name}", resource("profiles", profile) / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("profile", ["pbs", "lsf"])
@pytest.mark.parametrize("shape", JOBS)
def test_a_script_is_the_golden_one(profile, shape, monkeypatch):
    for variable in list(os.environ):
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PATH", "/opt/env/bin:/usr/bin")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-0123456789abcdef")
    module = load(profile, monkeypatch)
    monkeypatch.setattr(module, "QUEUE", "normal")
    monkeypatch.setattr(module, "ACCOUNT" if profile == "pbs" else "PROJECT", "melts")
    job = {"rule": "produce", "wildcards": {"replica": "3"}, **JOBS[shape]}
    written = module.script(job, BODY, Path("/scratch/melt/job.log"), Path("/scratch/melt/job.exit"))
    golden = GOLDEN / f"{profile}-{shape}.sh"
    assert written == golden.read_text()
    assert "planted" not in written


def commands(folder, **scripts):
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("said", "expected"),
    [("job_state = Q", "running"), ("job_state = R", "running"), ("job_state = H", "running"),
     ("job_state = F\\n    Exit_status = 0", "success"), ("job_state = F\\n    Exit_status = 271", "failed"),
     ("job_state = F\\n    Exit_status = -29", "failed"), ("job_state = F", "failed")],
)  # fmt: skip
def test_what_qstat_says_is_understood(said, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", commands(tmp_path, qstat=f'printf "Job Id: 7.server\\n    {said}\\n"'))
    assert load("pbs", monkeypatch).status("7.server") == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [("echo RUN", "running"), ("echo PEND", "running"), ("echo UNKWN", "running"), ("echo DONE", "success"),
     ("echo EXIT", "failed"), ('echo "Job <7> is not found" >&2; exit 255', "failed"), ("exit 255", "running")],
)  # fmt: skip
def test_what_bjobs_says_is_understood(said, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", commands(tmp_path, bjobs=said))
    assert load("lsf", monkeypatch).status("7") == expected


@pytest.mark.parametrize("code", [0, 1])
def test_a_job_without_history_is_judged_by_the_code_it_left(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", commands(tmp_path, qstat='echo "qstat: Unknown Job Id 7.server" >&2; exit 153'))
    module = load("pbs", monkeypatch)
    folder = tmp_path / module.FOLDER
    folder.mkdir(parents=True)
    (folder / "7.server.key").write_text("abc")
    (folder / "abc.exit").write_text(f"{code}\n")
    assert module.status("7.server") == ("failed" if code else "success")


@pytest.mark.parametrize(("profile", "command"), [("pbs", "qsub"), ("lsf", "bsub")])
def test_a_submission_is_tried_four_times_and_a_waiting_job_is_not_submitted_again(
    profile, command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    said = {"qsub": "echo 7.server", "bsub": 'echo "Job <7> is submitted to queue <normal>."'}[command]
    text = f"echo x >> count; [ $(grep -c x count) -gt 3 ] && {said} && exit 0; exit 1"
    waiting = {"qstat": 'printf "    job_state = Q\\n"', "bjobs": "echo PEND"}
    monkeypatch.setenv("PATH", commands(tmp_path, **{command: text}, **waiting))
    module = load(profile, monkeypatch)
    monkeypatch.setattr(module.cluster_job, "PAUSE_S", 0)
    script = tmp_path / "job.sh"
    properties = '{"rule": "a", "output": ["x"], "wildcards": {}, "threads": 1, "resources": {"runtime": 1}}'
    script.write_text(f"#!/bin/sh\n# properties = {properties}\ntrue\n")
    first = module.submit(script)
    assert first.startswith("7")
    assert (tmp_path / "count").read_text().count("x") == 4
    assert module.submit(script) == first
    assert (tmp_path / "count").read_text().count("x") == 4


@pytest.mark.parametrize(("profile", "command"), [("pbs", "qsub"), ("lsf", "bsub")])
def test_a_refusal_names_command_script_and_reason(profile, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", commands(tmp_path, **{command: "echo no such queue >&2; exit 1"}))
    module = load(profile, monkeypatch)
    monkeypatch.setattr(module.cluster_job, "PAUSE_S", 0)
    script = tmp_path / "job.sh"
    properties = '{"rule": "a", "output": ["x"], "threads": 1, "resources": {}}'
    script.write_text(f"#!/bin/sh\n# properties = {properties}\ntrue\n")
    with pytest.raises(SystemExit, match=rf"{command} refuses .*\.sh: no such queue"):
        module.submit(script)
    assert not list((tmp_path / module.FOLDER).glob("*.id"))
