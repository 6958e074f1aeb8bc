"""What the agents of a build are told: judge and meta-optimizer, each its inputs by role, gathered from records.

The agent under development is told its sample and what it knows; no reference, rubric or knowledge base ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sophron.agentbuild import aud, build_store
from sophron.agentbuild.case_run import CaseRun
from sophron.agentbuild.contract import Contract
from sophron.agentbuild.samples import Given
from sophron.campaign.planning.agent_definitions import AgentFile
from sophron.records import atomic
from sophron.records.canonical_json import file_digest

LAST_CALLS = 5


def attempt(agent: AgentFile, given: Given, recipe: Mapping[str, Any], sample: Path, packed: Path) -> dict[str, Any]:
    """The agent under development: task, recipe, and the sample as its definition takes it (a file for its tools).

    sample: where `given.sample` lies as a file; packed: the agent's own files as one, for its helpers.
    """
    whole = agent.front["inputs"].get("sample", {}).get("kind") == "file"
    told = {"task": dict(given.task), "recipe": dict(recipe), "agent": packed}
    told["sample"] = sample if whole else dict(given.sample)
    return {role: value for role, value in told.items() if role in agent.front["inputs"]}


def take_pictures(session: Path, folder: Path) -> None:
    """Copy the pictures that tools left beside the trajectory to where the judge looks for them."""
    for path in sorted(session.glob("plots/*.png")):
        if path.is_file() and not path.is_symlink():
            atomic.write_bytes(folder / "plots" / path.name, path.read_bytes())


def screening(run: CaseRun) -> dict[str, Any]:
    """The screening judge: how the run ended, and its report."""
    calls = list((run.trajectory or {}).get("calls", []))
    told = {"case": run.case, "failure": run.failure, "calls": len(calls), "last": calls[-LAST_CALLS:]}
    return {"run": told, "report": dict(run.report or {})}


def scoring(
    run: CaseRun, computed: Mapping[str, Any], contract: Contract, repeat: int, picture: Path | None
) -> dict[str, Any]:
    """The scoring judge: rubric, report, calls, what programs found, reference, and the pattern where there is one."""
    rubric = contract.rubric
    asked = [{key: asdict(one)[key] for key in ("code", "name", "about", "asks", "threshold")} for one in rubric.asked]
    told = {
        "rubric": {"scale": {"lowest": rubric.lowest, "highest": rubric.highest}, "dimensions": asked},
        "report": dict(run.report or {}),
        "calls": list((run.trajectory or {}).get("calls", [])),
        "computed": dict(computed),
        "reference": dict(run.reference),
        "repeat": str(repeat),
    }
    return told | ({"pattern": picture} if picture is not None else {})


def picture(run: CaseRun, folder: Path) -> Path | None:
    """The plot of the whole pattern that shows the reported state, in the folder of the run.

    Only the picture that the tool wrote down, byte for byte: another one under its name is none.
    """
    state = (run.report or {}).get("state")
    for call in reversed((run.trajectory or {}).get("calls", [])):
        plot = call.get("plot")
        if plot and plot["whole"] and call["state"] == state:
            found = folder / str(plot["file"])
            return found if found.is_file() and file_digest(found) == plot["sha256"] else None
    return None


def optimizer(contract: Contract, found: build_store.Records) -> dict[str, Any]:
    """The meta-optimizer: the best agent with its scorecards, what was tried, what may change, the knowledge base."""
    last = found.verdicts()[-1]
    best = last["best"]
    return {
        "agent": {name: path.read_text(encoding="utf-8") for name, path in aud.files(found.aud(best)).items()},
        "scorecards": list(found.iteration(best).cards().values()),
        "history": history(found),
        "boundary": boundary(contract),
        "knowledge": dict(contract.knowledge),
        "inventory": dict(contract.tools["tools"]),
    }


def history(found: build_store.Records) -> list[dict[str, Any]]:
    """Every change so far: what it was for, whether it stood, what it came to."""
    told = []
    for verdict in found.verdicts():
        change = found.document(verdict["iteration"], build_store.CHANGE) or {}
        diff = (found.iteration(verdict["iteration"]).folder / build_store.DIFF).read_text(encoding="utf-8")
        told.append(told_of(verdict, change, diff))
    return told


def told_of(verdict: Mapping[str, Any], change: Mapping[str, Any], diff: str) -> dict[str, Any]:
    """One change and what it came to."""
    about = {key: change[key] for key in ("parent", "targets", "rationale", "refusal")}
    came = {key: verdict[key] for key in ("iteration", "tiers", "met", "wanted", "regressed", "p_strict")}
    return came | about | {"diff": diff}


def boundary(contract: Contract) -> dict[str, Any]:
    """What may change, as the meta-optimizer reads it."""
    edge = contract.boundary
    opened = [one for one in edge.surfaces if edge.may_change(one)]
    return {
        "may_change": [{"name": one.name, "paths": list(one.paths), "part": one.part} for one in opened],
        "frozen": [one.name for one in edge.surfaces if not edge.may_change(one)],
        "limits": {"diff_bytes": edge.diff_bytes, "agent_bytes": edge.agent_bytes, "files": edge.files},
        "knowledge": {"run_words": edge.run_words, "most_words": edge.most_words},
    }
