"""`sophron run`: drive a campaign to its end through fresh Snakemake processes, with a debug agent between them."""

import argparse
import os
from pathlib import Path

from sophron.cli import _step_arguments

HELP = "drive a campaign over many fresh Snakemake processes, debugging what fails"
EXAMPLES = """\
examples:
  sophron run my-melt --cores 2                   on this machine, until it is done or a person is needed
  sophron run my-melt --profile slurm --stagewise  one process a stage, on a queue
  sophron run my-melt --option=--keep-going       an option for Snakemake
  sophron run --snakefile workflow/Snakefile --profile slurm   a workflow of your own, at its root
  touch my-melt/PAUSE                             stops before the next process; remove it to go on
exit codes:
  0 done, or nothing left to do     5 a person must decide
  2 refused, or mistyped            6 halted: processes or agents keep dying
  3 paused                          7 the machine wants a repair
  4 a draft waits for a signature   8 another process is at work; 128 + N: ended by signal N
"""
AS_LOCAL = ("--scheduler=greedy", "--scheduler-subsample=200")
"""As in `profiles/local`: Snakemake's default solves a linear program for each choice of jobs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--profile", help="Snakemake profile")
    where.add_argument("--cores", type=_step_arguments.positive, help="cores of this machine (default: all)")
    parser.add_argument("--snakefile", type=Path, help="Snakefile of the pipeline that this campaign is part of")
    parser.add_argument("--stagewise", action="store_true", help="a process of its own for every stage")
    parser.add_argument(
        "--tries",
        type=_step_arguments.positive,
        help="debug tries a failed stage (default: 3 on this machine, 5 elsewhere)",
    )
    parser.add_argument(
        "--processes", type=_step_arguments.positive, default=200, help="most Snakemake processes (default: 200)"
    )
    parser.add_argument("--agents", metavar="BACKEND", help="let replay, mailbox or heuristic answer for all agents")
    parser.add_argument("--option", action="append", default=[], dest="options", help="an option for Snakemake")


def run(args: argparse.Namespace) -> int:
    """Drive; the exit code says how it ended."""
    from sophron.agents.step import step_wiring
    from sophron.agents.supervisor import supervisor
    from sophron.campaign.spec import pitfalls, spec
    from sophron.cli.agent import BACKEND_VARIABLE

    root = args.campaign.absolute()
    override = step_wiring.allowed_override(args.agents)
    here = args.profile in (None, "local")
    alone = [f"--cores={args.cores or os.cpu_count() or 1}", *AS_LOCAL]
    settings = supervisor.Settings(
        options=[*(["--profile", args.profile] if args.profile else alone), *args.options],
        tries=args.tries or (supervisor.LOCAL_TRIES if here else supervisor.REMOTE_TRIES),
        here=here,
        stagewise=args.stagewise,
        processes=args.processes,
        environment={BACKEND_VARIABLE: override} if override else {},
        host=supervisor.host_of(root, spec.load(root / spec.SPEC_NAME), args.snakefile),
        probe=pitfalls.probes_of(root),
    )
    return supervisor.Loop(root, settings).run()
