import private_slurm
import pytest
from dispatched_workflow import Workflow


@pytest.fixture(autouse=True)
def _installed():
    pytest.importorskip("dpdispatcher")


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """Environment in which a real Slurm of one node is found."""
    if not private_slurm.AVAILABLE:
        pytest.skip(private_slurm.REASON)
    with private_slurm.running(tmp_path_factory.mktemp("slurm")) as settings:
        yield settings


@pytest.fixture
def workflow(tmp_path):
    one = Workflow(tmp_path)
    yield one
    one.end()
