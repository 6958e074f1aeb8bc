"""Layer-1: the mechanical look at a pipeline before a panel or a processor sees it (MDForge, algorithm 1, phase 1)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from sophron.agents.tools import literature
from sophron.debate.panel.votes import Label
from sophron.debate.pipelines.pipeline import RATIONALE, STAGES, Pipeline, PipelineFormatError, StageFile
from sophron.debate.pipelines.static_check.stage_source import Source
from sophron.debate.pipelines.static_check.structure_checks import CHECKS
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
