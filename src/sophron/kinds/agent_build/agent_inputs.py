"""What the agents of a build are told: each rule's inputs by role, from the results of its rounds.

The agent under development is told its sample and what it knows; no reference, rubric or knowledge base ever.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sophron.agentbuild import aud as contract_agent
from sophron.agentbuild import contract_code, iteration, judge
from sophron.agentbuild.contract import Contract
from sophron.agentbuild.iteration import Iteration
from sophron.agentbuild.rubric import CaseRun
from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Finished
from sophron.campaign.planning import campaign_agents
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.kind import UpstreamStep, Wildcards
from sophron.kinds.agent_build import stages
from sophron.records import documents
from sophron.records.digests import file_digest, step_name
from sophron.records.documents import load_json
from sophron.records.errors import UserError
from sophron.records.strict_yaml import parse
from sophron.records.typed_json import to_json

Inputs = dict[str, Any]
AGENT = "aud"
SESSION = "session"
"""Folder below a step's scratch in which tools leave trajectory and plots."""
LAST_CALLS = 5


def aud(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The agent under development: its prompt, wiring and recipe of this round, and the sample of the case."""
    packed = _one(root, spec, "candidate", wildcards).files["agent"]
    sample = outcome_store.finished(root, spec, "sample", {"case": wildcards["case"]}).files
    domain = stages.signed_contract(spec.definition("build")).prompts[AGENT]
    asked = campaign_agents.find_agent(root, AGENT).front["inputs"]
    return tried(asked, domain, packed, sample["task"], sample["sample"])


def tried(asked: Mapping[str, Inputs], domain: str, packed: Path, task: Path, sample: Path) -> Inputs:
    """Those inputs that a definition asks for; its own files are one file for its helpers.

    domain: what the contract says of it. Where the agent's prompt has a place for an input, the reader is told where in
    the frozen definition that input stands.
    """
    files = load_json(packed)
    _, prompt = contract_agent.prompt_and_front(files[contract_agent.DEFINITION])
    told = {
        "domain": domain,
        "instructions": campaign_agents.PLACE.sub(r"(see below, under \1)", prompt),
        "tools_wired": _yaml(files, contract_agent.WIRING),
        "recipe": _yaml(files, contract_agent.RECIPE),
        "task": load_json(task),
        "sample": sample if asked.get("sample", {}).get("kind") == "file" else load_json(sample),
        "agent": packed,
    }
    return {role: value for role, value in told.items() if role in asked}


def judge_screen(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The screening judge: how the run ended, and its report."""
    found, run = _run(root, spec, wildcards)
    return screening(run, found)


def screening(run: CaseRun, contract: Contract) -> Inputs:
    """The same of one run."""
    calls = list((run.trajectory or {}).get("calls", []))
    told = {"case": run.case, "failure": run.failure, "calls": len(calls), "last": calls[-LAST_CALLS:]}
    return {"domain": contract.prompts["judge-screen"], "run": told, "report": dict(run.report or {})}


def judge_score(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The scoring judge: report, calls, what programs find, and the picture that the agent saw."""
    found, run = _run(root, spec, wildcards)
    step = step_name(AGENT, _of(wildcards, "round", "case"))
    session = outcome_store.named(root / "scratch" / "agents", step) / SESSION
    return scoring(run, found, int(wildcards["repeat"]), picture(run, session))


def scoring(run: CaseRun, contract: Contract, repeat: int, shown: Path | None) -> Inputs:
    """The same of one run: rubric, report, calls, what programs found, reference, and the picture if there is one."""
    rubric = contract.rubric
    asked = [{key: asdict(one)[key] for key in ("code", "name", "about", "asks", "threshold")} for one in rubric.asked]
    told = {
        "domain": contract.prompts["judge-score"],
        "rubric": {"scale": {"lowest": rubric.lowest, "highest": rubric.highest}, "dimensions": asked},
        "report": dict(run.report or {}),
        "calls": list((run.trajectory or {}).get("calls", [])),
        "computed": to_json(judge.computed(run, rubric)) if judge.screen(run, rubric).passed else {},
        "reference": dict(run.reference),
        "repeat": str(repeat),
    }
    return told | ({"picture": shown} if shown is not None else {})


def picture(run: CaseRun, folder: Path) -> Path | None:
    """The plot of the whole sample that shows the reported state, in the folder of the run.

    Only the picture that the tool wrote down, byte for byte: another one under its name is none.
    """
    state = (run.report or {}).get("state")
    for call in reversed((run.trajectory or {}).get("calls", [])):
        plot = call.get("plot")
        if plot and plot["whole"] and call["state"] == state:
            found = folder / str(plot["file"])
            return found if found.is_file() and file_digest(found) == plot["sha256"] else None
    return None


def optimize(root: Path, spec: Spec, wildcards: Wildcards) -> Inputs:
    """The meta-optimizer: the best agent with its scorecards, what was tried, what may change, the knowledge base."""
    concluded = _one(root, spec, "conclude", wildcards)
    return improving(stages.signed_contract(spec.definition("build")), concluded.files)


def improving(contract: Contract, concluded: Mapping[str, Path]) -> Inputs:
    """The same of one round. concluded: the files that its conclusion left."""
    dimensions = contract.rubric.dimensions
    return {
        "domain": contract.prompts["optimize"],
        "rubric": [
            {key: asdict(one)[key] for key in ("code", "name", "about", "asks", "threshold")} for one in dimensions
        ],
        "agent": _with_outlines(contract, load_json(concluded["best"])),
        "scorecards": load_json(concluded["cards"]),
        "history": _tried_changes(iteration.read_history(concluded["history"])),
        "boundary": _boundary(contract),
        "knowledge": dict(contract.knowledge),
        "inventory": dict(contract.tools["tools"]),
    }


def _with_outlines(contract: Contract, packed: Mapping[str, str]) -> dict[str, str]:
    """An agent's files with the Python that is frozen as an outline: half of what an optimizer would read otherwise."""
    frozen = {path for path in packed if path.endswith(".py") and contract.boundary.refusal(path)}
    return {path: _outline(text) if path in frozen else text for path, text in packed.items()}


def _outline(source: str) -> str:
    """Python without what its functions do: signatures and docstrings, private functions left out."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            node.body = [one for one in node.body if not _is_private(one)]
        if isinstance(node, ast.FunctionDef):
            node.body = [*(node.body[:1] if ast.get_docstring(node) else []), ast.Expr(ast.Constant(...))]
    return ast.unparse(tree) + "\n"


def _is_private(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name.startswith("_")


def _tried_changes(history: Sequence[Iteration]) -> list[Inputs]:
    """Every change so far: what it was for, whether it stood, what it came to."""
    came = ("iteration", "tiers", "met", "wanted", "regressed", "p_strict")
    about = ("parent", "targets", "rationale", "refusal", "diff")
    return [
        {key: asdict(entry.verdict)[key] for key in came} | {key: asdict(entry.change)[key] for key in about}
        for entry in history
    ]


def _boundary(contract: Contract) -> Inputs:
    """What may change, as the meta-optimizer reads it."""
    edge = contract.boundary
    opened = [one for one in edge.surfaces if edge.may_change(one)]
    schemas = {one.name: _schema(contract, one.schema) for one in opened if one.schema}
    return {
        "may_change": [{"name": one.name, "paths": list(one.paths), "part": one.part} for one in opened],
        "schemas": schemas,
        "frozen": [one.name for one in edge.surfaces if not edge.may_change(one)],
        "limits": {"diff_bytes": edge.diff_bytes, "agent_bytes": edge.agent_bytes, "files": edge.files},
        "knowledge": {"run_words": edge.run_words, "most_words": edge.most_words},
    }


def _schema(contract: Contract, named: str) -> Inputs:
    """The schema that a surface names, or the part of it that is meant with what it refers to."""
    name, _, part = named.partition("#")
    whole: Inputs = documents.schema(contract_code.schema(contract.folder, name))
    return {"$ref": f"#/$defs/{part}", "$defs": whole["$defs"]} if part else whole


def _of(wildcards: Wildcards, *names: str) -> dict[str, str]:
    return {name: wildcards[name] for name in names}


def _one(root: Path, spec: Spec, part: str, wildcards: Wildcards) -> Finished:
    found = outcome_store.of_loop(root, spec, part, _of(wildcards, "round"))
    if len(found) != 1:
        raise UserError(f"round {wildcards['round']}: there is no {part} of it yet; run it first: snakemake")
    return found[0]


def _run(root: Path, spec: Spec, wildcards: Wildcards) -> tuple[Contract, CaseRun]:
    found = stages.signed_contract(spec.definition("build"))
    done = outcome_store.answered(root, spec, AGENT, _of(wildcards, "round", "case"))
    outcome = done.outcome
    step = UpstreamStep(AGENT, done.wildcards, outcome.result, done.files, outcome.reason)
    return found, stages.run_of(wildcards["case"], step, found)


def _yaml(files: Mapping[str, str], name: str) -> Any:
    data, _ = parse(files[name].encode(), name)
    return data
