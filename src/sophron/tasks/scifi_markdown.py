"""Read a task in Markdown, as SciFi has it: Context, To-do and Expectation, with key-values before them.

Read by a Markdown parser, so that a heading inside a fenced block is none; headings may be spelt as in the paper or as
in its released program. An expectation that is empty is refused: nothing would be checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sophron.records.errors import UserError, did_you_mean, shown
from sophron.records.files import read_text
from sophron.tasks import expectations
from sophron.tasks.expectations import Expectation

TOP = "top.md"
CONTEXT, TODO, EXPECT = "context", "to-do", "expectation"
HEADINGS: Mapping[str, str] = {
    "context": CONTEXT,
    "todo": TODO,
    "to-do": TODO,
    "to do": TODO,
    "expect": EXPECT,
    "expectation": EXPECT,
    "expectations": EXPECT,
}
"""Heading, in lower case -> the section that it begins."""
SECONDS = ("timeout", "bashtime", "thinktime")
REFUSED: Mapping[str, str] = {
    "gpu": "the task wants a GPU, which is not offered to tasks; run it elsewhere",
    "slurm": "a task does not submit jobs itself; run its campaign on a queue by a profile",
}
KNOWN = (
    *("rank", *SECONDS, "skills", *REFUSED, "slurmhours", "slurmcpus", "forcemodel", "controlmodel", "thinking"),
    *("nomemory", "taskgroup", "commonhome", "commonstorage"),
)
"""Keys of the released program, in lower case; others are named in a warning."""
OFF = ("", "0", "no", "off", "false", "none", "disable")
_KEY_VALUE = re.compile(r"\s*(\w+)\s*:\s*(.*?)\s*")
_FENCE = "---"


@dataclass(frozen=True)
class MarkdownTask:
    """A task of one Markdown file.

    settings: keys in lower case -> text; expectations: in their order; subtasks: by the stem of their files, those that
    it groups below it (`a.b.md` below `a.md`). timeout_s, command_s: of the work, and of one command of it; None
    without a limit. warnings: a sentence each.
    """

    path: Path
    name: str
    title: str
    context: str
    todo: str
    expectations: tuple[Expectation, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    subtasks: tuple[MarkdownTask, ...] = ()
    timeout_s: float | None = None
    command_s: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def unverified(self) -> tuple[Expectation, ...]:
        """Return the expectations that no program checks."""
        return tuple(one for one in self.expectations if not one.checks)


@dataclass(frozen=True)
class _Section:
    """A part of a document. line: of its heading, from 1; first: of its text."""

    line: int
    first: int
    text: str


def read(path: Path) -> MarkdownTask:
    """Return the task of a file, or of the `top.md` of a folder, with its sub-tasks. UserError with file and line."""
    file = path / TOP if path.is_dir() else path
    subtasks = _grouped(_others(file)) if file.name == TOP else ()
    return _read(file, subtasks)


def _others(top: Path) -> list[Path]:
    """Sub-tasks lie beside the top file; a README is for people."""
    return sorted(
        path
        for path in top.parent.glob("*.md")
        if path.name != TOP and path.stem.lower() != "readme" and not path.name.startswith(".")
    )


def _grouped(paths: Sequence[Path], above: str = "") -> tuple[MarkdownTask, ...]:
    """Those that lie directly below `above`, each with those below it; `a.b` lies below `a` if that is there."""
    stems = {path.stem for path in paths}

    def parent(stem: str) -> str:
        while stem := stem.rpartition(".")[0]:
            if stem in stems:
                return stem
        return ""

    return tuple(_read(path, _grouped(paths, path.stem)) for path in paths if parent(path.stem) == above)


def _read(path: Path, subtasks: tuple[MarkdownTask, ...]) -> MarkdownTask:
    lines = read_text(path).splitlines()
    settings, begin, warnings = _settings(path, lines)
    title, sections = _sections(path, lines, begin)
    for name in (TODO, EXPECT):
        if name not in sections:
            raise UserError(f"{path}: has no section {name.capitalize()}; add a heading ## {name.capitalize()}")
    if not sections[TODO].text.strip():
        raise UserError(f"{path}:{sections[TODO].line}: the to-do is empty; say what is to be done")
    found = tuple(_expectations(sections[EXPECT]))
    if not found:
        raise UserError(
            f"{path}:{sections[EXPECT].line}: the expectation is empty, so that nothing would be checked; say what "
            "must be there in the end"
        )
    return MarkdownTask(
        path=path,
        name=path.resolve().parent.name if path.name == TOP else path.stem,
        title=title,
        context=sections[CONTEXT].text.strip() if CONTEXT in sections else "",
        todo=sections[TODO].text.strip(),
        expectations=found,
        settings=settings,
        subtasks=subtasks,
        timeout_s=_seconds(path, settings, "timeout"),
        command_s=_seconds(path, settings, "bashtime"),
        warnings=tuple(warnings),
    )


def _settings(path: Path, lines: Sequence[str]) -> tuple[dict[str, str], int, list[str]]:
    """Key-values between two lines `---`, the line after them, and warnings. UserError for what cannot be honoured."""
    if not lines or lines[0].strip() != _FENCE:
        return {}, 0, []
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), None)
    if end is None:
        raise UserError(f"{path}:1: the key-values do not end; close them with a line {_FENCE}")
    settings: dict[str, str] = {}
    warnings = []
    for number, line in enumerate(lines[1:end], 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        entry = _KEY_VALUE.fullmatch(line)
        if entry is None:
            raise UserError(f"{path}:{number}: is not a key with its value ({shown(line)}); write Key: value")
        key, value = entry[1].lower().lstrip("_"), entry[2]
        if key in settings:
            raise UserError(f"{path}:{number}: {shown(entry[1])} stands here twice; keep one")
        if key in REFUSED and value.lower() not in OFF:
            raise UserError(f"{path}:{number}: {entry[1]}: {REFUSED[key]}")
        if key not in KNOWN:
            warnings.append(f"{path}:{number}: {shown(entry[1])}: unknown key, not read; {did_you_mean(key, KNOWN)}")
        settings[key] = value
    return settings, end + 1, warnings


def _seconds(path: Path, settings: Mapping[str, str], key: str) -> float | None:
    """A number of seconds; -1 is without a limit."""
    text = settings.get(key, "")
    if text in ("", "-1"):
        return None
    if not re.fullmatch(r"\d+(\.\d+)?", text) or float(text) <= 0:
        raise UserError(f"{path}: {key}: {shown(text)} is not a number of seconds; write one, or -1 for no limit")
    return float(text)


def _sections(path: Path, lines: Sequence[str], begin: int) -> tuple[str, dict[str, _Section]]:
    """The title, and the sections by name. UserError for one that is unknown or stands there twice."""
    body = [*[""] * begin, *lines[begin:]]
    tokens = MarkdownIt("commonmark").parse("\n".join(body))
    heads = [(token, tokens[number + 1].content) for number, token in enumerate(tokens) if token.type == "heading_open"]
    tops = [(token, text) for token, text in heads if token.tag == "h2" and token.level == 0]
    title = next((text for token, text in heads if token.tag == "h1"), "")
    sections: dict[str, _Section] = {}
    ends = [*(_lines(token)[0] for token, _ in tops), len(body)][1:]
    for (token, text), end in zip(tops, ends, strict=True):
        line, first = _lines(token)
        name = HEADINGS.get(text.strip().lower().rstrip(":"))
        if name is None:
            raise UserError(
                f"{path}:{line + 1}: a task has no section {shown(text)}; "
                f"{did_you_mean(text, ['Context', 'To-do', 'Expectation'])}"
            )
        if name in sections:
            raise UserError(f"{path}:{line + 1}: the section {shown(text)} stands here twice; keep one")
        sections[name] = _Section(line + 1, first + 1, "\n".join(body[first:end]))
    return title, sections


def _lines(token: Token) -> tuple[int, int]:
    """Where a token begins and ends, from 0; headings always have a place."""
    begin, end = token.map or [0, 0]
    return begin, end


def _expectations(section: _Section) -> Iterator[Expectation]:
    """One for each item of a list, and for each paragraph beside the lists."""
    tokens = MarkdownIt("commonmark").parse(section.text)
    for number, token in enumerate(tokens):
        if token.type == "paragraph_open":
            text = " ".join(tokens[number + 1].content.split())
            if text:
                yield expectations.bind(text, section.first + _lines(token)[0])
        elif token.type in ("fence", "code_block"):
            yield Expectation(token.content.strip(), section.first + _lines(token)[0], (), "a block of code")
