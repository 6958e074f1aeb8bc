"""A private Slurm for the whole session, and campaigns that run on it with the profiles as they are shipped."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import private_slurm
import pytest
import toy

from sophron.records.files import resource

PATIENCE_S = 900
FAST = ["--slurm-init-seconds-before-status-checks", "4"]


@dataclass(frozen=True)
class Slurm:
    """The running Slurm. settings: environment variables that lead to it."""

    folder: Path
    settings: dict[str, str]

    def wait_for_job(self, state: str = "RUNNING") -> str:
        """The id of the one job, as soon as it is in that state."""
        found = wait_until(lambda: private_slurm.jobs(self.folder, state))
        assert len(found) == 1, found
        return found[0]

    def empty(self) -> None:
        """End what an earlier test left in the queue."""
        subprocess.run([self.folder / "bin" / "scancel", "--user=root"], check=False)
        wait_until(lambda: not private_slurm.jobs(self.folder))


@dataclass(frozen=True)
class Queued:
    """A signed campaign whose compute steps go to a queue. snakemake: words that start it, after Python."""

    campaign: toy.Campaign
    profile: str
    words: tuple[str, ...] = ()
    snakemake: tuple[str, ...] = ("-m", "snakemake")

    def start(self, *targets: str) -> subprocess.Popen:
        """Start `snakemake --profile`, in a process group of its own; what it says goes to `driver.log`."""
        root = self.campaign.root
        command = [sys.executable, *self.snakemake, "--profile", str(resource("profiles", self.profile))]
        command += ["--nocolor", *self.words, "--", *targets]
        with (root / "driver.log").open("a") as log:
            return subprocess.Popen(command, cwd=root, stdout=log, stderr=subprocess.STDOUT, process_group=0)

    def run(self, *targets: str, patience_s: float = PATIENCE_S) -> int:
        """Run to the end; the exit code."""
        driver = self.start(*targets)
        try:
            return driver.wait(patience_s)
        finally:
            driver.kill()

    def run_local(self, *targets: str) -> int:
        """Run to the end without a queue, as the profile `local` does; the exit code."""
        done = self.campaign.snakemake("--", *targets)
        (self.campaign.root / "driver.log").write_text(done.stdout)
        return done.returncode

    @property
    def said(self) -> str:
        """All that the drivers said."""
        return (self.campaign.root / "driver.log").read_text()


def wait_until(condition: Callable, patience_s: float = PATIENCE_S):
    """What `condition` returns, as soon as it is true."""
    deadline = time.monotonic() + patience_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)
    return found


@pytest.fixture(scope="session")
def private(tmp_path_factory):
    if not private_slurm.AVAILABLE:
        pytest.skip(private_slurm.REASON)
    folder = tmp_path_factory.mktemp("slurm")
    with private_slurm.running(folder) as settings:
        yield Slurm(folder, settings)


@pytest.fixture
def slurm(private, monkeypatch):
    """The Slurm, with nothing in its queue and its commands on PATH."""
    private.empty()
    for name, value in private.settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return private


@pytest.fixture
def of_campaign(slurm, tmp_path, monkeypatch):
    """Make a signed campaign of the test data, changed by (old, new) pairs, for a profile."""

    def make(name: str, *changes: tuple[str, str], profile: str = "slurm", words=tuple(FAST), **more) -> Queued:
        campaign = toy.campaign(tmp_path, monkeypatch, name)
        monkeypatch.setenv("PATH", f"{slurm.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
        (campaign.root / "Snakefile").write_text(
            resource("campaign", "templates", "new", "Snakefile").read_text(encoding="utf-8")
        )
        default = campaign.root / "profiles" / "default"
        default.mkdir(parents=True)
        (default / "config.v8+.yaml").write_text(resource("profiles", "default", "config.v8+.yaml").read_text())
        for old, new in changes:
            campaign.edit(old, new)
        campaign.sign()
        return Queued(campaign, profile, words, **more)

    return make
