"""The provenance of a built agent as W3C PROV, and its trail as an RO-Crate that stands on its own.

PROV-JSON (https://www.w3.org/submissions/prov-json/) is written with the library `prov`. Every identifier of an entry
holds its number, so that a retune adds relations of its own entry and changes none that are there. The crate holds
contract, diffs, transcripts, PROV and package, in the form of a campaign's report
(`sophron.campaign.report.crate_graph`). The producer knowledge base is named by its digests and not inside: it is its
authors' own.
"""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sophron import __version__
from sophron.agentbuild.release import trail as trails
from sophron.agentbuild.release.package import Package
from sophron.agentbuild.release.trail import KNOWLEDGE, AuthoredContract, Diff, Entry, Trail, TrailIteration
from sophron.campaign.report.crate_graph import NAME, Graph, ref, single
from sophron.interfaces import JsonObject
from sophron.records.digests import file_digest
from sophron.records.files import write_bytes, write_json

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


LICENSE = "The contract states no license; ask its authors."
PROV_NAME = "prov.json"


def write_crate(trail: Trail, package: Package) -> Path:
    """Return the crate of a package beside it, whole or absent; its folder."""
    target = package.folder.with_name(f"{package.folder.name}-trail")
    draft = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    for kept in trails.named(trail):
        write_bytes(draft / kept.file, (trail.folder / kept.file).read_bytes())
    write_json(draft / trails.NAME, trail.data)
    write_json(draft / PROV_NAME, prov_json(trail))
    archive = package.folder.with_name(f"{package.folder.name}.tar")
    write_bytes(draft / archive.name, archive.read_bytes())
    write_json(draft / NAME, crate_metadata(trail, package, draft))
    shutil.rmtree(target, ignore_errors=True)
    draft.replace(target)
    return target


def crate_metadata(trail: Trail, package: Package, folder: Path) -> dict[str, Any]:
    """Return the content of `ro-crate-metadata.json` for `folder`, which holds all else already."""
    graph = Graph(folder.absolute())
    authors = [graph.person(author) for author in trail.contract.authors]
    contract = _contract_files(graph, trail)
    for number, entry in enumerate(trail.entries, start=1):
        _entry_action(graph, trail, number, entry, contract)
    _release_action(graph, trail, package, contract)
    proven = ", ".join(package.manifest.proven_on)
    root = {
        "name": f"{package.name}, built from {trail.contract.name} {trail.contract.version}",
        "description": f"{trail.content.about} Passed P-strict on {proven}. Package digest {package.digest}.",
        "datePublished": trail.entries[-1].recorded,
        "author": single([ref(one) for one in authors]),
    }
    return graph.document(root, LICENSE)


def _contract_files(graph: Graph, trail: Trail) -> list[str]:
    """The files of the contract; the knowledge base as something that is named only."""
    versions = {authored.file: part for part, authored in trail.contract.parts.items()}
    found = []
    for name, sha256 in trail.contract.files.items():
        part = versions.get(name)
        if name.startswith(KNOWLEDGE):
            about = "Part of the producer knowledge base, which stays with its authors."
            named = f"#knowledge-{sha256[:16]}"
            found.append(graph.add(named, "CreativeWork", name=name, description=about, sha256=sha256))
        else:
            version = trail.contract.parts[part].version if part else None
            found.append(graph.file(graph.folder / name, part or name, sha256, version=version))
    return found


def _entry_action(graph: Graph, trail: Trail, number: int, entry: Entry, contract: list[str]) -> None:
    tools = [graph.tool(*tool) for tool in sorted(entry.tools.items())]
    models = {part: _model(graph, who) for part, who in entry.models.items()}
    for iteration in entry.iterations:
        _judging_action(
            graph, number, iteration, [*tools, models["agent"], models["screen"], models["score"]], contract
        )
        if iteration.diff:
            _change_action(graph, number, iteration.number, iteration.diff, models["optimize"])
    results = [graph.identifier(graph.folder / kept.file) for iteration in entry.iterations for kept in iteration.files]
    instruments = [ref(one) for one in dict.fromkeys([*tools, *models.values()])]
    graph.action(
        f"#entry-{number}",
        "CreateAction",
        name=f"{entry.kind} {number} of {trail.content.agent}",
        description=f"{len(entry.iterations)} iterations",
        instrument=instruments,
        prov__wasAssociatedWith=instruments,
        object=[ref(one) for one in contract],
        prov__used=[ref(one) for one in contract],
        result=[ref(one) for one in results],
        prov__wasInformedBy=ref(f"#entry-{number - 1}") if number > 1 else None,
        endTime=entry.recorded,
    )


def _model(graph: Graph, who: JsonObject) -> str:
    """A model by its handle; its version is the provider's, and stands in the transcripts."""
    handle = " ".join(str(value) for value in who.values())
    return graph.add(f"#model-{quote(handle)}", ["SoftwareApplication", "prov:Agent"], name=handle)


def _judging_action(graph: Graph, entry: int, iteration: TrailIteration, by: list[str], contract: list[str]) -> None:
    action = f"#entry-{entry}-judging-{iteration.number}"
    found = []
    for case in iteration.cases:
        for one in case.transcripts:
            made = {"prov__wasGeneratedBy": ref(action)}
            name = f"{Path(one.file).stem}, iteration {iteration.number} of entry {entry}"
            found.append(graph.file(graph.folder / one.file, name, one.sha256, **made))
    said = "; ".join(
        f"{case.case}: {', '.join(f'{code} {score:g}' for code, score in case.scores.items()) or 'not scored'}"
        for case in iteration.cases
    )
    graph.action(
        action,
        "CreateAction",
        name=f"judge the agent of iteration {iteration.number}",
        description=f"agent {iteration.aud[:16]}; {said}",
        instrument=[ref(one) for one in dict.fromkeys(by)],
        object=[ref(one) for one in contract],
        result=[ref(one) for one in found],
        startTime=iteration.started,
        endTime=iteration.ended,
    )


def _change_action(graph: Graph, entry: int, number: int, diff: Diff, optimizer: str) -> None:
    action = f"#entry-{entry}-changing-{number}"
    made = {"prov__wasGeneratedBy": ref(action)}
    name = f"Diff to the agent of iteration {number}, {diff.status.replace('_', ' ')}"
    file = graph.file(graph.folder / diff.file, name, diff.sha256, **made)
    graph.action(
        action,
        "UpdateAction",
        name=f"change the agent for iteration {number}",
        description="; ".join(filter(None, [diff.rationale, diff.reason])),
        instrument=ref(optimizer),
        prov__wasAssociatedWith=ref(optimizer),
        prov__wasInformedBy=ref(f"#entry-{entry}-judging-{number - 1}"),
        result=ref(file),
        actionStatus=f"http://schema.org/{'Completed' if diff.status == 'applied' else 'Failed'}ActionStatus",
    )


def _release_action(graph: Graph, trail: Trail, package: Package, contract: list[str]) -> None:
    names = {
        trails.NAME: "The trail as plain data",
        PROV_NAME: "The same as W3C PROV",
        f"{package.folder.name}.tar": f"The package {package.name}",
    }
    files = [graph.file(graph.folder / name, title, file_digest(graph.folder / name)) for name, title in names.items()]
    graph.action(
        "#release",
        "CreateAction",
        name=f"release {package.name}",
        description=f"P-strict on {', '.join(package.manifest.proven_on)}",
        instrument=ref(graph.tool("sophron", __version__)),
        object=[ref(one) for one in contract],
        result=[ref(one) for one in files],
        prov__wasInformedBy=ref(f"#entry-{len(trail.entries)}"),
        endTime=trail.entries[-1].recorded,
    )
