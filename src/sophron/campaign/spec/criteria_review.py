"""What a review says of the criteria of a spec: which keep the gate closed and why, and which are presence checks."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sophron.campaign.spec import criteria, mutation, pitfalls, satisfiability
from sophron.campaign.spec.spec import Criterion, Spec
from sophron.interfaces import JsonObject
from sophron.records import documents
from sophron.records.files import resource

NAMED_PROBE = re.compile(r"\bprobe ((?:\w+-)+\w+)")


def closed(spec: Spec) -> list[str]:
    """Return why criteria keep the gate closed, one sentence each, with file, line and key."""
    return [
        f"{spec.document.where(['stages', stage.name, 'criteria', place, 'expression'])}: {fault}"
        for stage in spec.stages
        for place, criterion in enumerate(spec.criteria(stage.name))
        for fault in _faults(spec, stage.name, criterion)
    ] + unverified(spec)


def unverified(spec: Spec) -> list[str]:
    """Return a sentence for each verified assumption that only criteria verify which cannot fail, or are not there."""
    return [
        f"{spec.document.where(['method', 'assumptions', place, 'verified_by'])}: the assumption {assumption['id']} is "
        f"verified {fault}; name a criterion that can fail, or a probe that looks at this campaign"
        for place, assumption in enumerate(spec.data["method"]["assumptions"])
        if assumption["status"] == "verified" and (fault := _unverified(spec, assumption["verified_by"]))
    ]


def checks(spec: Spec, text: str) -> list[str]:
    """Return what a text names that can check a statement: criteria as `stage.id`, and probes that apply here."""
    probes = [f"probe {one.id}" for one in _probes(spec, text)[0] if one.applies(spec.data)]
    return [f"{stage}.{criterion.id}" for stage, criterion in mutation.cited(spec, text)] + probes


def _unverified(spec: Spec, text: str) -> str:
    """What is wrong with that which alone is said to verify an assumption; empty if nothing is."""
    there, missing = _probes(spec, text)
    named = mutation.cited(spec, text)
    if any(one.applies(spec.data) for one in there):
        return ""
    if named and all(_is_empty(spec, *one) for one in named):
        listed = _listed(f"{stage}.{criterion.id}" for stage, criterion in named)
        return f"only by {listed}, which cannot fail for a wrong result (sophron review --mutate)"
    missing = [] if named or there else [*mutation.missing_citations(spec, text), *missing]
    return f"by {_listed(missing)}, which is not there" if missing else ""


def _is_empty(spec: Spec, stage: str, criterion: Criterion) -> bool:
    return is_presence_check(spec, stage, criterion) or mutation.judge(spec, stage, criterion).status == mutation.HOLDS


def _probes(spec: Spec, text: str) -> tuple[list[pitfalls.Pitfall], list[str]]:
    """The pitfalls for campaigns of this kind that a text names, and what it calls a probe and is not one of them."""
    parents = spec.document.path.absolute().parents[:2]  # the second is the campaign's folder if the spec is a draft
    folders = [resource("workflow", "agents", "pitfalls"), *(one / "agents" / "pitfalls" for one in parents)]
    there = {}
    for word in re.findall(r"[\w-]+", text):
        files = [file for folder in folders if (file := folder / f"{word}.yaml").is_file()]
        if files and (found := pitfalls.load(files[-1])).is_for(spec.data["kind"]):
            there[word] = found
    return list(there.values()), [name for name in NAMED_PROBE.findall(text) if name not in there]


def is_presence_check(spec: Spec, stage: str, criterion: Criterion) -> bool:
    """Return whether a criterion judges no physics: it counts what the definition asks for, or what files there are.

    So does one that holds for every value that the schema of the result allows: it fails if there is no value.
    """
    tree, schemas, constants = _read(spec, stage, criterion)
    if set(schemas) <= set(criteria.FILE_NUMBERS):
        return True
    whole = all(criteria.types_of(schema) <= {"integer", "null"} for schema in schemas.values())
    defined = bool(constants) and not any(name.startswith("question.") for name in constants)
    counts = (
        whole and defined and _equalities(tree.body) and mutation.judge(spec, stage, criterion).status != mutation.FAILS
    )
    return counts or (not _can_fail(tree, schemas, constants) and _fails_without_value(tree, schemas, constants))


def labels(spec: Spec, stage: str, criterion: Criterion) -> str:
    """Return what kind of criterion it is, in brackets, for people; empty for an ordinary one."""
    justified = justification(spec, stage, criterion)
    found = ["presence check"] if is_presence_check(spec, stage, criterion) else []
    if not found and mutation.judge(spec, stage, criterion).status == mutation.HOLDS:
        found = [mutation.HOLDS]
    found += [f"holds the answer against a constant, see the assumption {justified['id']}"] if justified else []
    return f" ({'; '.join(found)})" if found else ""


def signed_numbers(spec: Spec, stage: str, criterion: Criterion) -> dict[str, object]:
    """Return the names in a criterion that stand for a number of the definition or the question, with their values."""
    return _read(spec, stage, criterion)[2]


def justification(spec: Spec, stage: str, criterion: Criterion) -> Mapping[str, str] | None:
    """Return the assumption that says why this criterion holds the answer against a constant; None if there is none."""
    name = f"{stage}.{criterion.id}"
    found = (one for one in spec.data["method"]["assumptions"] if one.get("criterion") == name)
    return next(found, None)


def _read(
    spec: Spec, stage: str, criterion: Criterion
) -> tuple[ast.Expression, dict[str, JsonObject], dict[str, object]]:
    """The tree of a criterion, the schemas of its names of the result, and the values of its signed numbers."""
    tree = criteria.parse(criterion.expression)
    properties = criteria.result_properties(spec.result_schema(stage))
    names, constants = criteria.names_of(tree), spec.constants(stage)
    schemas = {name: properties[name] for name in sorted(names - set(constants))}
    return tree, schemas, {name: constants[name] for name in sorted(names & set(constants))}


def _equalities(node: ast.expr) -> bool:
    """Whether an expression is one `==`, or several joined by `and`."""
    if isinstance(node, ast.BoolOp):
        return isinstance(node.op, ast.And) and all(map(_equalities, node.values))
    return isinstance(node, ast.Compare) and all(isinstance(symbol, ast.Eq) for symbol in node.ops)


def _can_fail(tree: ast.Expression, schemas: Mapping[str, JsonObject], constants: Mapping[str, object]) -> bool:
    return satisfiability.can_fail(tree, schemas, constants)


def _faults(spec: Spec, stage: str, criterion: Criterion) -> Iterator[str]:
    tree, schemas, constants = _read(spec, stage, criterion)
    name = f"{stage}.{criterion.id}"
    if not satisfiability.can_pass(tree, schemas, constants):
        yield f"the criterion {name} can never pass: no value of {_listed(schemas)} makes it hold; mend it"
    elif not _can_fail(tree, schemas, constants) and not _fails_without_value(tree, schemas, constants):
        yield f"the criterion {name} cannot fail: no value of {_listed(schemas)} makes it false; mend or drop it"
    if justification(spec, stage, criterion) is None:
        for part in _published(spec, stage, tree, constants):
            yield (
                f"the criterion {name} holds the answer against a constant ({part}), and a published value is never a "
                f"criterion; drop it, or add to method.assumptions one with `criterion: {name}` that says why, "
                "verified by a person"
            )


def _published(spec: Spec, stage: str, tree: ast.Expression, constants: Mapping[str, object]) -> list[str]:
    answer = quantity(documents.schema(spec.stage(stage).schema))
    return constants_compared(tree, answer, constants, spec.data["question"].get("reference"))[:1]


def _fails_without_value(
    tree: ast.Expression, schemas: Mapping[str, JsonObject], constants: Mapping[str, object]
) -> bool:
    """Whether it says of a value that may be missing that it is there, within what the schema promises of it."""
    nullable = any("null" in criteria.types_of(schema) for schema in schemas.values())
    return nullable and satisfiability.can_fail(tree, schemas, constants, ranges=False)


def _listed(names: Iterable[str]) -> str:
    return " and ".join(names)


# Whether a criterion holds the answer of a campaign against a constant, which a published value could be.
#
# It is dimensional analysis. The answer and what has its unit count 1, a product the sum, a root the half, every
# constant and every other number 0. A sum, a difference or a comparison of unequal counts with an estimate of the
# answer in it compares the answer with a constant, however that is written; `standard_error / viscosity < 0.02` does
# not. Which names of a result these are is said by the stage's schema, in the keys `answer` and `of_answer` beside
# `$defs`.


ANY = "any"  # zero has every unit
MIXED = "mixed"  # a sum of unequal units has none
Power = Fraction | str
BARE = (1,)  # with 0 the physical bounds that an answer may be compared with as it stands


@dataclass(frozen=True)
class Quantity:
    """What counts as the answer. powers: name -> power of its unit; estimates: the names that tell its value."""

    powers: Mapping[str, Fraction] = field(default_factory=dict)
    estimates: frozenset[str] = frozenset()


def quantity(stage_schema: JsonObject) -> Quantity:
    """Return the answer of a stage, with copies, other estimates and errors of it, as its schema names them."""
    answer, more = stage_schema.get("answer", {}), stage_schema.get("of_answer", {})
    ends = [answer.get("interval", {}).get(end) for end in ("low", "high")]
    own = {name: 1 for name in (answer.get("value"), *ends) if name} | more.get("estimates", {})
    errors = {name: 1 for name in (answer.get("standard_error"),) if name} | more.get("errors", {})
    powers = {name: Fraction(power) for name, power in (errors | own).items()}
    return Quantity(powers, frozenset(own))


def constants_compared(
    tree: ast.Expression, answer: Quantity, constants: Mapping[str, object], reference: JsonObject | None = None
) -> list[str]:
    """Return the parts of a criterion that hold the answer against a constant; empty if there are none.

    reference: the published range of the question; a bound of 1 that lies in it is not a physical bound.
    """
    used = {name: value for name, value in constants.items() if name in criteria.names_of(tree)}
    reader = _Reader(answer, used, reference)
    reader.power(tree.body)
    return list(dict.fromkeys(reader.found))


class _Reader:
    """Walks an expression once and notes where it mixes units with an estimate of the answer in it."""

    def __init__(self, answer: Quantity, constants: Mapping[str, object], reference: JsonObject | None) -> None:
        self.answer, self.constants, self.reference = answer, constants, reference
        self.found: list[str] = []

    def power(self, node: ast.expr) -> Power:
        """Return the power of the answer's unit that an expression has."""
        if criteria.names_of(node) <= set(self.constants):
            return ANY if criteria.number_of(node, self.constants) == 0 else Fraction(0)
        if isinstance(node, ast.Compare):
            return self._compared(node)
        if isinstance(node, ast.BoolOp):
            for part in node.values:
                self.power(part)
            return Fraction(0)
        return self._noted(node, self._computed(node))

    def _computed(self, node: ast.expr) -> Power:
        match node:
            case ast.Name(name):
                return self.answer.powers.get(name, Fraction(0))
            case ast.UnaryOp(ast.Not(), operand):
                self.power(operand)
                return Fraction(0)
            case ast.UnaryOp(_, operand):
                return self.power(operand)
            case ast.BinOp(left, operation, right):
                return self._combined(self.power(left), operation, self.power(right), right)
            case ast.Call(ast.Name(name), arguments):
                return self._called(name, [self.power(one) for one in arguments])
        return MIXED

    def _combined(self, left: Power, operation: ast.operator, right: Power, exponent: ast.expr) -> Power:
        if isinstance(operation, ast.Add | ast.Sub):
            return _same(left, right)
        if isinstance(operation, ast.Pow):
            return self._raised(left, right, exponent)
        if isinstance(left, str) or isinstance(right, str):
            return MIXED if MIXED in (left, right) else ANY
        return left + right if isinstance(operation, ast.Mult) else left - right

    def _raised(self, base: Power, exponent: Power, node: ast.expr) -> Power:
        if exponent not in (ANY, Fraction(0)) or base == MIXED:
            return MIXED
        if criteria.names_of(node) <= set(self.constants):
            return base if isinstance(base, str) else base * Fraction(criteria.number_of(node, self.constants))
        return base if base in (ANY, Fraction(0)) else MIXED

    def _called(self, name: str, powers: list[Power]) -> Power:
        if name == "isfinite":
            return MIXED if MIXED in powers else Fraction(0)
        power = powers[0] if powers else MIXED
        for other in powers[1:]:
            power = _same(power, other)
        return power / 2 if name == "sqrt" and isinstance(power, Fraction) else power

    def _compared(self, node: ast.Compare) -> Power:
        left: ast.expr = node.left
        for symbol, right in zip(node.ops, node.comparators, strict=True):
            pair = ast.Compare(left, [symbol], [right])
            if not self._physical(left, right):
                self._noted(pair, _same(self.power(left), self.power(right)))
            left = right
        return Fraction(0)

    def _physical(self, *sides: ast.expr) -> bool:
        """Whether the answer as it stands is compared with a physical bound."""
        bounds = [criteria.number_of(one, self.constants) for one in self._constant(*sides)]
        plain = any(isinstance(one, ast.Name) and one.id in self.answer.estimates for one in sides)
        return plain and any(bound in BARE and not self._published(bound) for bound in bounds)

    def _constant(self, *sides: ast.expr) -> Iterator[ast.expr]:
        return (one for one in sides if criteria.names_of(one) <= set(self.constants))

    def _published(self, bound: float) -> bool:
        return bool(self.reference and self.reference["low"] <= bound <= self.reference["high"])

    def _noted(self, node: ast.expr, power: Power) -> Power:
        if power == MIXED and criteria.names_of(node) & self.answer.estimates and not self.found_in(node):
            self.found.append(ast.unparse(node))
        return power

    def found_in(self, node: ast.expr) -> bool:
        """Return whether a part of this was noted already."""
        return any(
            ast.unparse(one) in self.found for one in ast.walk(node) if isinstance(one, ast.expr) and one is not node
        )


def _same(left: Power, right: Power) -> Power:
    """The power of a sum or a comparison of two."""
    if ANY in (left, right):
        return right if left == ANY else left
    return left if left == right else MIXED
