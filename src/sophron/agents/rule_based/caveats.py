"""Rule of thumb of the caveats agent: the caveats that follow from the records, without a word of praise."""

from collections import Counter
from collections.abc import Iterator, Mapping

from sophron.agents.rule_based.input_checks import given, listed, mapping, number, objects, quoted, stages_of
from sophron.interfaces import UncheckedObject

LARGE_ERROR = 0.10
FAR_ERRORS = 2.0
ERROR_ENDING = "_standard_error"
GRAVITY = ("serious", "caution", "note")
Caveat = dict[str, str]


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Give one caveat for each fact on record that weakens the answer; none is left out and none is made up.

    A missing number or error, and a reference more than two standard errors away, are serious; a relative error above
    a tenth is a caution (Superscientist F.2: report under-converged values with their caveat, never tune towards the
    literature).
    """
    spec = _spec(inputs)
    answers = _answers(inputs.get("answers") or given(inputs, "result"))
    caveats = [
        *(caveat for one in answers for caveat in [*_uncertainty(one), *_reference(one, spec)]),
        *_unverified(inputs, spec),
        *_verdicts(inputs.get("judged") or inputs.get("verdicts", [])),
        *_tries(inputs.get("tries", [])),
        *_amendments(inputs.get("amendments", [])),
        *_method(spec),
    ]
    if not answers:
        caveats.append(_caveat("uncertainty", "No stage gives a number that answers the question.", "serious"))
    caveats.sort(key=lambda caveat: GRAVITY.index(caveat["severity"]))
    return {"caveats": caveats, "summary": _summary(spec, answers, caveats)}


def _spec(inputs: UncheckedObject) -> UncheckedObject:
    """Return the spec; of its parts, where an agent is given no more than it needs."""
    if "definitions" not in inputs:
        return mapping(given(inputs, "spec"), "spec")
    about = mapping(given(inputs, "question"), "question")
    return {**about, "stages": mapping(inputs["definitions"], "definitions")}


def _caveat(about: str, text: str, severity: str) -> Caveat:
    return {"about": about, "text": quoted(text, 1000), "severity": severity}


def _answers(result: object) -> list[UncheckedObject]:
    """Return the numbers that answer the question: a list of {name, value, standard_error, interval, refusal}.

    Where whole results are given instead (step -> result), each number beside which a `..._standard_error` stands.
    """
    if isinstance(result, list):
        return objects(result, "result")
    answers: list[UncheckedObject] = []
    for step, whole in mapping(result, "result").items():
        numbers = mapping(whole, f"the result of {quoted(step)}")
        for key in numbers:
            name = key.removesuffix(ERROR_ENDING)
            if name != key and name in numbers:
                ends = {side: numbers.get(f"interval_{side}") for side in ("low", "high")}
                one = {"name": name, "value": numbers[name], "standard_error": numbers[key]}
                answers.append({**one, "interval": ends, "refusal": numbers.get("refusal")})
    return answers


def _named(one: UncheckedObject) -> str:
    return quoted(str(one.get("name", "the answer")), 80)


def _uncertainty(one: UncheckedObject) -> Iterator[Caveat]:
    name, value, error = _named(one), number(one.get("value")), number(one.get("standard_error"))
    if value is None:
        why = one.get("refusal") or "no reason is on record"
        yield _caveat("uncertainty", f"There is no number for {name}: {why}", "serious")
        return
    if error is None:
        yield _caveat("uncertainty", f"{name} = {value:.6g} has no standard error.", "serious")
        return
    share = abs(error / value) if value else float("inf")
    text = f"{name} = {value:.6g} with a standard error of {error:.2g} ({share:.1%})"
    ends = _interval(one.get("interval"))
    if ends is not None:
        text += f"; interval {ends[0]:.6g} to {ends[1]:.6g}"
    yield _caveat("uncertainty", f"{text}. {_made_of(one)}", "caution" if share > LARGE_ERROR else "note")


def _made_of(one: UncheckedObject) -> str:
    """Say which of a stage's errors the standard error is, as far as the input says so."""
    about = one.get("error")
    is_one = about.get("standard_error_is") if isinstance(about, Mapping) else None
    if not isinstance(about, Mapping) or not isinstance(is_one, str):
        return "It holds statistical error only."
    parts = mapping(about.get("parts", {}), "error.parts")
    sizes = {name: number(mapping(part, "error.parts").get("value")) for name, part in parts.items()}
    others = ", ".join(f"{quoted(name)} {size:.2g}" for name, size in sizes.items() if size is not None)
    freedom = f" with {about['degrees_of_freedom']} degrees of freedom" if about.get("degrees_of_freedom") else ""
    return f"It is the {quoted(is_one)}{freedom} (of: {others}), and holds no systematic error."


def _interval(interval: object) -> tuple[float, float] | None:
    if not isinstance(interval, Mapping):
        return None
    low, high = number(interval.get("low")), number(interval.get("high"))
    return None if low is None or high is None else (low, high)


def _reference(one: UncheckedObject, spec: UncheckedObject) -> Iterator[Caveat]:
    reference = mapping(spec.get("question", {}), "spec.question").get("reference")
    value, error = number(one.get("value")), number(one.get("standard_error"))
    if not isinstance(reference, Mapping) or value is None:
        return
    low, high = number(reference.get("low")), number(reference.get("high"))
    if low is None or high is None or low <= value <= high:
        return
    distance = low - value if value < low else value - high
    where = f"{distance:.3g} {'below' if value < low else 'above'} the published {low:g} to {high:g}"
    source = quoted(str(reference.get("source", "")), 200)
    if not error:
        yield _caveat(
            "reference", f"{_named(one)} lies {where} ({source}), and has no error to judge that by.", "caution"
        )
    elif distance / error > FAR_ERRORS:
        text = f"{_named(one)} lies {where}, {distance / error:.1f} standard errors away ({source})."
        yield _caveat("reference", f"{text} Nothing was tuned towards it; the difference is unexplained.", "serious")


def _unverified(inputs: UncheckedObject, spec: UncheckedObject) -> Iterator[Caveat]:
    told = objects(inputs.get("assumptions", []), "assumptions")
    ids = [
        *listed(inputs.get("unverified", []), "unverified"),
        *(one for one in told if one.get("status") == "UNVERIFIED"),
    ]
    assumptions = objects(mapping(spec.get("method", {}), "spec.method").get("assumptions", []), "assumptions")
    known = {str(one.get("id")): one for one in assumptions}
    for one in ids:
        entry = one if isinstance(one, Mapping) else known.get(str(one), {"statement": str(one)})
        text = f"Nobody verified: {entry.get('statement', entry.get('id', ''))}"
        yield _caveat("unverified", text, "serious")


def _verdicts(verdicts: object) -> Iterator[Caveat]:
    for verdict in objects(list(verdicts.values()) if isinstance(verdicts, Mapping) else verdicts, "verdicts"):
        stage = quoted(str(verdict.get("stage", "a stage")), 80)
        criteria = objects(verdict.get("criteria", []), "criteria of a verdict")
        if verdict.get("verdict") != "pass":
            missed = ", ".join(str(one.get("id")) for one in criteria if not one.get("passed"))
            yield _caveat("verdict", f"{stage} did not pass ({missed or 'no criterion is named'}).", "serious")
        elif not criteria:
            yield _caveat("verdict", f"{stage} was looked at by no criterion.", "note")


def _tries(tries: object) -> Iterator[Caveat]:
    """Yield caveats of tries: a sentence each of what went wrong, or {step, status, reason} of each try."""
    troubles = listed(tries, "tries")
    yield from (_caveat("failure", f"On the way: {one}", "note") for one in troubles if isinstance(one, str))
    told = objects([one for one in troubles if not isinstance(one, str)], "tries")
    failed = [one for one in told if one.get("status", "failed") != "done"]
    times = Counter(str(one.get("step", "a step")) for one in failed)
    last = {str(one.get("step", "a step")): one.get("reason") for one in failed}
    for step, count in times.items():
        why = f" (last: {last[step]})" if last[step] else ""
        yield _caveat("failure", f"{step} failed {count} times on the way{why}.", "note")


def _amendments(amendments: object) -> Iterator[Caveat]:
    for one in objects(amendments, "amendments"):
        stages = one.get("invalidated_stages")
        again = ", ".join(map(str, stages)) if isinstance(stages, list) and stages else "no stage"
        text = f"Version {one.get('version')} changed the spec while it ran: {one.get('rationale')} ({again} ran again)"
        yield _caveat("amendment", f"{quoted(text, 900)}.", "note")


def _method(spec: UncheckedObject) -> Iterator[Caveat]:
    """Yield where the pair potential of a definition is cut, as the definition says."""
    for name, block in stages_of(spec).items():
        model = mapping(block.get("definition", {}), f"definition of {name}").get("model")
        cutoff = number(model.get("cutoff")) if isinstance(model, Mapping) else None
        if cutoff is not None:
            text = f"The pair potential is cut at {cutoff:g} ({name}, length in the units of the spec)."
            yield _caveat("method", f"{text} A result for another cut-off is a result for another liquid.", "note")


def _summary(spec: UncheckedObject, answers: list[UncheckedObject], caveats: list[Caveat]) -> str:
    units = quoted(str(mapping(spec.get("question", {}), "spec.question").get("units", "")), 80)
    numbers = "; ".join(_short(one) for one in answers if number(one.get("value")) is not None)
    counts = Counter(caveat["severity"] for caveat in caveats)
    weight = ", ".join(f"{counts[level]} {level}" for level in GRAVITY if counts[level]) or "none"
    sentence = f"{numbers} ({units or 'units not stated'})" if numbers else "No number answers the question"
    return f"{sentence}. Caveats: {weight}."


def _short(one: UncheckedObject) -> str:
    error = number(one.get("standard_error"))
    known = f" +- {error:.2g}" if error is not None else ""
    return f"{_named(one)} = {number(one.get('value')):.6g}{known}"
