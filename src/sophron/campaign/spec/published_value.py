"""Whether a criterion holds the answer of a campaign against a constant, which a published value could be.

It is dimensional analysis. The answer and what has its unit count 1, a product the sum, a root the half, every constant
and every other number 0. A sum, a difference or a comparison of unequal counts with an estimate of the answer in it
compares the answer with a constant, however that is written; `standard_error / viscosity < 0.02` does not. Which names
of a result these are is said by the stage's schema, in the keys `answer` and `of_answer` beside `$defs`.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sophron.campaign.spec import criteria
from sophron.interfaces import JsonObject

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
