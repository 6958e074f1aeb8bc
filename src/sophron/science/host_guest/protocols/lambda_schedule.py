"""Windows of double decoupling, as numbers: how strongly the guest is held, and what of it is coupled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One window. strength: of the restraints; electrostatics, sterics: 1 coupled, 0 not; charges go off first."""

    strength: float
    electrostatics: float
    sterics: float

    def __post_init__(self) -> None:
        """Raise ValueError if atoms without repulsion would still have charges: they would fall on each other."""
        if self.electrostatics > 0 and self.sterics < 1:
            raise ValueError("charges are turned off before sterics")

    @property
    def walled(self) -> bool:
        """Whether the site's wall and lock keep the guest bound: where restraints do not do it alone."""
        return self.strength < 1

    def halfway(self, other: Stage) -> Stage:
        """Return the stage between this one and the next."""
        if self.strength < other.strength:
            # Strengths are spaced about geometrically; from 0 on, there is no ratio to take.
            strength = (self.strength * other.strength) ** 0.5 if self.strength else 0.25 * other.strength
            return Stage(strength, self.electrostatics, self.sterics)
        middle = 0.5 * (self.electrostatics + other.electrostatics), 0.5 * (self.sterics + other.sterics)
        return Stage(self.strength, *middle)


def chain(strengths: Sequence[float], electrostatics: Sequence[float], sterics: Sequence[float]) -> list[Stage]:
    """Return the windows of one leg.

    strengths: ascending to 1, empty without host; the others: from below 1 down to 0.
    """
    held = [Stage(each, 1.0, 1.0) for each in strengths] or [Stage(0.0, 1.0, 1.0)]
    full = held[-1].strength
    return [*held, *(Stage(full, each, 1.0) for each in electrostatics), *(Stage(full, 0.0, each) for each in sterics)]


@dataclass(frozen=True)
class Lambdas:
    """What is chosen of double decoupling: values of the windows, each from the coupled end on (`decoupling.chain`)."""

    strengths: tuple[float, ...] = (0.0, 0.004, 0.03, 0.2, 1.0)
    electrostatics: tuple[float, ...] = (0.75, 0.5, 0.25, 0.0)
    sterics: tuple[float, ...] = (0.85, 0.7, 0.55, 0.45, 0.35, 0.25, 0.15, 0.0)

    @property
    def bound(self) -> tuple[Stage, ...]:
        """Windows in the host."""
        return tuple(chain(self.strengths, self.electrostatics, self.sterics))

    @property
    def alone(self) -> tuple[Stage, ...]:
        """Windows of the guest by itself."""
        return tuple(chain((), self.electrostatics, self.sterics))
