"""The actions of `sophron build` that hand a built agent out: release, serve, token, retune."""

import argparse
from pathlib import Path
from typing import Any

EXAMPLES = """\
  sophron build release my-build --tag v1.0                       package it, if it passed
  sophron build token alice --tokens tenants.yaml                 make a token for a caller; it is shown once
  sophron build serve my-build/releases/adder-v1.0 --tokens tenants.yaml --port 8080
"""
LOCAL = "127.0.0.1"


def add_actions(actions: Any) -> None:
    """Arguments of each."""
    release = actions.add_parser("release", help="package the agent of a build, with the trail of how it came to be")
    release.add_argument("folder", type=Path, metavar="DIR", help="folder of the build")
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


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    return {"release": _release, "serve": _serve, "token": _token}[args.action](args)


def _release(args: argparse.Namespace) -> int:
    from sophron.build.release import package

    made = package.release(args.folder, args.tag)
    print(f"{made.folder} and {made.folder}.tar hold {made.name}, digest {made.digest}.")
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
