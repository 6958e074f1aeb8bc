"""`sophron report`: the campaign's report, one HTML page, and an RO-Crate for other programs."""

import argparse
from pathlib import Path
from typing import Any

from sophron.cli import _step_arguments

HELP = "write the report and the RO-Crate (called by rule report)"
FOR_RULES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("--caveats", type=Path, required=True, help="the report agent's answer")
    parser.add_argument("--html", type=Path, required=True, help="where the page belongs")
    parser.add_argument("--crate", type=Path, required=True, help="where the crate's metadata belong")
    _step_arguments.add_step_arguments(parser)


def _caveats(path: Path, digest: str) -> dict[str, Any]:
    """The report agent's answer; Refused if it is another agent's."""
    from sophron.records import documents
    from sophron.records.errors import Refused

    content: dict[str, Any] = documents.load_record(path)
    if content.get("agent_digest") != digest:
        raise Refused(f"{path}: was written by another agent than the signed one; move it away and run: snakemake")
    return content


def run(args: argparse.Namespace) -> int:
    """Write both from results and records; refused if they are not those of the signed spec."""
    from sophron.agents.gateway import ledger
    from sophron.campaign.report import crate, report, report_page
    from sophron.campaign.spec.spec import load_signed
    from sophron.records import approvals
    from sophron.records.errors import Refused
    from sophron.records.files import write_json, write_text

    root = approvals.campaign_root(args.gate)
    approval = approvals.require_approved(_step_arguments.claim(args, "report", "report", {}), root)
    spec = load_signed(approval)
    if spec.report_digest() != args.digest:
        raise Refused("report: campaign.yaml has another question or method; use the rule as it is")
    gathered = report.collect(root, spec, approval)
    caveats = _caveats(args.caveats, str(approval.record.agents["caveats"]))
    sections = _step_arguments.function(spec.kind.report)(gathered) if spec.kind.report else ()
    write_text(args.html, report_page.render(gathered, caveats, sections, ledger.spent(root)))
    write_json(args.crate, crate.metadata(gathered, args.crate.absolute().parent, args.html.absolute()))
    _step_arguments.finish_log(args, f"report of {spec.campaign}, version {spec.version}: {args.html}")
    return 0
