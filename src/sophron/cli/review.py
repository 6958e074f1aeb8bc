"""`sophron review`: make the plan, probe its pitfalls, and show what would be signed."""

import argparse
import os
import sys
from pathlib import Path

HELP = "show the plan: DAG, steps, criteria, ceilings, pitfalls, what is UNVERIFIED, what would run now"
EXAMPLES = """\
examples:
  sophron review my-melt                   in the terminal, and as a page: my-melt/review.html
  sophron review my-melt --html plan.html  the page somewhere else
  sophron review my-melt --profile slurm   also: can that queue give each step what it asks for
  sophron review my-melt --digest          only the digest that `sophron approve --digest` wants
  sophron review my-melt --mutate          only: which criteria a wrong result would fail
"""
PAGE_NAME = "review.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    parser.add_argument("--snakefile", type=Path, help="Snakefile of the pipeline that this campaign is part of")
    parser.add_argument("--html", type=Path, metavar="FILE", help=f"where the page belongs (default: DIR/{PAGE_NAME})")
    parser.add_argument("--digest", action="store_true", help="print only the sha256 of the statement")
    parser.add_argument("--mutate", action="store_true", help="perturb plausible results: which criteria can fail")
    parser.add_argument("--profile", metavar="NAME", help="refuse what the queue of this profile cannot give a step")
    parser.add_argument("--no-probes", action="store_true", help="leave the pitfall probes out")


def run(args: argparse.Namespace) -> int:
    """Show the review; a signed approval that a kill left half applied is finished first."""
    from sophron.campaign.approval import approval_journal, approve

    root = args.campaign.absolute()
    snakefile = args.snakefile.absolute() if args.snakefile else None
    approval_journal.finish(root)
    if args.profile:
        _check_profile(root, args.profile)
    if args.mutate:
        return _mutate(root)
    if args.digest:
        print(approve.propose(root, snakefile).digest)
        return 0
    from dataclasses import replace

    from sophron.agents.step import step_wiring
    from sophron.campaign.review import review, review_page, review_text
    from sophron.campaign.spec import pitfalls
    from sophron.records.files import write_text

    looked = review.collect(root, snakefile, (lambda _: []) if args.no_probes else pitfalls.probes_of(root))
    looked = replace(looked, lacking=step_wiring.lacking_models(root, looked.spec))
    page = args.html or root / PAGE_NAME
    write_text(page, review_page.render(looked))
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print(review_text.render(looked, colour=colour))
    print(f"The same as a page, with a picture of the plan: {page}")
    return 0


def _check_profile(root: Path, name: str) -> None:
    from sophron.campaign.planning import resource_limits
    from sophron.campaign.spec import spec

    resource_limits.check_profile(spec.load(spec.spec_file(root)), root, name)


def _mutate(root: Path) -> int:
    """Show what mutation says of each criterion; 1 if an assumption rests on criteria that cannot fail."""
    from sophron.campaign.review import mutation_text
    from sophron.campaign.spec import criteria_review, spec

    looked = spec.load(spec.spec_file(root))
    print(mutation_text.render(looked, root))
    unverified = criteria_review.unverified(looked)
    print(*unverified, sep="\n", end="\n" if unverified else "")
    return 1 if unverified else 0
