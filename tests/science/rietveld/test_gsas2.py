"""GSAS-II on a measured and on a simulated pattern, where SOPHRON_GSAS2_PYTHON names a Python that has it."""

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from sophron.interfaces.rietveld import Background, Cycle, Freed, Instrument, Pattern, Phase, Request, Setup
from sophron.records import registry
from sophron.records.errors import UserError
from sophron.science.rietveld import plain, recipe
from sophron.science.rietveld.gsas2_engine import VARIABLE, Gsas2
from sophron.science.rietveld.refinement import Refinement

from .test_mixture import ANGLES, CIF, SALT, SILICON

LIMIT_S = 300.0
FREE = tuple(Freed(group) for group in ("scale", "background", "cell", "displacement"))


class Climbed(NamedTuple):
    folder: Path
    refinement: Refinement
    cycles: list[Cycle]


def ppm(found, wanted):
    return abs(found / wanted - 1) * 1e6


@pytest.fixture(scope="module")
def climbed(gsas2, fluorapatite, tmp_path_factory):
    """Fluorapatite after the whole recipe, without axial divergence."""
    folder = tmp_path_factory.mktemp("gsas2") / "refinement"
    setup = replace(fluorapatite, instrument=replace(fluorapatite.instrument, axial=0.0))
    refinement = Refinement.begin(gsas2, setup, folder)
    return Climbed(folder, refinement, recipe.climb(refinement, recipe.LABORATORY, limit_s=LIMIT_S))


def test_it_is_found_by_name_and_says_what_lacks(monkeypatch):
    assert registry.load("sophron.rietveld_engines", "gsas2") is Gsas2
    engine = Gsas2()
    monkeypatch.delenv(VARIABLE, raising=False)
    assert engine.missing().startswith("GSAS-II is not there; make an environment")
    monkeypatch.setenv(VARIABLE, "/no/python")
    assert (
        engine.missing() == f"{VARIABLE}: /no/python is no program; name the Python of an environment that has GSAS-II"
    )
    monkeypatch.setenv(VARIABLE, os.sys.executable)
    assert "has no GSASII" in engine.missing()
    with pytest.raises(UserError, match="has no GSASII"):
        engine.read_pattern("x.xra")


def test_the_recipe_reaches_the_cell_of_the_other_engine(climbed, engine, fluorapatite, tmp_path):
    assert [cycle.ended for cycle in climbed.cycles] == ["converged"] * 5
    rwp = [cycle.fit.rwp.percent for cycle in climbed.cycles]
    assert rwp == sorted(rwp, reverse=True)
    fit = climbed.cycles[-1].fit
    assert rwp[-1] <= 9.5
    assert fit.variables == 35
    setup = replace(fluorapatite, instrument=replace(fluorapatite.instrument, axial=0.0))
    other = recipe.climb(Refinement.begin(engine, setup, tmp_path / "rietx"), recipe.LABORATORY, limit_s=LIMIT_S)[
        -1
    ].fit
    assert other.rwp.percent <= 10.5
    for name in ("cell/FAP/a", "cell/FAP/c"):
        assert ppm(fit.parameter(name).value, other.parameter(name).value) < 40
        assert 0 < fit.parameter(name).esd_counting < fit.parameter(name).esd
    for name in ("displacement", "x/FAP/Ca2", "u_iso/FAP/Ca2", "size/FAP", "strain/FAP", "profile_w"):
        ours, theirs = fit.parameter(name), other.parameter(name)
        assert abs(ours.value - theirs.value) < 6 * theirs.esd, name
    assert fit.phases[0].size_nm == pytest.approx(other.phases[0].size_nm, rel=0.05)
    assert fit.phases[0].microstrain == pytest.approx(other.phases[0].microstrain, rel=0.05)
    assert fit.phases[0].r_f_percent < 5
    assert fit.phases[0].r_bragg_percent == pytest.approx(other.phases[0].r_bragg_percent, rel=0.1)
    assert fit.r_expected_percent == pytest.approx(other.r_expected_percent, rel=1e-3)
    assert fit.largest_shift_over_esd < 0.5
    assert all(abs(one.value) <= 1 for one in fit.correlations)


def test_the_agreement_is_what_the_curves_say(climbed):
    fit = climbed.cycles[-1].fit
    curves = fit.curves
    difference = curves.observed - curves.calculated
    chi2 = float(np.sum((difference / curves.sigma) ** 2))
    assert fit.chi2 == pytest.approx(chi2, rel=1e-6)
    assert fit.rwp.percent == pytest.approx(
        100 * np.sqrt(chi2 / np.sum((curves.observed / curves.sigma) ** 2)), rel=1e-6
    )
    assert fit.gof == pytest.approx(np.sqrt(chi2 / (fit.observations - fit.variables)), rel=1e-6)
    assert fit.rwp.engine == "gsas2"
    assert set(curves.ticks_deg) == {"FAP"}


def test_a_state_is_plain_data_and_goes_on_from_a_folder(climbed, gsas2, fluorapatite):
    again = Refinement.restore(gsas2, fluorapatite.pattern, climbed.folder)
    assert again.current.state == climbed.refinement.kept[-1].state
    assert plain.fit(again.current.fit) == plain.fit(climbed.cycles[-1].fit)
    assert again.roll_back(1).number == 1
    cycle = gsas2.refine(fluorapatite.pattern, again.current.state, Request(FREE, limit_s=LIMIT_S))
    assert cycle.fit.rwp == climbed.cycles[1].fit.rwp
    assert cycle.state.values == climbed.cycles[1].state.values
    with pytest.raises(UserError, match="roll back to a state from before displacement"):
        climbed.refinement.refine(Request((*FREE[:3], Freed("zero"))), "trap")


def test_the_model_is_calculated_where_asked(climbed, gsas2):
    kept = climbed.refinement.kept[-1]
    curves = kept.fit.curves
    found = gsas2.calculate(kept.state, curves.two_theta_deg[:500].tolist(), limit_s=LIMIT_S)
    assert found == pytest.approx(curves.calculated[:500], rel=1e-3)
    with pytest.raises(UserError, match="holds from 15 to 130"):
        gsas2.calculate(kept.state, [10.0])


def test_values_background_and_equal_parameters(climbed, gsas2, fluorapatite):
    state = climbed.refinement.current.state
    oxygen = tuple(f"u_iso/FAP/{label}" for label in ("O5", "O6", "O7"))
    free = (Freed("scale"), Freed("background"), Freed("u_iso", "FAP"))
    asked = Request(
        free, equal=(oxygen,), values={"profile_w": 0.0025}, background=Background(count=6), limit_s=LIMIT_S
    )
    cycle = gsas2.refine(fluorapatite.pattern, state, asked)
    assert cycle.ended == "converged", cycle.reason
    assert cycle.fit.variables == 1 + 6 + 5
    assert len({cycle.state.values[name] for name in oxygen}) == 1
    assert cycle.state.values["profile_w"] == pytest.approx(0.0025, rel=1e-12)
    assert cycle.state.background.count == 6
    refusals = [
        (replace(asked, values={"u_iso/FAP/O9": 0.1}), 'no parameter "u_iso/FAP/O9"'),
        (replace(asked, values={"cell/FAP/b": 9.0}), '"cell/FAP/b" is set by symmetry from cell/FAP/a'),
        (replace(asked, equal=(("cell/FAP/a", "cell/FAP/c"),)), "cannot be held equal"),
        (replace(asked, equal=(("zero", "displacement"),)), "zero and displacement cannot be held equal"),
        (Request((Freed("position", "FAP", "F4"),)), "nothing that is free can move"),
        (Request((Freed("u_iso", "FAP", "O9"),)), 'phase FAP has no atom "O9"; it has Ca1'),
        (Request((Freed("scale", "LLZO"),)), 'no phase "LLZO"'),
        (Request((Freed("preferred_orientation"),)), "has no march_axis"),
        (Request((Freed("absorption"),)), "absorption cannot be freed with the geometry bragg_brentano"),
    ]
    for request, said in refusals:
        with pytest.raises(UserError, match=said):
            gsas2.refine(fluorapatite.pattern, state, replace(request, limit_s=LIMIT_S))


def test_what_is_held_equal_is_not_thereby_free(climbed, gsas2, fluorapatite):
    state = climbed.refinement.kept[1].state
    pair = ("u_iso/FAP/O5", "u_iso/FAP/O6")
    cycle = gsas2.refine(fluorapatite.pattern, state, Request((Freed("scale"),), equal=(pair,), limit_s=LIMIT_S))
    assert cycle.fit.variables == 1
    assert {cycle.state.values[name] for name in pair} == {state.values[pair[0]]}


def test_a_model_that_runs_away_is_a_typed_ending(climbed, gsas2, fluorapatite):
    state = climbed.refinement.kept[0].state
    free = tuple(Freed(group) for group in ("cell", "displacement", "profile_w", "size", "strain", "position", "u_iso"))
    far = Request(free, values={"cell/FAP/a": 4.1, "scale/FAP": 1e9}, cycles=5, limit_s=LIMIT_S)
    cycle = gsas2.refine(fluorapatite.pattern, state, far)
    assert cycle.ended == "diverged"
    assert cycle.state is state
    assert cycle.fit is None
    assert cycle.reason


def test_a_cycle_ends_at_its_time_or_with_its_process_and_loses_nothing(climbed, gsas2, fluorapatite):
    state = climbed.refinement.kept[1].state
    late = gsas2.refine(fluorapatite.pattern, state, Request(FREE, limit_s=0.05))
    assert (late.ended, late.reason) == ("timeout", "no answer within 0.05 s")
    assert late.state is state
    gsas2.calculate(state, [20.0], limit_s=LIMIT_S)
    process = gsas2._process._process
    threading.Timer(0.5, os.killpg, (process.pid, signal.SIGKILL)).start()
    lost = gsas2.refine(fluorapatite.pattern, state, Request(FREE, limit_s=LIMIT_S))
    assert (lost.ended, lost.state) == ("failed", state)
    assert "the engine stopped" in lost.reason
    again = gsas2.refine(fluorapatite.pattern, state, Request(FREE[:2], limit_s=LIMIT_S))
    assert again.ended == "converged"


def test_an_engine_that_dies_in_its_fork_is_a_failure(climbed, gsas2, fluorapatite):
    gsas2.calculate(climbed.refinement.kept[1].state, [20.0], limit_s=LIMIT_S)
    server = gsas2._process._process.pid
    killer = threading.Thread(target=kill_child, args=(server,))
    killer.start()
    cycle = gsas2.refine(fluorapatite.pattern, climbed.refinement.kept[1].state, Request(FREE, limit_s=LIMIT_S))
    killer.join()
    assert (cycle.ended, cycle.reason) == ("failed", "the engine stopped with signal 9")
    assert gsas2._process._process.pid == server


def kill_child(server):
    children = ""
    while not children:
        time.sleep(0.05)
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)


TRUE = {"salt": 5.6421, "Si": 5.4302}


def mixture(counts, salt, silicon, **instrument):
    phases = (
        Phase("salt", CIF.format(edge=salt, **SALT), (1, 0, 0)),
        Phase("Si", CIF.format(edge=silicon, **SILICON)),
    )
    given = Instrument((1.5406,), profile_w=0.004, profile_x=0.02, **instrument)
    return Setup(
        Pattern("simulated mixture", ANGLES, counts), phases, given, Background("log interpolate", 3, 100.0),
        limits_deg=(26.0, 79.0), excluded_deg=((50.0, 52.0),),
    )  # fmt: skip


def test_two_phases_with_orientation_come_out_as_they_went_in(gsas2, tmp_path):
    """Counts of the model with Poisson noise (seed 7), refined from cells that are 300 ppm off."""
    order = 300.0 + 2000.0 * np.exp(-(((ANGLES - 40) / 5) ** 2))
    setup = mixture(order, *TRUE.values())
    true = gsas2.start(setup, limit_s=LIMIT_S)
    native = {**true.document["values"], "preferred_orientation/salt": 0.8}
    true = replace(true, document={**true.document, "range_deg": [25.0, 80.0], "values": native})
    counts = np.random.default_rng(7).poisson(gsas2.calculate(true, ANGLES.tolist(), limit_s=LIMIT_S)).astype(float)
    refinement = Refinement.begin(gsas2, mixture(counts, 5.6404, 5.4318), tmp_path / "mixture")
    free = tuple(Freed(group) for group in ("scale", "background", "cell"))
    for asked in (free[:2], free):
        assert refinement.refine(Request(asked, limit_s=LIMIT_S), "cycle").ended == "converged"
    oriented = Request((*free, Freed("preferred_orientation", "salt")), limit_s=LIMIT_S)
    # Not from 1: in a cubic powder nothing changes with the ratio there, and least squares cannot leave.
    cycle = refinement.refine(replace(oriented, values={"preferred_orientation/salt": 0.9}), "orientation")
    assert cycle.ended == "converged", cycle.reason
    fit = cycle.fit
    for name, value in {"cell/salt/a": 5.6421, "cell/Si/a": 5.4302, "preferred_orientation/salt": 0.8}.items():
        found = fit.parameter(name)
        assert abs(found.value - value) < 4 * found.esd_counting, name
    assert 0.9 < fit.gof < 1.2
    assert sum(phase.weight_fraction for phase in fit.phases) == pytest.approx(1.0)
    assert all(phase.weight_fraction_esd > 0 for phase in fit.phases)
    x = fit.curves.two_theta_deg
    assert (x[0], x[-1]) == pytest.approx((26.0, 79.0), abs=0.02)
    assert not np.any((x > 50.0) & (x < 52.0))
    assert fit.observations == x.size


def test_neutrons_and_a_capillary(gsas2):
    """A capillary has absorption instead of a displacement."""
    setup = mixture(ANGLES + 100.0, *TRUE.values(), radiation="neutron", geometry="debye_scherrer", absorption=0.5)
    state = gsas2.start(setup, limit_s=LIMIT_S)
    assert state.values["absorption"] == 0.5
    assert "displacement" not in state.values
    xray = gsas2.start(replace(setup, instrument=replace(setup.instrument, radiation="xray")), limit_s=LIMIT_S)
    at = ANGLES[100:-100].tolist()
    ratio = gsas2.calculate(state, at, limit_s=LIMIT_S) / gsas2.calculate(xray, at, limit_s=LIMIT_S)
    assert np.ptp(ratio) > 0.2  # other scattering lengths, other intensities
    with pytest.raises(UserError, match="displacement cannot be freed with the geometry debye_scherrer"):
        gsas2.refine(setup.pattern, state, Request((Freed("displacement"),), limit_s=LIMIT_S))


ANISOTROPIC = """data_one
_space_group_name_H-M_alt 'P 3'
_cell_length_a 5.0
_cell_length_b 5.0
_cell_length_c 7.0
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 120
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_adp_type
Si1 Si 0.1 0.2 0.3 Uani
loop_
_atom_site_aniso_label
_atom_site_aniso_U_11
_atom_site_aniso_U_22
_atom_site_aniso_U_33
_atom_site_aniso_U_12
_atom_site_aniso_U_13
_atom_site_aniso_U_23
Si1 0.02 0.01 0.03 0.004 0 0
"""


def test_a_cif_is_taken_as_it_says_or_refused(gsas2):
    x = np.arange(20.0, 40.0, 0.1)
    setup = Setup(Pattern("flat", x, x + 100), (Phase("one", ANISOTROPIC),), Instrument((1.5406,)), Background(count=2))
    values = gsas2.start(setup, limit_s=LIMIT_S).values
    assert values["u_iso/one/Si1"] == pytest.approx((4 / 3 * (0.02 + 0.01 - 0.004) + 0.03) / 3)
    refusals = [
        (ANISOTROPIC.replace("P 3", "P q"), "ERROR in space group symbol"),
        (ANISOTROPIC.replace("_space_group_name_H-M_alt 'P 3'", ""), "No space group name"),
        (ANISOTROPIC + ANISOTROPIC.replace("data_one", "data_two"), "describes 2 structures"),
        (
            ANISOTROPIC.replace("Si1 Si 0.1 0.2 0.3 Uani", "Si1 Si 0.1 0.2 0.3 Uani\nSi1 Si 0.3 0.2 0.1 Uani"),
            "two sites",
        ),
    ]
    for cif, said in refusals:
        with pytest.raises(UserError, match=said):
            gsas2.start(replace(setup, phases=(Phase("one", cif),)), limit_s=LIMIT_S)
