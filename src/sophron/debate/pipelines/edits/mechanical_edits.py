"""What the Engineer may do to a pipeline: mechanical fixes, checked on the code itself and not by its prompt.

The rules are those of MDForge, appendix D. They hold whoever proposes an edit. The syntax trees before and after are
aligned node by node, and every difference must be one of a list of mechanical edits (`sophron.debate.pipelines.edits`):
one that the list does not have refuses the edit, with a reason that says what it touches. What is made of an edit is
looked at by Layer-1 again, like any reply of an author (`trial_setup.rehearse`).
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sophron.debate.pipelines.edits import import_edits, io_edits, rename_edits, syntax_repair
from sophron.debate.pipelines.edits.ast_diff import Pair, differences
from sophron.debate.pipelines.edits.edit_context import File
from sophron.debate.pipelines.edits.refusals import Reasons, RefusalReason, RefusedEdit
from sophron.debate.pipelines.pipeline import STAGES, Pipeline
from sophron.records.digests import digest

SESSION_S = 3600.0
"""Most wall time of all attempts at one pipeline (MDForge, appendix D: about 60 minutes)."""
RULES = (import_edits.allows_import, rename_edits.allows_rename, io_edits.allows_io)
"""The edits that are mechanical; what none of them knows is refused."""


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
        return None if syntax_repair.allows_syntax(before, after) else RefusedEdit(RefusalReason.METHODOLOGY, sentence)
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
