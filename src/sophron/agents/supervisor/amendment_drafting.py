"""From the amend agent's answer to a draft on disk. It never signs; nothing changes before a person does."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sophron.agents.documents.answers import REMOVED, AmendAnswer
from sophron.campaign.approval import amend, amendment_journal, draft_check
from sophron.campaign.execution import campaign_lock
from sophron.campaign.spec import amendment_draft
from sophron.campaign.spec.amendment_draft import Draft
from sophron.campaign.spec.pitfalls import ProbeSpec
from sophron.campaign.state.projector import project
from sophron.records import events
from sophron.records.errors import UserError

MOST_ANSWERS = 2


class Offer(NamedTuple):
    """What is offered to a person. faults: why the draft could not be signed; why: the reason if there is no draft."""

    draft: Draft | None
    faults: Sequence[str] = ()
    why: str = ""


def offer(root: Path, ask: Callable[[Sequence[str]], AmendAnswer | None], probe: ProbeSpec) -> Offer:
    """Draft what the agent answers, and try it; its faults go back to the agent once.

    ask: gives the answer, told the faults of the one before. A second answer that is worse than the first, because it
    is not a spec, is not taken. Raises UserError if a person's draft waits.
    """
    best = Offer(None, why="the amend agent gave no answer")
    for _ in range(MOST_ANSWERS):
        answer = ask(best.faults)
        if answer is None or not answer.changes:
            best = best if best.draft or answer is None else Offer(None, why=answer.rationale)
            break
        tried = _tried(root, answer, probe, best.draft)
        best = tried if tried.draft or not best.draft else best
        if not best.faults:
            break
    if best.draft:
        _tell(root, best.draft)
    return best


def _tried(root: Path, answer: AmendAnswer, probe: ProbeSpec, own: Draft | None) -> Offer:
    """The draft of an answer, in the place of this agent's own earlier one, with its faults."""
    settings = [f"{one.path}={json.dumps(one.value)}" for one in answer.changes if one.value is not REMOVED]
    removed = [one.path for one in answer.changes if one.value is REMOVED]
    with campaign_lock.signing(root):
        amendment_journal.finish_locked(root)
        waits = amendment_draft.read(root)
        if waits is not None and (own is None or waits.changes != own.changes):
            raise UserError(f"{amend.told_waiting(waits)} and is not replaced by an agent's; sign it or drop it first")
        amendment_draft.drop(root)
        try:
            _leave_to_people(answer)
            drafted = amend.draft(root, answer.rationale, settings, removed=removed)
        except UserError as error:
            if own:
                own.write(root)
            return Offer(None, [str(error)], f"what the amend agent drafted cannot be a version: {error}.")
        return Offer(drafted, draft_check.amendment_faults(root, probe))


def _leave_to_people(answer: AmendAnswer) -> None:
    """Refuse a change that justifies a criterion against a published value: a person's word, not an agent's."""
    for one in answer.changes:
        if one.path.startswith("method") and "criterion" in {*one.path.split("."), *_keys(one.value)}:
            raise UserError(f"{one.path}: only a person may write an assumption that justifies a criterion")


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
        value = list(value.values())
    for inner in value if isinstance(value, list) else []:
        yield from _keys(inner)


def _tell(root: Path, drafted: Draft) -> None:
    about = {"rationale": drafted.rationale, "invalidated_stages": drafted.invalidated_stages}
    events.append(root, "amend agent", "drafted", version=drafted.version, **about)
    project(root)
