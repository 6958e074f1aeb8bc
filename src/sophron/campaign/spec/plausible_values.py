"""Values that a result could have, for mutation: neighbours of a number, of a column, and a result that passes.

A campaign that declares its own results states no sound run; what is perturbed is then a result for which the criterion
holds, looked for around the constants of the criterion.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sophron.campaign.spec import criteria, satisfiability
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject

FACTORS = (1.01, 0.99, 1.03, 0.97, 1.1, 0.9, 1.3, 0.7, 2, 0.5, 5, 0.2, 10, 0.1, 100, 0.01, 0, -1)
"""What a number is multiplied by, the least change first."""
AROUND_ZERO = tuple(sign * 10.0**power for power in (-3, -2, -1, 0, 1) for sign in (1, -1))
FARTHEST = 100
"""Factor from a plausible count, or from 1 if it is zero, within which a number that a criterion names is tried."""
MOST_TRIED = 5000
ROWS = 3
Change = tuple[str, str, Mapping[str, Any]]
"""Text of a change, no id of a planted fault, the values that it gives."""


def perturbed(value: Any, numbers: Sequence[int] = ()) -> Iterator[Any]:
    """Yield other values of a number or a truth value, the nearest first; of a count also those beside `numbers`.

    Of a column nothing.
    """
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        if isinstance(value, int):
            yield from (value + 1, value - 1)
            beside = {one + step for one in numbers for step in (-1, 0, 1)}
            yield from sorted(
                (one for one in beside if abs(one) <= FARTHEST * max(abs(value), 1)), key=lambda one: abs(one - value)
            )
        yield from AROUND_ZERO if value == 0 and isinstance(value, float) else ()
        yield from (type(value)(value * factor) for factor in FACTORS)


def as_columns(result: JsonObject) -> dict[str, Any]:
    """Return a result with its columns as a judgement has them."""
    if not any(isinstance(value, list) for value in result.values()):
        return dict(result)
    from sophron.campaign.spec.columns import array

    return {name: array(value) if _is_column(name, value) else value for name, value in result.items()}


def _is_column(name: str, value: object) -> bool:
    """Whether a value is a column of a table: other lists of a definition or a result hold documents."""
    return "." in name and isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)


def column_changes(values: Mapping[str, Any]) -> Iterator[Change]:
    """Yield changes of the columns among the values: one row, a row that is lost or twice there, all rows."""
    columns = {name: value for name, value in values.items() if _is_column(name, value) and value}
    for name, column in sorted(columns.items(), key=lambda item: isinstance(item[1][0], str)):
        for other in _others(column[0]):
            yield f"{name} {_shown(column[0])} -> {_shown(other)} in one row", "", {name: [other, *column[1:]]}
    for table in sorted({name.partition(".")[0] for name in columns}):
        of_table = {name: column for name, column in columns.items() if name.partition(".")[0] == table}
        yield f"a row of {table} is lost", "", {name: column[1:] for name, column in of_table.items()}
        yield f"a row of {table} is there twice", "", {name: [*column, column[0]] for name, column in of_table.items()}
    for name, column in columns.items():
        for rows in zip(*map(_others, column), strict=False):
            yield f"{name} {_shown(column[0])} -> {_shown(rows[0])} in every row", "", {name: [*rows]}


def _others(value: Any) -> Iterator[Any]:
    return iter([f"not {value}"]) if isinstance(value, str) else (one for one in perturbed(value) if one != value)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def passing(spec: Spec, stage: str, expression: str, names: set[str], known: JsonObject) -> dict[str, Any]:
    """Return name -> value with which a criterion holds; of a column some equal rows. Nothing if none was found."""
    schemas = criteria.result_properties(spec.result_schema(stage))
    constants = spec.constants(stage)
    tree = criteria.parse(expression)
    numbers = [float(criteria.number_of(part, constants)) for part in criteria.constant_parts(tree.body, constants)]
    around = [near for one in (*numbers, 0.0, 1.0) for near in (one, one * 1.1, one * 0.9, one + 1, one - 1)]
    pools = {name: list(_pool(schemas[name], around)) for name in sorted(names)}
    for values in itertools.islice(itertools.product(*pools.values()), MOST_TRIED):
        found = dict(zip(pools, values, strict=True))
        if _one_length(found) and criteria.evaluate(expression, {**constants, **known, **as_columns(found)}).passed:
            return found
    return {}


def _one_length(values: Mapping[str, Any]) -> bool:
    """Whether the columns of each table have the same number of rows."""
    lengths: dict[str, set[int]] = {}
    for name, value in values.items():
        if isinstance(value, list):
            lengths.setdefault(name.partition(".")[0], set()).add(len(value))
    return all(len(found) == 1 for found in lengths.values())


def _pool(schema: JsonObject, around: list[float]) -> Iterator[Any]:
    types = criteria.types_of(schema)
    if types == {"column"}:
        counts = dict.fromkeys([ROWS, *(int(one) for one in around if ROWS < one <= MOST_TRIED and one == int(one))])
        for count in counts:
            yield from ([one] * count for one in _pool(schema["items"], around))
    elif "string" in types:
        yield from ("a", "b")
    elif "boolean" in types:
        yield from (True, False)
    else:
        domain = satisfiability.domain(schema)
        fitted = (domain.fit(one) for one in (1.05, *around))
        yield from dict.fromkeys(int(one) if domain.whole else one for one in fitted)
