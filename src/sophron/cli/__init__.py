"""The command line: `sophron VERB`, one file a verb.

A verb module has HELP (one line), add_arguments(parser), run(args) -> exit code, and, if it helps, EXAMPLES.
Verb modules are light: whatever is heavy is imported when the verb runs.
"""

__all__ = [
    "accept", "adopt", "agent", "amend", "answer", "approve", "ask", "build", "design", "evolve", "gate", "mailbox",
    "new", "profile", "rederive", "report", "restarts", "retry", "review", "rietveld", "run", "screen", "signer",
    "skill", "stage", "status", "task", "trials", "verify", "watch",
]  # fmt: skip

import argparse
import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

EXIT_USER = 2
EXAMPLES = """\
examples:
  sophron new viscosity my-melt        make a campaign folder to start from
  sophron review my-melt               look at the plan: DAG, criteria, ceilings, what is still UNVERIFIED
  sophron approve my-melt --key ~/.ssh/id_ed25519
  sophron status my-melt               what ran, what runs, what comes next
  sophron amend my-melt --set stages.produce.definition.steps=200000 --rationale 'smaller error'
"""


def verbs() -> list[str]:
    """Return the names of the verbs: the modules of this package that have a HELP line."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def _module(verb: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{verb}")


def _parser(verb: str, module: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"sophron {verb}",
        description=module.HELP,
        epilog=getattr(module, "EXAMPLES", None),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    return parser


def _overview() -> str:
    from sophron import __version__

    lines = [f"Sophron {__version__}: computational-science campaigns as Snakemake workflows under a signed plan", ""]
    lines += ["usage: sophron VERB [...]     sophron VERB --help shows what a verb takes", "", "verbs for people:"]
    modules = {verb: _module(verb) for verb in verbs()}
    for title, inner in (("", False), ("verbs that rules call:", True)):
        lines += ["", title] if title else []
        for verb, module in modules.items():
            if getattr(module, "FOR_RULES", False) is inner:
                lines.append(f"  {verb:<10} {module.HELP}")
    return "\n".join([*lines, "", EXAMPLES])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code. An error that a user can cause is one sentence and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal or file that cannot hold a sign gets its number
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except OSError as error:  # where the output goes: a closed pipe, a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter tries once more at its end
        if isinstance(error, BrokenPipeError):
            return 141
        return _refused("sophron", argparse.Namespace(), error)
    return code


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0
    verb = words[0].replace("-", "_")
    if words[0] in ("-V", "--version"):
        from sophron import __version__

        print(__version__)
        return 0
    if verb not in verbs():
        from difflib import get_close_matches

        near = get_close_matches(verb, verbs(), n=1)
        print(
            f'sophron: there is no verb "{words[0]}"; '
            + (f"did you mean {near[0]}?" if near else "see sophron --help"),
            file=sys.stderr,
        )
        return EXIT_USER
    module = _module(verb)
    args = _parser(verb, module).parse_args(words[1:])
    return _run(verb, module, args)


def _run(verb: str, module: ModuleType, args: argparse.Namespace) -> int:
    from sophron.records.errors import UserError
    from sophron.records.nearest_campaign import nearest_campaign

    folder = getattr(args, "campaign", None)
    try:
        if isinstance(folder, Path) and not getattr(args, "folder_as_given", False):
            if not folder.is_dir():
                raise UserError(f"{folder}: there is no such folder; give the folder of a campaign")  # noqa: TRY301
            args.campaign = nearest_campaign(folder)
        return int(module.run(args))
    except BrokenPipeError:
        raise
    except (UserError, OSError, RecursionError) as error:
        return _refused(f"sophron {verb}", args, error)
    except KeyboardInterrupt:
        return 130


def _refused(who: str, args: argparse.Namespace, error: Exception) -> int:
    """Say why, on standard error and in the step's log, if it can be written; exit code 2."""
    from sophron.records import terminal
    from sophron.records.errors import of_system
    from sophron.records.files import write_text

    reason = of_system(error) if isinstance(error, OSError) else str(error)
    if isinstance(error, RecursionError):
        reason = "a file that it reads is nested too deeply; restore it from your copy"
    sentence, log, silent = f"{who}: {reason}", getattr(args, "log", None), False
    if log:
        with contextlib.suppress(OSError):
            write_text(Path(log), sentence + "\n")
            silent = terminal.is_the_loggers()
    if not silent:
        print(sentence, file=sys.stderr)
    return EXIT_USER
