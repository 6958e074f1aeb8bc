"""The provenance of a built agent as W3C PROV: who and what each agent, diff and judgement came from.

PROV-JSON (https://www.w3.org/submissions/prov-json/), written with the library `prov`. Every identifier of an entry
holds its number, so that a retune adds relations of its own entry and changes none that are there.
"""

from typing import TYPE_CHECKING, Any

from sophron.agentbuild.release.trail import AuthoredContract, Diff, Entry, Trail, TrailIteration

if TYPE_CHECKING:
    from prov.model import ProvDocument

NAMESPACE = "urn:sophron:build:"
TERMS = "urn:sophron:terms:"


def prov_document(trail: Trail) -> "ProvDocument":
    """Return the provenance of everything that a trail speaks of."""
    from prov.model import ProvDocument

    found = ProvDocument()
    found.add_namespace("b", f"{NAMESPACE}{trail.contract.name}:")
    found.add_namespace("s", TERMS)
    _contract(found, trail.contract)
    before = ""
    for number, entry in enumerate(trail.entries, start=1):
        before = _entry(found, number, entry, before)
    return found


def prov_json(trail: Trail) -> Any:
    """Return the same as plain data, in the form of PROV-JSON."""
    import json

    return json.loads(prov_document(trail).serialize(format="json") or "")


def _contract(found: "ProvDocument", contract: AuthoredContract) -> None:
    found.entity("b:contract", _about(found, "s:contract", version=contract.version, name=contract.name))
    named = {authored.file: part for part, authored in contract.parts.items()}
    for name, digest in contract.files.items():
        part = named.get(name)
        member = f"b:{part or name}"
        version = {"version": contract.parts[part].version} if part else {}
        found.entity(member, _about(found, f"s:{part or 'file'}", sha256=digest, **version))
        found.hadMember("b:contract", member)
    for author in contract.authors:
        person = f"b:person-{_word(author)}"
        found.agent(person, _about(found, "prov:Person", name=author))
        found.wasAttributedTo("b:contract", person)


def _entry(found: "ProvDocument", number: int, entry: Entry, before: str) -> str:
    """Add one entry; the name of its activity. before: that of the entry before, or nothing."""
    here = f"b:{number}"
    whole = f"{here}-{entry.kind}"
    found.activity(whole, other_attributes=_about(found, f"s:{entry.kind}", recorded=entry.recorded))
    found.used(whole, "b:contract")
    for tool, version in entry.tools.items():
        name = f"{here}-tool-{_word(tool)}"
        found.agent(name, _about(found, "prov:SoftwareAgent", name=tool, version=version))
        found.wasAssociatedWith(whole, name)
    for part, who in entry.models.items():
        found.agent(f"{here}-model-{part}", _about(found, "prov:SoftwareAgent", part=part, **who))
        found.wasAssociatedWith(whole, f"{here}-model-{part}")
    for iteration in entry.iterations:
        _iteration(found, here, iteration)
    found.wasGeneratedBy(f"{here}-agent-{entry.iterations[-1].number}", whole)
    if before:
        found.wasInformedBy(whole, before)
    return whole


def _iteration(found: "ProvDocument", here: str, iteration: TrailIteration) -> None:
    number = iteration.number
    agent = f"{here}-agent-{number}"
    found.entity(agent, _about(found, "s:agent", digest=iteration.aud))
    if iteration.diff:
        _change(found, here, iteration, iteration.diff)
    elif iteration.parent:
        found.wasDerivedFrom(agent, f"{here}-agent-{iteration.parent}")
    judged = f"{here}-judging-{number}"
    found.activity(judged, iteration.started, iteration.ended, _about(found, "s:judging"))
    for used in (agent, "b:rubric", "b:curriculum"):
        found.used(judged, used)
    for part in ("agent", "screen", "score"):
        found.wasAssociatedWith(judged, f"{here}-model-{part}")
    for case in iteration.cases:
        for transcript in case.transcripts:
            name = f"b:{transcript.file}"
            found.entity(name, _about(found, "s:transcript", case=case.case, sha256=transcript.sha256))
            found.wasGeneratedBy(name, judged)
        verdict = f"{here}-scores-{number}-{_word(case.case)}"
        scores = {f"score-{code}": score for code, score in case.scores.items()}
        found.entity(verdict, _about(found, "s:scores", case=case.case, **scores))
        found.wasGeneratedBy(verdict, judged)


def _change(found: "ProvDocument", here: str, iteration: TrailIteration, diff: Diff) -> None:
    """What the meta-optimizer did, from the judgement of the iteration before."""
    number = iteration.number
    changing, agent, name = f"{here}-changing-{number}", f"{here}-agent-{number}", f"b:{diff.file}"
    found.activity(changing, other_attributes=_about(found, "s:changing", rationale=diff.rationale))
    found.entity(name, _about(found, "s:diff", sha256=diff.sha256, status=diff.status, reason=diff.reason))
    found.wasGeneratedBy(name, changing)
    found.wasAssociatedWith(changing, f"{here}-model-optimize")
    found.wasGeneratedBy(agent, changing)
    found.wasInformedBy(changing, f"{here}-judging-{number - 1}")
    if iteration.parent:
        found.used(changing, f"{here}-agent-{iteration.parent}")
        found.wasDerivedFrom(agent, f"{here}-agent-{iteration.parent}")


def _about(found: "ProvDocument", kind: str, **said: Any) -> dict[Any, Any]:
    """Attributes of a record: its type, a name and not a text, and what is said of it in terms of ours."""
    return {"prov:type": found.valid_qualified_name(kind)} | {f"s:{key}": value for key, value in said.items()}


def _word(text: str) -> str:
    """A local part of an identifier."""
    return "".join(one if one.isalnum() else "-" for one in text)
