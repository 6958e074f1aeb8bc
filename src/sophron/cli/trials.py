"""`sophron trials`: what trial loops came to, and the ladder of methods to compare them by."""

import argparse
import os
from pathlib import Path

from sophron.cli import _step_arguments

HELP = "compare trial loops; make one campaign for each method of the ladder, and run them"
EXAMPLES = """\
examples:
  sophron trials show my-host                     its loop in one line: scores, failures, cost
  sophron trials ladder my-host --into ladder     one campaign a method; review and sign each
  sophron trials run ladder/*                     run those that are signed, one after the other, and print their table
  sophron trials show ladder/* --figure out.svg   the table of all of them, and figures 3a to c of MDForge
  sophron trials show my-host --mended one.svg    one failure from its diagnostics to its edit (figure 3d)
exit codes of run: 0 all have ended, 1 one has not
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    verbs = parser.add_subparsers(dest="action", required=True, metavar="show|ladder|run")
    show = verbs.add_parser("show", help="scores, failures and cost of finished campaigns")
    show.add_argument("campaigns", nargs="+", type=Path, metavar="DIR", help="campaign folders")
    show.add_argument("--figure", type=Path, metavar="FILE", help="SVG: correlation, spend and endings by method")
    text = "SVG: the first mended failure of these campaigns: diagnostics, panel, edit"
    show.add_argument("--mended", type=Path, metavar="FILE", help=text)
    ladder = verbs.add_parser("ladder", help="make a campaign for each method")
    ladder.add_argument("campaign", type=Path, metavar="DIR", help="campaign to start from")
    ladder.add_argument("--into", type=Path, required=True, metavar="DIR", help="folder for the campaigns")
    run_all = verbs.add_parser("run", help="run signed campaigns, then show them")
    run_all.add_argument("campaigns", nargs="+", type=Path, metavar="DIR", help="campaign folders")
    run_all.add_argument("--cores", type=_step_arguments.positive, help="cores of this machine (default: all)")
    run_all.add_argument("--figure", type=Path, metavar="FILE", help="as of show")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from sophron.debate.trials import ablation_campaigns

    if args.action == "ladder":
        for folder in ablation_campaigns.make(args.campaign.absolute(), args.into):
            print(f"{folder} is a campaign. Next: sophron review {folder}")
        return 0
    folders = [folder.absolute() for folder in args.campaigns]
    ended = folders if args.action == "show" else _ran(folders, args.cores or os.cpu_count() or 1)
    _show(ended, args.figure)
    if args.action == "show" and args.mended:
        _draw_mended(ended, args.mended)
    return int(len(ended) < len(folders))


def _ran(folders: list[Path], cores: int) -> list[Path]:
    """Run each by `sophron run`; those whose trials have ended, whatever their criteria say of them."""
    from sophron.agents.supervisor import supervisor
    from sophron.debate.trials import ablation_campaigns
    from sophron.records import approvals
    from sophron.records.errors import Refused, UserError

    ended = []
    for folder in folders:
        try:
            approvals.signed_gate(folder)
        except (Refused, UserError) as error:
            print(f"{folder}: is not signed: {error}")
            continue
        supervisor.Loop(folder, supervisor.Settings(options=[f"--cores={cores}"])).run()
        try:
            ablation_campaigns.Rung.read(folder)
        except UserError as error:
            print(f"{folder}: has not ended: {error}")
        else:
            ended.append(folder)
    return ended


def _show(folders: list[Path], figure: Path | None) -> None:
    from tabulate import tabulate

    from sophron.debate.trials import ablation_campaigns, trial_figures

    found = ablation_campaigns.rungs(folders)
    if not found:
        return
    scores = [row for rung in found for row in rung.score_rows]
    print(tabulate(scores, ablation_campaigns.SCORES_HEADER, tablefmt="plain", disable_numparse=True), "\n")
    print(tabulate([rung.row for rung in found], ablation_campaigns.HEADER, tablefmt="plain", disable_numparse=True))
    if figure:
        trial_figures.ladder(found, figure)
        print(f"{figure}: made")


def _draw_mended(folders: list[Path], path: Path) -> None:
    from sophron.campaign.spec.spec import SPEC_NAME, load
    from sophron.debate.trials import ablation_campaigns, repaired_failure, trial_figures

    for folder in folders:
        trials = ablation_campaigns.Rung.read(folder).trials
        found = repaired_failure.find(folder, load(folder / SPEC_NAME), trials)
        if found:
            trial_figures.mended(found, path)
            print(f"{folder.name}: {found.sentence}\n{path}: made")
            return
    print(repaired_failure.NONE)
