"""Whose a rule is, what stands around shell lines, how a Snakefile ends for a mistake; job processes import it."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import sophron
from sophron.records.errors import UserError

_rule_folders = {Path(sophron.SNAKEFILE).parent.resolve()}
"""Where rules of Sophron stand: the installed workflow, and the folders of other distributions' kinds."""


def add_folder(folder: Path) -> None:
    """Count rules below this folder, of another distribution's kind, as Sophron's."""
    _rule_folders.add(folder.resolve())


def is_ours(rule: Any) -> bool:
    """Return whether a rule is Sophron's, whatever it is called where it was imported: by the file of its function."""
    function = inspect.unwrap(rule.run_func) if rule.run_func else None
    return function is not None and in_our_folder(function.__code__.co_filename)


def in_our_folder(path: str) -> bool:
    """Return whether a Snakefile is Sophron's."""
    return _stands_in_ours(path, frozenset(_rule_folders))


@cache
def _stands_in_ours(path: str, folders: frozenset[Path]) -> bool:
    return any(folder in Path(path).resolve().parents for folder in folders)


def around_shell_lines() -> list[str]:
    """Prefix and suffix that a workflow gives to every shell line of this process."""
    from snakemake.shell import shell

    return [str(shell._process_prefix or ""), str(shell._process_suffix or "")]  # noqa: SLF001 - no public way


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn a UserError inside a Snakefile into its sentence on standard error and exit code 2."""
    try:
        yield
    except UserError as error:
        print(f"sophron: {error}", file=sys.stderr)
        raise SystemExit(2) from None
