"""The packaged agent at work for callers: one process a task, bounded in number and time, resumed after a restart.

And the messages of the protocol: parts as inputs, what is kept of a message, how a failure reads. Imports the A2A SDK:
only modules that `a2a_server` imports, when it serves, import this one.
"""

import asyncio
import hashlib
import shutil
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, Task, TaskState, TaskStatus
from a2a.types import Part as WirePart
from google.protobuf.json_format import MessageToDict, ParseDict

from sophron.agentbuild.release import a2a_task, message_inputs
from sophron.agentbuild.release.message_inputs import Given, Part
from sophron.agentbuild.release.package import Package
from sophron.records import documents
from sophron.records.digests import canonical_bytes

GRACE_S = 30.0
"""What a process gets beyond the agent's own limit, in which the gateway ends by itself."""


@dataclass(frozen=True)
class Bounds:
    """Most that callers get.

    running: tasks at once; open: unfinished ones of a tenant; kept: finished ones of a tenant, the oldest go first.
    """

    running: int = 2
    open: int = 64
    kept: int = 500


@dataclass
class Job:
    """A task that is not finished."""

    tenant: str
    process: ForkServerProcess | None = None
    canceled: bool = False


class Executor(AgentExecutor):
    """Runs tasks of all tenants. home: folder below which each tenant has one, and each task one in that."""

    def __init__(self, package: Package, home: Path, bounds: Bounds) -> None:
        self._package = package
        self._home = home
        self._bounds = bounds
        self._slots = asyncio.Semaphore(bounds.running)
        self._jobs: dict[str, Job] = {}
        self._seconds = float(package.aud.agent.front["limits"]["seconds"]) + GRACE_S

    def folder(self, tenant: str, task: str) -> Path:
        """Return the folder of a task."""
        return self._home / tenant / task

    def is_open(self, task: str) -> bool:
        """Return whether a task is not finished."""
        return task in self._jobs

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Run one task to its end; every end that is not an answer is a status with a kind and a sentence."""
        tenant, task = context.call_context.user.user_name, str(context.task_id)
        updater = TaskUpdater(event_queue, task, str(context.context_id))
        full = sum(job.tenant == tenant for job in self._jobs.values()) >= self._bounds.open
        self._jobs[task] = job = Job(tenant)
        try:
            if context.current_task is None:
                await event_queue.enqueue_event(self._accepted(context, tenant, task, full=full))
                if full:
                    reason = f"{self._bounds.open} tasks of yours are open, the most; wait for one to end"
                    await updater.reject(failure_message(updater, "busy", reason))
                    return
            else:
                again = updater.new_agent_message([WirePart(text="taken up again after a restart of the server")])
                await updater.submit(again)
            async with self._slots:
                await updater.start_work()
                await self._worked(job, self.folder(tenant, task))
            if not job.canceled:
                await self._ended(updater, self.folder(tenant, task))
        finally:
            del self._jobs[task]

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """End the process of a task, and all that it started."""
        job = self._jobs.get(str(context.task_id))
        if job is not None:
            job.canceled = True
            if job.process is not None:
                a2a_task.kill(job.process)
        await TaskUpdater(event_queue, str(context.task_id), str(context.context_id)).cancel()

    def forget(self, tenant: str) -> list[str]:
        """Remove the folders of a tenant's oldest finished tasks beyond the bound; their ids."""
        home = self._home / tenant
        ended = [path for path in home.iterdir() if not self.is_open(path.name)] if home.is_dir() else []
        ended.sort(key=lambda path: path.stat().st_mtime)
        dropped = ended[: max(0, len(ended) - self._bounds.kept)]
        for path in dropped:
            shutil.rmtree(path, ignore_errors=True)
        return [path.name for path in dropped]

    def _accepted(self, context: RequestContext, tenant: str, task: str, *, full: bool) -> Task:
        """The task as callers see it from now on. What was sent is in its folder before anyone hears of it."""
        message = context.message
        if message is None:
            raise ValueError("a task begins with a message")
        if full:  # a folder, so that it is forgotten in its turn like all others
            self.folder(tenant, task).mkdir(parents=True)
        else:
            a2a_task.prepare(self._package, self.folder(tenant, task), read(message, self._package))
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        status.timestamp.GetCurrentTime()
        return Task(id=task, context_id=str(context.context_id), status=status, history=[slim(message)])

    async def _worked(self, job: Job, folder: Path) -> None:
        """Let the process of a task run to its end, or to the end of its time."""
        if (folder / a2a_task.ANSWER).is_file() or job.canceled:
            return
        refused = a2a_task.begin(self._package, folder)
        if refused:
            folder.mkdir(parents=True, exist_ok=True)
            a2a_task.fail(folder, "interrupted", refused)
            return
        job.process = a2a_task.start(self._package.folder, folder)  # not awaited: a cancellation cannot fall in between
        try:
            code = await asyncio.wait_for(a2a_task.wait(job.process), self._seconds)
            if code != 0:
                a2a_task.fail(folder, "died", f"the agent's process ended with {code}; the operator's log says more")
        except TimeoutError:
            a2a_task.fail(folder, "timeout", f"it took more than {self._seconds:g} s; send a smaller request")
        except asyncio.CancelledError:  # by its caller, or with the server: neither is the request's fault
            a2a_task.give_back(folder)
            raise
        finally:
            a2a_task.kill(job.process)

    async def _ended(self, updater: TaskUpdater, folder: Path) -> None:
        if not (folder / a2a_task.ANSWER).is_file():
            failure = documents.load_json(folder / a2a_task.FAILURE)
            await updater.failed(failure_message(updater, failure["kind"], failure["reason"]))
            return
        answer = documents.load_json(folder / a2a_task.ANSWER)
        part = ParseDict({"data": answer["answer"], "mediaType": "application/json"}, WirePart())
        about = {key: answer[key] for key in ("agent", "agent_digest", "backend", "model")}
        await updater.add_artifact([part], artifact_id="answer", name="answer", metadata=about)
        for name, media, content in a2a_task.results(folder, answer):
            file = WirePart(raw=content, filename=name, media_type=media)
            await updater.add_artifact([file], artifact_id=f"result-{name}", name=name)
        await updater.complete()


LONGEST_SHOWN = 2000


def read(message: Message, package: Package) -> list[Given]:
    """Return the inputs that a message holds. Raises message_inputs.MessageError."""
    return message_inputs.read([_plain(part) for part in message.parts], package.endpoint.inputs)


def slim(message: Message) -> Message:
    """Return a message as its task keeps it: files by name, size and digest, long text by its beginning."""
    kept = Message()
    kept.CopyFrom(message)
    for part in kept.parts:
        content = _plain(part).content
        if not part.HasField("raw") and len(content) <= LONGEST_SHOWN:
            continue
        digest = hashlib.sha256(content).hexdigest()
        part.text = f"[{len(content)} bytes, sha256 {digest}]"
        part.media_type = "text/plain"
    return kept


def failure_message(updater: TaskUpdater, kind: str, reason: str) -> Message:
    """Return how a task failed: one sentence for people, and the same with its kind for programs."""
    typed = ParseDict({"data": {"kind": kind, "reason": reason}, "mediaType": "application/json"}, WirePart())
    return updater.new_agent_message([WirePart(text=f"{reason} ({kind})"), typed])


def _plain(part: WirePart) -> Part:
    role = MessageToDict(part.metadata).get("role", "")
    return Part(role if isinstance(role, str) else "", part.filename, part.media_type, _content(part))


def _content(part: WirePart) -> bytes:
    kind = part.WhichOneof("content")
    if kind == "raw":
        return bytes(part.raw)
    if kind == "text":
        return str(part.text).encode()
    if kind == "data":
        try:
            return canonical_bytes(MessageToDict(part.data))
        except ValueError:
            raise message_inputs.MessageError("a part holds a number that JSON cannot hold; correct it") from None
    raise message_inputs.MessageError(
        "a part is neither text, data nor a file; addresses are not fetched, send the file itself"
    )
