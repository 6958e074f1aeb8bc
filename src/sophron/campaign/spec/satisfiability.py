"""Whether a criterion can fail, and whether it can pass: a search for values of its names that make it do so.

It is a search by distance: how far a comparison is from being so is what the search lowers, from many starts, one name
at a time. What it finds is a proof; what it does not find is taken as not there. It starts at the constants of the
expression, around them, and at the ends of what the schema of the result allows, in an order that never changes.
"""

import ast
import functools
import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sophron.campaign.spec import criteria
from sophron.interfaces import JsonObject

NEAR = 1e-14  # two sides that are this near to each other, relatively, can be equal
STARTS = 400
DESCENTS = 20  # from the nearest starts, and as many from the last of the draw
ROUNDS = 30
SECANT = 1e-7
LARGE = 1e12  # what has no bound is tried up to ten times it, or the largest constant, or one over the smallest
MOST_PIVOTS = 24
STEPS = tuple(sign * 10.0**power for power in range(6, -17, -2) for sign in (1, -1))

BUDGET = 2_000_000  # parts of an expression that are computed: about a second

Values = Mapping[str, object]
Point = Mapping[str, float]


class _Undecided(Exception):
    """The search took too long to say that there is nothing."""


@dataclass(frozen=True)
class Domain:
    """The values that one name may have: low to high, and whether they are whole numbers or truth values."""

    low: float
    high: float
    whole: bool
    nullable: bool

    def fit(self, value: float) -> float:
        """Return the nearest value of the domain."""
        inside = min(max(value, self.low), self.high)
        return float(round(inside)) if self.whole else inside


def domain(schema: JsonObject, *, ranges: bool = True) -> Domain:
    """Return what a property's schema allows; without `ranges` only its types count."""
    types = criteria.types_of(schema)
    truth = types <= {"boolean", "null"}
    low, high, whole = (0.0 if truth else -math.inf), (1.0 if truth else math.inf), "number" not in types
    if ranges:
        low = max(low, schema.get("minimum", low), _next(schema.get("exclusiveMinimum"), whole=whole))
        high = min(high, schema.get("maximum", high), -_next(_minus(schema.get("exclusiveMaximum")), whole=whole))
    return Domain(low, high, whole, "null" in types)


def _next(end: float | None, *, whole: bool) -> float:
    """The next number above an end that does not count itself."""
    if end is None:
        return -math.inf
    return end + 1 if whole else math.nextafter(end, math.inf)


def _minus(end: float | None) -> float | None:
    return None if end is None else -end


def can_pass(tree: ast.Expression, schemas: Mapping[str, JsonObject], constants: Values) -> bool:
    """Return whether values that the schemas (name -> schema) allow were found for which it holds."""
    return _found(tree.body, _domains(tree, schemas), constants, wanted=True)


def can_fail(
    tree: ast.Expression, schemas: Mapping[str, JsonObject], constants: Values, *, ranges: bool = True
) -> bool:
    """Return whether finite values were found for which it does not hold.

    `isfinite` of what may be null may be false.
    """
    domains = _domains(tree, schemas, ranges=ranges)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _name(call) == "isfinite":
            nullable = any(domains[name].nullable for name in criteria.names_of(call) if name in domains)
            domains |= {ast.unparse(call): Domain(0, 1, whole=True, nullable=False)} if nullable else {}
    return _found(tree.body, domains, constants, wanted=False)


def _domains(tree: ast.Expression, schemas: Mapping[str, JsonObject], *, ranges: bool = True) -> dict[str, Domain]:
    """The domain of each name; instead of a column that of each aggregate which is made of it, by its text."""
    columns = {name: schema["items"] for name, schema in schemas.items() if criteria.types_of(schema) == {"column"}}
    found = {name: domain(schema, ranges=ranges) for name, schema in schemas.items() if name not in columns}
    if not columns:
        return found
    from sophron.campaign.spec.columns import domain_schema

    for call in _outermost(tree.body, columns):
        items = next(columns[name] for name in sorted(criteria.names_of(call)) if name in columns)
        plain = call.args and isinstance(call.args[0], ast.Name)
        schema = domain_schema(_name(call), items if plain else {"type": "number"})
        found[ast.unparse(call)] = domain(schema, ranges=ranges)
    return found


def _outermost(node: ast.AST, columns: Mapping[str, object]) -> Iterator[ast.Call]:
    """The aggregates that are not inside of another one."""
    if isinstance(node, ast.Call) and _name(node) in criteria.OVER_ROWS and criteria.names_of(node) & set(columns):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _outermost(child, columns)


def _found(node: ast.expr, domains: Mapping[str, Domain], constants: Values, *, wanted: bool) -> bool:
    """Whether a point was found at which the truth is what is wanted, or the search took too long to rule it out."""
    try:
        return _searched(node, domains, constants, wanted=wanted)
    except _Undecided:
        return True


def _searched(node: ast.expr, domains: Mapping[str, Domain], constants: Values, *, wanted: bool) -> bool:
    known = [float(criteria.number_of(part, constants)) for part in criteria.constant_parts(node, constants)]
    far = 10 * max(LARGE, *(abs(one) for one in known), *(1 / abs(one) for one in known if one), 0)
    far = min(far, sys.float_info.max)
    domains = {name: replace(one, low=max(one.low, -far), high=min(one.high, far)) for name, one in domains.items()}
    pools = _pools(sorted(set(known)), domains)
    distance = _measure(node, constants, wanted=wanted)
    tried: list[tuple[float, int, Point]] = []
    for number, point in enumerate(_starts(pools)):
        away = distance(point)
        if away == 0:
            return True
        tried.append((away, number, point))
    chosen = [*sorted(tried, key=_rank)[:DESCENTS], *tried[-DESCENTS:]]
    return any(_descend(distance, point, domains, pools) for _, _, point in chosen)


def _rank(tried: tuple[float, int, Point]) -> tuple[float, int]:
    return tried[0], tried[1]


def _pools(known: Sequence[float], domains: Mapping[str, Domain]) -> dict[str, list[float]]:
    """Name -> values to begin with: around the constants, their sums and differences, and the ends of the domain."""
    pivots = [0.0, 1.0, -1.0, 1e3, 1e-3, 1e9, -1e9, *known[:MOST_PIVOTS]]
    pivots += [one + side * other for one, other in itertools.permutations(known[:8], 2) for side in (1, -1)]
    around = [
        near
        for pivot in pivots
        for near in (pivot, pivot * 1.001, pivot * 0.999, pivot + 1, pivot - 1, -pivot, 2 * pivot)
    ]
    return {
        name: list(dict.fromkeys(allowed.fit(value) for value in (*around, allowed.low, allowed.high)))
        for name, allowed in domains.items()
    }


def _starts(pools: Mapping[str, Sequence[float]]) -> Iterator[Point]:
    """Points: each value of one name with every other name at the same, then a fixed draw."""
    for place in range(max(map(len, pools.values()))):
        yield {name: pool[place % len(pool)] for name, pool in pools.items()}
    draw = random.Random(0)  # noqa: S311
    for _ in range(STARTS):
        yield {name: draw.choice(pool) for name, pool in pools.items()}


def _descend(
    distance: Callable[[Point], float], point: Point, domains: Mapping[str, Domain], pools: Mapping[str, list[float]]
) -> bool:
    """Whether moving one name at a time comes to distance 0."""
    best = distance(point)
    for turn in range(ROUNDS):
        before = best
        for name, allowed in domains.items():
            moves = [allowed.fit(to) for to in _moves(distance, point, name)] + ([] if turn else pools[name])
            away, value = min((distance({**point, name: to}), to) for to in dict.fromkeys(moves))
            if away < best:
                best, point = away, {**point, name: value}
            if best == 0:
                return True
        if best == before:
            return False
    return False


def _moves(distance: Callable[[Point], float], point: Point, name: str) -> Iterator[float]:
    """Where to try next along one name: steps of all sizes, and where a straight line comes to distance 0."""
    here, away = point[name], distance(point)
    size = max(1.0, abs(here))
    yield from (here + step * size for step in STEPS)
    slope = (distance({**point, name: here + SECANT * size}) - away) / (SECANT * size)
    if slope and math.isfinite(slope) and math.isfinite(away / slope):
        yield here - away / slope


def _measure(node: ast.expr, constants: Values, *, wanted: bool) -> Callable[[Point], float]:
    size, spent = sum(1 for _ in ast.walk(node)), 0

    def distance(point: Point) -> float:
        nonlocal spent
        spent += size
        if spent > BUDGET:
            raise _Undecided
        try:
            return _distance(node, {**constants, **point}, wanted=wanted)
        except (ArithmeticError, ValueError, TypeError):
            return math.inf  # what cannot be computed is no case of either

    return distance


def _distance(node: ast.expr, values: Values, *, wanted: bool) -> float:
    """0 if the truth of the expression is what is wanted; else more the further it is from that."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _distance(node.operand, values, wanted=not wanted)
    if isinstance(node, ast.BoolOp):
        parts = [_distance(part, values, wanted=wanted) for part in node.values]
        return sum(parts) if isinstance(node.op, ast.And) == wanted else min(parts)
    if isinstance(node, ast.Compare):
        sides = [_value(side, values) for side in (node.left, *node.comparators)]
        pairs = zip(node.ops, itertools.pairwise(sides), strict=True)
        parts = [_apart(type(symbol), left, right, wanted=wanted) for symbol, (left, right) in pairs]
        return sum(parts) if wanted else min(parts)
    value = _value(node, values)
    return 0.0 if bool(value) == wanted else abs(value) + 1


def _apart(symbol: type, left: float, right: float, *, wanted: bool) -> float:
    """How far a comparison is from what is wanted."""
    gap = abs(left - right)
    if symbol in (ast.Eq, ast.NotEq):
        equal = gap <= NEAR * (abs(left) + abs(right))
        return 0.0 if equal == ((symbol is ast.Eq) == wanted) else gap or 1.0
    return 0.0 if criteria.COMPARE[symbol](left, right) == wanted else gap + 1e-12


ARITHMETIC: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.Pow: math.pow,
}


def _value(node: ast.expr, values: Values) -> Any:
    """The number that an expression is. ArithmeticError and its like if it is none."""
    match node:
        case ast.Constant(number):
            return number
        case ast.Name(name):
            return values[name]
        case ast.BinOp(left, operation, right):
            return _finite(ARITHMETIC[type(operation)](_value(left, values), _value(right, values)))
        case ast.UnaryOp(ast.USub() | ast.UAdd() as sign, operand):
            return _value(operand, values) * (-1 if isinstance(sign, ast.USub) else 1)
        case ast.Call():
            return values[text] if (text := _text(node)) in values else _called(node, values)
    return _distance(node, values, wanted=True) == 0  # a comparison that is used as a number


@functools.lru_cache(maxsize=64)
def _text(call: ast.Call) -> str:
    """The source of a call, made once: the search computes it a hundred thousand times."""
    return ast.unparse(call)


def _called(call: ast.Call, values: Values) -> Any:
    return _finite(criteria.FUNCTIONS[_name(call)](*(_value(one, values) for one in call.args)))


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _finite(value: Any) -> Any:
    if not math.isfinite(value):
        raise ArithmeticError
    return value
