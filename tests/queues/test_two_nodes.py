"""MPI ranks of one step on two nodes of a real Slurm, both of which are this machine; what is refused before that."""

import re

import private_slurm
import pytest
from conftest import Slurm
from toy import DATA

from sophron import cli

pytestmark = pytest.mark.queues


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


def test_a_run_without_a_queue_has_one_node(of_campaign):
    queued = of_campaign("smoke", of_shape("relax", "nodes: 2, ranks: 2"))
    assert queued.run_local("results/relax/0/outcome.json") == 0, queued.said


def test_ranks_that_cannot_be_shared_out_evenly_are_refused(of_campaign, capsys):
    queued = of_campaign("smoke")
    queued.campaign.edit(*of_shape("build", "nodes: 2, ranks: 1"))
    assert cli.main(["review", str(queued.campaign.root)]) == 2
    assert "1 MPI ranks cannot be shared out evenly to 2 nodes; change one of them" in capsys.readouterr().err
