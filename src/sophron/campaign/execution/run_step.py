"""One compute step from start to outcome: approval, lock, scratch, engine, outcome, results put in place.

A step works in `scratch/<definition digest>/<step>/`, which survives kills; it leaves a typed outcome whatever the
engine did, and it never computes twice what stands finished in its scratch for the same definition and inputs.
"""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sophron import __version__
from sophron.campaign.execution import campaign_lock, environment_faults, outcome_store, tries
from sophron.campaign.planning import host_plan
from sophron.campaign.spec.resource_requests import Mechanical, overlaid
from sophron.campaign.spec.spec import Spec, cores_of, load_signed
from sophron.campaign.state.projector import project
from sophron.interfaces.kind import (
    EngineFailure,
    EnvironmentFailure,
    StageKind,
    StepContext,
    StepResult,
    Wildcards,
)
from sophron.records import approvals, clock, documents, events, process_identity, terminal, typed_json
from sophron.records.digests import digest, file_digest, step_name
from sophron.records.errors import Refused, UserError
from sophron.records.files import FileLock, place, write_json
from sophron.records.typed_json import to_json

OUTCOME_NAME = "outcome.json"
DONE_NAME = "done.json"
CUT_OFF = "its process was killed, or could not write how it ended"
KEY_NAME = "key.json"
ROOM_NAME, ROOM_BYTES = "room", 1 << 17
StageFunction = Callable[[StepContext], StepResult]
NEXT = {
    "retry": "it is tried again with more",
    "short": "no further try may have more: let sophron run choose another signed value, or sign more: sophron amend",
    "environment": environment_faults.REMEDY,
}
"""Ends of a try that leave no outcome, and what comes next."""
# A login shell knows `module` wherever a site has it; the names are arguments and never part of the script.
MODULE_SCRIPT = 'command -v module >/dev/null || { echo "there is no command module here" >&2; exit 1; }; \
module load "$@" >&2 && env -0'


@dataclass(frozen=True)
class Order:
    """What a step was called with. outcome: where its outcome belongs, the other outputs beside it."""

    claim: approvals.Claim
    gate: Path
    outcome: Path
    log: Path | None = None


@dataclass(frozen=True)
class Key:
    """`key.json` in a scratch folder: what the work there is for. None in one that a kill left empty."""

    key: str | None = None


@dataclass(frozen=True)
class Done(Key):
    """`done.json` in a scratch folder: how the work there ended, and the digest of its outcome."""

    status: str = ""
    outcome: str = ""


@dataclass(frozen=True)
class _Work:
    """A step that may run. stage: a stage, or a part of one in the form of a stage."""

    order: Order
    root: Path
    spec: Spec
    stage: StageKind
    upstream: Mapping[str, list[outcome_store.Finished]]
    previous: Mapping[str, list[outcome_store.Finished]]
    scratch: Path

    @property
    def step(self) -> str:
        return step_name(self.stage.name, self.wildcards)

    @property
    def wildcards(self) -> Wildcards:
        return self.order.claim.wildcards

    @property
    def about(self) -> dict[str, Any]:
        """What every event of this step says."""
        return {"step": self.step, "stage": self.spec.owner(self.stage.name), "wildcards": dict(self.wildcards)}

    @cached_property
    def inputs(self) -> dict[str, str]:
        """Step name -> digest of its outcome, for everything this step builds on."""
        built_on = (*self.upstream.values(), *self.previous.values())
        made = {name: file_digest(path, missing_ok=True) for name, path in self.host_files.items()}
        return {one.step: one.digest for found in built_on for one in found} | made

    @cached_property
    def host_files(self) -> dict[str, Path]:
        """Files of the host that it reads: path relative to where Snakemake runs, which is here -> the same."""
        return host_plan.files_read(self.root, self.stage, Path())

    @property
    def key(self) -> str:
        """Content key of the result: definition, inputs and seed, whatever the machine."""
        seed = self.spec.seed(self.stage.name, self.wildcards)
        return digest([self.order.claim.digest, self.inputs, seed])


def execute(order: Order, function: Callable[[str], StageFunction]) -> int:
    """Run one step. function: loads the stage's function from its name. The exit code of the step.

    0 with an outcome, done or failed; 1 if more memory or time, or a repair of the machine, can cure the failure.
    Raises Refused, UserError.
    """
    try:
        return _execute(order, function)
    except OSError as error:
        lacking = environment_faults.lacking(error)
        if lacking is None:
            raise
        raise UserError(f"{_name(order)}: {lacking}; {environment_faults.REMEDY}") from error


def _execute(order: Order, function: Callable[[str], StageFunction]) -> int:
    root = approvals.campaign_root(order.gate)
    try:
        work = _prepare(order, approvals.require_approved(order.claim, root))
    except Refused as error:
        events.append(root, "sophron", "refused", step=_name(order), reason=str(error))
        raise
    with FileLock(root / campaign_lock.STEPS_LOCK, shared=True), campaign_lock.step_scratch(work.scratch):
        if _stands_finished(work):
            tries.close_open(root, work.scratch, work.about, tries.Ending("done"))
            events.append(root, "sophron", "step_ended", **work.about, status="done", reason="it stood finished")
        else:
            _set_aside_foreign(work)
            code = _try(work, function)
            if code != 0:
                return code
        _publish(work)
    return 0


def _name(order: Order) -> str:
    return step_name(order.claim.stage, order.claim.wildcards)


def _prepare(order: Order, approval: approvals.Approval) -> _Work:
    root, spec = approval.root, load_signed(approval)
    stage = spec.unit(order.claim.stage)
    if spec.definition_digest(stage.name) != order.claim.digest:
        raise Refused(f"{_name(order)}: campaign.yaml has another definition of {stage.name}; use the rule as it is")
    upstream = outcome_store.upstream(root, spec, stage, order.claim.wildcards)
    previous = outcome_store.previous(root, spec, stage, order.claim.wildcards)
    scratch = root / "scratch" / order.claim.digest[:16] / _name(order)
    return _Work(order, root, spec, stage, upstream, previous, scratch)


def _is_done(work: _Work) -> bool:
    done = work.scratch / DONE_NAME
    # A failed outcome stands as evidence, not as a result: whoever runs the step again wants it tried again.
    if not done.is_file():
        return False
    noted = typed_json.load(done, Done)
    return (noted.key, noted.status) == (work.key, outcome_store.DONE)


def _stands_finished(work: _Work) -> bool:
    """Whether the result is there, byte for byte: its files may be links of published ones that somebody edited."""
    if not _is_done(work):
        return False
    outcome = work.scratch / "finished" / OUTCOME_NAME
    try:
        content = typed_json.load(outcome, outcome_store.Outcome)
    except UserError:  # a purge of the scratch folder took it, or it is not an outcome any more
        return False
    if file_digest(outcome) != typed_json.load(work.scratch / DONE_NAME, Done).outcome:
        return False
    return all(outcome_store.stands(outcome.with_name(entry.file), entry) for entry in content.files.values())


def _set_aside_foreign(work: _Work) -> None:
    """Scratch left by the same definition on other inputs is not a start for this step: keep it, out of the way."""
    note = work.scratch / KEY_NAME
    if note.is_file() and typed_json.load(note, Key).key != work.key:
        folder = work.scratch.with_name(f"{work.scratch.name}.set-aside-{time.time_ns()}")
        work.scratch.rename(folder)
        work.scratch.mkdir()
    write_json(note, to_json(Key(work.key)))


def _try(work: _Work, function: Callable[[str], StageFunction]) -> int:
    tries.close_open(work.root, work.scratch, work.about, tries.Ending("killed", CUT_OFF))
    folder, claim = tries.new(work.root, work.step), work.order.claim
    me = process_identity.identity()
    marker = os.environ.get("DPDISP_DONE")  # set by the dpdispatcher executor for what it dispatches
    dispatched = {} if marker is None else {"marker": os.path.relpath(marker, work.root)}
    opened = tries.Try(
        step=work.step,
        started=clock.isoformat(),
        cores=claim.cores,
        runtime_min=claim.runtime_min,
        digest=claim.digest,
        engine=work.spec.engine(work.stage.name),
        placement=process_identity.placement(),
        **me,
    )
    write_json(folder / tries.NAME, to_json(opened))
    log = os.path.relpath(folder, work.root)
    about = work.about
    details = {"rule": claim.rule, "try": int(folder.name), "digest": claim.digest}
    events.append(work.root, "sophron", "step_started", **about, **details, **me, **dispatched, log=log)
    project(work.root)
    # Room for the last word of this try: a disk that fills up meanwhile would keep it from being written.
    (room := work.scratch / ROOM_NAME).write_bytes(bytes(ROOM_BYTES))
    begun, status = time.monotonic(), "crashed"
    reason: str | None = "its process was interrupted"
    try:
        status, reason = _attempt(work, function, folder)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise
    finally:
        room.unlink(missing_ok=True)
        wall_s = time.monotonic() - begun
        measured = {"wall_s": round(wall_s, 3), "peak_memory_mb": tries.peak_memory_mb()}
        tries.end(work.root, folder, about, claim.cores * wall_s, tries.Ending(status, reason, measured))
    if status in NEXT:
        terminal.say(f"{work.step}: {reason}; {NEXT[status]}")
    return int(status in NEXT)


def _attempt(work: _Work, function: Callable[[str], StageFunction], folder: Path) -> tuple[str, str | None]:
    """Run the stage's function; how it ended and why. A fault in our own code is raised."""
    try:
        return _carried_out(work, function, folder)
    except (OSError, ImportError) as error:
        lacking = environment_faults.lacking(error)
        if lacking is None:
            raise
        return "environment", lacking


def _carried_out(work: _Work, function: Callable[[str], StageFunction], folder: Path) -> tuple[str, str | None]:
    context = _context(work, folder)
    try:
        load_modules(_mechanical(work).modules)
        made = function(work.stage.run)(context)
    except (EnvironmentFailure, UserError) as failure:
        return "environment", str(failure)
    except EngineFailure as failure:
        if failure.curable_by:
            return "retry" if failure.curable_by in context.may_grow else "short", failure.reason
        full = environment_faults.unwritable(work.scratch)
        if full:
            return "environment", f"{failure.reason} ({full})"
        _write_outcome(work, StepResult(result={}), failure.reason)
        return "failed", failure.reason
    _write_outcome(work, made, None)
    return "done", None


def load_modules(names: Sequence[str]) -> None:
    """Load environment modules (or Lmod's) into this process, for its engines. EnvironmentFailure if one fails."""
    if not names:
        return
    command = ["bash", "-l", "-c", MODULE_SCRIPT, "bash", *names]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = " ".join(done.stderr.split())
    # Older versions of Environment Modules report an error and exit with 0.
    if done.returncode != 0 or "ERROR" in done.stderr or "Unable to locate" in done.stderr:
        raise EnvironmentFailure(f"the environment modules {', '.join(names)} could not be loaded ({said[:300]})")
    changed = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if "=" in entry)
    os.environ.update(
        {key: value for key, value in changed.items() if not key.startswith(("BASH_FUNC_", "_", "SHLVL"))}
    )


def _mechanical(work: _Work) -> Mechanical:
    return overlaid(work.spec.mechanical_block(work.stage.name), work.stage.name, work.root)


def _context(work: _Work, folder: Path) -> StepContext:
    mechanical = _mechanical(work)
    cores = cores_of(mechanical)
    if cores.total > work.order.claim.cores:  # fewer cores were given than the stage may have (`snakemake -c`)
        cores = replace(cores, ranks=min(cores.ranks, work.order.claim.cores), threads=1, nodes=1)
    return StepContext(
        stage=work.stage.name,
        wildcards=work.wildcards,
        definition=work.spec.definition(work.stage.name),
        upstream=outcome_store.as_upstream(work.upstream),
        previous=outcome_store.as_upstream(work.previous),
        workdir=work.scratch,
        log_dir=folder,
        seed=work.spec.seed(work.stage.name, work.wildcards),
        cores=cores,
        memory_mb=work.order.claim.memory_mb,
        runtime_min=work.order.claim.runtime_min,
        unsandboxed_fragments=mechanical.unsandboxed_fragments,
        spec_seed=work.spec.data["seed"],
        files=work.host_files,
        may_grow=mechanical.may_grow(work.order.claim.memory_mb, work.order.claim.runtime_min),
    )


def _write_outcome(work: _Work, result: StepResult, reason: str | None) -> None:
    """Write the typed outcome. It holds no clock, host or path: equal inputs give equal bytes."""
    files: dict[str, outcome_store.OutputFile] = {}
    for name, file_name in work.stage.outputs.items():
        path = result.files.get(name, work.scratch / file_name)
        if reason is not None:
            path = work.scratch / f"{file_name}.absent"
            path.write_bytes(b"")
        files[name] = outcome_store.OutputFile(file_name, file_digest(path), path.stat().st_size)
        place(path, work.scratch / "finished" / file_name)
    outcome = outcome_store.Outcome(
        stage=work.stage.name,
        wildcards=work.wildcards,
        status=outcome_store.DONE if reason is None else "failed",
        reason=reason,
        definition_digest=work.order.claim.digest,
        inputs=work.inputs,
        seed=work.spec.seed(work.stage.name, work.wildcards),
        result=dict(result.result),
        files=files,
        tools={"sophron": __version__, **result.tools},
    )
    path = work.scratch / "finished" / OUTCOME_NAME
    if reason is None:
        documents.validate(documents.Document(outcome.result, path), work.stage.schema, "result")
    write_json(path, to_json(outcome))
    write_json(work.scratch / DONE_NAME, to_json(Done(work.key, outcome.status, file_digest(path))))


def _publish(work: _Work) -> None:
    """Link the finished files into place, the outcome last; a kill in between loses nothing."""
    target = Path.cwd() / work.order.outcome
    finished = work.scratch / "finished"
    for file_name in work.stage.outputs.values():
        place(finished / file_name, target.parent / file_name)
    place(finished / OUTCOME_NAME, target)
    outcome_store.publish(work.root, work.step, target)
    if _is_done(work):
        _tidy(work.scratch)


def _tidy(scratch: Path) -> None:
    """Keep of a finished step's scratch what a repeated call would publish; restart files and segments go."""
    for path in scratch.iterdir():
        if path.name in ("finished", DONE_NAME, KEY_NAME):
            continue
        with contextlib.suppress(OSError):  # the result is published: what cannot be removed is only in the way
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
