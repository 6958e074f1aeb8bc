"""Rule of thumb of the screening judge: there is something to score where a report has its parts filled."""

from sophron.agents.rule_based.input_checks import given, mapping, quoted, strings
from sophron.interfaces import UncheckedObject

PLACEHOLDERS = ("todo", "tbd", "placeholder", "lorem ipsum", "to be filled", "n/a")
FEWEST_WORDS = 5


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Not passed: a run that broke off, no report, a placeholder in place of one, or hardly a word in it.

    AgentBuild, section III-B: the screening pass flags crashes and missing reports; it scores nothing.
    """
    run, report = mapping(given(inputs, "run"), "run"), mapping(given(inputs, "report"), "report")
    reasons = []
    if run.get("failure"):
        reasons.append(quoted(f"The run broke off: {run['failure']}"))
    if not report:
        reasons.append("There is no report.")
    said = [text.strip() for text in strings(report)]
    for text in said:
        if text.casefold() in PLACEHOLDERS:
            reasons.append(quoted(f"A field of the report is a placeholder: {text}"))
            break
    if report and sum(len(text.split()) for text in said) < FEWEST_WORDS:
        reasons.append("The report says next to nothing.")
    return {"passed": not reasons, "reasons": reasons}
