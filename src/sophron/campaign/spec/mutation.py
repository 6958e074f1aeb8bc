"""Mutation of criteria: perturb a plausible result of each stage, and see which criteria a wrong result fails.

A result is perturbed name by name, in growing steps and within what its schema allows; a count also to either side of
the numbers that a criterion names; and by the faults that its kind plants (`planted_faults.yaml`). A criterion that no
mutation fails holds by construction: it says nothing about the run, and cannot be what verifies an assumption.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sophron.campaign.spec import criteria, plausible_values, satisfiability
from sophron.campaign.spec.plausible_values import perturbed
from sophron.campaign.spec.spec import Criterion, Spec
from sophron.interfaces import JsonObject
from sophron.interfaces.kind import Kind, StageKind
from sophron.records import documents
from sophron.records.files import resource

FILES = {"files_missing": 0, "smallest_file_bytes": 1000}
ALWAYS = ("files_missing <= len(outputs)",)
"""What is so of every step, whatever its kind."""
NAMED = re.compile(r"(?:((?:\w+(?:, | and ))*\w+) )?of (?:stage )?(\w+)|(\w+)[.](\w+)")
CITATION = re.compile(r"\bcriteri(?:on|a) ((?:`?\w+`?(?:, | and ))*`?\w+`?) of (?:stage )?`?(\w+)")
WORD = re.compile(r"\w+")
FAILS, HOLDS, UNKNOWN = "can fail", "holds by construction", "not judged"
Results = Mapping[str, JsonObject]


@dataclass(frozen=True)
class StageResult:
    """What a kind says of the result of one stage. fixed: name -> why no fault of a run changes it.

    computed: name -> expression of other names that the step gives it by, always: what is so in every result, sound or
    not, since the code makes it so.
    """

    fixed: Mapping[str, str] = field(default_factory=dict)
    plausible: JsonObject = field(default_factory=dict)
    computed: Mapping[str, str] = field(default_factory=dict)
    always: Sequence[str] = ()

    def bound(self, names: Iterable[str]) -> dict[str, str]:
        """Return the computed ones of some names whose inputs are among them too: they follow from the others."""
        given = set(names)
        return {
            name: text
            for name, text in self.computed.items()
            if name in given and given >= {one for one in _names(text) if "." not in one}
        }


@dataclass(frozen=True)
class Fault:
    """A fault of a campaign. results: stage -> what it changes there; stops: stage -> why it ends without a result."""

    id: str
    what: str
    results: Results = field(default_factory=dict)
    stops: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mutation:
    """A changed result. text: what was changed, for people; fault: its id, if it is a planted one."""

    text: str
    result: JsonObject
    fault: str = ""


@dataclass(frozen=True)
class Judgement:
    """What mutation says of a criterion. status: FAILS, HOLDS or UNKNOWN; faults: ids of those that fail it.

    why: the least mutation that fails it, or why none does.
    """

    stage: str
    id: str
    expression: str
    status: str
    why: str
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planted:
    """The file `planted_faults.yaml` of a kind. stages: what the result of a stage is, by the name of its schema."""

    stages: Mapping[str, StageResult] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    def of(self, stage: StageKind) -> StageResult:
        """Return what the kind says of one stage."""
        return self.stages.get(of_schema(stage), StageResult())


def planted(kind: Kind) -> Planted:
    """Return what a kind says of its results and their faults; nothing if it has no file. UserError for a bad one."""
    return _read(kind.planted_faults) if kind.planted_faults else Planted()


@cache
def _read(name: str) -> Planted:
    document = documents.load_yaml(resource("kinds", name))
    documents.validate(document, "planted_faults")
    stages = {stage: StageResult(**about) for stage, about in document.data["stages"].items()}
    return Planted(stages, tuple(Fault(**about) for about in document.data["faults"]))


def of_schema(stage: StageKind) -> str:
    """Return the name under which `planted_faults.yaml` speaks of a stage: stages that share a schema share it."""
    return stage.schema.rpartition("/")[2]


def judge(spec: Spec, stage: str, criterion: Criterion, finished: JsonObject | None = None) -> Judgement:
    """Return whether a mutation of a plausible result fails a criterion. finished: a result to perturb in its place."""
    about = (stage, criterion.id, criterion.expression)
    tree = criteria.parse(criterion.expression)
    names = criteria.names_of(tree) - set(spec.constants(stage))
    kind = planted(spec.kind).of(spec.stage(stage))
    given = {name: f"{name}: {why}" for name, why in kind.fixed.items()}
    given |= {name: f"{name} is {text}" for name, text in kind.bound(names).items()}
    if names <= set(given):
        return Judgement(*about, HOLDS, "; ".join(given[name] for name in sorted(names)))
    result = plausible(spec, stage, finished)
    if names - set(result) and spec.stage(stage).declared:
        result |= plausible_values.passing(spec, stage, criterion.expression, names - set(result), result)
    if unstated := sorted(names - set(result)):
        return Judgement(*about, UNKNOWN, f"no plausible value of {' and '.join(unstated)} is stated")
    if not _passes(spec, stage, criterion.expression, result):
        return Judgement(*about, FAILS, "the result fails it as it is")
    mutations = _mutations(spec, stage, names, result, _numbers(tree, spec.constants(stage)))
    failing = [one for one in mutations if not _passes(spec, stage, criterion.expression, one.result)]
    if failing:
        faults = tuple(one.fault for one in failing if one.fault)
        return Judgement(*about, FAILS, failing[0].text, faults)
    listed = " and ".join(sorted(names - set(given)))
    return Judgement(*about, HOLDS, f"no plausible value of {listed} makes it false; at most one that is missing does")


def judge_all(spec: Spec, finished: Results | None = None) -> list[Judgement]:
    """Return what mutation says of every criterion of a spec, in its order."""
    results = finished or {}
    return [
        judge(spec, stage.name, one, results.get(stage.name))
        for stage in spec.stages
        for one in spec.criteria(stage.name)
    ]


def uncaught(spec: Spec, judgements: list[Judgement]) -> list[Fault]:
    """Return the planted faults which change a result of this campaign, stop no stage, and which no criterion fails."""
    caught = {fault for one in judgements for fault in one.faults}
    there = {of_schema(stage): plausible(spec, stage.name) for stage in spec.stages}
    return [
        fault
        for fault in planted(spec.kind).faults
        if fault.id not in caught
        and not set(fault.stops) & set(there)
        and any(set(values) & set(there.get(stage, ())) for stage, values in fault.results.items())
    ]


def plausible(spec: Spec, stage: str, finished: JsonObject | None = None) -> dict[str, Any]:
    """Return name -> value of a plausible result of a stage: that of a finished step, else what the kind states."""
    kind, constants = planted(spec.kind).of(spec.stage(stage)), spec.constants(stage)
    stated = dict(FILES) | _values(kind.plausible, constants)
    there = {name: value for name, value in (finished or {}).items() if value is not None}
    return _recomputed(kind.computed, constants, stated) | there


def cited(spec: Spec, text: str) -> list[tuple[str, Criterion]]:
    """Return the criteria that a text names, as `id of stage`, `id and id of stage`, `and of stage` or `stage.id`.

    If there are none so written, those whose id and stage are words of the same clause.
    """
    found: list[tuple[str, Criterion]] = []
    last: list[str] = []
    for match in NAMED.finditer(text):
        last = re.split(", | and ", match[1]) if match[1] not in (None, "and") else last
        names, stage = ([match[4]], match[3]) if match[3] else (last, match[2])
        if stage in spec.data["stages"]:
            found += [(stage, one) for one in spec.criteria(stage) if one.id in names]
    clauses = [set(WORD.findall(clause)) for clause in text.split(";")]
    return found or [
        (stage.name, one)
        for stage in spec.stages
        for one in spec.criteria(stage.name)
        if any({stage.name, one.id} <= clause for clause in clauses)
    ]


def missing_citations(spec: Spec, text: str) -> list[str]:
    """Return what a text calls a criterion of a stage of this campaign that has none of that name."""
    return [
        f"{stage}.{name}"
        for names, stage in CITATION.findall(text)
        for name in re.split(", | and ", names.replace("`", ""))
        if stage in spec.data["stages"] and name not in [one.id for one in spec.criteria(stage)]
    ]


def _passes(spec: Spec, stage: str, expression: str, result: JsonObject) -> bool:
    return _holds(expression, {**spec.constants(stage), **result})


def _holds(expression: str, values: JsonObject) -> bool:
    return criteria.evaluate(expression, plausible_values.as_columns(values)).passed


def _constants(spec: Spec, stage: str) -> dict[str, object]:
    """Signed numbers of a stage, and how many stages it builds on and files each of its steps leaves."""
    about = spec.stage(stage)
    return {
        **spec.constants(stage),
        "len(depends_on)": len(about.depends_on),
        "len(outputs)": len(about.outputs),
    }


def _numbers(tree: ast.AST, constants: Mapping[str, object]) -> list[int]:
    """Return the whole numbers that an expression names, written out or signed, the least first."""
    written = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    signed = [constants[name] for name in criteria.names_of(tree) if name in constants]
    numbers = [one for one in (*written, *signed) if isinstance(one, int | float) and not isinstance(one, bool)]
    return sorted({int(one) for one in numbers if float(one).is_integer()})


def _names(expression: str) -> set[str]:
    return criteria.names_of(criteria.arithmetic(expression))


def _recomputed(computed: Mapping[str, str], constants: JsonObject, result: JsonObject) -> dict[str, Any]:
    """A result with the names that follow from others, in the order in which they are listed."""
    made = dict(result)
    for name, expression in computed.items():
        made |= _values({name: expression}, {**constants, **made})
    return made


def _values(stated: JsonObject, names: Mapping[str, object]) -> dict[str, Any]:
    """The values of stated numbers and expressions; without those that name what this campaign has not."""
    found: dict[str, Any] = {}
    for name, value in stated.items():
        node = criteria.arithmetic(value) if isinstance(value, str) else None
        if node is None:
            found[name] = value
        elif criteria.names_of(node) <= set(names):
            found[name] = criteria.number_of(node, names)
    return found


def _mutations(
    spec: Spec, stage: str, names: set[str], result: JsonObject, numbers: Sequence[int]
) -> Iterator[Mutation]:
    """Yield changed results, the smallest changes first, then planted faults: such as a step could end with.

    numbers: those that the criterion names; a count is tried to either side of each.
    """
    kind, constants = planted(spec.kind).of(spec.stage(stage)), _constants(spec, stage)
    bound = kind.bound(names)
    schemas = criteria.result_properties(spec.result_schema(stage))
    always = [
        one
        for one in (*ALWAYS, *kind.always)
        if _names(one) <= names | set(constants) and _holds(one, {**constants, **result})
    ]
    for text, fault, changed in _changes(spec, stage, names - set(bound), result, numbers):
        free = {name: value for name, value in changed.items() if name not in kind.fixed and name not in bound}
        try:
            made = _recomputed(bound, constants, {**result, **free})
        except (ArithmeticError, ValueError, TypeError):
            continue  # a step that computes nothing ends without a result
        allowed = all(_allowed(made[name], schemas[name]) for name in {*free, *bound})
        if free and allowed and all(_holds(one, {**constants, **made}) for one in always):
            yield Mutation(text, made, fault)


def _changes(
    spec: Spec, stage: str, names: set[str], result: JsonObject, numbers: Sequence[int]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the text of a change, its id if it is a planted fault, and the values that it gives."""
    given = {name: result[name] for name in sorted(names)}
    steps = {name: [step for step in perturbed(value, numbers) if step != value] for name, value in given.items()}
    yield from plausible_values.column_changes(given)
    for place in range(max(map(len, steps.values()), default=0)):
        for name, values in steps.items():
            if place < len(values):
                yield f"{name} {shown(result[name])} -> {shown(values[place])}", "", {name: values[place]}
    names_of_fault = {**spec.constants(stage), **result}
    for fault in planted(spec.kind).faults:
        stated = fault.results.get(of_schema(spec.stage(stage)), {})
        yield f"{fault.id}: {fault.what}", fault.id, _values(stated, names_of_fault)


def _allowed(value: Any, schema: JsonObject) -> bool:
    """Whether the schema of a result lets a finished step have this value."""
    if value is None:
        return "null" in criteria.types_of(schema)
    if isinstance(value, list):
        return all(isinstance(one, str) or _allowed(one, schema["items"]) for one in value)
    domain = satisfiability.domain(schema)
    return bool(domain.low <= value <= domain.high)


def shown(value: Any) -> str:
    """Return a value of a result as people read it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
