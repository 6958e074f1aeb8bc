"""Rule of thumb of the debug agent: known messages in the log, and the least change among the signed choices.

The messages and their meaning stand in `workflow/agents/failures.yaml`, each with its source. Superscientist, appendix
E, is the pattern: a missing environment module is found in the log and loaded; a fault of the science is left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sophron.agents.documents import known_failures
from sophron.agents.documents.answers import DebugAnswer, Overlay
from sophron.agents.documents.known_failures import Match
from sophron.agents.rule_based.input_checks import count, given, listed, mapping, number, objects, quoted, text
from sophron.interfaces import UncheckedObject
from sophron.records.typed_json import to_json

MOST_EVIDENCE = 5
MOST_RETRIES = 2  # of a machine's failure; the third time it is no accident
CAUSE_KINDS = ("verdict", "dead", "outcome", "environment")
REPAIR = (
    "Nothing of the science is at fault. A person repairs the machine, then the same line goes on; an outcome that was "
    "kept as failed is cleared by sophron retry."
)


@dataclass(frozen=True)
class Shape:
    """The mechanical side of a stage: values in force, signed choices, and what was tried before."""

    values: UncheckedObject
    choices: UncheckedObject
    tried: Sequence[tuple[str, object]]

    def options(self, key: str) -> list[object]:
        """Return signed choices of `key` that are neither in force nor tried."""
        used = [value for name, value in self.tried if name == key]
        choices = listed(self.choices.get(key, []), f"the choices of {key}")
        return [value for value in choices if value != self.values.get(key) and value not in used]


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Let the first known message of the gravest class decide: definitional before mechanical before transient.

    A failed verdict of finished steps is definitional. A mechanical fault is cured by the least larger memory or time,
    by no accelerator, or by the choice that holds the missing environment module, if that was signed; otherwise, and
    for everything unknown, a person decides. A machine's failure is repeated twice.
    """
    answer: UncheckedObject = to_json(_diagnose(inputs))
    return answer


def _diagnose(inputs: UncheckedObject) -> DebugAnswer:
    failure = mapping(inputs.get("failed") or given(inputs, "failure"), "failure")
    own = inputs.get("failures")
    table = known_failures.installed() if own is None else known_failures.parse(listed(own, "failures"))
    reasons = _reasons(failure)
    if _only_criteria_failed(failure):
        return _missed_criteria(failure)
    hits = known_failures.matches([*reasons, *text(given(inputs, "log"), "log").splitlines()], table)
    if hits:
        return _diagnose_known(hits, inputs)
    unknown = "No message in the log is among the known ones."
    return DebugAnswer(kind="unknown", diagnosis=unknown, reason="What failed is not known here.", confidence="low")


def _reasons(failure: UncheckedObject) -> list[str]:
    """Return the reasons on record, line by line: of the outcome, of each failed step, and of its last try."""
    if failure.get("kind") not in CAUSE_KINDS:
        raise ValueError(f"failure.kind is none of {', '.join(CAUSE_KINDS)}")
    outcome = mapping(failure.get("outcome") or {}, "failure.outcome")
    verdict = mapping(failure.get("verdict") or {}, "failure.verdict")
    failed = mapping(verdict.get("failed_steps") or {}, "verdict.failed_steps")
    stated = mapping(failure.get("reasons") or {}, "failure.reasons")
    last = {str(one.get("step")): one.get("reason") for one in objects(failure.get("tries", []), "failure.tries")}
    reasons = [outcome.get("reason"), *stated.values(), *failed.values(), *last.values()]
    return [line for reason in reasons if isinstance(reason, str) for line in reason.splitlines()]


def _only_criteria_failed(failure: UncheckedObject) -> bool:
    """Return whether every step was finished and the criteria alone said no."""
    verdict = mapping(failure.get("verdict") or {}, "failure.verdict")
    return failure["kind"] == "verdict" and bool(verdict) and not verdict.get("failed_steps")


def _missed_criteria(failure: UncheckedObject) -> DebugAnswer:
    verdict = mapping(failure["verdict"], "failure.verdict")
    criteria = objects(verdict.get("criteria", []), "verdict.criteria")
    missed = [quoted(str(one.get("statement") or one.get("id"))) for one in criteria if not one.get("passed")]
    diagnosis = f"The steps are finished, and criteria do not hold: {' '.join(missed) or 'none is named.'}"
    reason = "No mechanical change makes a finished result pass."
    return DebugAnswer(kind="definitional", diagnosis=quoted(diagnosis, 1000), reason=reason, confidence="high")


def _diagnose_known(hits: Sequence[Match], inputs: UncheckedObject) -> DebugAnswer:
    first = hits[0]
    evidence = list(dict.fromkeys(match.line for match in hits if match.known.kind == first.known.kind))
    evidence = [line for line in evidence if line][:MOST_EVIDENCE]
    diagnosis = first.known.what
    if first.known.kind == "definitional":
        reason = "This is a fault of the science; a mechanical change would hide it."
        return DebugAnswer(
            kind="definitional", diagnosis=diagnosis, evidence=evidence, reason=reason, confidence="high"
        )
    if first.known.kind == "environment":
        return DebugAnswer(kind="environment", diagnosis=diagnosis, evidence=evidence, reason=REPAIR, confidence="high")
    if first.known.kind == "transient":
        return _transient(diagnosis, evidence, inputs)
    return _mechanical(hits, diagnosis, evidence, _shape(inputs))


def _transient(diagnosis: str, evidence: list[str], inputs: UncheckedObject) -> DebugAnswer:
    before = objects(inputs.get("tries", []), "tries")
    if sum(one.get("action") == "retry" for one in before) >= MOST_RETRIES:
        reason = f"It was repeated {MOST_RETRIES} times, so it is no accident."
        return DebugAnswer(kind="transient", diagnosis=diagnosis, evidence=evidence, reason=reason, confidence="medium")
    reason = "Nothing of the step is at fault; it may run again as it is."
    return DebugAnswer(
        kind="transient",
        diagnosis=diagnosis,
        evidence=evidence,
        reason=reason,
        confidence="medium",
        action="retry",
    )


def _shape(inputs: UncheckedObject) -> Shape:
    block = mapping(given(inputs, "spec_stage"), "spec_stage")
    mechanical = mapping(block.get("mechanical", {}), "spec_stage.mechanical")
    values: dict[str, object] = {"accelerator": "none", **mechanical}
    for overlay in objects(inputs.get("overlays", []), "overlays"):
        if overlay.get("stage", inputs.get("stage")) == inputs.get("stage"):
            values[str(overlay.get("key"))] = overlay.get("value")
    attempts = []
    for before in objects(inputs.get("tries", []), "tries"):
        overlay = mapping(before.get("overlay") or {}, "the overlay of a try")
        attempts.append((str(overlay.get("key")), overlay.get("value")))
    return Shape(values, mapping(mechanical.get("choices", {}), "choices"), attempts)


def _mechanical(hits: Sequence[Match], diagnosis: str, evidence: list[str], shape: Shape) -> DebugAnswer:
    for match in hits:
        if match.known.kind != "mechanical":
            break
        value = _remedy(match, shape)
        if value is not None:
            key = match.known.key
            reason = f"{value} is among the signed choices of {key} and was not tried yet."
            return DebugAnswer(
                kind="mechanical",
                diagnosis=match.known.what,
                evidence=evidence,
                reason=reason,
                confidence="high",
                action="overlay",
                overlay=Overlay(key, value),
            )
    key = hits[0].known.key
    if key == "modules":
        return DebugAnswer(kind="environment", diagnosis=diagnosis, evidence=evidence, reason=REPAIR, confidence="high")
    reason = f"No value that would cure it is left among the signed choices of {key}; a person may sign one."
    return DebugAnswer(kind="mechanical", diagnosis=diagnosis, evidence=evidence, reason=reason, confidence="high")


def _remedy(match: Match, shape: Shape) -> Any:
    """Return the value to choose, or None if no signed choice helps."""
    options = shape.options(match.known.key)
    choose = match.known.remedy.choose if match.known.remedy else ""
    if choose == "none":
        return "none" if "none" in options else None
    if choose == "larger":
        now = number(shape.values.get(match.known.key)) or 0
        larger = [size for size in map(count, options) if (size or 0) > now and size is not None]
        return min(larger, default=None)
    holding = [value for value in options if _holds(value, match.modules)]
    return min(holding, key=lambda value: (len(_modules(value)), str(value)), default=None)


def _modules(choice: object) -> list[str]:
    """Return the environment modules of a choice: a text such as `gcc/12 openmpi/4.1`, or a list of names."""
    words = choice.split() if isinstance(choice, str) else choice if isinstance(choice, list) else []
    return [word.lower() for word in words] if all(isinstance(word, str) for word in words) else []


def _holds(choice: object, names: Sequence[str]) -> bool:
    plain = {name.split("/")[0] for name in names}
    return any(module in names or module.split("/")[0] in plain for module in _modules(choice))
