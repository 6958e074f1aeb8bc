"""Runs Snakemake with a stand-in for Globus's cloud: what the service would carry goes straight to a real engine.

The function and its order are packed by the SDK's own serializer into the service's own Task message, run by a real
GlobusComputeEngine with a local provider, and come back as its Result message. Left out, and so not shown by these
tests: authentication, registering functions, the service's queues, limits and retries, and endpoints elsewhere.

Run as: python cloud_stand_in.py FOLDER SNAKEMAKE-ARGUMENTS...
An endpoint goes on when a run has ended: this one does for as many seconds as ENDPOINT_STAYS_S says.
"""

import os
import sys
import time
import uuid
from concurrent.futures import Future
from pathlib import Path

import globus_compute_sdk
from globus_compute_common import messagepack
from globus_compute_common.messagepack.message_types import Result, Task
from globus_compute_endpoint.engines import GlobusComputeEngine
from globus_compute_endpoint.engines.base import GCFuture
from globus_compute_sdk.errors import TaskExecutionFailed
from globus_compute_sdk.serialize import ComputeSerializer
from parsl.providers import LocalProvider

ENGINES = []


class CloudStandIn:
    """In place of `globus_compute_sdk.Executor`, for one endpoint id."""

    def __init__(self, endpoint_id, label):
        self.serializer = ComputeSerializer()
        self.engine = GlobusComputeEngine(
            address="127.0.0.1",
            max_workers_per_node=2,
            provider=LocalProvider(),
            job_status_kwargs={"strategy_period": 1},
        )
        run_dir = FOLDER / f"engine-{len(ENGINES)}-{endpoint_id[:8]}"
        run_dir.mkdir(parents=True)
        self.engine.start(endpoint_id=uuid.UUID(endpoint_id), run_dir=str(run_dir))
        ENGINES.append(self.engine)

    def submit(self, function, *args, **kwargs):
        """As the SDK packs it and as the endpoint unpacks it."""
        task = uuid.uuid4()
        parts = [self.serializer.serialize(one) for one in (function, args, kwargs)]
        packed = messagepack.pack(Task(task_id=task, task_buffer=self.serializer.pack_buffers(parts)))
        future, answered = Future(), GCFuture(gc_task_id=task)
        answered.add_done_callback(lambda done: self._answer(future, messagepack.unpack(done.result())))
        self.engine.submit(answered, packed, {})
        return future

    def _answer(self, future: Future, result: Result) -> None:
        if result.is_error:
            future.set_exception(TaskExecutionFailed(result.data))
        else:
            future.set_result(self.serializer.deserialize(result.data))

    def shutdown(self, wait=True, cancel_futures=False):
        """The SDK's executor forgets; the endpoint goes on. Here it ends with the test."""


def end_engines():
    """The endpoints' end."""
    time.sleep(float(os.environ.get("ENDPOINT_STAYS_S", "0")))
    while ENGINES:
        ENGINES.pop().shutdown(block=False)


def main(arguments):
    """Snakemake, and the engines' end after it."""
    from snakemake.cli import main as snakemake

    try:
        snakemake(arguments)
    finally:
        end_engines()


if __name__ == "__main__":
    FOLDER = Path(sys.argv[1])
    globus_compute_sdk.Executor = CloudStandIn
    main(sys.argv[2:])
