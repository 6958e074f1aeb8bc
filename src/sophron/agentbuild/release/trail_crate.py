"""The trail of a released agent as an RO-Crate that stands on its own: contract, diffs, transcripts, PROV, package.

The form is that of a campaign's report (`sophron.campaign.report.crate_graph`). The producer knowledge base is named by
its digests and not inside: it is its authors' own.
"""

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sophron import __version__
from sophron.agentbuild.release import provenance
from sophron.agentbuild.release import trail as trails
from sophron.agentbuild.release.package import Package
from sophron.agentbuild.release.trail import KNOWLEDGE, Diff, Entry, Trail, TrailIteration
from sophron.campaign.report.crate_graph import NAME, Graph, ref, single
from sophron.interfaces import JsonObject
from sophron.records.digests import file_digest
from sophron.records.files import write_bytes, write_json

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
    write_json(draft / PROV_NAME, provenance.prov_json(trail))
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
    proven = ", ".join(package.manifest["proven_on"])
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
        description=f"P-strict on {', '.join(package.manifest['proven_on'])}",
        instrument=ref(graph.tool("sophron", __version__)),
        object=[ref(one) for one in contract],
        result=[ref(one) for one in files],
        prov__wasInformedBy=ref(f"#entry-{len(trail.entries)}"),
        endTime=trail.entries[-1].recorded,
    )
