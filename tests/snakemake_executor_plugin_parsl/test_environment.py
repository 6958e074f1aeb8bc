"""What of the driver's environment reaches a block: decided by name, in Python and in the block's own shell."""

import subprocess

import pytest

from snakemake_executor_plugin_parsl import environment

SECRETS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "PATH_TO_KEY", "SLURM_JWT")
NEEDED = ("PATH", "PYTHONPATH", "HOME", "LC_ALL", "SLURM_CONF", "SLURM_JOB_ID", "LD_LIBRARY_PATH", "PBS_NODEFILE")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    for name in (*SECRETS, *NEEDED):
        monkeypatch.setenv(name, "/usr/bin:/bin")


def _names(command: list[str]) -> set[str]:
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.partition("=")[0] for line in shown.splitlines()}


def test_a_scheduler_s_command_sees_what_is_needed_and_no_secret():
    seen = _names(["/bin/sh", "-c", environment.clean("env")])
    assert seen.issuperset(NEEDED)
    assert seen.isdisjoint(SECRETS)


def test_the_first_lines_of_a_block_forget_secrets_and_nothing_that_is_needed():
    seen = _names(["/bin/bash", "-c", f"{environment.FORGET}\nenv"])
    assert seen.issuperset(NEEDED)
    assert seen.isdisjoint(SECRETS)
