"""Groups that the counts can refine: a group whose values they cannot determine is held.

The rule needs no look at the data. A pattern that is exactly the present model, with the variances of its counts, is
refined with the group free; the esds that come out are those to be expected of the data (they follow from the
derivatives and the variances alone). A group is freed where each of its parameters is expected within the esd that it
needs to say something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sophron.interfaces.rietveld import Fit, Freed, Group, Parameter, Pattern, Request, RietveldEngine, State, group_of
from sophron.records.errors import UserError

POSITIVE = ("u_iso", "size", "strain", "profile_w", "profile_x", "scale")
"""Groups whose values mean nothing below zero."""

_OF_COORDINATES = ("x", "y", "z")


@dataclass(frozen=True)
class RequiredEsd:
    """The esd with which a group's values say something. relative: as a share of the value, not in its units."""

    esd: float
    relative: bool = False

    def is_met(self, value: float, esd: float) -> bool:
        """Return whether `esd` is as good as needed for a parameter of this value."""
        return esd <= self.esd * (abs(value) if self.relative else 1.0)


def shared_sites(state: State) -> tuple[tuple[str, ...], ...]:
    """Return the displacement parameters of atoms that share a site, to be held equal: no pattern tells them apart."""
    sites: dict[tuple[str, ...], list[str]] = {}
    for name in state.values:
        kind, _, atom = name.partition("/")
        if kind == "u_iso":
            place = (f"{state.values[f'{axis}/{atom}']:.5f}" for axis in _OF_COORDINATES)
            sites.setdefault((atom.partition("/")[0], *place), []).append(name)
    return tuple(tuple(names) for names in sites.values() if len(names) > 1)


def request(state: State, free: Sequence[Freed], limit_s: float) -> Request:
    """Return a cycle with all of `free`, shared sites held together."""
    atoms = any(one.group == "u_iso" for one in free)
    return Request(tuple(free), equal=shared_sites(state) if atoms else (), limit_s=limit_s)


def rehearse(
    engine: RietveldEngine, state: State, fit: Fit, free: Sequence[Freed], *, limit_s: float = 60.0
) -> tuple[Parameter, ...]:
    """Parameters of `free` with the esds to be expected at the counts of `fit`; none if not even this converges.

    Residuals are one standard deviation up and down by turns: chi squared is then what counting statistics make it,
    and no parameter can follow them.
    """
    curves = fit.curves
    sigma = np.sqrt(np.maximum(curves.calculated, 0.01 * curves.calculated.mean()))
    turns = np.where(np.arange(sigma.size) % 2, 1.0, -1.0)
    pattern = Pattern("the model itself", curves.two_theta_deg, curves.calculated + turns * sigma, sigma)
    found = engine.refine(pattern, state, request(state, free, limit_s)).fit
    return () if found is None else found.parameters


def uncertain(rehearsed: Sequence[Parameter], needs: Mapping[Group, RequiredEsd]) -> str | None:
    """Return the first parameter that is expected too uncertain to be free, as a clause; None if there is none."""
    wanted = {str(name): need for name, need in needs.items()}
    known = [one for one in rehearsed if one.esd_counting is not None]  # others follow these by symmetry
    missing = wanted.keys() - {group_of(one.name) for one in known}
    if missing:
        return f"no esd of {', '.join(sorted(missing))} can be expected"
    for one in known:
        need, esd = wanted.get(group_of(one.name)), float(one.esd_counting or 0.0)
        if need is not None and not need.is_met(one.value, esd):
            unit = " of its value" if need.relative else ""
            return f"{one.name} is expected with an esd of {esd:.2g}, and needs {need.esd:g}{unit}"
    return None


def counts_needed(rehearsed: Sequence[Parameter], needs: Mapping[Group, RequiredEsd], counts: float) -> float:
    """Return the counts in a pattern from which all `needs` are met, where `rehearsed` is for one of `counts`.

    Esds go as one over the root of the counts. UserError if a group has no esd.
    """
    worst = 0.0
    for name, need in needs.items():
        esds = [(one.value, one.esd_counting) for one in rehearsed if group_of(one.name) == name and one.esd_counting]
        if not esds:
            raise UserError(f"no esd of {name} can be expected; give a model in which it can be free")
        worst = max(worst, *(esd / (need.esd * (abs(value) if need.relative else 1.0)) for value, esd in esds))
    return counts * worst**2


def unphysical(fit: Fit) -> str | None:
    """Return the first parameter that no sample can have, as a clause; None if all are possible."""
    for one in fit.parameters:
        if group_of(one.name) in POSITIVE and one.value < 0:
            return f"{one.name} is {one.value:.3g}, below zero"
    return None
