"""Check a LAMMPS input without running it: refuse what could start a program or reach a file outside the work folder.

It reads an input the way LAMMPS does (continuation lines, quotes, comments, nested commands, substitution) and lets
known commands with checkable arguments through; everything else is a finding. It guards our own rendered inputs
against mistakes and names what is wrong in free text. The boundary for free text is the sandbox, not this check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from sophron.records import sanitize
from sophron.science.lammps import input_parser

_KNOWN = """
    angle_coeff angle_style atom_modify atom_style balance bond_coeff bond_style boundary box change_box comm_modify
    comm_style compute compute_modify create_atoms create_bonds create_box delete_atoms delete_bonds dielectric
    dihedral_coeff dihedral_style dimension displace_atoms dump dump_modify echo fix fix_modify group if
    improper_coeff improper_style info jump kspace_modify kspace_style label labelmap lattice log mass min_modify
    min_style minimize neigh_modify neighbor newton next package pair_coeff pair_modify pair_style partition print
    processors quit read_data read_dump read_restart region replicate rerun reset_atoms reset_timestep restart run
    run_style set special_bonds suffix thermo thermo_modify thermo_style timer timestep uncompute undump unfix units
    variable velocity write_coeff write_data write_dump write_restart
"""
ALLOWED = frozenset(_KNOWN.split())
REASONS = {
    "shell": "starts programs",
    "python": "runs Python code",
    "plugin": "loads foreign code",
    "include": "reads another input, which is not checked",
    "geturl": "reaches the network",
    "kim": "loads foreign code",
    "mdi": "talks to other programs",
    "message": "talks to other programs",
}
STYLES_END = {"fix": 3, "compute": 3, "dump": 3, "fix_modify": 2, "compute_modify": 2, "dump_modify": 2}
FOREIGN = re.compile(r"(python|external|imd|ipi|mdi|movie|plumed|colvars|client|kim|plugin)(/.*)?", re.IGNORECASE)
TEXT = frozenset({"if", "partition", "print", "run", "variable"})
PLAIN = re.compile(rf"[A-Za-z0-9_.*%+=:,/<>\[\]{input_parser.VALUE}-]*")
COMPRESSED = re.compile(r"\.(gz|bz2|zst|xz|lzma|lz4)(\.|$)", re.IGNORECASE)
WRITES = frozenset({"file", "append"})
NUMERIC_STYLES = frozenset({"equal", "loop", "internal", "timer", "delete"})
LISTED_STYLES = frozenset({"index", "string", "world", "universe", "uloop"})
HARMLESS_STYLES = NUMERIC_STYLES | LISTED_STYLES | {"atom", "vector", "format"}
FORMULA_STYLES = frozenset({"equal", "atom", "vector"})
PYTHON_FUNCTION = re.compile(r"\bpy_", re.IGNORECASE)
VARIABLE_WORDS = 3
"""`variable NAME STYLE` has so many words before its values."""


@dataclass(frozen=True)
class Finding:
    """A refused command. line: its first line in the input, counted from 1; reason: what it does."""

    line: int
    reason: str


def check(text: str) -> list[Finding]:
    """Return the findings in a LAMMPS input, in order of lines; empty if nothing is refused."""
    numeric = _numeric_variables(text)
    return [
        Finding(line, reason)
        for line, content in input_parser.logical_lines(text)
        for reason in _line(content, numeric)
    ]


def _line(content: str, numeric: AbstractSet[str]) -> Iterator[str]:
    """Reasons to refuse one command line."""
    content, refused = input_parser.substituted(content, numeric)
    for text in refused:
        yield f"{_shown(text)} may stand for any text, which cannot be checked; write it out"
    if any(ord(sign) < ord(" ") and sign not in f"\t\n{input_parser.VALUE}" for sign in content):
        yield "has a control character; remove it"
    words = input_parser.words(content)
    if words is None:
        yield "has a quote that is never closed; close it"
    elif words:
        yield from _command(words[0], words[1:], numeric)


def _command(name: str, arguments: Sequence[str], numeric: AbstractSet[str]) -> Iterator[str]:
    if name not in ALLOWED:
        known = REASONS.get(re.split(r"[^a-z]", name.lower())[0], "is not a command that is known to be harmless")
        yield f"the command {_shown(name)} {known}; remove it"
        return
    for place, word in enumerate(arguments):
        if FOREIGN.fullmatch(word) and name != "variable":
            yield f"the style {_shown(word)} runs foreign code or talks to other programs; remove it"
        if input_parser.VALUE in word and place < STYLES_END.get(name, 0):
            yield f"`{name}` takes a name or style from a variable, which cannot be checked; write it out"
    if name not in TEXT and not _prints(name, arguments):
        for word in arguments:
            yield from _file(name, word)
    yield from _SPECIAL.get(name, _nothing)(arguments)
    for nested in _nested(name, arguments):
        yield from _line(nested, numeric)


def _nothing(_arguments: Sequence[str]) -> Iterator[str]:
    return iter(())


def _prints(name: str, arguments: Sequence[str]) -> bool:
    """Return whether a command prints a text, which is not a file name."""
    return name == "fix" and arguments[2:3] == ["print"]


def _file(name: str, word: str) -> Iterator[str]:
    """Any word may be a file name, so each must be harmless as one."""
    if input_parser.is_format(word):
        return
    if word.startswith(("/", "~")) or ".." in word.split("/"):
        yield f"`{name}` reaches {_shown(word)} outside the work folder; use a name inside it"
    elif not PLAIN.fullmatch(word):
        yield f"`{name}` has the word {_shown(word)}, whose signs have a meaning to other programs; use a plain name"
    elif COMPRESSED.search(word):
        yield f"`{name}` reads or writes {_shown(word)} through another program; use a name without that ending"


def _print(arguments: Sequence[str]) -> Iterator[str]:
    if WRITES.intersection(arguments[1:]):
        yield "`print` writes a file; leave out `file` and `append`"


def _fix(arguments: Sequence[str]) -> Iterator[str]:
    if _prints("fix", arguments) and WRITES.intersection(arguments[4:]):
        yield "`fix print` writes a file; leave out `file` and `append`"


def _jump(arguments: Sequence[str]) -> Iterator[str]:
    if list(arguments[:1]) != ["SELF"]:
        yield "`jump` leads out of this input; jump to SELF only"


def _variable(arguments: Sequence[str]) -> Iterator[str]:
    name, style, values = (*arguments, "", "")[0], (*arguments, "", "")[1], arguments[2:]
    if input_parser.VALUE in name or input_parser.VALUE in style:
        yield "`variable` takes its name or style from a variable, which cannot be checked; write it out"
    elif style not in HARMLESS_STYLES:
        yield f"a variable of style {_shown(style)} reads files, the environment or runs code; use another style"
    elif style in FORMULA_STYLES and any(PYTHON_FUNCTION.search(value) for value in values):
        yield "a formula calls a Python function; remove it"


_SPECIAL = {"print": _print, "fix": _fix, "jump": _jump, "variable": _variable}


def _nested(name: str, arguments: Sequence[str]) -> list[str]:
    """Texts of the commands that a command executes: `if` and `run ... every`, and what follows `partition`."""
    if name == "if":
        bodies, skip = [], True
        for word in arguments:
            if skip or word in ("then", "elif", "else"):
                skip = word == "elif"
                continue
            bodies.append(word)
        return bodies
    if name == "run" and "every" in arguments:
        return [word for word in arguments[arguments.index("every") + 2 :] if word.upper() != "NULL"]
    if name == "partition":
        return [
            " ".join(
                f"{input_parser.TRIPLE}{word}{input_parser.TRIPLE}" if " " in word else word for word in arguments[2:]
            )
        ]
    return []


def _numeric_variables(text: str) -> frozenset[str]:
    """Variables of which every definition in the input, nested ones too, gives numbers; these may be substituted."""
    numeric: dict[str, bool] = {}
    for _, words in commands(text):
        if words[0] == "variable" and len(words) >= VARIABLE_WORDS:
            numeric[words[1]] = numeric.get(words[1], True) and _is_numeric(words[2], words[3:])
    return frozenset(name for name, kept in numeric.items() if kept)


def _is_numeric(style: str, values: Sequence[str]) -> bool:
    if style == "format":
        return len(values) == 2 and input_parser.is_format(values[1])
    return style in NUMERIC_STYLES or (
        style in LISTED_STYLES and all(input_parser.is_number(value) for value in values)
    )


def commands(text: str) -> Iterator[tuple[int, list[str]]]:
    """First line (from 1) and words of each command of an input, of those too that `if` and its like execute."""
    for line, content in input_parser.logical_lines(text):
        yield from ((line, words) for words in _within(content))


def _within(content: str) -> Iterator[list[str]]:
    words = input_parser.words(content)
    if words:
        yield words
        for nested in _nested(words[0], words[1:]):
            yield from _within(nested)


def _shown(text: str) -> str:
    """A piece of the input as a message may show it: short, without control characters."""
    return f"`{sanitize.escape(text.replace(input_parser.VALUE, '$'), 40)}`"
