"""The actions of `sophron build` that make an agent: a contract made and checked, a build rehearsed and looked at."""

import argparse
import getpass
from pathlib import Path
from typing import Any

EXAMPLES = """\
  sophron build new my-contract --domain 'electron diffraction'    every file that people author, to be filled in
  sophron build check my-contract                                 is it whole, and could its blank agent be asked
  sophron build rehearse rietveld-snr my-build --iterations 12    the loop with rules of thumb, without any model
  sophron build status my-build                                   what each iteration came to
  sophron build helpers --agent agent.json                        an agent's own code as an MCP server, for its sandbox
  sophron build tools --agent agent.json --sample sample.json --folder session    tools that come with an agent
  sophron build campaign my-contract my-agent                     the campaign that builds with models, to be signed
"""
NAMES = ("new", "check", "rehearse", "campaign", "status", "helpers", "tools")


def add_actions(actions: Any) -> None:
    """Arguments of each."""
    new = actions.add_parser("new", help="make a contract to start from")
    new.add_argument("folder", type=Path, metavar="DIR", help="the new folder")
    new.add_argument("--domain", required=True, help="what the agent is for, a few words")
    new.add_argument("--author", default="", help="who answers for the contract (default: your login name)")
    check = actions.add_parser("check", help="check a contract")
    check.add_argument("folder", type=Path, metavar="DIR", help="folder of the contract, or the name of a shipped one")
    rehearse = actions.add_parser(
        "rehearse", help="run the loop with rules of thumb; the same line goes on after a kill"
    )
    rehearse.add_argument("contract", help="folder of the contract, or the name of a shipped one")
    rehearse.add_argument("folder", type=Path, metavar="DIR", help="folder of the rehearsal; new, or one to go on with")
    rehearse.add_argument("--iterations", type=int, default=12, help="iterations at most (default: 12)")
    status = actions.add_parser("status", help="what each iteration of a build came to")
    status.add_argument("folder", type=Path, metavar="DIR", help="folder of the build")
    helpers = actions.add_parser("helpers", help="serve an agent's helper code to it (MCP); started by its tools")
    helpers.add_argument("--agent", type=Path, required=True, help="the agent's files as one document")
    tools = actions.add_parser("tools", help="serve the tools that come with an agent (MCP); started by its definition")
    tools.add_argument("--agent", type=Path, required=True, help="the agent's files as one document")
    tools.add_argument("--sample", type=Path, required=True, help="the sample, as its source gave it")
    tools.add_argument("--folder", type=Path, required=True, help="where trajectory and plots are kept")
    campaign = actions.add_parser("campaign", help="make the campaign that builds an agent from a contract")
    campaign.add_argument("contract", help="folder of the contract, or the name of a shipped one")
    campaign.add_argument("folder", type=Path, metavar="DIR", help="the new folder")


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    actions = {
        "new": _new,
        "check": _check,
        "rehearse": _rehearse,
        "campaign": _campaign,
        "status": _status,
        "helpers": _helpers,
        "tools": _tools,
    }
    return actions[args.action](args)


def _helpers(args: argparse.Namespace) -> int:
    from sophron.agentbuild import helper_server

    helper_server.serve(args.agent)
    return 0


def _tools(args: argparse.Namespace) -> int:
    from sophron.agentbuild import tool_server

    tool_server.serve(args.agent, args.sample, args.folder)
    return 0


def _campaign(args: argparse.Namespace) -> int:
    from sophron.agentbuild import contract
    from sophron.kinds.agent_build import contract_campaign

    found = contract.load(contract.named(args.contract))
    contract_campaign.prepare(found, found.handles, args.folder, lambda _: None)
    print(f"""{args.folder} builds an agent from {found.name} {found.version}. Next, in {args.folder}:
  campaign.yaml     who answers, under agents.by_name; how much, under limits; how many iterations
  sophron review    what would be asked, and what it costs at most""")
    return 0


def _new(args: argparse.Namespace) -> int:
    from sophron.agentbuild import contract

    made = contract.create(args.folder, args.domain, args.author or getpass.getuser())
    print(f"{args.folder} holds {len(made)} files.")
    print(f"""Next, in {args.folder}:
  rubric.yaml, curriculum.yaml, references/, knowledge/     yours to write: they are the scientific claim
  sophron build check {args.folder}""")
    return 0


def _check(args: argparse.Namespace) -> int:
    from sophron.agentbuild import aud, contract, mutation

    found = contract.load(contract.named(str(args.folder)))
    aud.check(found.blank, found)
    fault = mutation.imported(found.blank)
    if fault:
        from sophron.records.errors import UserError

        raise UserError(f"{found.blank}: its Python cannot be imported in the sandbox: {fault}; correct it")
    graded = found.curriculum
    print(f"{found.name} {found.version}: {found.rubric.title}")
    print(f"  {len(found.rubric.dimensions)} dimensions, {len(found.rubric.asked)} of them with a say of the judge")
    for number, (name, cases) in enumerate(graded.tiers, start=1):
        print(f"  tier {number}, {name}: {', '.join(cases)}")
    print(f"  held out: {', '.join(graded.held_out) or 'nothing'}")
    opened = sorted(one.name for one in found.boundary.surfaces if found.boundary.may_change(one))
    print(f"  the build may change: {', '.join(opened)}")
    print(f"  digest {found.digest}")
    return 0


def _rehearse(args: argparse.Namespace) -> int:
    """Exit code 0 if the last tier passed and so did every case held out, else 1; 128 + N after signal N."""
    from sophron.agentbuild import contract
    from sophron.agents.supervisor.snakemake_process import StoppedError
    from sophron.campaign.spec import pitfalls
    from sophron.kinds.agent_build import rehearsal
    from sophron.records.errors import UserError

    if args.iterations < 1:
        raise UserError(f"--iterations {args.iterations}: a build has at least one")
    folder = args.folder.absolute()
    found = contract.load(contract.named(args.contract))
    if beyond := rehearsal.beyond_rules_of_thumb(found):
        print("Rules of thumb know one domain, and this contract is of another one. A model would have to play:")
        print("\n".join(f"  {sentence}" for sentence in beyond))
        print(f"To build it with models: sophron build campaign {args.contract} DIR")
    rehearsal.begin(found, args.iterations, folder, pitfalls.probes_of(folder))
    try:
        passed = rehearsal.run(folder)
    except StoppedError as stopped:
        print(f"Stopped by {stopped.name}. The same line goes on from there.")
        return 128 + stopped.number
    print(_told(folder))
    return 0 if passed else 1


def _status(args: argparse.Namespace) -> int:
    print(_told(args.folder.absolute()))
    return 0


def _told(folder: Path) -> str:
    """A line an iteration: tiers, thresholds met, what was missed, what was changed and why."""
    from tabulate import tabulate

    from sophron.kinds.agent_build import trail_source

    history, held_out = trail_source.rounds(folder)
    rows = []
    for verdict, change in ((entry.verdict, entry.change) for entry in history):
        missed = ", ".join(f"{miss.case} {miss.code}" for miss in verdict.misses) or "nothing"
        how = "P-strict" if verdict.p_strict else verdict.skipped or f"missed: {missed}"
        met = f"{verdict.met}/{verdict.wanted}"
        rows.append([verdict.iteration, verdict.tiers, met, change.rationale or "as before", how])
    held = [f"held out: {case} {'passes' if passed else 'fails'}" for case, passed in held_out.items()]
    return "\n".join([tabulate(rows, ["iteration", "tiers", "met", "change", "came to"], tablefmt="plain"), *held])
