"""`sophron rietveld`: the tools of a refinement for an agent, as an MCP server."""

import argparse
from pathlib import Path

HELP = "serve the tools of one refinement to an agent (MCP)"
EXAMPLES = """\
examples:
  sophron rietveld serve --sample sample.json --folder session            over stdio, for an agent that starts it
  sophron rietveld serve --sample sample.json --folder session --port 8101    streamable HTTP at 127.0.0.1:8101/mcp
"""
REGISTRY = "sophron.rietveld_engines"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    verbs = parser.add_subparsers(dest="action", required=True, metavar="serve")
    serve = verbs.add_parser("serve", help="an MCP server for one refinement")
    serve.add_argument("--sample", type=Path, required=True, help="what is refined (`sample` of schemas/rietveld/data)")
    serve.add_argument("--folder", type=Path, required=True, help="folder of the session; an earlier one is set aside")
    serve.add_argument("--host", default="127.0.0.1", help="address to serve at, with --port")
    serve.add_argument("--port", type=int, default=0, help="serve streamable HTTP at this port instead of stdio")


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes."""
    from sophron.records import entry_points
    from sophron.science.rietveld import mcp
    from sophron.science.rietveld.session import sample
    from sophron.science.rietveld.session.session import Session, fresh

    given = sample.load(args.sample)
    engine = entry_points.load(REGISTRY, given.engine)()
    session = Session(engine, given, fresh(args.folder))
    mcp.serve(session, host=args.host if args.port else "", port=args.port)
    return 0
