"""What the Engineer may mend in a pipeline: mechanical edits, checked on the code itself and not by its prompt.

The rules are those of MDForge, appendix D. They hold whoever proposes an edit. The syntax trees before and after are
aligned node by node, and every difference must be one that a rule of `RULES` knows: imports and words put right here,
input and output in `io_edits`, what results are made of in `result_edits`. One that none knows refuses the edit, with
a reason that says what it touches (`refusals`). A file that does not parse may change in punctuation and indentation
alone. What is made of an edit is looked at by Layer-1 again, like any reply of an author (`trial_setup.rehearse`).
"""

from __future__ import annotations

import ast
import difflib
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sophron.debate.pipelines.edits import io_edits, result_edits
from sophron.debate.pipelines.edits.ast_diff import Node, Pair, differences, same
from sophron.debate.pipelines.edits.edit_context import File, definers, near, there
from sophron.debate.pipelines.edits.refusals import Reasons, RefusalReason, RefusedEdit
from sophron.debate.pipelines.pipeline import STAGES, Pipeline
from sophron.debate.pipelines.static_check.import_policy import importable
from sophron.debate.pipelines.static_check.stage_source import Imported, imported, last, module, parameters
from sophron.records.digests import digest

SESSION_S = 3600.0
"""Most wall time of all attempts at one pipeline (MDForge, appendix D: about 60 minutes)."""


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which stands exactly once in `file`, by `new`."""

    file: str
    old: str
    new: str

    @property
    def digest(self) -> str:
        """Its identity: the same fix twice is no new one, however it is laid out."""
        return digest([self.file, _normal(self.old), _normal(self.new)])


def apply(pipeline: Pipeline, edits: Sequence[Edit]) -> Pipeline | RefusedEdit:
    """The pipeline with all of `edits`, or why not; one that is refused refuses them all."""
    files = dict(pipeline.files)
    for edit in edits:
        if files.get(edit.file, "").count(edit.old) != 1 or not edit.old:
            return RefusedEdit(
                RefusalReason.NOT_FOUND, f"the text to replace does not stand exactly once in {edit.file}"
            )
        files[edit.file] = files[edit.file].replace(edit.old, edit.new)
    for stage in STAGES:
        others = "\n".join(source for name, source in pipeline.files.items() if name != stage.file)
        early = stage.number == 1
        refused = compare(pipeline.files[stage.file], files[stage.file], early=early, others=others)
        if refused:
            return RefusedEdit(refused.reason, f"{stage.file}: {refused.sentence}")
    return Pipeline(pipeline.rationale, pipeline.windows, files)


def compare(before: str, after: str, *, early: bool, others: str = "") -> RefusedEdit | None:
    """Why the step from one source to another is not mechanical; None where it is.

    early: preparation, where an `assert` may be taken away: a wrong sanity check; others: sources of the other stages.
    """
    if before == after:
        return None
    try:
        new = ast.parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return RefusedEdit(RefusalReason.NOT_PYTHON, f"it would be no Python: {error or 'nested too deeply'}")
    try:
        old = ast.parse(before)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        sentence = "it makes Python of the file and changes more than punctuation; one thing after the other"
        return None if allows_syntax(before, after) else RefusedEdit(RefusalReason.METHODOLOGY, sentence)
    file = File(old, early, others)

    def allows(pair: Pair) -> bool:
        return any(rule(pair, file) for rule in RULES)

    try:
        return Reasons(old).gravest(differences(Pair(old, new), allows))
    except RecursionError:
        return RefusedEdit(RefusalReason.METHODOLOGY, "its code is nested too deeply to be compared")


def repeated(fixes: Sequence[Edit]) -> bool:
    """Whether the same fix was made twice, which ends the Engineer's work."""
    return len({fix.digest for fix in fixes}) < len(fixes)


@dataclass(frozen=True)
class Fix:
    """An answer of the Engineer (`agents/pipeline-engineer.schema.yaml`). edits: none if it gave up."""

    diagnosis: str
    action: Literal["edit", "give_up"]
    edits: tuple[Edit, ...]


def _normal(text: str) -> str:
    """A piece of code without layout and comments: its syntax tree, or its words where it is part of a statement."""
    try:
        return ast.dump(ast.parse(textwrap.dedent(text).strip()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return " ".join(re.findall(r"\w+|[^\w\s]", re.sub(r"#[^\n]*", "", text)))


USUAL = {"numpy": "np", "pandas": "pd", "mdtraj": "md", "parmed": "pmd", "networkx": "nx", "openmm.unit": "unit"}
"""The names by which libraries are known in the field."""


def allows_import(pair: Pair, file: File) -> bool:
    """Return whether only imports changed: added ones, and useless or unresolved ones removed or corrected."""
    if not all(isinstance(node, ast.Import | ast.ImportFrom | None) for node in (pair.old, pair.new)):
        return False
    old, new = _by_key(pair.old), _by_key(pair.new)
    lost = [each for key, each in old.items() if key not in new]
    gained = [each for key, each in new.items() if key not in old]
    kept = all(_idle(each, file) for each in lost)
    return kept and all(_plain(each, lost) and _free(each, file) for each in gained)


def _by_key(node: Node) -> dict[tuple[str, str, str], Imported]:
    return {each.key: each for each in imported(node)}


def _idle(name: Imported, file: File) -> bool:
    """Whether an import finds nothing, or nothing reads what it binds."""
    return not there(name) or (name.bound not in file.loaded and name.name != "*" and name.module != "__future__")


def _free(name: Imported, file: File) -> bool:
    """Whether an import finds something that a pipeline may have, and binds a name that meant nothing before."""
    return importable(name.module, name.name) is None and there(name) and name.bound not in file.defined


def _plain(name: Imported, lost: list[Imported]) -> bool:
    """Whether a name is bound as it is known; of ours, one that a single module has, unless a word is put right."""
    if name.name == "*":
        return False
    if any(_corrects(name, each) for each in lost):
        return True
    if name.alias and name.alias not in (name.name or last(name.module), USUAL.get(name.dotted)):
        return False
    return not name.name or len(definers(name.name)) < 2


def _corrects(name: Imported, wrong: Imported) -> bool:
    """Whether one import is another with a misspelt word put right: its module, or its name."""
    if name.module == wrong.module:
        renamed = name.alias == wrong.alias
        return renamed and bool(name.name) and near(wrong.name, name.name, ())
    return (name.name, name.alias) == (wrong.name, wrong.alias) and near(last(wrong.module), last(name.module), ())


MOST_NEAR = 3
"""A library's own new name for something may be the second or third nearest to the old one."""


def allows_rename(pair: Pair, file: File) -> bool:
    """Return whether a word that meant nothing became the word that is nearest to it."""
    match pair.old, pair.new:
        case ast.Name(id=wrong, ctx=ast.Load()), ast.Name(id=right, ctx=ast.Load()):
            return not file.dynamic and wrong not in file.defined and near(wrong, right, file.defined)
        case ast.Attribute(attr=wrong), ast.Attribute(attr=right):
            return same(pair.old.value, pair.new.value) and _attribute(pair.old.value, wrong, right, file)
        case ast.keyword(arg=str(wrong)), ast.keyword(arg=str(right)):
            return same(pair.old.value, pair.new.value) and _argument(pair.parent, wrong, right, file)
        case _:
            return False


def _attribute(owner: ast.expr, wrong: str, right: str, file: File) -> bool:
    name = file.module_of(owner)
    if name:
        known: Any = module(name)
        missing = not hasattr(known, wrong) and hasattr(known, right)
        return missing and importable(name, right) is None and near(wrong, right, dir(known), MOST_NEAR)
    return wrong not in file.attributes and right in file.attributes and near(wrong, right, ())


def _argument(call: ast.AST | None, wrong: str, right: str, file: File) -> bool:
    if not isinstance(call, ast.Call):
        return False
    known = [each.name for each in parameters(file.function_of(call))]
    taken = {each.arg for each in call.keywords} | set(known[: len(call.args)])
    free = [each for each in known if each not in taken]
    return wrong not in known and right in free and near(wrong, right, free)


TOKEN = re.compile(r"#[^\n]*|\w+|'[^'\n]*'|\"[^\"\n]*\"|[^\w\s]")
PUNCTUATION = frozenset("()[]{}:,;")
ADDED = {"pass"}
MEANING = re.compile(r"[-+*/%@<>=!|&^~]|\b(not|and|or|if|elif|else|while|assert|raise|return|except|lambda)\b")


def allows_syntax(before: str, after: str) -> bool:
    """Return whether only punctuation and `pass` changed, and on lines where punctuation groups no formula and no test.

    A statement that moved in or out of a block counts as changed on its line.
    """
    old, new = before.splitlines(), after.splitlines()
    for tag, begin, end, first, final in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal" and not _punctuation(old[begin:end], new[first:final]):
            return False
    return True


def _punctuation(old: list[str], new: list[str]) -> bool:
    if _words(old) != [word for word in _words(new) if word not in ADDED]:
        return False
    lines = [line for line in old if line.strip() and line not in new]
    return all(not MEANING.search(line) or _appended(line, new) for line in lines)


def _appended(line: str, new: list[str]) -> bool:
    """Whether a line came back with nothing but punctuation behind it."""
    stem = line.rstrip()
    return any(each.startswith(stem) and set(each[len(stem) :]) <= PUNCTUATION | {" "} for each in new)


def _words(lines: list[str]) -> list[str]:
    found = [token for line in lines for token in TOKEN.findall(line)]
    return [token for token in found if token not in PUNCTUATION and not token.startswith("#")]


RULES = (allows_import, allows_rename, io_edits.allows_io, result_edits.allows_result)
"""The edits that are mechanical; what none of them knows is refused."""
