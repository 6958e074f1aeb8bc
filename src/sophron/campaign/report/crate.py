"""The RO-Crate of a campaign: its files, steps, tools and people as JSON-LD that other programs read.

RO-Crate 1.1 with the Process Run Crate profile 0.5, and PROV-O relations; the graph itself is `crate_graph`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sophron import __version__
from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Finished
from sophron.campaign.execution.tries import Try, tries_of
from sophron.campaign.rendering.formatting import number, with_error
from sophron.campaign.report import crate_host
from sophron.campaign.report.crate_graph import Graph, ref, single
from sophron.campaign.report.report import Report, StageReport
from sophron.campaign.spec.spec import SPEC_NAME
from sophron.records import old_names
from sophron.records.approvals import GATE_NAME
from sophron.records.digests import file_digest
from sophron.records.files import write_bytes

LICENSE = "The campaign states no license; ask its authors."
SIGNED_FOLDER = "signed"


def metadata(report: Report, folder: Path, page: Path) -> Mapping[str, object]:
    """The content of `ro-crate-metadata.json` in `folder`; page: the report, which is there already.

    What was signed is put into `signed/` beside it (campaign.yaml and its approval), so that the folder stands on its
    own. A folder of their own, for a host may have results lie in the campaign folder itself.
    """
    graph = Graph(folder.absolute())
    people = {signed.record.approver: graph.person(signed.record.approver) for signed in report.chain}
    spec_file = _signed_files(graph, report, people)
    looped = {stage.name: list(_looped(report, stage)) for stage in report.stages}
    steps = [step for stage in report.stages for step in (*stage.steps, *looped[stage.name])]
    ids = {step.step: graph.identifier(step.path) for step in steps}
    for stage in report.stages:
        for step in (*looped[stage.name], *stage.steps):
            tries = stage.tries.get(step.step) or tries_of(report.root, step.step)
            _step(graph, f"stage {stage.name}", step, tries, _Used(spec_file, ids))
        _verdict(graph, stage, ids)
    crate_host.add_host(graph, report)
    outcomes = [ref(identifier) for identifier in ids.values()]
    html = graph.file(page, f"Report of {report.spec.campaign}", file_digest(page))
    sophron = graph.tool("sophron", __version__)
    made = {"instrument": ref(sophron), "object": outcomes, "prov__used": outcomes, "result": ref(html)}
    graph.action(
        "#report", "CreateAction", name="report", description="the page of results", endTime=report.ended, **made
    )
    return graph.document(_root(report, people) | _measured(graph, report), LICENSE)


def stated(report: Report) -> Mapping[str, Mapping[str, object]]:
    """Return what a crate says of the campaign as a whole and of its answers, by @id."""
    graph = Graph(report.root)
    _measured(graph, report)
    root = _root(report, {})
    return {"./": {"name": root["name"], "description": root["description"]}, **graph.entities}


def _root(report: Report, people: Mapping[str, str]) -> dict[str, object]:
    spec, question = report.spec, report.spec.data["question"]
    found = [
        f"{answer.name}{f' of {answer.subject}' if answer.subject else ''} = "
        f"{with_error(answer.value, answer.standard_error)} {answer.units}"
        for answer in report.answers
        if answer.value is not None
    ]
    asked = ", ".join(f"{key} {value}" for key, value in question["conditions"].items())
    description = f"{question['quantity']} ({question['ensemble']}; {asked}) by {spec.data['method']['name']}."
    return {
        "name": f"{spec.campaign}, version {spec.version}",
        "description": " ".join([description, *(f"{answer}." for answer in found)]),
        "datePublished": report.ended,
        "author": single([ref(one) for one in people.values()]),
    }


def _measured(graph: Graph, report: Report) -> dict[str, object]:
    """The answers as numbers, each with its unit."""
    found = [
        ref(
            graph.add(
                f"#answer-{quote(answer.step.step)}",
                "PropertyValue",
                name=" of ".join(filter(None, [answer.name, answer.subject])),
                description=answer.description,
                value=answer.value,
                unitText=answer.units,
                measurementTechnique=report.spec.data["method"]["name"],
            )
        )
        for answer in report.answers
        if answer.value is not None
    ]
    return {"variableMeasured": single(found)} if found else {}


def _signed_files(graph: Graph, report: Report, people: Mapping[str, str]) -> str:
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
        person = people[signed.record.approver]
        graph.action(
            f"#approval-{signed.hash[:16]}",
            "AuthorizeAction",
            name=f"approval of version {signed.record.version}",
            description="; ".join([amendment.rationale, *amendment.changes]) if amendment else None,
            agent=ref(person),
            prov__wasAssociatedWith=ref(person),
            endTime=signed.record.time,
            object=ref(ids[SPEC_NAME]) if in_force else None,
            result=ref(ids["approval.json"]) if in_force else None,
        )
    return ids[SPEC_NAME]


def _looped(report: Report, stage: StageReport) -> Iterator[Finished]:
    """Steps of the stage's loop that its result rests on: of its parts and of the agents that it asked."""
    spec = report.spec
    parts = [part.name for part in stage.kind.parts if part.name in spec.parts]
    rules = [asked.rule for asked in stage.kind.agents if asked.rule in spec.agent_rules]
    for name in (*parts, *rules):
        yield from outcome_store.of_loop(report.root, spec, name, {})


@dataclass(frozen=True)
class _Used:
    """What a step may have used. spec: @id of the signed spec; ids: step -> @id of its outcome."""

    spec: str
    ids: Mapping[str, str]


def _step(graph: Graph, about: str, step: Finished, tries: Sequence[Try], used_by: _Used) -> None:
    action = f"#step-{step.step}"
    made = {"prov__wasGeneratedBy": ref(action)}
    files = [graph.file(step.path, f"Outcome of {step.step}", step.digest, **made)]
    done = step.outcome.done
    for name, path in step.files.items():
        if done and path.is_file():
            files.append(graph.file(path, f"{name} of {step.step}", step.outcome.files[name].sha256, **made))
    used = [
        ref(used_by.spec),
        *(ref(used_by.ids[name]) for name in map(old_names.step_now, step.outcome.inputs) if name in used_by.ids),
    ]
    tools = [ref(graph.tool(*tool)) for tool in sorted(step.outcome.tools.items())]
    seed = "" if step.outcome.seed is None else f", seed {step.outcome.seed}"
    last = tries[-1:]
    graph.action(
        action,
        "CreateAction",
        name=step.step,
        description=f"{about}{seed}, {_count(tries)}" if tries else f"{about}{seed}",
        instrument=tools,
        prov__wasAssociatedWith=tools,
        object=used,
        prov__used=used,
        result=[ref(one) for one in files],
        startTime=last[0].started if last else None,
        endTime=last[0].ended if last else None,
        actionStatus=f"http://schema.org/{'Completed' if done else 'Failed'}ActionStatus",
        error=step.outcome.reason,
    )


def _count(tries: Iterable[Try]) -> str:
    found = list(tries)
    seconds = sum(one.core_seconds for one in found)
    return f"{len(found)} {'try' if len(found) == 1 else 'tries'}, {number(seconds)} core-seconds"


def _verdict(graph: Graph, stage: StageReport, ids: Mapping[str, str]) -> None:
    """The verdict lies beside the folders of the stage's steps; a host may have put it elsewhere."""
    first = stage.steps[0]
    path = first.path.parents[len(first.wildcards)] / "verdict.json"
    if not path.is_file():
        return
    action = f"#verify-{stage.name}"
    judged = [ref(ids[step.step]) for step in stage.steps]
    verdict = graph.file(path, f"Verdict of {stage.name}", file_digest(path), prov__wasGeneratedBy=ref(action))
    graph.action(
        action,
        "CreateAction",
        name=f"verify {stage.name}: {stage.verdict.verdict}",
        description=f"stage {stage.name}, {len(stage.verdict.criteria)} criteria over {len(stage.steps)} steps",
        instrument=ref(graph.tool("sophron", __version__)),
        object=judged,
        prov__used=judged,
        result=ref(verdict),
    )
