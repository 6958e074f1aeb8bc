"""From samples of all windows to a binding free energy, or to the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from sophron.records.errors import UserError
from sophron.records.typed_json import from_json
from sophron.science.estimators import binding_corrections
from sophron.science.estimators.mbar import SHORTEST_RUN, Estimate, Run, estimate
from sophron.science.estimators.refusal import Reason, Refusal
from sophron.science.estimators.restraints import release, rt
from sophron.science.estimators.thermodynamic_cycle import Term, total
from sophron.science.host_guest.protocols import residual_interaction
from sophron.science.host_guest.protocols.apr_setup import Experiment
from sophron.science.host_guest.protocols.restrained_system import Site
from sophron.science.host_guest.sampling.samples import Sampled
from sophron.science.host_guest.task_metadata import Corrections, Protonation, Symmetry

F = TypeVar("F")


class Bound(Protocol):
    """What begins with the guest in the host, held by its site alone."""

    @property
    def temperature_k(self) -> float:
        """In K."""

    @property
    def site(self) -> Site:
        """Its wall and lock."""

    @property
    def implicit(self) -> bool:
        """Whether there is no water."""


@dataclass(frozen=True)
class Binding:
    """A standard binding free energy in kcal/mol (1 mol/l), its legs, and what MBAR measured."""

    total: Term
    legs: tuple[Term, ...]
    estimate: Estimate


def runs(experiment: Experiment, sampled: Sequence[Sampled]) -> list[Run]:
    """Return what MBAR needs; distance, theta and beta count for how slowly a run forgets."""
    return [Run(each.window, experiment.reduced(each.values), each.values[:3], each.seeded) for each in sampled]


def binding(experiment: Experiment, sampled: Sequence[Sampled], task: Mapping[str, object]) -> Binding | Refusal:
    """Attach, pull, release, and what the last window still feels of the host; equivalent sites and protonation.

    The last two by a task's metadata; or why there is no number.

    Statistical and systematic uncertainty stay apart; the force field's own error is in neither.
    """
    scarce = too_short(sampled)
    if scarce:
        return scarce
    found = estimate(runs(experiment, sampled), experiment.temperature_k)
    if isinstance(found, Refusal):
        return found
    legs = [
        -Term("attach and pull", found.difference, found.error, found.systematic),
        -Term("release", release(experiment.frame, experiment.temperature_k)),
    ]
    still = residual_interaction.of_experiment(experiment)
    if isinstance(still, Refusal):
        return still
    legs.append(still)
    more = corrected(experiment, sampled, found, task)
    if isinstance(more, Refusal):
        return more
    legs += more
    return Binding(total("binding", legs), tuple(legs), found)


def too_short(sampled: Sequence[Sampled]) -> Refusal | None:
    """Return the refusal of runs that are too short to be looked at."""
    short = tuple(sorted({each.window for each in sampled if each.values.shape[1] < SHORTEST_RUN}))
    sentence = f"{len(short)} windows have runs of fewer than {SHORTEST_RUN} samples; run longer."
    return Refusal(Reason.FEW_SAMPLES, sentence, short) if short else None


def corrected(
    bound: Bound, sampled: Sequence[Sampled], found: Estimate, task: Mapping[str, object]
) -> list[Term] | Refusal:
    """Return what is added to binding by a task's metadata: equivalent sites, then protonation if there are pKa values.

    sampled, found: of the chain that has the unrestrained guest in its first window.
    """
    given = from_json(Corrections, task)
    symmetry = _symmetry(bound, sampled, found, given.symmetry)
    if isinstance(symmetry, Refusal):
        return symmetry
    if given.protonation is None:
        return [symmetry]
    return [symmetry, Term("protonation", _protonated(given.ph, given.protonation, bound.temperature_k))]


def _symmetry(bound: Bound, sampled: Sequence[Sampled], found: Estimate, symmetry: Symmetry) -> Term | Refusal:
    """-RT ln n where a lock kept the guest to one of n equivalent sites; else by what the unrestrained window saw."""
    sites, locked = symmetry.equivalent_sites, symmetry.locked_by_restraint
    if sites > 1 and locked:
        if bound.site.lock is None:
            raise UserError(
                "task_metadata.json: symmetry.locked_by_restraint is true and no lock was simulated; prepare again."
            )
        return Term("symmetry", binding_corrections.locked_symmetry(sites, bound.temperature_k))
    if sites > 2:
        sentence = f"which of {sites} equivalent sites the guest was in is not known; lock it to one."
        return Refusal(Reason.SITES_UNEQUAL, sentence)
    samples = [
        each.values[4][:: max(1, round(inefficiency))]
        for each, inefficiency in zip(sampled, found.inefficiencies, strict=True)
        if each.window == 0
    ]
    angles = np.concatenate(samples)
    turned = int((angles < 90.0).sum())
    return binding_corrections.symmetry([angles.size - turned, turned][:sites], bound.temperature_k)


def prediction(experiment: Bound, found: F) -> F | Refusal:
    """Return the same, or its refusal if the model cannot predict: it tests the machinery, and no more.

    OBC2 overbinds cations in these hosts by 20 kcal/mol and more, so that its numbers may look converged and be wrong.
    """
    if not experiment.implicit:
        return found
    sentence = "the solvent is implicit (OBC2), which tests the machinery and predicts nothing; take tip3p or opc."
    return Refusal(Reason.NO_PREDICTION, sentence)


def residual(experiment: Experiment, sampled: Sequence[Sampled]) -> float:
    """How steep the free energy still is where the guest is released, in kcal/mol/Angstrom: zero when it is free.

    Mean force of the distance's restraint in the last window, less what the Jacobian and it alone would give.
    """
    last = len(experiment.windows) - 1
    distances = np.concatenate([each.values[0] for each in sampled if each.window == last])
    restraint = experiment.frame.distance
    free = restraint.target + rt(experiment.temperature_k) / (restraint.k * restraint.target)
    return float(2 * restraint.k * (distances.mean() - free))


def _protonated(ph: float, protonation: Protonation, temperature_k: float) -> float:
    return binding_corrections.protonation(
        ph,
        protonation.pka,
        temperature_k,
        simulated_protonated=protonation.simulated_protonated,
        pka_bound=protonation.bound_pka,
    )
