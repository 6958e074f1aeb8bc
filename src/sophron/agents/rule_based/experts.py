"""Rules of thumb of the three experts: known bounds on the diagnostics of a benchmark, and on facts of the code.

They read fields and syntax trees, no prose, and of any pipeline. Each bound has a source in its rule's docstring.
Before a pipeline has run they vote on its code alone, with less confidence; before there is one, they ask the
bibliography.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain

from sophron.agents.rule_based import benchmark_findings, pipeline_facts
from sophron.agents.rule_based.benchmark_findings import Asked, stages
from sophron.agents.rule_based.input_checks import count, given, mapping, objects, quoted, text
from sophron.agents.rule_based.pipeline_agents import restored
from sophron.agents.rule_based.pipeline_facts import Finding
from sophron.interfaces import UncheckedObject
from sophron.interfaces.model_backend import Text, ToolAnswer
from sophron.interfaces.rule_based_agent import RuleOfThumb, ToolUser, Use

KNOWS_LITTLE = 0.3
"""Confidence before there is code."""
READ = 0.5
"""Confidence of what code alone says."""
MEASURED = 0.8
SWAYED = 0.2
"""What a vote loses in confidence where another expert names a high concern that it does not share."""


Rule = Callable[[UncheckedObject, int], Iterator[Finding]]
"""Findings of one guest, given how many windows the pipeline has."""


def vote(inputs: UncheckedObject, design: str, subject: str, rule: Rule) -> UncheckedObject:
    """Return the vote of one expert. design: what it recommends while there is nothing to judge; subject: of facts."""
    text(given(inputs, "mode"), "mode")
    results = mapping(inputs.get("results") or {}, "results")
    code = pipeline_facts.findings(str(inputs.get("pipeline") or ""), subject)
    if not results.get("guests"):
        return _before(inputs, design, code)
    guests, windows = mapping(results["guests"], "guests"), count(results.get("windows"))
    if windows is None:
        raise ValueError("the results do not say how many windows there are")
    found = {name: list(rule(mapping(each, "a guest"), windows)) for name, each in guests.items()}
    findings = list(dict.fromkeys([*(finding for each in found.values() for finding in each), *code]))
    gravest = [finding for finding in findings if finding.severity == "high"]
    finished = [name for name, each in guests.items() if stages(mapping(each, "a guest"))[3].delta_g is not None]
    if gravest:
        label, insight = "fail", gravest[0].text
    elif len(finished) < len(guests):
        label, insight = "uncertain", f"{len(guests) - len(finished)} of {len(guests)} guests have no number."
    else:
        label, insight = "pass", "All guests have a number, and no field that this rule knows is out of its bounds."
    confidence = MEASURED - (SWAYED if label == "pass" and _others_object(inputs) else 0.0)
    edit = next((change for finding in gravest if (change := _edit(finding, str(inputs.get("pipeline", ""))))), None)
    affected = quoted(", ".join(sorted(name for name, each in found.items() if each))) or "none"
    reasoning = f"Looked at the diagnostics of {len(guests)} guests; findings for {affected}."
    return {
        "label": label,
        "confidence": round(confidence, 2),
        "strategic_insight": insight,
        "concerns": _said(findings),
        "reasoning": reasoning,
        "edit": edit,
    }


def _before(inputs: UncheckedObject, design: str, code: list[Finding]) -> UncheckedObject:
    """Vote on the code; uncertain while there is none that can be read."""
    known = len(pipeline_facts.read(str(inputs.get("pipeline") or ""))) == len(pipeline_facts.FOCUS)
    label = "fail" if code else "pass" if known else "uncertain"
    insight = code[0].text if code else "No fact of the code is out of its bounds." if known else f"Take {design}."
    said = (
        "Looked at facts of the code: constants, time step, thermostat, guards, standard state, windows."
        if code or known
        else "A rule of thumb judges no plan: it only looks at code and measured fields."
    )
    edit = next((change for finding in code if (change := _edit(finding, str(inputs.get("pipeline", ""))))), None)
    return {
        "label": label,
        "confidence": READ if code else READ - SWAYED / 2 if known else KNOWS_LITTLE,
        "strategic_insight": insight,
        "concerns": _said(code),
        "reasoning": said,
        "edit": edit,
    }


def _said(findings: list[Finding]) -> list[dict[str, str]]:
    return [{"severity": each.severity, "focus": each.focus, "text": each.text} for each in findings]


def _others_object(inputs: UncheckedObject) -> bool:
    votes = [mapping(each, "a vote") for each in mapping(inputs.get("votes") or {}, "votes").values()]
    concerns = [one for each in votes for one in objects(each.get("concerns") or [], "concerns")]
    return any(concern.get("severity") == "high" for concern in concerns)


def _edit(finding: Finding, pipeline: str) -> dict[str, str] | None:
    """Return where the suspect is one of our reference files but for one place: that place as we had it."""
    return restored(finding.suspect, pipeline) if finding.suspect else None


def _reading(judge: RuleOfThumb, words: str) -> ToolUser:
    """Let the rule, in the mode `design`, first ask the tool `literature` for `words` and say what it found."""

    def script(inputs: UncheckedObject) -> Generator[Sequence[Use], Sequence[ToolAnswer], UncheckedObject]:
        own = judge(inputs)
        if str(inputs.get("mode", "")).strip() == "design":
            (answer,) = yield (Use("literature", {"query": words}),)
            text = "".join(part.text for part in answer.content if isinstance(part, Text))
            about = text.partition("\n")[0].partition(". ")[0]
            nearest = f"Of the bibliography this is nearest to it: {quoted(about)}."
            return {**own, "reasoning": f"{own['reasoning']} {nearest}"}
        return own

    return ToolUser(script)


def judge_force_field(inputs: UncheckedObject) -> UncheckedObject:
    """Judge warnings of preparation, sums of charges, and the restraints' energy at the start, which is zero.

    Charges are renormalised to the integer of the metadata, and static restraints are placed where the complex lies
    (attach-pull-release, 10.1021/acs.jctc.5b00405). Without such a field, nothing is claimed.
    """
    return vote(
        inputs,
        "parameters of one origin for host and guest, and ions that belong to their water (10.1002/jcc.10128)",
        "force_field",
        benchmark_findings.force_field,
    )


def judge_sampling(inputs: UncheckedObject) -> UncheckedObject:
    """Judge overlap, samples, blocks, temperature and drift as the harness measured them, of whichever pipeline.

    Of what a pipeline states alone: dwell, and refusals for want of samples, if the analysis used all windows.

    Overlap of at least 0.03 between neighbours: 10.1007/s10822-015-9840-9. Fifty effective samples a window and starts
    from both directions are the guards of `science.estimators.mbar`.
    """
    return vote(
        inputs,
        "attach-pull-release with windows started from both directions (10.1021/acs.jctc.5b00405)",
        "sampling",
        lambda guest, windows: chain(
            benchmark_findings.sampling(guest, windows), benchmark_findings.measured(guest, Asked.of(inputs))
        ),
    )


def judge_analysis(inputs: UncheckedObject) -> UncheckedObject:
    """Judge if all windows were used, the cycle adds up, the release is that of its restraint, and guards refused.

    And if any file knows a standard state: without the volume of one molecule, no constant has a unit.

    Binding is minus the sum of attach, pull and release (10.1021/acs.jctc.5b00405); the release of a distance is an
    integral of two numbers that stand in the diagnostics (10.1016/S0006-3495(97)78756-3), so it is made again.
    """
    return vote(
        inputs,
        "MBAR over all windows with guards that refuse, and an analytic release (10.1063/1.2978177)",
        "analysis",
        lambda guest, windows: chain(
            benchmark_findings.analysis(guest, windows), benchmark_findings.remade(guest, Asked.of(inputs))
        ),
    )


force_field = _reading(judge_force_field, "force field parameters charges ions water")
sampling = _reading(judge_sampling, "attach-pull-release host-guest sampling windows")
analysis = _reading(judge_analysis, "mbar overlap estimator standard-state release")
