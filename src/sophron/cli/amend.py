"""`sophron amend`: draft a change of definition or criteria; a person signs it with `sophron approve`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophron.campaign.approval.amendment_draft import Draft
    from sophron.campaign.planning.plan import Plan

HELP = "draft an amendment of a signed spec"
EXAMPLES = """\
examples:
  sophron amend my-melt --set stages.produce.definition.steps=200000 --rationale 'the error was too large'
  sophron amend --set config.camera.exposure_s=60 --rationale 'too noisy'   a value in a config file of your workflow
  sophron amend my-melt --remove stages.green_kubo --rationale 'not needed'   adds to a draft that waits
  sophron amend my-melt --rationale 'denser melt'       takes the difference of the edited campaign.yaml
  sophron amend my-melt --withdraw 2 --rationale 'version 2 was a mistake'
  sophron amend my-melt --drop                          forget the draft
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="PATH=VALUE", help="one change")
    parser.add_argument("--remove", action="append", default=[], metavar="PATH", help="a key to remove, e.g. a stage")
    parser.add_argument("--rationale", default="", help="why")
    parser.add_argument("--withdraw", type=int, metavar="N", help="take back version N")
    parser.add_argument("--snakefile", type=Path, help="Snakefile of the pipeline that this campaign is part of")
    parser.add_argument("--drop", action="store_true", help="forget the draft")


def run(args: argparse.Namespace) -> int:
    """Return the draft, and show what it invalidates and costs."""
    from sophron.campaign.approval import amendment_draft, approval_journal
    from sophron.campaign.execution import campaign_lock
    from sophron.campaign.state.projector import project
    from sophron.records import events

    root = args.campaign.absolute()
    with campaign_lock.signing(root):
        approval_journal.finish_locked(root)
        if args.drop:
            return _drop(root)
        before = amendment_draft.read_draft(root)
        drafted = amendment_draft.draft_amendment(
            root, args.rationale, args.settings, args.withdraw, removed=args.remove
        )
        about = {"rationale": drafted.rationale, "invalidated_stages": drafted.invalidated_stages}
        events.append(root, "sophron", "drafted", version=drafted.version, **about)
        project(root)
    if before:
        _compare(before, drafted)
    _show(root, drafted, args.snakefile.absolute() if args.snakefile else None)
    return 0


def _drop(root: Path) -> int:
    from sophron.campaign.approval import amendment_draft
    from sophron.campaign.state.projector import project
    from sophron.records import events

    drafted = amendment_draft.read_draft(root)
    if drafted is None:
        print("There is no draft.")
        return 0
    amendment_draft.drop_draft(root)
    events.append(root, "sophron", "draft_dropped", version=drafted.version)
    project(root)
    print(f"The draft of version {drafted.version} is forgotten.")
    return 0


def _compare(before: "Draft", drafted: "Draft") -> None:
    """Say what became of the draft that waited."""
    if before.base != drafted.base:
        print(f"The older draft of version {before.version} amended what is no longer in force, and is replaced.")
        return
    print(f"This adds to the draft of version {before.version} that waited for a signature.")
    for change in before.changes:
        if change not in drafted.changes:
            print(f"  no longer in it: {change}")


def _show(root: Path, drafted: "Draft", snakefile: Path | None) -> None:
    """Print what the draft changes, what that invalidates, what runs again at most, and why it could not be signed."""
    from sophron.campaign.approval import approve
    from sophron.campaign.spec import pitfalls
    from sophron.records.terminal import next_line

    print(f"Version {drafted.version} is drafted:")
    for change in drafted.changes:
        print(f"  {change}")
    if not (snakefile and snakefile.is_file()) and not approve.can_plan(root):
        named = ", ".join(drafted.invalidated_stages) or "no stage"
        print(f"It invalidates {named}; with --snakefile of the host, it is tried, and its cost is shown.")
    else:
        proposal = approve.propose(root, snakefile, pitfalls.probes_of(root))
        _costs(drafted, proposal.plan)
        reasons = approve.closed(proposal)
        if reasons:
            print("\n  - ".join(["As it stands it cannot be signed:", *reasons]))
            remedy = "resolve that with sophron amend, which adds to this draft, or forget it: sophron amend --drop"
            print(next_line(root, remedy))
            return
    print(next_line(root, "sophron review, sophron approve"))


def _costs(drafted: "Draft", plan: "Plan") -> None:
    if not drafted.invalidated_stages:
        print("It invalidates no stage.")
        return
    hours = plan.core_hours()
    print("It invalidates (upper bound of what runs again):")
    for stage in drafted.invalidated_stages:
        count = sum(number for (name, _), number in plan.counts().items() if name == stage)
        removed = "" if stage in plan.spec.data["stages"] else "  REMOVED"
        print(f"  {stage:<16} {count:>6} steps {hours.get(stage, 0.0):>10.2f} core-hours{removed}")
