"""Layer-1: the mechanical look at a pipeline before a panel or a processor sees it (MDForge, algorithm 1, phase 1).

Stage files are checked by their syntax trees; nothing here runs them. The checks are for readable, honest pipelines.
What generated code can reach is decided by the sandbox.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from sophron.agents.tools import literature
from sophron.debate.panel.votes import Label
from sophron.debate.pipelines.pipeline import (
    INPUT_NAMES,
    METADATA_NAME,
    NS_PER_WINDOW,
    PLATFORM,
    PRODUCTION,
    RATIONALE,
    SEED,
    STAGES,
    Pipeline,
    PipelineFormatError,
    StageFile,
)
from sophron.debate.pipelines.static_check.hardcoded_chemistry import (
    ABOUT_CHARGES,
    CHEMISTRY,
    MEASURED,
    chemistry,
    dispatch,
    measured,
    names,
    references,
)
from sophron.debate.pipelines.static_check.import_policy import PROGRAMS, STANDARD, calls, environment, imports
from sophron.debate.pipelines.static_check.stage_source import Found, Source, called, number, words
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
        for check, look, _ in CHECKS
        for line, sentence in look(source)
    ]


QUANTITIES = words(
    "length cutoff distance distances spacing radius width depth temperature pressure time timestep dt "
    "duration friction mass hmass spring springs stiffness energy wall volume concentration padding "
    "target targets height density"
)
"""Words of a name that say a quantity with a unit."""
UNITS = words(
    "a a2 a3 ang angstrom angstroms nm nm2 nm3 pm ps fs ns us s sec seconds min minutes h k kelvin bar "
    "atm pa amu da dalton daltons g kg e deg degree degrees rad rad2 radian radians kt kcal kj mol molar "
    "mm m mb ml l v picosecond picoseconds femtosecond femtoseconds nanosecond nanoseconds nanometer "
    "nanometers"
)
PURE = words(
    "n num number count counts fraction fractions ratio ratios factor factors scale step steps sample "
    "samples index indices exponent tolerance order block blocks bin bins point points window windows "
    "group groups column columns overlap iterations stride every lambda lambdas strength strengths per "
    "percent sigmas multiplier"
)
"""Words that say a number without a unit."""


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
    """Check that it writes its own result, by name (also one that is put together) or through `reporting`."""
    name = re.compile(rf"(^|/)stage_(0{source.stage.number}|\{{[^}}]*\}}|0\{{[^}}]*\}}|%\d*d)_result\.json$")
    named = any(name.search(text) for _, text in source.literals)
    reported = any(
        isinstance(node, ast.Call)
        and called(node).rpartition(".")[2] == "reporting"
        and [number(each, source.numbers) for each in (*node.args, *(one.value for one in node.keywords))]
        == [source.stage.number]
        for node in ast.walk(source.tree)
    )
    if not (named or reported):
        yield 1, f"it never writes {source.stage.result}"


def production_length(source: Source) -> Found:
    """Production takes its length from the environment."""
    texts = [text for _, text in source.literals]
    read = any(text.strip().endswith(NS_PER_WINDOW.partition("_")[2]) for text in texts)
    asked = any(isinstance(node, ast.Call) and called(node).endswith("ns_per_window") for node in ast.walk(source.tree))
    if source.stage is PRODUCTION and not read and not asked:
        yield 1, f"it does not read {NS_PER_WINDOW}; production has the length that it states"


def units(source: Source) -> Found:
    """Check that constants of a module that are quantities name their unit."""
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
            if numeric and isinstance(target, ast.Name) and _lacks_unit(target.id):
                yield (
                    node.lineno,
                    f"{target.id} does not say its unit; put one into its name, such as _A, _PS or _KCAL_PER_MOL",
                )


def _lacks_unit(name: str) -> bool:
    parts = {*name.lower().split("_")}
    return bool(QUANTITIES & parts) and not (UNITS | PURE) & parts


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


WRITTEN = "Each file writes its own `stage_NN_result.json`: by `stage_file_api.reporting(N)` or by that name, not both."
READ_ONLY = (
    "Variables of the environment are read and never set; nothing looks for keys or tokens, or writes the whole "
    "environment out. A copy of it may be changed and given to a program."
)
IMPORTED = (
    f"Imports are of the standard library ({_listed(STANDARD - {'__future__'})}), of the libraries listed here, and "
    "of the modules of `sophron` listed here; no others."
)
CALLED = (
    "No code from text (eval, exec, compile, __import__, importlib, `python -c`), no shell (`shell=True`, sh -c), no "
    f"programs but those of AmberTools ({_listed(PROGRAMS)}) given as a list, no change of what a module or a class "
    "holds, no getattr or setattr of one, no attributes such as __dict__ and __globals__ (`type(x).__name__` may "
    f"stand), no sys.path, sys.modules, sys.executable. No seed in the code: seeds come from `{SEED}`, also with "
    f"something added. {PRODUCTION.file} names no platform in the code: it takes `{PLATFORM}`."
)
CHEMICAL = (
    f"No charge, symmetry number, pH or pKa as a number in the code: they stand in {METADATA_NAME}. A name with one "
    f"of the words {_listed(CHEMISTRY)} gets no number but 0 (a name with `charge` may, beside one of the words "
    f"{_listed(ABOUT_CHARGES)}); neither log(2) to log(12) nor a number that is RT ln(n) stands there."
)
NAMED = (
    "No name of a host or guest as a text, and no file of a molecule but "
    f"{', '.join(INPUT_NAMES)} and what a stage makes itself (`equilibrated.pdb`, `window_3.pdb`)."
)
UNBRANCHED = (
    "No branch for one guest: no number of atoms and no charge compared for equality with a number. A test that does "
    "nothing but raise an error may."
)
INSIDE = (
    "Paths are relative and lead nowhere out of the work folder (no `/...`, `~`, `..`, no parent of the working "
    "folder, no links, no URL), and none looks for reference values."
)
STATED = f"What is measured is no number in the code: {_listed(MEASURED)}. No file of the harness is written."
WITH_UNIT = (
    f"A constant of a module whose name says a quantity ({_listed(QUANTITIES)}) has a unit in its name "
    "(CUTOFF_A, TIMESTEP_FS, SPRING_KCAL_PER_MOL_A2); counts, fractions, lambdas and tolerances need none."
)
STRUCTURED = 'Each file has a docstring, a function `main()`, and calls it below `if __name__ == "__main__":`.'
LENGTH = f"{PRODUCTION.file} reads `{NS_PER_WINDOW}` (or calls `stage_file_api.ns_per_window()`)."

CHECKS: tuple[tuple[str, Callable[[Source], Found], str], ...] = (
    ("structure", structure, STRUCTURED),
    ("contract", own_result, WRITTEN),
    ("contract", production_length, LENGTH),
    ("contract", environment, READ_ONLY),
    ("imports", imports, IMPORTED),
    ("calls", calls, CALLED),
    ("chemistry", chemistry, CHEMICAL),
    ("names", names, NAMED),
    ("names", dispatch, UNBRANCHED),
    ("references", references, INSIDE),
    ("results", measured, STATED),
    ("units", units, WITH_UNIT),
)
"""Name of a check, what it looks at, and the rule as an author is told it."""
RULES = (
    "RATIONALE names at least one DOI, of the works listed here or that a literature tool gave you.",
    f"A file has at most {LONGEST} characters and is valid Python.",
    *(rule for _, _, rule in CHECKS),
)
"""What Layer-1 enforces, for its author to read."""
