"""`sophron build`: make and check the contract that an agent is built from."""

import argparse
import getpass
from pathlib import Path

HELP = "build an agent from a scientist's contract: new, check"
EXAMPLES = """\
examples:
  sophron build new my-contract --domain 'electron diffraction'    every file that people author, to be filled in
  sophron build check my-contract                                  is it whole, and could its blank agent be asked
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    new = actions.add_parser("new", help="make a contract to start from")
    new.add_argument("folder", type=Path, metavar="DIR", help="the new folder")
    new.add_argument("--domain", required=True, help="what the agent is for, a few words")
    new.add_argument("--author", default="", help="who answers for the contract (default: your login name)")
    check = actions.add_parser("check", help="check a contract")
    check.add_argument("folder", type=Path, metavar="DIR", help="folder of the contract, or the name of a shipped one")


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    return {"new": _new, "check": _check}[args.action](args)


def _new(args: argparse.Namespace) -> int:
    from sophron.build import scaffold

    made = scaffold.create(args.folder, args.domain, args.author or getpass.getuser())
    print(f"{args.folder} holds {len(made)} files.")
    print(f"""Next, in {args.folder}:
  rubric.yaml, curriculum.yaml, references/, knowledge/     yours to write: they are the scientific claim
  sophron build check {args.folder}""")
    return 0


def _check(args: argparse.Namespace) -> int:
    from sophron.build import aud, confined, contract

    folder = args.folder if args.folder.is_dir() else contract.find(str(args.folder), Path.cwd())
    found = contract.load(folder)
    aud.check(found.blank, found)
    helpers = [path for name, path in aud.files(found.blank).items() if name.endswith(".py")]
    fault = confined.imported(helpers, found.blank)
    if fault:
        from sophron.records.errors import UserError

        raise UserError(f"{found.blank}: a helper cannot be imported in the sandbox: {fault}; correct it")
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
