"""One task of a served agent: its folder, and the process in which the agent works on it.

    request.json            what is asked, of which package
    inputs/<role>/<file>    what the caller sent
    tries.jsonl             one line for each time that it was begun, or ended in good order with the server
    answer.json             the typed answer, with the files that belong to it beside; or failure.json
    scratch/agents/serve/   where tools work

Laid out as the folder of a campaign, so that agents, tools, audit and ledger are at home in it. The process is forked
from a clean one that has imported what all of them need: a start costs no import.
"""

import asyncio
import contextlib
import mimetypes
import multiprocessing
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from sophron.agentbuild import aud
from sophron.agentbuild.release import message_inputs, package
from sophron.agentbuild.release.message_inputs import Given
from sophron.agentbuild.release.package import ITSELF, MODELS, Package
from sophron.agents.documents.answers import AgentError
from sophron.agents.step import agent_step, step_wiring
from sophron.campaign.planning import campaign_agents
from sophron.interfaces.sandbox import Grant
from sophron.records import clock, documents
from sophron.records.errors import UserError
from sophron.records.files import FileLock, append_json_line, read_json_lines, write_bytes, write_json
from sophron.sandbox import kernel_limits

STEP = "serve"
REQUEST, ANSWER, FAILURE, TRIES = "request.json", "answer.json", "failure.json", "tries.jsonl"
MOST_TRIES = 3
BEGAN, GIVEN_BACK = "began", "given back"
RESULT_BYTES = 16_000_000


def prepare(package: Package, folder: Path, given: Sequence[Given]) -> None:
    """Make the folder of a task; it is whole or absent."""
    draft = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    roles = {}
    for one in given:
        home = draft / "inputs" / one.role
        home.mkdir(parents=True)
        for name, content in one.files.items():
            (home / name).write_bytes(content)
        roles[one.role] = {"kind": one.kind, "files": sorted(one.files)}
    write_json(draft / REQUEST, {"package": package.digest, "inputs": roles})
    draft.replace(folder)


def begin(package: Package, folder: Path) -> str | None:
    """Note one more try. Why it cannot be begun, one sentence; None if it can."""
    if not (folder / REQUEST).is_file():
        return "what was asked is lost; send it again"
    if documents.load_json(folder / REQUEST)["package"] != package.digest:
        return "another version of the agent is served now; send the message again"
    tries, _ = read_json_lines(folder / TRIES)
    if sum({BEGAN: 1, GIVEN_BACK: -1}[one["event"]] for one in tries) >= MOST_TRIES:
        return f"the server ended {MOST_TRIES} times while it ran; send a smaller request"
    append_json_line(folder / TRIES, {"time": clock.isoformat(), "event": BEGAN}, sync=True)
    return None


def give_back(folder: Path) -> None:
    """Take back the last try, which was ended in good order and does not count."""
    append_json_line(folder / TRIES, {"time": clock.isoformat(), "event": GIVEN_BACK}, sync=True)


def run(package: Package, folder: Path) -> None:
    """Let the agent answer; afterwards answer.json or failure.json is there. A kept answer is used again."""
    with FileLock(folder / "task.lock"):
        (folder / FAILURE).unlink(missing_ok=True)
        try:
            work = _step(package, folder)
            limits = work.agent.front["limits"]
            envelope = {"model_calls": limits["calls"], "tokens": limits["tokens"], "dollars": limits["dollars"]}
            step_wiring.run_step(work, envelope, _spec(package))
        except AgentError as failure:
            fail(folder, failure.kind, failure.reason)
        except UserError as error:
            fail(folder, "refused", str(error))


def fail(folder: Path, kind: str, reason: str) -> None:
    """Note how a task failed. No path of this machine goes out with it."""
    write_json(folder / FAILURE, {"kind": kind, "reason": reason.replace(f"{folder}/", "")})


def results(folder: Path, answer: Mapping[str, Any]) -> list[tuple[str, str, bytes]]:
    """Return the files that belong to the answer, which lie beside it: name, media type, content.

    Too large ones stay here.
    """
    found = []
    for about in answer.get("files", {}).values():
        path = folder / about["file"]
        if path.stat().st_size <= RESULT_BYTES:
            media = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            found.append((path.name, media, path.read_bytes()))
    return found


def _spec(package: Package) -> Mapping[str, Any]:
    return {"agents": package.manifest.models["agent"]}


def _step(package: Package, folder: Path) -> agent_step.AgentStep:
    aud.copy(package.aud.folder, folder)
    if MODELS in package.manifest.files:
        write_bytes(folder / MODELS, (package.folder / MODELS).read_bytes())
    agent = package.aud.agent
    asked = documents.load_json(folder / REQUEST)["inputs"]
    files: dict[str, Path] = {}
    told = package.aud.provided
    if ITSELF in agent.front["inputs"]:
        files[ITSELF] = told[ITSELF] = folder / "inputs" / f"{ITSELF}.json"
        write_json(files[ITSELF], aud.packed(package.aud.folder))
    for role, about in asked.items():
        home = folder / "inputs" / role
        files[role] = home if about["kind"] == "folder" else home / about["files"][0]
        told[role] = message_inputs.value(about["kind"], files[role])
    digest = agent.digest(campaign_agents.chosen(_spec(package), agent.name))
    return agent_step.AgentStep(folder, STEP, agent, digest, told, folder / ANSWER, files)


FILE_MB = 500
LOG = "worker.log"
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, "jsonschema", "yaml", "rfc8785"])


def start(where: Path, folder: Path) -> ForkServerProcess:
    """Begin the task in `folder` with the package in `where`, in a process group of its own."""
    process = _FORKS.Process(target=_run, args=(where.absolute(), folder.absolute()), daemon=True)
    process.start()
    return process


async def wait(process: ForkServerProcess) -> int:
    """Return its exit code, when it has ended."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)
    process.join()
    return process.exitcode or 0


def kill(process: ForkServerProcess) -> None:
    """End it and all that it started."""
    if process.is_alive() and process.pid:
        with contextlib.suppress(ProcessLookupError):  # it has no group yet
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()


def _run(where: Path, folder: Path) -> None:
    os.setsid()
    kernel_limits.apply(kernel_limits.wanted(Grant(folder, file_mb=FILE_MB)))
    kernel_limits.die_with_parent()  # of which it was forked, and which ends with the server
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.chdir(folder)
    run(package.load(where), folder)
