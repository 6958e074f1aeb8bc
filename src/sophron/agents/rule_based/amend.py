"""Rule of thumb of the amend agent: a pitfall's own amendment, or longer sampling. It never signs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sophron.agents.documents.answers import REMOVED, Change
from sophron.agents.rule_based import longer_sampling
from sophron.agents.rule_based.input_checks import (
    given,
    mapping,
    needed,
    objects,
    quoted,
    stages_of,
    strings,
    text,
    texts,
)
from sophron.interfaces import UncheckedObject
from sophron.records.typed_json import to_json


@dataclass(frozen=True)
class Proposal:
    """Changes with their reason. alternatives: what a person could do instead."""

    changes: Sequence[Change]
    rationale: str
    alternatives: Sequence[str] = ()
    confidence: str = "medium"
    removed: frozenset[str] = field(default=frozenset())


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """The first rule that applies: the amendment that a pitfall of the catalogue brings; else longer sampling.

    A pitfall is taken where one of its signs stands in the failure or the diagnosis: that it happened says more than
    whether it was foreseen.
    Longer sampling: a standard error falls with the root of the sampled time, so an error missed by a factor f asks
    for f squared the steps (`sampling`). Where neither applies nothing is changed: a person must decide.
    """
    spec = mapping(given(inputs, "spec"), "spec")
    failure = mapping(given(inputs, "failure"), "failure")
    stage = text(given(inputs, "stage"), "stage")
    if stage not in stages_of(spec):
        raise ValueError(f"the spec has no stage {quoted(stage)}")
    pitfalls = objects(inputs.get("pitfalls", []), "pitfalls")
    proposal = (
        _from_pitfall(pitfalls, spec, [*strings(failure), *strings(inputs.get("diagnosis", {}))])
        or _longer(spec, stage, failure)
        or _nothing(stage, pitfalls)
    )
    return {
        "changes": to_json(proposal.changes),
        "rationale": quoted(proposal.rationale, 1500),
        "invalidated_stages": _invalidated(spec, proposal),
        "alternatives": [quoted(one, 500) for one in proposal.alternatives if one.strip()],
        "confidence": proposal.confidence,
    }


def _from_pitfall(pitfalls: Sequence[UncheckedObject], spec: UncheckedObject, said: Sequence[str]) -> Proposal | None:
    for pitfall in pitfalls:
        amendment = mapping(pitfall.get("amendment") or {}, "amendment of a pitfall")
        signs = texts(amendment.get("signs", []), "signs of an amendment")
        seen = any(sign.lower() in line.lower() for sign in signs for line in said)
        if not amendment or not seen:
            continue
        removed = texts(amendment.get("remove_stages", []), "remove_stages")
        added = mapping(amendment.get("add_stages") or {}, "add_stages")
        changes = [Change(f"stages.{name}") for name in removed if name in stages_of(spec)]
        changes += [Change(f"stages.{name}", block) for name, block in added.items()]
        if "method_name" in amendment:
            changes.append(Change("method.name", text(amendment["method_name"], "method_name")))
        for change in objects(amendment.get("changes", []), "changes of an amendment"):
            changes.append(Change(text(change.get("path"), "a changed path"), change.get("value", REMOVED)))
        rationale = f"{pitfall.get('title', pitfall.get('id', ''))}: {text(amendment.get('rationale'), 'rationale')}"
        other = f"As the catalogue says: {pitfall.get('safeguard', '')}"
        return Proposal(changes, rationale, [other], "high", frozenset(removed))
    return None


def _longer(spec: UncheckedObject, stage: str, failure: UncheckedObject) -> Proposal | None:
    found = longer_sampling.longer(spec, stage, failure)
    if found is None:
        return None
    return Proposal(found.changes, found.rationale, found.alternatives)


def _nothing(stage: str, pitfalls: Sequence[UncheckedObject]) -> Proposal:
    safeguards = [f"If {p.get('title', '')} is the cause: {p.get('safeguard', '')}" for p in pitfalls if "title" in p]
    rationale = f"No rule of thumb says what would cure {stage}; nothing is changed, and a person must decide."
    return Proposal([], rationale, safeguards[:5], "low")


def _invalidated(spec: UncheckedObject, proposal: Proposal) -> list[str]:
    """Stages of the spec whose definition or place in the graph changes, and all that build on one of them."""
    blocks = stages_of(spec)
    changed = set(proposal.removed)
    for change in proposal.changes:
        keys = change.path.split(".")
        whole = keys[0] == "stages" and len(keys) == 2
        if keys[0] == "stages" and (whole or keys[2:3] in (["definition"], ["depends_on"])):
            changed.add(keys[1])
        if keys[0] == "seed":
            changed.update(blocks)
    while True:
        grown = {name for name, block in blocks.items() if changed.intersection(needed(block, name))} - changed
        if not grown:
            return [name for name in blocks if name in changed]
        changed |= grown
