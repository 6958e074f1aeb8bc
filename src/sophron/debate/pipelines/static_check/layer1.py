"""Layer-1: the mechanical look at a pipeline before a panel or a processor sees it (MDForge, algorithm 1, phase 1).

Stage files are checked by their syntax trees; nothing here runs them. The checks are for readable, honest pipelines.
What generated code can reach is decided by the sandbox.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from sophron.agents.tools import literature
from sophron.debate.panel.votes import Label
from sophron.debate.pipelines.pipeline import (
    NS_PER_WINDOW,
    PRODUCTION,
    RATIONALE,
    STAGES,
    Pipeline,
    PipelineFormatError,
    StageFile,
)
from sophron.debate.pipelines.static_check.hardcoded_chemistry import chemistry, dispatch, names, references
from sophron.debate.pipelines.static_check.import_policy import calls, environment, imports
from sophron.debate.pipelines.static_check.stage_source import Found, Source, called, number
from sophron.records.errors import shown

Works = Sequence[literature.CitedWork]
"""Each with its `doi`: the notes of the bibliography, or works that web searches found."""
LONGEST = 200_000
"""Characters of one file."""
SENTENCE = 300


@dataclass(frozen=True)
class Fault:
    """What one check found; keys as in `host_guest/layer1.schema.yaml`."""

    check: str
    file: str
    line: int
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """pipeline: None where the reply is none; faults: empty where it passes."""

    pipeline: Pipeline | None
    faults: tuple[Fault, ...]

    @property
    def label(self) -> Label:
        """Pass without faults, else fail; a mechanical check is never uncertain."""
        return Label.FAIL if self.faults else Label.PASS

    def as_document(self) -> dict[str, object]:
        """Plain data that fits `host_guest/layer1.schema.yaml`."""
        return {
            "label": self.label.value,
            "pipeline": self.pipeline.digest if self.pipeline else None,
            "windows": self.pipeline.windows if self.pipeline else None,
            "faults": [asdict(each) for each in self.faults],
        }


def verify(reply: str, names: Sequence[str], *known: Works) -> Verdict:
    """Check an author's reply. names: of hosts and guests that no code may depend on; known: what may be cited."""
    try:
        made = Pipeline.parse(reply)
    except PipelineFormatError as error:
        return Verdict(None, (Fault("contract", "reply", 1, shown(str(error), SENTENCE)),))
    faults = [*_rationale(made, known)]
    for stage in STAGES:
        faults += _file(stage, made.files[stage.file], names)
    return Verdict(made, tuple(dict.fromkeys(faults)))


def _rationale(made: Pipeline, known: Sequence[Works]) -> Iterator[Fault]:
    if not literature.cited(made.rationale):
        yield Fault("citations", RATIONALE, 1, "it cites nothing; a choice of method needs a DOI that can be found")
    for doi in literature.unresolved(made.rationale, *known):
        sentence = (
            f"{shown(doi, 100)} resolves nowhere: neither the bibliography nor a recorded web search has it; "
            "cite what one of them has"
        )
        yield Fault("citations", RATIONALE, 1, sentence)


def _file(stage: StageFile, text: str, names: Sequence[str]) -> list[Fault]:
    if len(text) > LONGEST:
        return [Fault("structure", stage.file, 1, f"it has more than {LONGEST} characters")]
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        return [Fault("syntax", stage.file, line, shown(f"it is no Python: {error}", SENTENCE))]
    source = Source(stage, tree, names)
    return [
        Fault(check, stage.file, line, shown(sentence, SENTENCE))
        for check, look in CHECKS
        for line, sentence in look(source)
    ]


UNITS = tuple(
    re.split(
        r"\s+",
        "_a _nm _a2 _a3 _ps _fs _ns _s _min _per_ps _k _bar _atm _amu _e _deg _rad _kt _molar _kcal_per_mol "
        "_kj_per_mol _kcal_per_mol_a2 _kcal_per_mol_rad2 _kj_per_mol_nm2 _steps _count _fraction _fractions _per_ns "
        "_mb _g_per_ml _ratio",
    )
)


def structure(source: Source) -> Found:
    """Check for a docstring, a function `main`, and a call of it when the file is run."""
    if not ast.get_docstring(source.tree):
        yield 1, "it has no docstring that says what it does"
    if not any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in source.tree.body):
        yield 1, "it has no function main()"
    guards = [node for node in source.tree.body if isinstance(node, ast.If) and "__main__" in ast.dump(node.test)]
    if not any(isinstance(each, ast.Call) and called(each) == "main" for guard in guards for each in ast.walk(guard)):
        yield 1, 'main() is not called below `if __name__ == "__main__":`'


def own_result(source: Source) -> Found:
    """Check that it writes its own result, by name or through `stage_file_api.reporting`."""
    named = any(text == source.stage.result for _, text in source.literals)
    reported = any(
        isinstance(node, ast.Call)
        and called(node).rpartition(".")[2] == "reporting"
        and [each.value for each in node.args if isinstance(each, ast.Constant)] == [source.stage.number]
        for node in ast.walk(source.tree)
    )
    if not (named or reported):
        yield 1, f"it never writes {source.stage.result}"


def production_length(source: Source) -> Found:
    """Production takes its length from the environment."""
    texts = [text for _, text in source.literals]
    asked = any(isinstance(node, ast.Call) and called(node).endswith("ns_per_window") for node in ast.walk(source.tree))
    if source.stage is PRODUCTION and NS_PER_WINDOW not in texts and not asked:
        yield 1, f"it does not read {NS_PER_WINDOW}; production has the length that it states"


def units(source: Source) -> Found:
    """Check that constants of a module name their unit."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        numeric = parts and all(number(each) is not None for each in parts)
        for target in targets:
            if numeric and isinstance(target, ast.Name) and not target.id.lower().endswith(UNITS):
                yield (
                    node.lineno,
                    f"{target.id} does not say its unit; end its name with one, such as _KCAL_PER_MOL or _COUNT",
                )


CHECKS: tuple[tuple[str, Callable[[Source], Found]], ...] = (
    ("structure", structure),
    ("contract", own_result),
    ("contract", production_length),
    ("contract", environment),
    ("imports", imports),
    ("calls", calls),
    ("chemistry", chemistry),
    ("names", names),
    ("names", dispatch),
    ("references", references),
    ("units", units),
)
