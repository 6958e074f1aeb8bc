"""MPI ranks of one step on two nodes of a real Slurm, both of which are this machine; what is refused before that.

The same with the directives that the profile of PBS writes, whose commands are emulated on that Slurm.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import private_slurm
import pytest
from conftest import Slurm, wait_until
from toy import DATA

from sophron import cli

pytestmark = pytest.mark.queues

PBS = Path(__file__).parent / "golden" / "pbs-nodes.sh"
LIQUID = """\
units lj
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0
fix move all nve
run 50
"""


def of_shape(stage, shape):
    """The change of one stage of the campaign `smoke` to another shape, from its name to its last line."""
    text = (DATA / "smoke" / "campaign.yaml").read_text()
    old = re.search(rf"  {stage}:\n.*?choices: {{threads: \[1, 2\]}}", text, re.DOTALL)[0]
    return old, old.replace("ranks: 1, threads: 1", shape).replace("{threads: [1, 2]}", "{}")


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    if not private_slurm.AVAILABLE:
        pytest.skip(private_slurm.REASON)
    folder = tmp_path_factory.mktemp("two-nodes")
    with private_slurm.running(folder, nodes=2) as settings:
        yield Slurm(folder, settings)


def test_ranks_are_shared_out_to_the_nodes(of_campaign, slurm):
    queued = of_campaign("smoke", of_shape("produce", "nodes: 2, ranks: 2"))
    assert queued.run("results/produce/0/outcome.json") == 0, queued.said
    (log,) = (queued.campaign.root / "records").glob("produce-0/**/log.produce.lammps")
    assert "by 2 MPI processor grid" in log.read_text()
    assert [one["NodeCnt"] for one in private_slurm.completed(slurm.folder)].count("2") == 1
    logs = [(slurm.folder / "log" / f"slurmd.node{number}.log").read_text() for number in (0, 1)]
    assert all("launch task" in text for text in logs), "the starter asked Slurm for both nodes"


def test_ranks_are_shared_out_to_the_chunks_of_pbs(slurm, tmp_path, monkeypatch):
    folders = [Path(__file__).parent / "emulated_pbs", Path(sys.executable).parent]
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), os.environ["PATH"]]))
    header = [line for line in PBS.read_text().splitlines() if line.startswith("#PBS -l ")]
    assert header[:2] == ["#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=2:mem=16000mb", "#PBS -l place=scatter"]
    small = [
        header[0].replace("ncpus=4", "ncpus=1").replace("mpiprocs=2", "mpiprocs=1").replace("16000", "500"),
        header[1],
    ]
    (tmp_path / "in.lj").write_text(LIQUID)
    words = ["#!/bin/sh", *small, "#PBS -j oe", f"#PBS -o {tmp_path / 'said'}", "#PBS -v PATH", f"cd {tmp_path}"]
    script = tmp_path / "job.sh"
    script.write_text(
        "\n".join([*words, 'cp "$PBS_NODEFILE" nodes', "mpiexec -n 2 lmp -in in.lj -log log.lj; echo $? > code", ""])
    )
    counts = [launches(slurm.folder, number) for number in (0, 1)]
    subprocess.run(["qsub", script], check=True)
    wait_until((tmp_path / "code").exists)
    assert (tmp_path / "nodes").read_text().split() == ["node0", "node1"]
    assert "by 2 MPI processor grid" in (tmp_path / "log.lj").read_text(), (tmp_path / "said").read_text()
    assert all(launches(slurm.folder, number) > counts[number] for number in (0, 1)), "each node started a rank"


def launches(folder, number):
    return (folder / "log" / f"slurmd.node{number}.log").read_text().count("launch task")


def test_a_run_without_a_queue_has_one_node(of_campaign):
    queued = of_campaign("smoke", of_shape("relax", "nodes: 2, ranks: 2"))
    assert queued.run_local("results/relax/0/outcome.json") == 0, queued.said


def test_ranks_that_cannot_be_shared_out_evenly_are_refused(of_campaign, capsys):
    queued = of_campaign("smoke")
    queued.campaign.edit(*of_shape("build", "nodes: 2, ranks: 1"))
    assert cli.main(["review", str(queued.campaign.root)]) == 2
    assert "1 MPI ranks cannot be shared out evenly to 2 nodes; change one of them" in capsys.readouterr().err
