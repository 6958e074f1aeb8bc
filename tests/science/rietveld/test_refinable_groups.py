"""Freedom matched to counts: expected esds follow the counts, and a group that they cannot tell is held."""

from dataclasses import replace

import numpy as np
import pytest
import refinable_groups
from crystals import CIF, SALT
from refinable_groups import RequiredEsd

from sophron.interfaces.rietveld import Background, Freed, Instrument, Parameter, Pattern, Phase, Request, Setup
from sophron.records.errors import UserError

X = np.arange(25.0, 60.0, 0.03)
MIXED = SALT | {"atoms": "Na1 Na 0 0 0 0.9 0.015\nK1 K 0 0 0 0.1 0.015\nCl1 Cl 0.5 0.5 0.5 1 0.012"}
FREE = tuple(Freed(group) for group in ("scale", "background", "cell"))


@pytest.fixture(scope="module")
def rehearsed(engine):
    """Cycles and rehearsals of a few lines at some counts, and at a hundred times as many."""
    found = []
    shape = 5.0 + 40.0 * sum(np.exp(-(((X - at) / 0.1) ** 2)) for at in (27.37, 31.70, 45.45, 53.87, 56.48))
    for longer in (1.0, 100.0):
        pattern = Pattern("made up", X, longer * shape, np.sqrt(longer * shape))
        setup = Setup(
            pattern, (Phase("salt", CIF.format(edge=5.64, **MIXED)),), Instrument((1.5406,)), Background(count=2)
        )
        state = engine.start(setup, limit_s=300)
        cycle = engine.refine(pattern, state, Request(FREE[:2], limit_s=300))
        found.append((cycle, refinable_groups.rehearse(engine, cycle.state, cycle.fit, FREE, limit_s=300)))
    return found


def esd(parameters, name):
    return {one.name: one.esd_counting for one in parameters}[name]


def test_a_hundred_times_the_counts_give_a_tenth_of_the_esd(rehearsed):
    few, many = (parameters for _, parameters in rehearsed)
    assert esd(few, "cell/salt/a") / esd(many, "cell/salt/a") == pytest.approx(10.0, rel=0.1)


def test_expected_esds_are_of_counting_whatever_the_misfit(rehearsed):
    """The cell is known as badly as the counts say; that the model does not fit the data is no part of it."""
    cycle, parameters = rehearsed[1]
    assert cycle.fit.gof > 3
    scale = cycle.fit.parameter("scale/salt")
    assert esd(parameters, "scale/salt") == pytest.approx(scale.esd_counting, rel=0.2)
    assert esd(parameters, "scale/salt") < 0.5 * scale.esd


def test_atoms_of_one_site_are_held_together(rehearsed):
    state = rehearsed[0][0].state
    assert refinable_groups.shared_sites(state) == (("u_iso/salt/Na1", "u_iso/salt/K1"),)
    assert refinable_groups.request(state, FREE, 1.0).equal == ()
    assert refinable_groups.request(state, (*FREE, Freed("u_iso")), 1.0).equal == refinable_groups.shared_sites(state)


def test_what_is_too_uncertain_is_said_with_its_numbers():
    cell = Parameter("cell/salt/a", 10.0, 0.01, 0.002)
    follows = Parameter("cell/salt/b", 10.0)
    assert refinable_groups.uncertain((cell, follows), {"cell": RequiredEsd(3e-4, relative=True)}) is None
    found = refinable_groups.uncertain((cell, follows), {"cell": RequiredEsd(1e-4, relative=True)})
    assert found == "cell/salt/a is expected with an esd of 0.002, and needs 0.0001 of its value"
    assert refinable_groups.uncertain((cell,), {"cell": RequiredEsd(0.001)}).endswith("needs 0.001")
    assert refinable_groups.uncertain((cell,), {"u_iso": RequiredEsd(0.001)}) == "no esd of u_iso can be expected"
    position = Parameter("x/salt/O1", 0.1, 0.01, 0.01)
    assert "x/salt/O1" in refinable_groups.uncertain((position,), {"position": RequiredEsd(0.002)})


def test_four_times_the_counts_halve_an_esd():
    rehearsed = (Parameter("cell/salt/a", 10.0, 0.01, 0.002), Parameter("u_iso/salt/O1", 0.01, 0.1, 0.004))
    assert refinable_groups.counts_needed(
        rehearsed, {"cell": RequiredEsd(1e-4, relative=True)}, 1000.0
    ) == pytest.approx(4000.0)
    both = {"cell": RequiredEsd(1e-4, relative=True), "u_iso": RequiredEsd(0.001)}
    assert refinable_groups.counts_needed(rehearsed, both, 1000.0) == pytest.approx(16000.0)
    with pytest.raises(UserError, match="no esd of displacement can be expected"):
        refinable_groups.counts_needed(rehearsed, {"displacement": RequiredEsd(0.01)}, 1000.0)


def test_what_no_sample_can_have(rehearsed):
    fit = rehearsed[0][0].fit
    assert refinable_groups.unphysical(fit) is None
    below = replace(fit, parameters=(*fit.parameters, Parameter("u_iso/salt/Na1", -0.004, 0.001, 0.001)))
    assert refinable_groups.unphysical(below) == "u_iso/salt/Na1 is -0.004, below zero"
