"""Sum the legs of a thermodynamic cycle, with statistical and systematic uncertainty kept apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sophron.science.estimators.refusal import Reason, Refusal

SIGNIFICANCE = 3.0
ROUNDING = 1e-9
"""kcal/mol by which a cycle of exact terms may miss 0."""


@dataclass(frozen=True)
class Term:
    """One leg of a cycle, in kcal/mol.

    statistical: standard error, from noise; systematic: bound of what more samples of the same kind would not cure.
    """

    name: str
    value: float
    statistical: float = 0.0
    systematic: float = 0.0

    def __neg__(self) -> Term:
        """The leg in the other direction."""
        return Term(self.name, -self.value, self.statistical, self.systematic)


def total(name: str, terms: Sequence[Term]) -> Term:
    """Sum of independent legs: statistical errors add in squares, systematic ones plainly, for they may agree."""
    return Term(
        name=name,
        value=math.fsum(term.value for term in terms),
        statistical=math.hypot(*(term.statistical for term in terms)),
        systematic=math.fsum(term.systematic for term in terms),
    )


def closure(terms: Sequence[Term]) -> Term | Refusal:
    """Sum of the legs of a closed cycle, which is 0; refused if it is not, within 3 standard errors and the bounds.

    A cycle that does not close has a wrong leg or a wrong sign, and tells nothing of which.
    """
    found = total("closure", terms)
    allowed = SIGNIFICANCE * found.statistical + found.systematic + ROUNDING
    if abs(found.value) <= allowed:
        return found
    legs = ", ".join(f"{term.name} {term.value:.3g}" for term in terms)
    sentence = f"the cycle closes to {found.value:.3g} kcal/mol, beyond {allowed:.2g} ({legs}); one leg is wrong."
    return Refusal(Reason.CYCLE_OPEN, sentence)
