"""Inputs of the agents that look at a verdict or a failure: explain, debug, amend.

What an agent of today reads comes first in each; what follows is what definitions of before declare, for campaigns that
keep a copy of theirs.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sophron.agents.step import host_inputs, step_logs
from sophron.campaign.execution import margins, outcome_store, verdict
from sophron.campaign.execution.tries import tries_of
from sophron.campaign.execution.verdict import Verdict
from sophron.campaign.planning.plan import SERVICE_CORE_HOURS
from sophron.campaign.spec import resource_requests
from sophron.campaign.spec.pitfalls import catalogue, findings
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Wildcards, engine_s
from sophron.records import OVERLAYS_NAME, core_hours, documents
from sophron.records.digests import digest, step_name
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json, to_json

MOST_RESULTS = 3
DIGITS = 6
COUNTED = (
    "Each step counts with every try that it may have: cores x runtime_min of its ceilings x (retries + 1), summed "
    "over all steps of all stages, whatever they really take. limits.core_hours must be at least that sum. What was "
    "spent counts against the same limit while steps run, and is not added to that sum; a stage that runs again spends "
    "anew. What verify, accept and report count does not grow with replicas."
)


def failure_path(root: Path, stage: str, attempt: str) -> Path:
    """Return where `sophron run` writes down what failed, for the agents that look at it."""
    return root / "records" / "failures" / f"{stage}-{attempt}.json"


def explain(root: Path, spec: Spec, wildcards: Wildcards) -> JsonObject:
    """Gather the inputs of the explain agent: margins, definitions, results and logs of a stage."""
    stage = wildcards["stage"]
    finished = outcome_store.all_finished(root, spec, stage)
    judged = verdict.judge_steps(spec, stage, finished)
    steps = _telling_steps(judged)
    return {
        "judged": to_json(margins.of_verdict(judged)),
        "definitions": definitions(spec, stage),
        "results": _results(spec, stage, finished, steps),
        "log": step_logs.decisive(root, steps) or "(these steps have no engine log)",
        "verdict": to_json(judged),
        "outcome": [to_json(one.outcome) for one in finished],
        "criteria": to_json(spec.criteria(stage)),
    }


def _telling_steps(judged: Verdict) -> list[str]:
    """Return the steps that failed, then those with the least margins, as many as are read."""
    least = (one.step for criterion in margins.of_verdict(judged).criteria for one in criterion.least)
    missed = (one.step for criterion in judged.criteria for one in criterion.steps if not one.passed)
    return list(dict.fromkeys([*judged.failed_steps, *missed, *least]))[:MOST_RESULTS]


def definitions(spec: Spec, stage: str) -> JsonObject:
    """Return the question, and the definitions of a stage and of all that it builds on."""
    return {"question": spec.data["question"]} | {
        name: {"depends_on": block["depends_on"], "definition": block["definition"]}
        for name, block in spec.data["stages"].items()
        if name in {stage, *_below(spec, stage)}
    }


def _below(spec: Spec, stage: str) -> Iterator[str]:
    for name in spec.data["stages"][stage]["depends_on"]:
        yield name
        yield from _below(spec, name)


def _results(spec: Spec, stage: str, finished: Iterable[outcome_store.Finished], steps: Iterable[str]) -> JsonObject:
    """Return the results of some steps, and what each of their fields is."""
    by_step = {one.step: one.outcome for one in finished}
    shown = {step: by_step[step] for step in steps if step in by_step}
    return {
        "fields": fields(spec, stage),
        "steps": {step: rounded(one.result) if one.done else {"failed": one.reason} for step, one in shown.items()},
        "not_shown": len(by_step) - len(shown),
    }


def rounded(data: Any, digits: int = DIGITS) -> Any:
    """Return plain data with its fractions at some significant digits."""
    if isinstance(data, float) and not data.is_integer():
        return float(f"{data:.{digits}g}")
    if isinstance(data, Mapping):
        return {key: rounded(value, digits) for key, value in data.items()}
    return [rounded(value, digits) for value in data] if isinstance(data, list) else data


def fields(spec: Spec, stage: str) -> dict[str, str]:
    """Map each field of the result of a stage to what it is, with its unit."""
    kind = spec.stage(stage)
    schema = kind.declared or documents.schema(kind.schema)["$defs"]["result"]
    properties = schema.get("properties", {})
    return {name: str(about["description"]) for name, about in properties.items() if "description" in about}


def read_failure(root: Path, wildcards: Wildcards) -> JsonObject:
    """Return what `sophron run` wrote down of a failure; UserError if it did not."""
    path = failure_path(root, wildcards["stage"], wildcards["attempt"])
    if not path.is_file():
        raise UserError(f"{path}: there is no failure to look at; `sophron run` writes it: sophron run")
    content: JsonObject = documents.load_record(path)
    return content


def _failed(failure: JsonObject) -> JsonObject:
    """Return what failed: the margins of a verdict, or the reason and tries of one step for all that ended alike."""
    if failure["kind"] == "verdict" and failure.get("verdict"):
        judged = to_json(margins.of_verdict(from_json(Verdict, failure["verdict"])))
        refusal = failure.get("outcome", {}).get("result", {}).get("refusal")
        return {"kind": "verdict", **({"refusal": refusal} if refusal else {}), "verdict": judged}
    reasons = failure["reasons"]
    steps = step_logs.failed_steps(reasons)
    tries = [one for one in failure["tries"] if one["step"] in steps]
    return {
        "kind": failure["kind"],
        "reasons": {step: reasons[step] for step in steps},
        "other_steps_that_ended_alike": len(reasons) - len(steps),
        "tries": tries,
    }


def debug(root: Path, spec: Spec, wildcards: Wildcards) -> JsonObject:
    """Gather the inputs of the debug agent: a failure, the log, what may be chosen, earlier tries, memory."""
    from sophron.agents.memory import debug_memory

    stage, failure = wildcards["stage"], read_failure(root, wildcards)
    return {
        "stage": stage,
        "failed": {**_failed(failure), "steps_of_the_stage": len(spec.steps(stage))},
        "recognised": failure.get("recognised", []),
        "log": failure.get("log", ""),
        "resources": _resources(root, spec, stage),
        "workflow": {"rules": rules} if (rules := host_inputs.host_rules(root, spec, stage)) else {},
        "explanation": explanation(root, stage, failure),
        "tries": earlier(root, "debug", wildcards),
        **debug_memory.snapshot_inputs(root, stage, int(wildcards["attempt"])),
        "failure": {key: value for key, value in failure.items() if key != "log"},
        "spec_stage": spec.data["stages"][stage],
        "overlays": _overlay_log(root),
    }


def _overlay_log(root: Path) -> list[JsonObject]:
    path = root / OVERLAYS_NAME
    found: list[JsonObject] = documents.load_yaml(path).data if path.is_file() else []
    return found


def _resources(root: Path, spec: Spec, stage: str) -> JsonObject:
    """Return the shape of a stage with its overlays, and the seconds that an engine has of each runtime in question."""
    block = spec.mechanical_block(stage)
    in_force = resource_requests.overlaid(block, stage, root)
    minutes = {in_force.runtime_min, block["ceilings"]["runtime_min"], *block.get("choices", {}).get("runtime_min", [])}
    return {
        "in_force": {key: value for key, value in to_json(in_force).items() if not key.startswith("ceiling")},
        "engine_seconds": {f"runtime_min {one}": engine_s(one) for one in sorted(minutes)},
    }


def explanation(root: Path, stage: str, failure: JsonObject) -> JsonObject:
    """Return what the explain agent said of the verdict that failed; empty if it said nothing of this one."""
    path = root / "records" / f"explain-{stage}" / "answer.json"
    if not path.is_file() or not failure.get("verdict"):
        return {}
    record = documents.load_record(path, "answer")
    judged = from_json(Verdict, failure["verdict"])
    told = {"judged": to_json(margins.of_verdict(judged)), "verdict": to_json(judged)}
    same = any(record["inputs"].get(role) == digest(value) for role, value in told.items())
    return {key: record["answer"][key] for key in ("explanation", "causes")} if same else {}


def earlier(root: Path, rule: str, wildcards: Mapping[str, str]) -> list[Any]:
    """Return answers of the same rule to earlier attempts at the same stage."""
    answers = []
    for attempt in range(1, int(wildcards["attempt"])):
        path = root / "records" / f"{rule}-{wildcards['stage']}-{attempt}" / "answer.json"
        if path.is_file():
            answers.append(documents.load_record(path, "answer")["answer"])
    return answers


def amend(root: Path, spec: Spec, wildcards: Wildcards) -> JsonObject:
    """Gather the inputs of the amend agent: a failure, its diagnosis, the spec, the budget, pitfalls, schemas."""
    stage, failure = wildcards["stage"], read_failure(root, wildcards)
    answers = earlier(root, "debug", {**wildcards, "attempt": str(int(wildcards["attempt"]) + 1)})
    pitfalls = _pitfalls(root, spec, failure)
    return {
        "spec": spec.data,
        "stage": stage,
        "failed": _failed(failure),
        "log": failure.get("log", ""),
        "results": _failed_results(root, spec, stage, failure),
        "diagnosis": {**(answers[-1] if answers else {}), **explanation(root, stage, failure)},
        "budget": _budget(root, spec),
        "overlays": [to_json(one) for one in resource_requests.overlays(root, spec.mechanical_blocks)],
        "proposals": [*earlier(root, "amend", wildcards), *failure.get("refused", [])],
        "refusals": failure.get("refusals", []),
        "known_pitfalls": pitfalls,
        "workflow": host_inputs.host_workflow(root, spec, stage),
        "definition_schemas": _schemas(spec, stage, failure, pitfalls),
        **_of_before(root, spec, failure),
    }


def _of_before(root: Path, spec: Spec, failure: JsonObject) -> JsonObject:
    from sophron.campaign.scaffold import kind_catalogue

    return {
        "failure": failure,
        "pitfalls": kind_catalogue.pitfalls(root),
        "schemas": _definition_schemas(spec, [stage.name for stage in spec.kind.stages]),
        "kind": spec.kind.name,
    }


def _failed_results(root: Path, spec: Spec, stage: str, failure: JsonObject) -> JsonObject:
    """Return what the steps that are at fault came to, with the fields of the result; nothing if none was judged."""
    if not failure.get("verdict"):
        return {}
    finished = outcome_store.all_finished(root, spec, stage)
    return _results(spec, stage, finished, _telling_steps(from_json(Verdict, failure["verdict"])))


def _budget(root: Path, spec: Spec) -> JsonObject:
    """Return what the plan may take and has taken. Core-hours of a stage: the ceilings of all its steps."""
    planned = {name: len(spec.steps(name)) * spec.mechanical(name).core_hours() for name in spec.data["stages"]}
    planned["verify, accept, report"] = (2 * len(planned) + 2) * SERVICE_CORE_HOURS
    return {
        "limits": spec.data.get("limits", {}),
        "counted": COUNTED,
        "steps": {name: len(spec.steps(name)) for name in spec.data["stages"]},
        "ceilings_core_hours": {
            name: round(hours, 3) for name, hours in [*planned.items(), ("all", sum(planned.values()))]
        },
        "spent_core_hours": round(core_hours.core_hours(root), 3),
        "longest_try_s": {name: _longest_s(root, spec, name) for name in spec.data["stages"]},
    }


def _longest_s(root: Path, spec: Spec, stage: str) -> float | None:
    """Return how long the longest try of a stage took, job and engine; None if none ended."""
    found = (one for wildcards in spec.steps(stage) for one in tries_of(root, step_name(stage, wildcards)))
    return max((round(one.core_seconds / one.cores, 1) for one in found if one.ended), default=None)


def _pitfalls(root: Path, spec: Spec, failure: JsonObject) -> list[JsonObject]:
    """Return the pitfalls that matter here: those in the spec, and those with signs in the failure."""
    told = " ".join(_texts(failure)).lower()
    matter: list[JsonObject] = []
    looked = {pitfall.id: finding for pitfall, finding in findings(root, spec)}
    for pitfall in catalogue(root):
        entry = documents.load_yaml(pitfall.path).data
        signs = entry.get("amendment", {}).get("signs", [])
        seen = [sign for sign in signs if sign.lower() in told]
        finding = looked.get(pitfall.id)
        if seen or (finding and finding.status == "hit"):
            keys = ("id", "title", "what", "safeguard") + (("amendment",) if seen else ())
            said = f"{finding.status}: {finding.evidence}" if finding else "not looked for here"
            matter.append({key: entry[key] for key in keys} | {"probe": said})
    return matter


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    for inner in data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else []:
        yield from _texts(inner)


def _schemas(spec: Spec, stage: str, failure: JsonObject, pitfalls: Iterable[JsonObject]) -> JsonObject:
    """Return the schemas of the definitions that may change: if a step died, its own stage's alone."""
    named = {stage} if failure["kind"] == "dead" else {stage, *spec.data["stages"][stage]["depends_on"]}
    added = {name for one in pitfalls for name in one.get("amendment", {}).get("add_stages", {})}
    return _definition_schemas(spec, named | added)


def _definition_schemas(spec: Spec, names: Iterable[str]) -> JsonObject:
    named = set(names)
    return {
        stage.name: documents.schema(stage.schema)["$defs"]["definition"]
        for stage in spec.kind.stages
        if stage.name in named
    }
