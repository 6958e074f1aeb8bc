"""What Parsl's providers of PBS Pro and LSF would submit, compared with golden files in the forms of the manuals.

Neither a PBS nor an LSF was there: `qsub` and `bsub` are stand-ins that keep the script and the environment they get.
"""

import importlib.util
import re
from pathlib import Path

import pytest
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_executor_plugin_parsl import ExecutorSettings, environment
from snakemake_executor_plugin_parsl.slots import Block

pytestmark = pytest.mark.skipif(importlib.util.find_spec("parsl") is None, reason="parsl is not installed")

GOLDEN = Path(__file__).parents[1] / "queues" / "golden"
WORKERS = "/opt/env/bin/python -m snakemake_executor_plugin_parsl.lean_start process_worker_pool"
# qsub is given the name of the script; bsub reads `#BSUB` lines of what comes by standard input alone.
COMMANDS = {
    "qsub": 'for last; do :; done; cat "$last" > kept.sh; echo "$@" > kept.words; env > kept.env; echo 7.server',
    "bsub": 'cat > kept.sh; echo "$@" > kept.words; env > kept.env; echo "Job <7> is submitted to queue <normal>."',
}
WAYS = {"pbspro": "qsub", "lsf": "bsub"}


def submitted(way, folder, monkeypatch, *, gpu):
    """Submit one block with a stand-in of the scheduler's command; its id."""
    from snakemake_executor_plugin_parsl.providers import provider

    command = folder / WAYS[way]
    command.write_text(f"#!/bin/sh\n{COMMANDS[command.name]}\n")
    command.chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-0123456789abcdef")
    settings = ExecutorSettings(
        provider=way, queue="normal", gpu_queue="gpu", account="melts", worker_init="module load lammps"
    )
    one = provider(settings, Block(cores=32, memory_mb=120000, gpus=4, walltime_min=1500), gpu=gpu)
    one.script_dir = str(folder)
    return one.submit(WORKERS, 1, "block")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_the_script_of_a_block_is_the_golden_one(way, kind, tmp_path, monkeypatch):
    assert submitted(way, tmp_path, monkeypatch, gpu=kind == "gpu") == {"pbspro": "7.server", "lsf": "7"}[way]
    written = (tmp_path / "kept.sh").read_text().replace(str(tmp_path), "/scratch/melt/scripts")
    # What follows is the text of Parsl's launcher, of which no scheduler takes notice.
    head, launcher, tail = written.partition("set -e\n")
    assert launcher
    assert WORKERS in tail
    assert environment.FORGET in head
    head = re.sub(r"block\.\d+\.\d+", "block.NUMBER", head.replace(environment.FORGET, "FORGET\n"))
    assert head == (GOLDEN / f"parsl-{way}-{kind}.sh").read_text()
    words = (tmp_path / "kept.words").read_text()
    queue = "normal" if kind == "cpu" else "gpu"
    assert words.startswith(f"-q {queue} -A melts " if way == "pbspro" else "\n")


@pytest.mark.parametrize("way", WAYS)
def test_no_command_of_a_scheduler_sees_a_key(way, tmp_path, monkeypatch):
    submitted(way, tmp_path, monkeypatch, gpu=False)
    seen = (tmp_path / "kept.env").read_text()
    assert f"PATH={tmp_path}" in seen
    assert "planted" not in seen


def test_a_provider_that_is_none_of_ours_is_refused_in_a_sentence():
    from snakemake_executor_plugin_parsl.providers import provider

    with pytest.raises(WorkflowError, match="--parsl-provider: condor is none of local, slurm, pbspro, lsf"):
        provider(ExecutorSettings(provider="condor"), Block(1, None, 0, 60), gpu=False)
