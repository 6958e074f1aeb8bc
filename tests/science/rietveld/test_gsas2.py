"""GSAS-II on a measured pattern, where SOPHRON_GSAS2_PYTHON names a Python that has it."""

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import rietveld_recipes

from sophron.interfaces.rietveld import Background, Cycle, Freed, Request
from sophron.records import entry_points
from sophron.records.errors import UserError
from sophron.science.rietveld import engine_messages
from sophron.science.rietveld.gsas2_engine import VARIABLE, Gsas2
from sophron.science.rietveld.refinement import Refinement

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
    return Climbed(
        folder,
        refinement,
        rietveld_recipes.climb_rungs(refinement, rietveld_recipes.LABORATORY, limit_s=LIMIT_S),
    )


def test_it_is_found_by_name_and_says_what_lacks(monkeypatch):
    assert entry_points.load("sophron.rietveld_engines", "gsas2") is Gsas2
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
    other = rietveld_recipes.climb_rungs(
        Refinement.begin(engine, setup, tmp_path / "rietx"), rietveld_recipes.LABORATORY, limit_s=LIMIT_S
    )[-1].fit
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
    assert engine_messages.fit(again.current.fit) == engine_messages.fit(climbed.cycles[-1].fit)
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
