"""Inputs of the caveats agent: the answer as the report shows it, what its error is made of, who vouched for what."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sophron.agents.step.failure_inputs import rounded
from sophron.campaign.execution import margins
from sophron.campaign.rendering import formatting
from sophron.campaign.report import report
from sophron.campaign.report.report import Answer, Report, Signed
from sophron.campaign.spec import criteria_review, pitfalls
from sophron.campaign.spec.spec import Spec, signed_spec
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Wildcards
from sophron.records import approvals, documents
from sophron.records.typed_json import to_json

DIGITS = 4
SHOWN = ("passed", "steps")
SAME_SHARE = 1e-9


def caveats(root: Path, spec: Spec, _: Wildcards) -> JsonObject:
    """Gather the inputs of the caveats agent: answers with their errors, margins, assumptions, pitfalls, history."""
    gathered = report.collect(root, spec, approvals.valid_approval(root))
    return {
        "question": {"question": spec.data["question"], "method": {"name": spec.data["method"]["name"]}},
        "definitions": {
            name: {"depends_on": block["depends_on"], "definition": block["definition"]}
            for name, block in spec.data["stages"].items()
        },
        "answers": [_answer(gathered, one) for one in gathered.answers] or _finals(gathered),
        "judged": [_judged(stage) for stage in gathered.stages],
        "assumptions": list(_assumptions(root, spec, gathered.chain)),
        "pitfalls": _pitfalls(root, spec),
        "amendments": [to_json(signed.amendment) for signed in gathered.chain if signed.amendment],
        "tries": [f"{one.time} {one.what}: {one.reason}" for one in gathered.troubles if not one.told],
        **_of_before(spec, gathered),
    }


def _judged(stage: report.StageReport) -> JsonObject:
    """Return the margins of a stage, without what is empty; the expression only where no comparison shows it."""
    judged = rounded(to_json(margins.of_verdict(stage.verdict)), DIGITS)
    criteria = [
        {key: one[key] for key in one if key in SHOWN or (one[key] and not (key == "expression" and one["least"]))}
        for one in judged["criteria"]
    ]
    return {key: value for key, value in judged.items() if value} | {"criteria": criteria}


def _pitfalls(root: Path, spec: Spec) -> JsonObject:
    """Return what the probes say: those that are there or open with the evidence, the others by id and title."""
    found = pitfalls.findings(root, spec)
    told = [
        {"id": one.id, "title": one.title, "probe": say.status, "evidence": say.evidence}
        for one, say in found
        if say.status != "clear"
    ]
    return {"clear": {one.id: one.title for one, say in found if say.status == "clear"}, "there_or_open": told}


def _of_before(spec: Spec, gathered: Report) -> JsonObject:
    """Return what definitions of before declare, for campaigns that keep a copy of theirs."""
    return {
        "spec": spec.data,
        "verdicts": [to_json(stage.verdict) for stage in gathered.stages],
        "result": [_plain_answer(one) for one in gathered.answers] or _finals(gathered),
        "unverified": spec.unverified(),
    }


def _plain_answer(one: Answer) -> JsonObject:
    low, high, level = one.interval or (None, None, None)
    interval = None if one.interval is None else {"low": low, "high": high, "level": level}
    about = {"name": one.name, "value": one.value, "standard_error": one.standard_error, "units": one.units}
    if one.subject:
        about["subject"] = one.subject
    return about | {"interval": interval, "refusal": one.refusal}


def _answer(gathered: Report, one: Answer) -> JsonObject:
    """Return an answer with the numbers rounded as the report's headline has them, and what stands beside it."""
    stage = next(stage for stage in gathered.stages if one.step in stage.steps)
    about: dict[str, Any] = {key: value for key, value in _plain_answer(one).items() if value is not None}
    about |= {"stage": stage.name, "step": one.step.step, "is": one.description}
    if one.value is not None:
        about["shown"] = f"{formatting.with_error(one.value, one.standard_error)} {one.units}"
        about["value"], about["standard_error"] = _headline(one.value, one.standard_error)
    if one.value is not None and one.interval:
        low, high, level = one.interval
        about["shown"] += f", {100 * level:g} % interval {formatting.interval(low, high)}"
        ends = map(float, formatting.interval(low, high).split(" to "))
        about["interval"] = dict(zip(("low", "high"), ends, strict=True)) | {"level": level}
    if one.value is not None and "reference" in gathered.spec.data["question"]:
        about["reference"] = report.comparison(one, gathered.spec.data["question"]["reference"])
    return about | {"error": _error(stage, one), "beside_it": _described(stage, one)}


def _headline(value: float, error: float | None) -> tuple[float, float | None]:
    if not error:
        return float(formatting.number(value)), error
    shown = formatting.with_error(value, error).split(" ± ")
    return float(shown[0]), float(shown[-1])


def _error(stage: report.StageReport, one: Answer) -> JsonObject:
    """Return what the standard error is made of: the errors that the stage's schema names, and which of them it is."""
    result = one.step.outcome.result
    named = stage.schema.get("of_answer", {}).get("errors", {})
    parts = {name: result[name] for name in named if result.get(name) is not None}
    key = stage.schema.get("answer", {}).get("standard_error", "")
    own = result.get(key)
    equal = [name for name, value in parts.items() if own and abs(value - own) <= SAME_SHARE * abs(own)]
    shown = {name: {"value": rounded(value, DIGITS), "is": stage.described(name)} for name, value in parts.items()}
    about: dict[str, Any] = {"parts": shown, "defined_as": stage.described(key)}
    if equal:
        about["standard_error_is"] = " and ".join(equal)
    if own and one.value:
        about["share_of_value"] = f"{abs(one.standard_error or 0) / abs(one.value):.1%}"
    if "degrees_of_freedom" in result:
        about["degrees_of_freedom"] = result["degrees_of_freedom"]
    return about


def _described(stage: report.StageReport, one: Answer) -> JsonObject:
    """Return the other numbers and texts of the result with what they are; longer data are left out."""
    keys, more = stage.schema.get("answer", {}), stage.schema.get("of_answer", {})
    ends = [keys.get("interval", {}).get(end) for end in ("low", "high")]
    told = {*(value for value in keys.values() if isinstance(value, str)), *ends, *more.get("errors", {})}
    kept = {key: value for key, value in stage.ordered(one.step).items() if key not in told and value is not None}
    plain = {key: value for key, value in kept.items() if not isinstance(value, Mapping | list)}
    return {key: {"value": rounded(value, DIGITS), "is": stage.described(key)} for key, value in plain.items()}


def _finals(gathered: Report) -> JsonObject:
    """Return the results of the last stages, where no schema says which number answers the question."""
    return {step.step: step.outcome.result for stage in gathered.final_stages for step in stage.steps}


def _assumptions(root: Path, spec: Spec, chain: Sequence[Signed]) -> Iterator[JsonObject]:
    """Yield the assumptions and what checks them; of a verified one who signed it first, and whether it was open.

    No time: in a campaign that replays the answers of another one it is another time.
    """
    open_in_draft = _open_in_draft(root)
    history = [(signed.record, _status(signed_spec(root, signed.hash))) for signed in chain]
    for one in spec.data["method"]["assumptions"]:
        about = {key: one[key] for key in ("id", "statement", "verified_by", "status")}
        about["checked_by"] = criteria_review.checks(spec, one["verified_by"])
        record = next((record for record, status in history if status.get(one["id"]) == "verified"), None)
        if one["status"] == "verified" and record:
            about["vouched"] = f"signed as verified by {record.approver} with version {record.version}"
        if one["id"] in open_in_draft:
            about["drafted"] = "left UNVERIFIED by the design agent, for a person to resolve"
        yield about


def _open_in_draft(root: Path) -> set[str]:
    """Return the ids of the assumptions that the design agent left open in its last draft."""
    turns = sorted((root / "design").glob("answer-*.json"), key=lambda path: path.stat().st_mtime_ns)
    drafts = [documents.load_record(path, "answer")["answer"].get("draft") for path in turns]
    last: JsonObject = next((draft for draft in reversed(drafts) if draft), {})
    found = last.get("method", {}).get("assumptions", [])
    return {str(one["id"]) for one in found if one.get("status") == "UNVERIFIED"}


def _status(spec: Spec) -> dict[str, str]:
    return {str(one["id"]): str(one["status"]) for one in spec.data["method"]["assumptions"]}
