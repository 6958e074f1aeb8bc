"""One agent step from approval to answer: digest, inputs, conversation, guards, and the typed answer put in place."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.agents.documents.answers import CITED_ROLE, OWN, AgentError, AnswerRecord
from sophron.agents.documents.model_request import request
from sophron.agents.step import conversation, conversation_journal
from sophron.agents.step.conversation import Answered, Tools, converse
from sophron.agents.step.conversation_journal import Journal
from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import AnswerFailure, OutputFile
from sophron.campaign.planning.campaign_agents import AgentFile
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Request, Response, Tool, ToolAnswer, ToolCall
from sophron.records import documents, events
from sophron.records.digests import digest, file_digest
from sophron.records.errors import UserError
from sophron.records.files import FileLock, move, place, write_bytes, write_json
from sophron.records.typed_json import from_json, to_json

if TYPE_CHECKING:
    from sophron.agents.tools.literature_web import Web

ANSWER_NAME, KEY_NAME, LEFT = "answer.json", "answer.key.json", "left"
NOBODY = "none"
LARGEST_BYTES = 64 * 1024**2
"""Of a file that tools leave."""
Ask = Callable[[Request], Response]
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, UserError)


@dataclass(frozen=True)
class AgentStep:
    """What an agent step needs to know. digest: of the agent; inputs: by role; answer: where its answer belongs.

    files: role -> file or folder that its tools may read; may_fail: whether a failure of the agent's own doing is kept
    in the place of its answer; dispensable: whether any failure is, until it is asked again; web: its web searches,
    where they are granted.
    """

    root: Path
    step: str
    agent: AgentFile
    digest: str
    inputs: JsonObject
    answer: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    may_fail: bool = False
    dispensable: bool = False
    web: "Web | None" = None

    @property
    def folder(self) -> Path:
        """Its folder below `records/`."""
        return outcome_store.record_folder(self.root, self.step)

    @property
    def scratch(self) -> Path:
        """Where its tools may write."""
        return outcome_store.named(self.root / "scratch" / "agents", self.step)

    @property
    def input_digests(self) -> dict[str, str]:
        """Role -> digest of what the agent was told."""
        return {role: _input_digest(role, value) for role, value in sorted(self.inputs.items())}


def _input_digest(role: str, value: Any) -> str:
    """Return the digest of an input. A folder is granted, not told: what its agent reads there is in the audit."""
    if isinstance(value, Path):
        return digest(["folder", role]) if value.is_dir() else file_digest(value)
    return digest(value)


def run(
    work: AgentStep,
    ask: Ask,
    *,
    tools: Tools | None = None,
    again: bool = False,
    finish: Callable[[], None] = lambda: None,
) -> None:
    """Ask, unless a kept answer to the same agent and inputs is there; put the answer into place.

    again: ask even so (a replay); finish: called when the conversation has ended, before what tools left is kept.
    Raises AgentError; nothing that was not validated is written.
    """
    work.folder.mkdir(parents=True, exist_ok=True)
    with FileLock(work.folder / "answer.lock"):
        kept, key = work.folder / ANSWER_NAME, digest([work.digest, work.input_digests])
        if again or not _is_kept(work, key):
            journal = _journal(work, key, again=again)
            record = _ask(work, ask, tools, journal, finish)
            documents.validate(documents.Document(to_json(record), work.answer), "agent-answer")
            write_json(kept, to_json(record))
            write_json(work.folder / KEY_NAME, {"key": key, "answer": file_digest(kept)})
            if journal:
                journal.close()
        for entry in (_read_record(kept).files or {}).values():
            place(work.folder / LEFT / entry.file, work.answer.with_name(entry.file))
        place(kept, work.answer)
        outcome_store.publish(work.root, work.step, work.answer)


def _is_kept(work: AgentStep, key: str) -> bool:
    """Return whether the answer is there; a failure in its place is one only where it is the agent's own."""
    folder = work.folder
    note, kept = folder / KEY_NAME, folder / ANSWER_NAME
    if not note.is_file() or not kept.is_file():
        return False
    record = _read_record(kept)
    if work.dispensable and record.failure is not None:
        return False
    whole = all(_is_whole(folder / LEFT / entry.file, entry.sha256) for entry in (record.files or {}).values())
    return whole and bool(documents.load_json(note) == {"key": key, "answer": file_digest(kept)})


def _read_record(path: Path) -> AnswerRecord:
    return from_json(AnswerRecord, documents.load_record(path))


def _is_whole(path: Path, sha256: str) -> bool:
    return path.is_file() and file_digest(path) == sha256


def _journal(work: AgentStep, key: str, *, again: bool) -> Journal | None:
    """Return the journal of an agent that goes on where a kill left it; a replay begins anew."""
    if not work.agent.front.get("resumes"):
        return None
    if again:
        (work.folder / conversation_journal.NAME).unlink(missing_ok=True)
    return Journal(work.folder, key, work.scratch)


def _ask(
    work: AgentStep, ask: Ask, tools: Tools | None, journal: Journal | None, finish: Callable[[], None]
) -> AnswerRecord:
    """Ask; the answer with what its tools left, or, where that may be, how an agent that was reached failed."""
    reached: list[Response] = []
    asked = journal.asking(ask) if journal else ask

    def remembered(request: Request) -> Response:
        reached[:] = [asked(request)]
        return reached[0]

    try:
        answer = _converse(work, remembered, tools, journal)
        finish()
        record = _record(work, answer.backend, answer.model)
        return replace(record, answer=dict(answer.answer), files=_keep_files(work) or None)
    except AgentError as failure:
        if not (work.dispensable or (work.may_fail and reached and failure.kind in OWN)):
            if journal and failure.kind in OWN:  # asked again, it begins anew
                journal.close()
            raise
        finish()
        who = (reached[0].backend, reached[0].model) if reached else (NOBODY, NOBODY)
        note = AnswerFailure(failure.kind, failure.reason)
        return replace(_record(work, *who), failure=note, files=_keep_files(work, whole=False) or None)


def _keep_files(work: AgentStep, *, whole: bool = True) -> dict[str, OutputFile]:
    """Return what the tools left, copied beside the answer's record: the next conversation begins in the same scratch.

    whole: whether all of it has to be there; of a failed agent a file that is not is empty, for its rule names it.
    """
    entries = {}
    for name, path in work.agent.front.get("keeps", {}).items():
        kept = work.folder / LEFT / Path(path).name
        try:
            content = read_artifact(work.scratch, name, path)
        except AgentError:
            if whole:
                raise
            content = b""
        write_bytes(kept, content)
        entries[name] = OutputFile(kept.name, file_digest(kept))
    return entries | _cited_works(work)


def read_artifact(scratch: Path, name: str, path: str) -> bytes:
    """Return what tools wrote to `path` below `scratch`, to be kept as `name`; no link out of it is followed.

    AgentError if it is not there, too large, or not a plain file.
    """
    from sophron.agents.tools import safe_open

    *folders, last = path.split("/")
    try:
        with safe_open.folder(scratch, folders) as parent, safe_open.regular(parent, last, one_name=True) as handle:
            if os.fstat(handle).st_size > LARGEST_BYTES:
                raise AgentError("tool", f"the tools left a {name} of more than {LARGEST_BYTES >> 20} MiB")
            with os.fdopen(os.dup(handle), "rb") as stream:
                return stream.read()
    except FileNotFoundError:
        raise AgentError("tool", f"there is an answer, but its tools left no {name}") from None
    except safe_open.OutsideError as refusal:
        raise AgentError("tool", f"the {name} that the tools left is refused: {refusal}") from None


def _cited_works(work: AgentStep) -> dict[str, OutputFile]:
    """Return the works that this agent was told of, and those that its own searches gave it."""
    works_given = work.inputs.get(CITED_ROLE, [])
    if not works_given and not (work.web and work.web.found):
        return {}
    from sophron.agents.tools import literature
    from sophron.agents.tools.literature import CitedWork

    works = [*(from_json(CitedWork, one) for one in works_given), *(work.web.found if work.web else [])]
    kept = literature.write_cited(works, work.folder / LEFT)
    return {CITED_ROLE: OutputFile(kept.name, file_digest(kept))}


class _Journalled:
    """Tools whose answers are in a journal."""

    def __init__(self, tools: Tools, journal: Journal) -> None:
        self._real, self._journal = tools, journal

    @property
    def tools(self) -> list[Tool]:
        return self._real.tools

    def call(self, call: ToolCall) -> ToolAnswer:
        return self._journal.calling(self._real.call, call)


def _converse(work: AgentStep, ask: Ask, tools: Tools | None, journal: Journal | None) -> Answered:
    if journal and tools:
        tools = _Journalled(tools, journal)
    first_request, begun = request(work.agent, work.step, work.inputs, tools.tools if tools else []), time.monotonic()
    events.append(work.root, "sophron", "agent_asked", step=work.step, agent=work.agent.name)
    try:
        answered = converse(
            first_request,
            ask,
            lambda answer: faults(work, answer),
            tools=tools,
            most_calls=work.agent.front["limits"]["calls"],
        )
    except AgentError as failure:
        fault = {"kind": failure.kind, "reason": failure.reason}
        events.append(work.root, "sophron", "agent_failed", step=work.step, agent=work.agent.name, **fault)
        raise
    who = {"backend": answered.backend, "model": answered.model, "calls": answered.calls}
    about = who | {"summary": conversation.summary(answered.answer), "wall_s": round(time.monotonic() - begun, 3)}
    events.append(work.root, "sophron", "agent_answered", step=work.step, agent=work.agent.name, **about)
    for found in _suspicious_text(answered.answer):
        about = {"agent": work.agent.name, "where": found["where"], "reason": found["text"]}
        events.append(work.root, "sophron", "suspicious_text", step=work.step, **about)
    return answered


def _suspicious_text(answer: JsonObject) -> list[dict[str, str]]:
    """Return what an agent reported of its inputs; nothing if its own schema means something else by that name."""
    told = answer.get("suspicious_text")
    return [
        {key: str(one[key]) for key in ("where", "text")}
        for one in (told if isinstance(told, list) else [])
        if isinstance(one, Mapping) and {"where", "text"} <= one.keys()
    ]


def faults(work: AgentStep, answer: Any) -> list[str]:
    """Return what speaks against an answer: its schema, and what the schema cannot say, since it is repaired once."""
    against = documents.faults(documents.Document(answer, Path("answer")), work.agent.schema_name)
    with suppress(*UNREADABLE if against else ()):  # in the wrong form, it may be that nothing more can be read in it
        against = [*against, *conversation.guardrail_faults(work.agent.name, work.inputs, answer)]
    return against


def _record(work: AgentStep, backend: str, model: str) -> AnswerRecord:
    """Return who was asked, and what it was told. No clock, no host, no path: a replay gives the same bytes."""
    return AnswerRecord(work.step, work.agent.name, work.digest, backend, model, work.input_digests)


def reask(root: Path, step: str) -> int:
    """Set the answer of a step aside, so that the next run asks again; the number under which it is kept."""
    from sophron.agents.gateway import mailbox_folder

    folder = outcome_store.record_folder(root, step)
    if not (folder / ANSWER_NAME).is_file():
        known = ", ".join(sorted(path.parent.name for path in folder.parent.glob(f"*/{ANSWER_NAME}"))) or "none yet"
        raise UserError(f"{step}: has no answer to set aside; steps with one: {known}")
    with FileLock(folder / "answer.lock"):
        number = len(list((folder / "set-aside").glob("[0-9]*"))) + 1
        kept = folder / "set-aside" / str(number)
        names = (*outcome_store.REPORT_NAMES, *outcome_store.beside(root, step))
        for path in (folder / ANSWER_NAME, folder / KEY_NAME):
            move(path, kept / path.name)
        mailbox_folder.withdraw(root, step)
        published = outcome_store.published(root, step)
        for path in [] if published is None else [published, *map(published.with_name, names)]:
            if path.exists():  # the report quotes it: without it, Snakemake would find nothing to do
                move(path, kept / f"published-{path.name}")
        events.append(root, "sophron", "reasked", step=step, number=number)
    return number
