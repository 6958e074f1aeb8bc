"""Read a task in Markdown, as SciFi has it: Context, To-do and Expectation, with key-values before them.

Read by a Markdown parser, so that a heading inside a fenced block is none; headings may be spelt as in the paper or as
in its released program. An expectation that is empty is refused: nothing would be checked. Test programs of the task
lie in the folder `tests` beside it; the worker never sees them. Sub-tasks are the other Markdown files beside `top.md`,
and the folders that have a `top.md`; a parent waits for all of them, and a sub-task for those that its key `DependsOn`
names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sophron.records.errors import UserError, did_you_mean, shown
from sophron.records.files import read_text
from sophron.tasks import expectations
from sophron.tasks.expectations import Expectation

TOP = "top.md"
TESTS = "tests"
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
DEPENDS = "dependson"
SECONDS = ("timeout", "bashtime", "thinktime")
REFUSED: Mapping[str, str] = {
    "gpu": "the task wants a GPU, which is not offered to tasks; run it elsewhere",
    "slurm": "a task does not submit jobs itself; run its campaign on a queue by a profile",
}
KNOWN = (
    *("rank", *SECONDS, "skills", *REFUSED, "slurmhours", "slurmcpus", "forcemodel", "controlmodel", "thinking"),
    *("nomemory", "taskgroup", "commonhome", "commonstorage", DEPENDS),
)
"""Keys of the released program, in lower case, and ours; others are named in a warning."""
OFF = ("", "0", "no", "off", "false", "none", "disable")
_KEY_VALUE = re.compile(r"\s*(\w+)\s*:\s*(.*?)\s*")
_FENCE = "---"
_CHECKBOX = re.compile(r"^\[[ xX]\]\s+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
DEPTH = 8
"""Folders of sub-tasks below each other, at most."""


@dataclass(frozen=True)
class MarkdownTask:
    """A task of one Markdown file.

    settings: keys in lower case -> text; expectations: in their order; subtasks: by the stem of their files, those that
    it groups below it (`a.b.md` below `a.md`), each after those that it depends on. depends_on: names of sub-tasks
    beside it, which come first. timeout_s, command_s: of the work, and of one command of it; None
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
    depends_on: tuple[str, ...] = ()
    timeout_s: float | None = None
    command_s: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def tests(self) -> Path | None:
        """Return the folder of the task's own test programs; None if it has none."""
        folder = self.path.parent / TESTS
        return folder if folder.is_dir() else None

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
    return _read(file, _below(file.parent) if file.name == TOP else ())


def _below(folder: Path, depth: int = 1) -> tuple[MarkdownTask, ...]:
    """The sub-tasks of a folder: its Markdown files, grouped by their names, and its folders that have a top file."""
    tops = sorted(path for path in folder.glob(f"*/{TOP}") if not path.parent.name.startswith("."))
    if tops and depth > DEPTH:
        raise UserError(f"{tops[0]}: is a task more than {DEPTH} folders below the first; put it further up")
    tasks = [*_grouped(_others(folder)), *(_read(path, _below(path.parent, depth + 1)) for path in tops)]
    return _ordered(tasks)


def _others(folder: Path) -> list[Path]:
    """Sub-tasks lie beside the top file; a README is for people."""
    return sorted(
        path
        for path in folder.glob("*.md")
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

    return _ordered([_read(path, _grouped(paths, path.stem)) for path in paths if parent(path.stem) == above])


def _ordered(tasks: Sequence[MarkdownTask]) -> tuple[MarkdownTask, ...]:
    """Tasks that lie beside each other, each after those that it depends on. UserError for a name or a ring."""
    by_name: dict[str, MarkdownTask] = {}
    for task in tasks:
        if task.name in by_name:
            raise UserError(f"{task.path}: there are two sub-tasks {shown(task.name)}; rename one")
        by_name[task.name] = task
    for task in tasks:
        for name in task.depends_on:
            if name not in by_name:
                raise UserError(
                    f"{task.path}: DependsOn: {shown(name)} is not a sub-task beside it; {did_you_mean(name, by_name)}"
                )
    try:
        order = TopologicalSorter({task.name: task.depends_on for task in tasks}).static_order()
        return tuple(by_name[name] for name in order)
    except CycleError as ring:
        names = " -> ".join(ring.args[1])
        raise UserError(f"{by_name[ring.args[1][0]].path}: DependsOn goes in a ring ({names}); remove one") from None


def _read(path: Path, subtasks: tuple[MarkdownTask, ...]) -> MarkdownTask:
    return parse(path, read_text(path), subtasks)


def parse(path: Path, text: str, subtasks: tuple[MarkdownTask, ...] = ()) -> MarkdownTask:
    """Return the task that a text is, as if it stood in `path`. UserError with file and line."""
    lines = text.removeprefix("\ufeff").splitlines()
    settings, begin, warnings = _settings(path, lines)
    title, sections = _sections(path, lines, begin)
    for name in (TODO, EXPECT):
        if name not in sections:
            more = "" if path.name == TOP else ", or move it into a folder if it is not a sub-task"
            raise UserError(f"{path}: has no section {name.capitalize()}; add a heading ## {name.capitalize()}{more}")
    if not sections[TODO].text.strip():
        raise UserError(f"{path}:{sections[TODO].line}: the to-do is empty; say what is to be done")
    found = tuple(_expectations(sections[EXPECT]))
    if not found:
        raise UserError(
            f"{path}:{sections[EXPECT].line}: the expectation is empty, so that nothing would be checked; say what "
            "must be there in the end"
        )
    _refuse_missing_tests(path, found)
    return MarkdownTask(
        path=path,
        name=path.resolve().parent.name if path.name == TOP else path.stem,
        title=title,
        context=sections[CONTEXT].text.strip() if CONTEXT in sections else "",
        todo=sections[TODO].text.strip(),
        expectations=found,
        settings=settings,
        subtasks=subtasks,
        depends_on=tuple(dict.fromkeys(re.findall(r"[^\s,]+", settings.get(DEPENDS, "")))),
        timeout_s=_seconds(path, settings, "timeout"),
        command_s=_seconds(path, settings, "bashtime"),
        warnings=tuple(warnings),
    )


def _refuse_missing_tests(path: Path, found: Sequence[Expectation]) -> None:
    for sentence in found:
        for name in expectations.TEST_PROGRAM.findall(sentence.text):
            if not (path.parent / name).is_file():
                raise UserError(
                    f"{path}:{sentence.line}: {name} is not beside {path.name}; add it, or name another test"
                )


def _settings(path: Path, lines: Sequence[str]) -> tuple[dict[str, str], int, list[str]]:
    """Key-values between two lines `---`, the line after them, and warnings. UserError for what cannot be honoured."""
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if not lines or lines[first].strip() != _FENCE:
        return {}, 0, _unfenced(path, lines, 0)
    end = next((number for number, line in enumerate(lines[first + 1 :], first + 1) if line.strip() == _FENCE), None)
    if end is None:
        raise UserError(f"{path}:{first + 1}: the key-values do not end; close them with a line {_FENCE}")
    settings: dict[str, str] = {}
    warnings = _unfenced(path, lines, end + 1)
    for number, line in enumerate(lines[first + 1 : end], first + 2):
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


def _unfenced(path: Path, lines: Sequence[str], begin: int) -> list[str]:
    """A warning for each known key that stands before the first heading and not between the fences: it is not read."""
    head = takewhile(lambda pair: not pair[1].startswith("##"), enumerate(lines[begin:], begin + 1))
    found = ((number, _KEY_VALUE.fullmatch(line)) for number, line in head)
    return [
        f"{path}:{number}: {shown(entry[1])} does not stand between two lines {_FENCE} at the top, and is not read"
        for number, entry in found
        if entry and entry[1].lower().lstrip("_") in KNOWN
    ]


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
    """One for each item of a list, and for each paragraph beside the lists.

    An item such as `fit.json:` says only which file the items below it are about.
    """
    tokens = MarkdownIt("commonmark").parse(section.text)
    files: list[tuple[str, ...]] = [()]
    for number, token in enumerate(tokens):
        line = section.first + _lines(token)[0]
        if token.type == "list_item_open":
            files.append(files[-1])
        elif token.type == "list_item_close":
            files.pop()
        elif token.type in ("paragraph_open", "heading_open"):
            text = _CHECKBOX.sub("", _plain(tokens[number + 1]))
            if about := expectations.heading_files(text if token.type == "paragraph_open" else f"{text.rstrip(':')}:"):
                files[-1] = about
            elif text and token.type == "paragraph_open":
                yield expectations.bind(text, line, files[-1])
        elif token.type in ("fence", "code_block"):
            yield Expectation(token.content.strip(), line, (), "a block of code")
        elif token.type == "html_block" and (text := _COMMENT.sub("", token.content).strip()):
            yield Expectation(text, line, (), "HTML")


def _plain(inline: Token) -> str:
    """The text of a paragraph without emphasis, links and escapes; code keeps its backticks and its blanks."""
    parts = []
    for token in inline.children or ():
        if token.type == "code_inline":
            parts.append(f"`{token.content}`")
        elif token.type in ("text", "text_special", "image"):
            parts.append(re.sub(r"\s+", " ", token.content))
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "html_inline":
            parts.append(_COMMENT.sub("", token.content))
    return "".join(parts).strip()
