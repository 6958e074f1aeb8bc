"""Orders run by a real server process beside this one: ends, limits, leases, deaths, and the warm job step."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sophron.warm_workers import worker
from sophron.warm_workers.job_message import Ended, Order


@pytest.fixture(autouse=True)
def fresh_server():
    worker.close()
    yield
    worker.close()


@pytest.fixture
def order(tmp_path):
    (tmp_path / "lease").touch()
    return Order(str(tmp_path), str(tmp_path / "lease"), str(tmp_path / "logs" / "log"), executable="/bin/bash")


def run(order: Order, command: str, **fields) -> Ended:
    return Ended.read(worker.run(replace(order, command=command, **fields).text()))


def is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] not in "ZX"


def await_end(pid: int, most_s: float = 60) -> bool:
    deadline = time.monotonic() + most_s
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


def test_a_step_works_in_its_folder_with_threads_scratch_and_declared_variables(order, tmp_path):
    line = 'pwd > out; echo "$OMP_NUM_THREADS $MKL_NUM_THREADS $TMPDIR $DECLARED" >> out'
    assert run(order, line, threads=3, environment={"DECLARED": "said"}).code == 0
    folder, rest = (tmp_path / "out").read_text().splitlines()
    assert folder == str(tmp_path)
    assert rest.startswith("3 3 /")
    assert rest.endswith(" said")


def test_what_a_failed_step_printed_is_kept_and_that_of_a_finished_one_is_not(order, tmp_path):
    assert run(order, "echo told; echo wrong >&2; exit 7").code == 7
    assert (tmp_path / "logs" / "log").read_text() == "told\nwrong\n"
    assert run(order, "echo told").code == 0
    assert not (tmp_path / "logs" / "log").exists()


def test_a_step_killed_by_a_signal_says_which(order):
    ended = run(order, "kill -KILL $$")
    assert (ended.code, ended.reason()) == (-9, "the step was killed by SIGKILL")


def test_old_outputs_and_logs_go_and_folders_are_made_before_a_step(order, tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_text("old")
    line = "! test -e old && ! test -e folder && test -d new/deep && test -d logs/deep"
    outputs = {"old": False, "folder": True, "new/deep/file": False}
    assert run(order, line, outputs=outputs, logs=["logs/deep/log"]).code == 0


def test_a_folder_with_content_is_kept_where_a_file_is_expected(order, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_text("old")
    assert run(order, "true", outputs={"folder": False}).code == 0
    assert (tmp_path / "folder" / "old").exists()


def test_a_missing_input_is_waited_for_and_then_said(order, tmp_path):
    ended = run(order, "touch ran", inputs=["there-is-none"], latency_s=0.2)
    assert ended.failed
    assert "there-is-none: is missing after 0.2 s" in ended.reason()
    assert not (tmp_path / "ran").exists()


def test_a_missing_folder_is_said(order, tmp_path):
    assert "nowhere" in run(order, "true", folder=str(tmp_path / "nowhere")).reason()


def test_a_step_over_its_time_is_ended_with_all_its_processes(order, tmp_path):
    ended = run(order, "sleep 60 & echo $! > pid; wait", limit_s=1)
    assert ended.failed
    assert "ran longer than" in ended.reason()
    assert await_end(int((tmp_path / "pid").read_text()))


def test_without_its_lease_a_step_is_not_begun(order, tmp_path):
    (tmp_path / "lease").unlink()
    assert "has ended" in run(order, "touch ran").reason()
    assert not (tmp_path / "ran").exists()


def test_a_step_ends_when_its_lease_goes(order, tmp_path):
    ended = run(order, "rm lease; echo $$ > pid; sleep 60")
    assert "has ended" in ended.reason()
    assert await_end(int((tmp_path / "pid").read_text()))


def test_a_killed_server_fails_its_step_ends_it_and_is_replaced(order, tmp_path):
    ended = run(order, "echo $$ > pid; sleep 0.5; kill -KILL $PPID; sleep 60")
    assert "was killed" in ended.reason()
    assert await_end(int((tmp_path / "pid").read_text()))
    assert run(order, "true").code == 0


def test_a_killed_worker_takes_its_step_with_it(order, tmp_path):
    sent = replace(order, command="echo $$ > new && mv new pid; sleep 60").text()
    program = f"from sophron.warm_workers.worker import run; run({sent!r})"
    process = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 20
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    step = int((tmp_path / "pid").read_text())
    assert is_alive(step)
    process.kill()
    process.wait()
    assert await_end(step)


def test_a_warm_job_step_runs_a_script_and_leaves_what_it_said_on_failure(order, tmp_path):
    (tmp_path / "Snakefile").write_text(
        "rule one:\n    output: '{name}.txt'\n    run:\n        import random\n"
        "        open(output[0], 'w').write(f'{os.getcwd()} {random.random()}')\n"
        "rule bad:\n    output: 'bad'\n    shell: 'echo wrong >&2; exit 3'\n"
    )
    common = ["--cores", "1", "--nocolor", "--force", "--nolock", "--mode", "remote", "--force-use-threads"]
    texts = []
    for name in "ab":
        argv = [*common, "--target-jobs", f"one:name={name}", "--allowed-rules", "one"]
        ended = Ended.read(worker.run(replace(order, argv=argv).text()))
        assert ended.code == 0, (tmp_path / "logs" / "log").read_text()
        texts.append((tmp_path / f"{name}.txt").read_text())
    assert {text.split()[0] for text in texts} == {str(tmp_path)}
    assert len(set(texts)) == 2  # forks of one process draw numbers of their own
    argv = [*common, "--target-jobs", "bad:", "--allowed-rules", "bad"]
    assert Ended.read(worker.run(replace(order, argv=argv).text())).code == 1
    assert "wrong" in (tmp_path / "logs" / "log").read_text()


def test_a_server_that_is_told_to_stop_ends_its_step(order, tmp_path):
    run(order, "echo $$ > pid; kill -TERM $PPID; sleep 60")
    assert await_end(int((tmp_path / "pid").read_text()))
