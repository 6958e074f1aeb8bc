"""The RO-Crate of a campaign: its files, steps, tools and people as JSON-LD that other programs read.

RO-Crate 1.1 (https://w3id.org/ro/crate/1.1) with the Process Run Crate profile 0.5, and PROV-O relations. Written as
plain JSON-LD, so that equal records give equal bytes and no step pays for the import of a crate library.
"""

import mimetypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sophron import __version__
from sophron.campaign.history import Signed, Try
from sophron.campaign.report import Report, StageReport
from sophron.campaign.results import Finished
from sophron.campaign.shown import number, with_error
from sophron.campaign.spec import SPEC_NAME
from sophron.records.approvals import GATE_NAME
from sophron.records.atomic import write_bytes
from sophron.records.canonical import file_digest

Entity = dict[str, Any]
CRATE = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
CONTEXT = [
    f"{CRATE}/context",
    {
        "prov": "http://www.w3.org/ns/prov#",
        "sha256": "https://w3id.org/ro/terms/workflow-run#sha256",
    },
]
LICENSE: Entity = {
    "@id": "#license",
    "@type": "CreativeWork",
    "name": "No license stated",
    "description": "The campaign states no license; ask its authors.",
}
SIGNED_FOLDER = "signed"
HOME_PAGES = {"lammps": "https://www.lammps.org/", "numpy": "https://numpy.org/", "scipy": "https://scipy.org/"}
MEDIA = {".yaml": "application/yaml", ".npz": "application/zip", ".data": "text/plain", ".svg": "image/svg+xml"}


@dataclass
class _Graph:
    """Entities by their @id, in the order in which they came."""

    folder: Path
    entities: dict[str, Entity] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)

    def add(self, identifier: str, kind: str | list[str], **properties: Any) -> str:
        """Add an entity, unless it is there; its @id. Properties that say nothing are left out."""
        said = {key.replace("__", ":"): _single(value) for key, value in properties.items()}
        said = {key: value for key, value in said.items() if value not in (None, "", [])}
        self.entities.setdefault(identifier, {"@id": identifier, "@type": kind} | said)
        return identifier

    def action(self, identifier: str, kind: str, **properties: Any) -> str:
        """Add something that was done."""
        self.mentions.append(self.add(identifier, [kind, "prov:Activity"], **properties))
        return identifier

    def file(self, path: Path, name: str, sha256: str, **properties: Any) -> str:
        """Add a file: by its path where it lies in the crate's folder, by an absolute URI otherwise."""
        identifier = self.identifier(path)
        if identifier not in self.entities:
            media = MEDIA.get(path.suffix) or mimetypes.guess_type(path.name)[0]
            size = str(path.stat().st_size)
            about = {"name": name, "sha256": sha256, "contentSize": size, "encodingFormat": media}
            self.parts.append(self.add(identifier, ["File", "prov:Entity"], **about, **properties))
        return identifier

    def identifier(self, path: Path) -> str:
        """The @id of a file."""
        absolute = Path(path).absolute()
        if absolute.is_relative_to(self.folder):
            return quote(absolute.relative_to(self.folder).as_posix())
        return absolute.as_uri()


def _single(value: Any) -> Any:
    """RO-Crate wants a list of one written as the one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def metadata(report: Report, folder: Path, page: Path) -> Mapping[str, Any]:
    """The content of `ro-crate-metadata.json` in `folder`; page: the report, which is there already.

    What was signed is put into `signed/` beside it (campaign.yaml and its approval), so that the folder stands on its
    own. A folder of their own, for a host may have results lie in the campaign folder itself.
    """
    graph = _Graph(folder.absolute())
    people = {signed.record["approver"]: _person(graph, signed) for signed in report.chain}
    spec_file = _signed_files(graph, report, people)
    ids = {step.step: graph.identifier(step.path) for stage in report.stages for step in stage.steps}
    for stage in report.stages:
        for step in stage.steps:
            _step(graph, stage, step, ids, spec_file)
        _verdict(graph, stage, ids)
    outcomes = [_ref(identifier) for identifier in ids.values()]
    html = graph.file(page, f"Report of {report.spec.campaign}", file_digest(page))
    sophron = _tool(graph, "sophron", __version__)
    made = {"instrument": _ref(sophron), "object": outcomes, "prov__used": outcomes, "result": _ref(html)}
    graph.action(
        "#report", "CreateAction", name="report", description="the page of results", endTime=report.ended, **made
    )
    return {"@context": CONTEXT, "@graph": [*_head(graph, report, people), *graph.entities.values()]}


def _head(graph: _Graph, report: Report, people: Mapping[str, str]) -> list[Entity]:
    spec, question = report.spec, report.spec.data["question"]
    found = [
        f"{answer.name} = {with_error(answer.value, answer.standard_error)} {question['units']}"
        for answer in report.answers
        if answer.value is not None
    ]
    asked = ", ".join(f"{key} {value}" for key, value in question["conditions"].items())
    description = f"{question['quantity']} ({question['ensemble']}; {asked}) by {spec.data['method']['name']}."
    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{spec.campaign}, version {spec.version}",
        "description": " ".join([description, *(f"{answer}." for answer in found)]),
        "datePublished": report.ended,
        "license": _ref(LICENSE["@id"]),
        "author": _single([_ref(one) for one in people.values()]),
        "conformsTo": _ref(PROFILE),
        "hasPart": [_ref(one) for one in graph.parts],
        "mentions": [_ref(one) for one in graph.mentions],
    }
    descriptor: Entity = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": _ref(CRATE),
        "about": _ref("./"),
    }
    profile: Entity = {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
    return [descriptor, root, profile, LICENSE]


def _ref(identifier: str) -> Entity:
    return {"@id": identifier}


def _person(graph: _Graph, signed: Signed) -> str:
    name = signed.record["approver"]
    return graph.add(f"#person-{quote(name)}", ["Person", "prov:Agent"], name=name)


def _tool(graph: _Graph, name: str, version: str) -> str:
    home = HOME_PAGES.get(name)
    return graph.add(
        f"#tool-{quote(name)}-{quote(version)}",
        ["SoftwareApplication", "prov:Agent"],
        name=name,
        softwareVersion=version,
        url=home,
    )


def _signed_files(graph: _Graph, report: Report, people: Mapping[str, str]) -> str:
    """Copies of the signed spec and of its approval, and who approved what; the @id of the spec."""
    copies = {SPEC_NAME: report.spec.document.path, "approval.json": report.root / "approvals" / GATE_NAME}
    ids = {}
    for name, source in copies.items():
        target = graph.folder / SIGNED_FOLDER / name
        write_bytes(target, source.read_bytes())
        title = "The signed spec" if name == SPEC_NAME else "The approval in force, with its signature"
        ids[name] = graph.file(target, title, file_digest(target))
    for signed in report.chain:
        amendment = signed.amendment
        in_force = signed is report.chain[-1]
        person = people[signed.record["approver"]]
        graph.action(
            f"#approval-{signed.hash[:16]}",
            "AuthorizeAction",
            name=f"approval of version {signed.record['version']}",
            description="; ".join([amendment["rationale"], *amendment["changes"]]) if amendment else None,
            agent=_ref(person),
            prov__wasAssociatedWith=_ref(person),
            endTime=signed.record["time"],
            object=_ref(ids[SPEC_NAME]) if in_force else None,
            result=_ref(ids["approval.json"]) if in_force else None,
        )
    return ids[SPEC_NAME]


def _step(graph: _Graph, stage: StageReport, step: Finished, ids: Mapping[str, str], spec_file: str) -> None:
    action = f"#step-{step.step}"
    made = {"prov__wasGeneratedBy": _ref(action)}
    files = [graph.file(step.path, f"Outcome of {step.step}", step.digest, **made)]
    done = step.outcome["status"] == "done"
    for name, path in step.files.items():
        if done and path.is_file():
            files.append(graph.file(path, f"{name} of {step.step}", step.outcome["files"][name]["sha256"], **made))
    used = [_ref(spec_file), *(_ref(ids[name]) for name in step.outcome["inputs"] if name in ids)]
    tools = [_ref(_tool(graph, *tool)) for tool in sorted(step.outcome["tools"].items())]
    last = stage.tries[step.step][-1:]
    graph.action(
        action,
        "CreateAction",
        name=step.step,
        description=f"stage {stage.name}, seed {step.outcome['seed']}, {_count(stage.tries[step.step])}",
        instrument=tools,
        prov__wasAssociatedWith=tools,
        object=used,
        prov__used=used,
        result=[_ref(one) for one in files],
        startTime=last[0].started if last else None,
        endTime=last[0].ended if last else None,
        actionStatus=f"http://schema.org/{'Completed' if done else 'Failed'}ActionStatus",
        error=step.outcome["reason"],
    )


def _count(tries: Iterable[Try]) -> str:
    found = list(tries)
    seconds = sum(one.core_seconds for one in found)
    return f"{len(found)} {'try' if len(found) == 1 else 'tries'}, {number(seconds)} core-seconds"


def _verdict(graph: _Graph, stage: StageReport, ids: Mapping[str, str]) -> None:
    """The verdict lies beside the folders of the stage's steps; a host may have put it elsewhere."""
    first = stage.steps[0]
    path = first.path.parents[len(first.wildcards)] / "verdict.json"
    if not path.is_file():
        return
    action = f"#verify-{stage.name}"
    judged = [_ref(ids[step.step]) for step in stage.steps]
    verdict = graph.file(path, f"Verdict of {stage.name}", file_digest(path), prov__wasGeneratedBy=_ref(action))
    graph.action(
        action,
        "CreateAction",
        name=f"verify {stage.name}: {stage.verdict['verdict']}",
        description=f"stage {stage.name}, {len(stage.verdict['criteria'])} criteria over {len(stage.steps)} steps",
        instrument=_ref(_tool(graph, "sophron", __version__)),
        object=judged,
        prov__used=judged,
        result=_ref(verdict),
    )
