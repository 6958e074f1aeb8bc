"""What a review says of the criteria of a spec: which keep the gate closed and why, and which are presence checks."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from sophron.campaign.spec import criteria, mutation, published_value, satisfiability
from sophron.campaign.spec.spec import Criterion, Spec
from sophron.interfaces import JsonObject
from sophron.records import documents


def closed(spec: Spec) -> list[str]:
    """Return why criteria keep the gate closed, one sentence each, with file, line and key."""
    return [
        f"{spec.document.where(['stages', stage.name, 'criteria', place, 'expression'])}: {fault}"
        for stage in spec.stages
        for place, criterion in enumerate(spec.criteria(stage.name))
        for fault in _faults(spec, stage.name, criterion)
    ] + unverified(spec)


def unverified(spec: Spec) -> list[str]:
    """Return a sentence for each verified assumption that is verified only by criteria which cannot fail."""
    return [
        f"{spec.document.where(['method', 'assumptions', place, 'verified_by'])}: the assumption {assumption['id']} is "
        f"verified only by {_listed(names)}, which cannot fail for a wrong result (sophron review --mutate); name a "
        "criterion that can, or a probe"
        for place, assumption in enumerate(spec.data["method"]["assumptions"])
        if (names := _empty_checks(spec, assumption))
    ]


def _empty_checks(spec: Spec, assumption: Mapping[str, str]) -> list[str]:
    """The criteria that alone are said to verify an assumption, if each of them holds by construction."""
    named = mutation.cited(spec, assumption["verified_by"])
    if assumption["status"] != "verified" or re.search(r"\bprobe", assumption["verified_by"]):
        return []
    empty = all(is_presence_check(spec, *one) or mutation.judge(spec, *one).status == mutation.HOLDS for one in named)
    return [f"{stage}.{criterion.id}" for stage, criterion in named] if empty else []


def is_presence_check(spec: Spec, stage: str, criterion: Criterion) -> bool:
    """Return whether a criterion judges no physics: it counts what the definition asks for, or what files there are.

    So does one that holds for every value that the schema of the result allows: it fails if there is no value.
    """
    tree, schemas, constants = _read(spec, stage, criterion)
    if set(schemas) <= set(criteria.FILE_NUMBERS):
        return True
    whole = all(criteria.types_of(schema) <= {"integer", "null"} for schema in schemas.values())
    defined = bool(constants) and not any(name.startswith("question.") for name in constants)
    counts = whole and defined and _equalities(tree.body)
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
    properties = criteria.result_properties(documents.schema(spec.stage(stage).schema)["$defs"]["result"])
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
    answer = published_value.quantity(documents.schema(spec.stage(stage).schema))
    return published_value.constants_compared(tree, answer, constants, spec.data["question"].get("reference"))[:1]


def _fails_without_value(
    tree: ast.Expression, schemas: Mapping[str, JsonObject], constants: Mapping[str, object]
) -> bool:
    """Whether it says of a value that may be missing that it is there, within what the schema promises of it."""
    nullable = any("null" in criteria.types_of(schema) for schema in schemas.values())
    return nullable and satisfiability.can_fail(tree, schemas, constants, ranges=False)


def _listed(names: Iterable[str]) -> str:
    return " and ".join(names)
