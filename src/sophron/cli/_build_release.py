"""The actions of `sophron build` that hand a built agent out: trail, release, serve, token, retune."""

import argparse
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sophron.agentbuild.release.trail import Source

EXAMPLES = """\
  sophron build trail my-agent --campaign DIR                       keep what a finished build rested on and did
  sophron build trail my-agent --build BUILD                        the same of a rehearsal
  sophron build release my-agent --tag v1.0                         package it, if it passed
  sophron build token alice --tokens tenants.yaml                   make a token for a caller; it is shown once
  sophron build serve my-agent/releases/rietveld-snr-v1.0 --tokens tenants.yaml --port 8080
  sophron build retune my-agent --model claude-opus --campaign NEW   build it again for another model
"""
LOCAL = "127.0.0.1"


def add_actions(actions: Any) -> None:
    """Add the arguments of each."""
    trail = actions.add_parser("trail", help="keep what a finished build rested on and did")
    trail.add_argument("folder", type=Path, metavar="DIR", help="the new folder")
    built = trail.add_mutually_exclusive_group(required=True)
    built.add_argument("--campaign", type=Path, metavar="DIR", help="campaign that built the agent")
    built.add_argument("--build", type=Path, metavar="BUILD", help="folder of a finished rehearsal")
    trail.add_argument("--contract", metavar="CONTRACT", help="contract of a rehearsal that an earlier Sophron made")
    release = actions.add_parser("release", help="package the agent that a trail ends with, if it passed P-strict")
    release.add_argument("folder", type=Path, metavar="DIR", help="folder of the trail")
    release.add_argument("--tag", required=True, help="release tag, e.g. v1.0")
    serve = actions.add_parser("serve", help="serve a package to callers (A2A 1.0)")
    serve.add_argument("package", type=Path, metavar="PACKAGE", help="folder of a package")
    serve.add_argument("--port", type=int, required=True, help="port")
    serve.add_argument("--host", default=LOCAL, help=f"address to listen at (default: {LOCAL}, this machine alone)")
    serve.add_argument("--tokens", required=True, metavar="FILE|env", help="tenants, or env: from SOPHRON_A2A_TOKENS")
    serve.add_argument("--state", type=Path, metavar="DIR", help="where tasks are kept (default: beside the package)")
    serve.add_argument("--url", help="address in the agent card, where callers reach it through another one")
    serve.add_argument("--running", type=int, default=2, metavar="N", help="tasks at once (default: 2)")
    token = actions.add_parser("token", help="make the token of a tenant")
    token.add_argument("name", help="name of the tenant")
    token.add_argument(
        "--tokens", type=Path, required=True, metavar="FILE", help="file of tenants; made if it is not there"
    )
    retune = actions.add_parser("retune", help="build the agent again for another model, and add that to its trail")
    retune.add_argument("folder", type=Path, metavar="DIR", help="folder of the trail")
    retune.add_argument("--model", required=True, metavar="NEW", help="handle of the model, of config/models.yaml")
    retune.add_argument(
        "--campaign", type=Path, required=True, metavar="DIR", help="campaign that builds it; made where it is new"
    )
    retune.set_defaults(folder_as_given=True)
    retune.add_argument("--contract", metavar="CONTRACT", help="where the contract lies (default: the shipped one)")


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    actions = {"trail": _trail, "release": _release, "serve": _serve, "token": _token, "retune": _retune}
    return actions[args.action](args)


@contextmanager
def _source(args: argparse.Namespace) -> "Iterator[Source]":
    """The records of the build that a campaign or a rehearsal ran, laid out for as long as it takes."""
    from sophron.kinds.agent_build import rehearsal, trail_source

    root, rehearsed = args.campaign or args.build, args.campaign is None
    if rehearsed and (args.build / rehearsal.OLD).is_file():
        yield _old_source(args)
        return
    with TemporaryDirectory(prefix="sophron-trail-") as place:
        yield trail_source.lay_out(root.absolute(), Path(place), rehearsed=rehearsed)


def _old_source(args: argparse.Namespace) -> "Source":
    """The records as a rehearsal of an earlier Sophron left them."""
    from sophron.agentbuild import contract
    from sophron.agentbuild.release.trail import Source
    from sophron.records.errors import UserError

    if not args.contract:
        raise UserError("--build wants --contract beside it: the contract that the rehearsal was of")
    return Source(args.build, contract.named(args.contract), args.build)


def _trail(args: argparse.Namespace) -> int:
    from sophron.agentbuild.release import trail

    with _source(args) as source:
        found = trail.begin(args.folder, source)
    print(f"{args.folder} holds the trail of {found.content.agent}: {len(found.entries[-1].iterations)} iterations.")
    print(f"Next: sophron build release {args.folder} --tag v1.0")
    return 0


def _retune(args: argparse.Namespace) -> int:
    """The campaign is made, and nothing runs before a person signed it; once it has come to its end, it is an entry."""
    from sophron.agentbuild import contract
    from sophron.agentbuild.release import trail
    from sophron.agents.gateway import gateway
    from sophron.campaign.spec.spec import SPEC_NAME
    from sophron.kinds.agent_build import contract_campaign

    model = gateway.load_catalogue(args.folder).get(args.model)
    agent = {"backend": model.provider, "model": model.handle}
    before = trail.load(args.folder)
    handles = contract_campaign.handles_with(before, agent)
    if not (args.campaign / SPEC_NAME).is_file():
        found = contract.load(contract.named(args.contract or before.contract.name))
        contract_campaign.prepare_retune(before, found, handles, args.campaign)
        print(f"{args.campaign} is a campaign that builds {before.content.agent} again with {model.handle}.")
        new = args.campaign
        print(f"""Next:
  edit {new}/campaign.yaml         iterations and limits; an agent of another domain belongs into {new}/agents/
  sophron review {new}
  sophron approve {new} --key FILE
  cd {new} && snakemake
and then this line again.""")
        return 0
    with _source(args) as source:
        after = contract_campaign.retune(args.folder, agent, lambda _: source)
    print(f"{args.folder} has {len(after.entries)} entries now; what callers rely on is what it was.")
    print(f"Next: sophron build release {args.folder} --tag TAG")
    return 0


def _release(args: argparse.Namespace) -> int:
    from sophron.agentbuild.release import package, provenance, trail

    made = package.release(args.folder, args.tag)
    crate = provenance.write_crate(trail.load(args.folder), made)
    print(f"{made.folder} and {made.folder.name}.tar hold {made.name}, digest {made.digest}.")
    print(f"{crate} is an RO-Crate of all that it came from.")
    print(f"Next: sophron build serve {made.folder} --tokens FILE --port 8080")
    return 0


def _token(args: argparse.Namespace) -> int:
    from sophron.agentbuild.release import bearer_tokens

    print(bearer_tokens.add(args.tokens, args.name))
    return 0


def _serve(args: argparse.Namespace) -> int:
    from sophron.agentbuild.release import bearer_tokens, package
    from sophron.records.errors import UserError

    found, tenants = package.load(args.package), bearer_tokens.load(args.tokens)
    if args.running < 1:
        raise UserError(f"--running {args.running}: at least one task runs; give 1 or more")
    try:
        from sophron.agentbuild.release import a2a_server
        from sophron.agentbuild.release.a2a_executor import Bounds
    except ImportError as error:
        raise UserError(f'serving needs {error.name}; install sophron with its extra "a2a"') from None
    address = (args.url or f"http://{args.host}:{args.port}").rstrip("/")
    state = (args.state or found.folder.with_name(f"{found.folder.name}.state")).absolute()
    serving = a2a_server.Serving(found, tenants, state, address, Bounds(running=args.running))
    print(f"{found.name} for {len(tenants.digests)} tenants: {address}{a2a_server.CARD}", flush=True)
    return a2a_server.serve(serving, args.host, args.port)
