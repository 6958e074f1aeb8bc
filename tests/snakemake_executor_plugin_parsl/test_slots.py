"""Sizes of slots, and sentences for jobs that no block holds."""

from types import SimpleNamespace

import pytest
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_executor_plugin_parsl.slots import Block, slot_of

BLOCK = Block(cores=8, memory_mb=16000, gpus=2, walltime_min=60)


def slot(threads=1, **resources):
    return slot_of(SimpleNamespace(name="step", threads=threads, resources=resources), BLOCK)


@pytest.mark.parametrize(
    ("wanted", "label", "workers"),
    [
        ({}, "cpu-1", 8),
        ({"threads": 2}, "cpu-2", 4),
        ({"threads": 3}, "cpu-4", 2),
        ({"threads": 5}, "cpu-8", 1),
        ({"mem_mb": 4001}, "cpu-4", 2),
        ({"tasks": 4}, "cpu-4", 2),
        ({"tasks": 2, "cpus_per_task": 3}, "cpu-8", 1),
        ({"gpu": 1}, "gpu-1", 2),
        ({"gpu": 2}, "gpu-2", 1),
        ({"gpu": 1, "threads": 8}, "gpu-1", 1),
    ],
)
def test_cores_memory_and_gpus_decide(wanted, label, workers):
    found = slot(**wanted)
    assert (found.label, found.workers) == (label, workers)
    assert found.cores * found.workers <= BLOCK.cores


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"threads": 9}, "threads=9, but a block has 8; raise --parsl-cores"),
        ({"mem_mb": 16001}, "raise --parsl-memory-mb"),
        ({"gpu": 3}, "raise --parsl-gpus"),
        ({"runtime": 61}, "raise --parsl-walltime-min"),
        ({"nodes": 2}, "a block is one node"),
    ],
)
def test_what_no_block_holds_is_refused_in_a_sentence(wanted, told):
    with pytest.raises(WorkflowError, match=told):
        slot(**wanted)
