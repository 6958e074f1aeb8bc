"""Whether a report of a refinement is what its model gives, number by number, and what its recipe allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sophron.interfaces.rietveld import Cycle, Fit, Group, State
from sophron.records.errors import UserError
from sophron.science.rietveld import request_validation
from sophron.science.rietveld.convergence import MOVE_ESD, largest_move
from sophron.science.rietveld.session.model_files import Model
from sophron.science.rietveld.session.report import FitNumbers, Report, ReportedPhase, fit_numbers, phase_numbers
from sophron.science.rietveld.session.sample import Role, Sample
from sophron.science.rietveld.session.trajectory import Calls

ESD = 0.05
"""Relative: a cycle that begins elsewhere cuts off lines elsewhere; standard deviations and R_F differ by 1 % or 2."""

HELD = 1e-5
"""Relative: of a cell parameter that did not move."""

CLAIM = 0.02
"""Relative: by so much a recomputed significance may miss what the recipe wants, and the claim still stands."""


@dataclass(frozen=True)
class Candidates:
    """Of a recipe, what it says of phases that may be there."""

    claim_significance: float | None = None


@dataclass(frozen=True)
class Recipe:
    """Of a recipe, what a report is checked against."""

    candidates: Candidates = field(default_factory=Candidates)


@dataclass(frozen=True)
class ClaimedPhase:
    """A phase as the model has it, with what the report claims."""

    name: str
    role: Role
    claimed: bool
    significance: float | None
    weight_fraction: float | None
    weight_fraction_esd: float | None


@dataclass(frozen=True, eq=False)
class Checked:
    """A report beside the cycle that repeats it, the last of several if the first moved something.

    before: what that cycle began from; kept: the agent's model; tolerance: relative, of numbers without an esd.
    """

    report: Report
    cycle: Cycle
    before: State
    kept: Model
    sample: Sample
    recipe: Recipe
    tolerance: float

    @property
    def fit(self) -> Fit:
        """The repeated fit."""
        if self.cycle.fit is None:
            raise UserError("the cycle came to no fit; nothing can be compared")
        return self.cycle.fit

    def differences(self) -> Iterator[str]:
        """Yield what does not stand, one sentence each."""
        yield from self._identity()
        if self.report.fit is None:
            yield "the report gives no fit, and there is one"
            return
        yield from self._indices(self.report.fit)
        yield from self._parameters()
        yield from self._phases()
        if self.largest_move() > MOVE_ESD:
            yield f"one more cycle moves a parameter by {self.largest_move():.2g} esd; the model had not converged"

    def _identity(self) -> Iterator[str]:
        version = self.cycle.state.version
        wanted = {"pattern": self.sample.pattern.name, "engine": self.sample.engine, "engine_version": version}
        for key, value in wanted.items():
            if getattr(self.report, key) != value:
                yield f"{key} is {getattr(self.report, key)}, and it was {value}"
        if self.report.state != self.kept.number:
            yield f"the report speaks of state {self.report.state}, and the model is of {self.kept.number}"

    def _indices(self, said: FitNumbers) -> Iterator[str]:
        numbers, near = fit_numbers(self.fit), self._index_tolerance()
        if said.rwp_engine != self.fit.rwp.engine or said.weights != self.kept.weights:
            yield "the R factor is of another engine or of other weights than the model's"
        for key in ("rwp_percent", "rp_percent", "r_expected_percent", "chi2", "gof", "observations", "variables"):
            yield from self._differs(f"fit.{key}", getattr(said, key), numbers[key], near)
        if self.report.refined.count != self.fit.variables:
            yield f"refined.count is {self.report.refined.count}, and {self.fit.variables} were free"

    def _index_tolerance(self) -> float:
        """Relative: moves that are let pass change chi2 by the square of each, R factors by half as much."""
        return max(self.tolerance, self.fit.variables * MOVE_ESD**2 / self.fit.chi2 if self.fit.chi2 > 0 else 0.0)

    def _parameters(self) -> Iterator[str]:
        said = {one.name: one for one in self.report.refined.parameters}
        there = {one.name: one for one in self.fit.parameters}
        if said.keys() != there.keys():
            yield f"refined.parameters names {len(said)} parameters that are not the {len(there)} of the model"
        for name in said.keys() & there.keys():
            one = there[name]
            yield from self._moved(name, said[name].value, one.value, one.esd, self.tolerance)
            yield from self._differs(f"the esd of {name}", said[name].esd, one.esd, ESD)

    def _phases(self) -> Iterator[str]:
        there = {one.name for one in self.fit.phases}
        said = {one.name: one for one in self.report.phases}
        for given in self.sample.phases:
            name = given.phase.name
            if name not in said or said[name].role != given.role:
                yield f"the phase {name} is not in the report as it was given"
                continue
            if said[name].in_model != (name in there):
                yield f"the report says of {name} that it is {'' if said[name].in_model else 'not '}in the model"
            yield from self._claim(said[name], given.role)
            if name in there:
                yield from self._fractions(said[name])

    def _fractions(self, said: ReportedPhase) -> Iterator[str]:
        """Fractions, cells and scales in units of their esd; an esd, and R_F, which has none, by their few per cent."""
        numbers, values = phase_numbers(self.fit, said.name), self.cycle.state.values
        for key in ("r_f_percent", "weight_fraction_esd"):
            yield from self._differs(f"{key} of {said.name}", getattr(said, key), getattr(numbers, key), ESD)
        fraction, esd, near = numbers.weight_fraction, numbers.weight_fraction_esd, 10 * self.tolerance
        yield from self._moved(f"weight_fraction of {said.name}", said.weight_fraction, fraction, esd, near)
        worth = abs(numbers.significance or 0.0)
        yield from self._moved(
            f"significance of {said.name}", said.significance, numbers.significance, 1.0 + worth * ESD / MOVE_ESD, ESD
        )
        refined = {one.name: one.esd for one in self.fit.parameters}
        for letter, one in said.cell.items():
            name = f"cell/{said.name}/{letter}"
            yield from self._moved(f"{letter} of {said.name}", one.value, values.get(name), refined.get(name), HELD)

    def _claim(self, said: ReportedPhase, role: str) -> Iterator[str]:
        """A candidate is claimed from the model, and on no less than the recipe's significance."""
        if role == "main" or not said.claimed:
            return
        name, wanted = said.name, self.recipe.candidates.claim_significance
        if wanted is None:
            yield f"{name} is claimed, and the recipe says nothing of claims"
        elif name not in {one.name for one in self.fit.phases}:
            yield f"{name} is claimed, and it is not in the model"
        elif (phase_numbers(self.fit, name).significance or 0.0) < wanted * (1 - CLAIM):
            yield f"{name} is claimed on less than {wanted:g} standard deviations"

    def _moved(
        self, what: str, said: float | None, found: float | None, esd: float | None, tolerance: float
    ) -> Iterator[str]:
        """Yield a sentence for numbers further apart than half an esd; without one, than `tolerance`, relative."""
        if said is None or found is None or not esd:
            yield from self._differs(what, said, found, tolerance)
        elif abs(said - found) > MOVE_ESD * esd:
            away = abs(said - found) / esd
            yield f"{what} is {said:g} in the report and {found:g} in the model, {away:.2g} esd away"

    def _differs(self, what: str, said: float | None, found: float | None, tolerance: float) -> Iterator[str]:
        if said is None or found is None:
            if said is not found:
                yield f"{what} is {said} in the report and {found} in the model"
        elif abs(float(said) - float(found)) > tolerance * max(abs(float(found)), 1e-12):
            yield f"{what} is {float(said):g} in the report and {float(found):g} in the model"

    def largest_move(self) -> float:
        """Return the largest change of a parameter in the repeated cycle over its standard deviation from counting."""
        return largest_move(self.fit, self.before.values)

    def phases(self) -> list[ClaimedPhase]:
        """Return each phase as the model has it, with what the report claims."""
        there = {one.name for one in self.fit.phases}
        said = {one.name: one for one in self.report.phases}
        found = []
        for given in self.sample.phases:
            name = given.phase.name
            numbers = phase_numbers(self.fit, name) if name in there else None
            told = said.get(name)
            # Of a phase that was taken out again only the trajectory knows.
            significance = numbers.significance if numbers else told.significance if told else None
            fraction, esd = (numbers.weight_fraction, numbers.weight_fraction_esd) if numbers else (None, None)
            claimed = told is not None and told.claimed
            found.append(ClaimedPhase(name, given.role, claimed, significance, fraction, esd))
        return found


def of_trajectory(report: Report, trajectory: Calls) -> Iterator[str]:
    """Yield what the report says of the way, and the trajectory does not; zero and displacement free on one way."""
    seen = {(one.plot.low_deg, one.plot.high_deg, one.state) for one in trajectory.calls if one.plot is not None}
    for one in report.plots:
        if (one.low_deg, one.high_deg, one.state) not in seen:
            yield f"the report speaks of a plot from {one.low_deg:g} to {one.high_deg:g} degrees; none was shown"
    if report.state not in {one.number for one in trajectory.states}:
        yield f"the trajectory has no state {report.state}"
        return
    yield from _pair(report.state, trajectory)


def _pair(state: int, trajectory: Calls) -> Iterator[str]:
    """Along the ancestors of the reported state, for the two were never free on one way."""
    states = {one.number: one for one in trajectory.states}
    calls = {one.number: one for one in trajectory.calls}
    way: list[list[Group]] = []
    number: int | None = state
    while number is not None:
        way.append([one.group for one in calls[states[number].call].free or ()])
        number = states[number].parent
    moved: set[Group] = set()
    for now in reversed(way):
        try:
            request_validation.check_pair(now, moved)
        except UserError as error:
            yield str(error)
        moved |= set(now)
