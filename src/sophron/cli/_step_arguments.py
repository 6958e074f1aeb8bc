"""Common part of the verbs that rules call: the gate, the digest, the log, and the claim made of them."""

import argparse
import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sophron.records.approvals import Claim


def positive(word: str) -> int:
    """Return a whole number above 0, as the type of an argument."""
    if not word.isdecimal() or int(word) == 0:
        raise argparse.ArgumentTypeError(f'"{word}" is not a whole number above 0')
    return int(word)


def add_step_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every step."""
    parser.add_argument("--gate", type=Path, required=True, help="gate file of the campaign")
    parser.add_argument("--log", type=Path, help="log file of the step")
    parser.add_argument("--digest", required=True, help="digest that the plan has for this step")


def claim(args: argparse.Namespace, rule: str, stage: str, wildcards: Mapping[str, str]) -> "Claim":
    """Return the step's claim, from its own command line."""
    from sophron.records.approvals import Claim

    return Claim(
        rule=rule,
        digest=args.digest,
        stage=stage,
        wildcards=wildcards,
        argv=sys.argv[1:],
        cores=getattr(args, "cores", 1),
        memory_mb=getattr(args, "memory_mb", 0),
        runtime_min=getattr(args, "runtime_min", 0),
    )


def function(name: str) -> Any:
    """Return what "module:function" names: of a stage, or of a kind's report."""
    from importlib import import_module

    module, _, found = name.partition(":")
    return getattr(import_module(module), found)


def wildcards(pairs: list[str]) -> dict[str, str]:
    """Return `["replica=3"]` as a mapping."""
    from sophron.records.errors import UserError

    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--wildcard {pair}: has no value; write name=value")
        found[name] = value
    return found


def finish_log(args: argparse.Namespace, text: str) -> None:
    """Leave one line in the step's log."""
    if args.log:
        from sophron.records.files import write_text

        with contextlib.suppress(OSError):  # a step that is finished does not fail for its log
            write_text(args.log, text + "\n")
