"""The actions of `sophron build` that hand a built agent out: trail, release, serve, token, retune."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sophron.build.release.gather import Source

EXAMPLES = """\
  sophron build trail my-agent --build BUILD --contract CONTRACT    keep what a finished build rested on and did
  sophron build release my-agent --tag v1.0                         package it, if it passed
  sophron build token alice --tokens tenants.yaml                   make a token for a caller; it is shown once
  sophron build serve my-agent/releases/rietveld-snr-v1.0 --tokens tenants.yaml --port 8080
  sophron build retune my-agent --model claude-opus --build RERUN --contract CONTRACT
"""
LOCAL = "127.0.0.1"


def add_actions(actions: Any) -> None:
    """Arguments of each."""
    trail = actions.add_parser("trail", help="keep what a finished build rested on and did")
    trail.add_argument("folder", type=Path, metavar="DIR", help="the new folder")
    _add_source(trail)
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
    retune = actions.add_parser("retune", help="add to a trail that the agent was built again for another model")
    retune.add_argument("folder", type=Path, metavar="DIR", help="folder of the trail")
    retune.add_argument("--model", required=True, metavar="NEW", help="handle of the model, of config/models.yaml")
    _add_source(retune)


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--build", type=Path, required=True, metavar="BUILD", help="folder of the finished build")
    parser.add_argument(
        "--contract", type=Path, required=True, metavar="CONTRACT", help="contract that it was built from"
    )
    parser.add_argument(
        "--records", type=Path, metavar="DIR", help="folder of its records/, a campaign (default: BUILD)"
    )


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    actions = {"trail": _trail, "release": _release, "serve": _serve, "token": _token, "retune": _retune}
    return actions[args.action](args)


def _source(args: argparse.Namespace) -> "Source":
    from sophron.build.release.gather import Source

    return Source(args.build, args.contract, args.records or args.build)


def _trail(args: argparse.Namespace) -> int:
    from sophron.build.release import gather

    found = gather.begin(args.folder, _source(args))
    print(f"{args.folder} holds the trail of {found.data['agent']}: {len(found.entries[-1]['iterations'])} iterations.")
    print(f"Next: sophron build release {args.folder} --tag v1.0")
    return 0


def _retune(args: argparse.Namespace) -> int:
    from sophron.agents import models
    from sophron.build.release import retune

    model = models.load(args.folder).get(args.model)
    source = _source(args)
    found = retune.retune(args.folder, {"backend": model.provider, "model": model.handle}, lambda _: source)
    print(f"{args.folder} has {len(found.entries)} entries now; what callers rely on is what it was.")
    print(f"Next: sophron build release {args.folder} --tag TAG")
    return 0


def _release(args: argparse.Namespace) -> int:
    from sophron.build.release import package, trail, trail_crate

    made = package.release(args.folder, args.tag)
    crate = trail_crate.write(trail.load(args.folder), made)
    print(f"{made.folder} and {made.folder.name}.tar hold {made.name}, digest {made.digest}.")
    print(f"{crate} is an RO-Crate of all that it came from.")
    print(f"Next: sophron build serve {made.folder} --tokens FILE --port 8080")
    return 0


def _token(args: argparse.Namespace) -> int:
    from sophron.build.release import tokens

    print(tokens.add(args.tokens, args.name))
    return 0


def _serve(args: argparse.Namespace) -> int:
    from sophron.build.release import package, tokens
    from sophron.records.errors import UserError

    found, tenants = package.load(args.package), tokens.load(args.tokens)
    if args.running < 1:
        raise UserError(f"--running {args.running}: at least one task runs; give 1 or more")
    try:
        from sophron.build.release import server
        from sophron.build.release.executor import Bounds
    except ImportError as error:
        raise UserError(f'serving needs {error.name}; install sophron with its extra "a2a"') from None
    address = (args.url or f"http://{args.host}:{args.port}").rstrip("/")
    state = (args.state or found.folder.with_name(f"{found.folder.name}.state")).absolute()
    serving = server.Serving(found, tenants, state, address, Bounds(running=args.running))
    print(f"{found.name} for {len(tenants.digests)} tenants: {address}{server.CARD}", flush=True)
    return server.serve(serving, args.host, args.port)
