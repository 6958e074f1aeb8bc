"""`sophron rederive`: compute every number of a finished campaign again from its files, and compare."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.cli import _step_arguments

if TYPE_CHECKING:
    from sophron.campaign.execution.outcome_store import Finished
    from sophron.campaign.report.rederive import Check, Rendered
    from sophron.campaign.spec.spec import Spec

HELP = "compute the numbers of results, verdicts and report again from the files that lie there, and compare"
LONGEST = 80
"""Characters of a cell."""
EXAMPLES = """\
exit codes: 0 all that can be computed again agrees, 1 a number differs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    parser.add_argument("--json", action="store_true", help="print every number as JSON")


def run(args: argparse.Namespace) -> int:
    """Print what differs and what cannot be derived."""
    import json

    from sophron.campaign.report.rederive import State, rederive
    from sophron.campaign.spec.spec import SPEC_NAME, load
    from sophron.records.typed_json import to_json

    root = args.campaign.absolute()
    spec = load(root / SPEC_NAME)
    checks = rederive(root, spec, _step_arguments.function, lambda known: _report(root, spec, known))
    if args.json:
        print(json.dumps(to_json(checks), indent=1))
    else:
        print("\n".join(_lines(checks)))
    return int(any(check.state is State.DIFFERS for check in checks))


def _report(root: Path, spec: "Spec", known: "Mapping[str, Finished]") -> "Rendered":
    """The report, as `sophron report` would write it of these steps."""
    from dataclasses import replace

    from sophron.agents.gateway import ledger
    from sophron.campaign.execution import outcome_store, verdict
    from sophron.campaign.report import crate, report, report_page
    from sophron.campaign.report.rederive import Rendered
    from sophron.records import approvals, documents
    from sophron.records.errors import UserError

    gathered = report.collect(root, spec, approvals.signed_gate(root))
    stages = []
    for stage in gathered.stages:
        steps = [known[step.step] for step in stage.steps]
        stages.append(replace(stage, steps=steps, verdict=verdict.judge_steps(spec, stage.name, steps)))
    gathered = replace(gathered, stages=stages)
    answer = outcome_store.published(root, "caveats")
    if answer is None:
        raise UserError("caveats: there is no answer yet; run it first: snakemake")
    sections = _step_arguments.function(spec.kind.report)(gathered) if spec.kind.report else ()
    page = report_page.render(gathered, documents.load_record(answer), sections, ledger.spent(root))
    return Rendered(page, crate.stated(gathered))


def _lines(checks: "Sequence[Check]") -> Iterator[str]:
    from collections import Counter

    from tabulate import tabulate

    from sophron.campaign.report.rederive import State

    differing = [check for check in checks if check.state is State.DIFFERS]
    if differing:
        rows = [[_cell(one) for one in (each.number, each.file, each.recorded, each.rederived)] for each in differing]
        yield tabulate(rows, ("number", "file", "recorded", "re-derived"), tablefmt="plain", disable_numparse=True)
    marked = Counter((check.file, check.reason) for check in checks if check.state is State.NOT_REDERIVABLE)
    for (file, reason), count in marked.items():
        yield f"not re-derivable: {_cell(file)}, {count} number{'' if count == 1 else 's'}: {_cell(reason)}"
    agreeing = sum(check.state is State.AGREES for check in checks)
    yield f"{agreeing} agree, {len(differing)} differ, {marked.total()} cannot be computed again"


def _cell(value: object) -> str:
    from sophron.records.sanitize import one_line

    return one_line(value, LONGEST)
