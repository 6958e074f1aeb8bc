"""Rule of thumb of the explain agent: the verdict in words, with the reasons on record. It never judges anew."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from sophron.agents.rule_based.input_checks import given, mapping, objects, quoted, read
from sophron.campaign.execution import margins
from sophron.campaign.execution.margins import StageMargins
from sophron.campaign.execution.verdict import Verdict
from sophron.interfaces import UncheckedObject


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Copy the verdict; say how many criteria hold, and the reasons of a failure.

    Next is accept after a pass, debug where a step failed, amend where finished steps do not fulfil the criteria
    (Superscientist A.2 and A.3: the verdict is deterministic, and only an amendment may change a criterion).
    """
    judged = margins_of(inputs.get("judged") or given(inputs, "verdict"))
    if judged.verdict not in ("pass", "fail"):
        raise ValueError("verdict.verdict is neither pass nor fail")
    passed = judged.verdict == "pass"
    causes = [] if passed else [*_causes(judged), *_refusals(inputs)]
    said: dict[str, object] = {
        "stage": judged.stage,
        "verdict": judged.verdict,
        "explanation": _explained(judged, inputs),
        "causes": list(dict.fromkeys(causes)),
        "next": "accept" if passed else "debug" if judged.failed_steps else "amend",
    }
    if "judged" not in inputs:  # a definition of before, whose answers repeat the numbers
        said["numbers"] = [{"criterion": one.id, **asdict(least)} for one in judged.criteria for least in one.least]
    return said


def margins_of(value: object) -> StageMargins:
    """Return the margins that an input holds, or those of the whole verdict that definitions of before are given."""
    verdict = mapping(value, "verdict")
    if any("least" in one for one in objects(verdict.get("criteria", []), "verdict.criteria")):
        return read(StageMargins, verdict, "verdict")
    whole = {"definition_digest": "", "criteria_digest": "", "outcomes": {}, "criteria": [], "failed_steps": {}}
    return margins.of_verdict(read(Verdict, {**whole, **verdict}, "verdict"))


def _causes(judged: StageMargins) -> Iterator[str]:
    for step, reason in judged.failed_steps.items():
        yield quoted(f"{step} failed: {reason}", 400)
    for one in judged.criteria:
        if one.missed:
            about = one.statement or one.id
            yield quoted(f"Not so in {one.missed} of {one.steps} steps: {about} {one.reason}.", 500)


def _refusals(inputs: UncheckedObject) -> Iterator[str]:
    """Yield refusals that a stage gave in place of a number, as estimators leave them in `refusal`."""
    results = mapping(inputs.get("results", {}), "results")
    steps = mapping(results.get("steps", {}), "results.steps")
    listed = [{"step": step, "result": result} for step, result in steps.items()]
    for outcome in [*listed, *objects(inputs.get("outcome", []), "outcome")]:
        result = outcome.get("result")
        refusal = result.get("refusal") if isinstance(result, Mapping) else None
        if isinstance(refusal, str):
            yield quoted(f"{outcome.get('step', outcome.get('stage', 'A step'))} gave no number: {refusal}", 400)


def _explained(judged: StageMargins, inputs: UncheckedObject) -> str:
    held = sum(one.passed for one in judged.criteria)
    stands = f"{held} of {len(judged.criteria)} criteria hold; the verdict is {judged.verdict}."
    sentences = [f"Stage {quoted(judged.stage)}: {stands}"]
    if judged.failed_steps:
        sentences.append(f"{len(judged.failed_steps)} of its steps failed and gave no result.")
    if not judged.criteria:
        sentences.append("Nothing was judged: the stage has no criteria.")
    ids = {str(one.get("id")) for one in objects(inputs.get("criteria", []), "criteria")}
    unknown = sorted(ids - {one.id for one in judged.criteria})
    if unknown:
        sentences.append(f"The verdict does not speak of {quoted(', '.join(unknown))}, which the spec asks for.")
    return " ".join(sentences)
