"""`sophron answer`: the number that answers the question, its uncertainty, the verdicts, and where the report lies."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sophron.campaign.report.report import Answer, Report

HELP = "show the number that answers the question, its uncertainty, the verdicts and the report"
REPORT_NAME = "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")


def run(args: argparse.Namespace) -> int:
    """Print the answer of a finished campaign."""
    from sophron.agents.gateway import ledger
    from sophron.campaign.execution import outcome_store
    from sophron.campaign.report import report
    from sophron.campaign.spec.spec import SPEC_NAME, load
    from sophron.records import approvals

    root = args.campaign.absolute()
    gathered = report.collect(root, load(root / SPEC_NAME), approvals.signed_gate(root))
    print("\n".join(_lines(gathered)))
    if lack := outcome_store.without_caveats(root):
        print(lack)
    if cost := ledger.beside_the_caps(root):
        print(ledger.spending_sentence(cost))
    return 0


def _lines(gathered: "Report") -> Iterator[str]:
    for answer in gathered.answers:
        yield from _about(answer, gathered.spec.data["question"])
    for stage in gathered.stages:
        held = [criterion.passed for criterion in stage.verdict.criteria]
        yield f"  {stage.name:<14} {stage.verdict.verdict:<6} {_held(held)}"
    yield from _reports(gathered)


def _held(passed: Sequence[bool]) -> str:
    return f"{sum(passed)} of {len(passed)} criteria hold" if passed else "no criterion was set"


def _about(answer: "Answer", question: Mapping[str, Any]) -> Iterator[str]:
    from sophron.records.sanitize import one_line

    yield from _number(answer, question)
    if answer.remark:
        yield f"  {one_line(answer.remark)}"


def _number(answer: "Answer", question: Mapping[str, Any]) -> Iterator[str]:
    from sophron.campaign.rendering.formatting import interval, with_error
    from sophron.campaign.report.report import comparison
    from sophron.records.sanitize import one_line

    if answer.value is None:
        reason = one_line(answer.refusal or "the stage gave none")
        yield f"{one_line(question['quantity'])}: no number, because {reason}"
        return
    number = f"{with_error(answer.value, answer.standard_error)} {one_line(answer.units)}"
    yield f"{one_line(question['quantity'])}: {f'{one_line(answer.subject)} ' if answer.subject else ''}{number}"
    if answer.interval:
        low, high, level = answer.interval
        yield f"  {100 * level:g} % interval {interval(low, high)}; after ± stands one standard error."
    if "reference" in question:
        yield f"  {one_line(comparison(answer, question['reference']))}"


def _reports(gathered: "Report") -> Iterator[str]:
    """A host may have put the outputs anywhere: the report lies where the folders of the stages lie."""
    folders = {step.path.parents[len(step.wildcards) + 1] for stage in gathered.stages for step in stage.steps}
    for folder in sorted(folders):
        if (folder / REPORT_NAME).is_file():
            yield f"report: {folder / REPORT_NAME}"
