"""The embedded engine on a measured pattern: a recipe, what it says, states that are kept, pictures."""

import json
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from sophron.interfaces.rietveld import Background, Freed, Request, Rwp
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json
from sophron.science.rietveld import engine_messages, plots
from sophron.science.rietveld.refinement import Refinement

A_ANGSTROM, C_ANGSTROM = 9.371865, 6.885895
"""By GSAS-II from the same pattern."""


def ppm(found, wanted):
    return abs(found / wanted - 1) * 1e6


def test_the_recipe_reaches_the_cell(refined):
    assert [cycle.ended for cycle in refined.cycles] == ["converged"] * 5
    rwp = [cycle.fit.rwp.percent for cycle in refined.cycles]
    assert rwp == sorted(rwp, reverse=True)
    fit = refined.cycles[-1].fit
    assert rwp[-1] <= 10.5
    assert fit.variables == 35
    assert ppm(fit.parameter("cell/FAP/a").value, A_ANGSTROM) < 40
    assert ppm(fit.parameter("cell/FAP/c").value, C_ANGSTROM) < 40
    assert 0 < fit.parameter("cell/FAP/a").esd_counting < fit.parameter("cell/FAP/a").esd
    assert fit.phases[0].size_nm > 0
    assert 0 < fit.phases[0].r_f_percent < 10
    assert fit.largest_shift_over_esd < 0.1
    assert all(abs(one.value) <= 1 for one in fit.correlations)


def test_the_agreement_is_what_the_curves_say(refined):
    fit = refined.cycles[-1].fit
    curves = fit.curves
    weight = 1 / curves.sigma**2
    difference = curves.observed - curves.calculated
    chi2 = float(np.sum(weight * difference**2))
    rwp = 100 * np.sqrt(chi2 / np.sum(weight * curves.observed**2))
    assert fit.rwp.percent == pytest.approx(rwp, rel=1e-6)
    assert fit.chi2 == pytest.approx(chi2, rel=1e-6)
    assert fit.gof == pytest.approx(np.sqrt(chi2 / (fit.observations - fit.variables)), rel=1e-6)
    assert fit.rp_percent == pytest.approx(100 * np.sum(abs(difference)) / np.sum(curves.observed), rel=1e-6)
    assert curves.two_theta_deg[0] >= 15.0
    assert set(curves.ticks_deg) == {"FAP"}


def test_an_rwp_carries_its_engine(refined):
    ours = refined.cycles[-1].fit.rwp
    assert str(ours) == f"Rwp(rietx) {ours.percent:.2f} %"
    assert ours < refined.cycles[0].fit.rwp
    with pytest.raises(TypeError, match="rietx does not compare with one of gsas2"):
        sorted([Rwp(9.42, "gsas2"), ours])


def test_zero_and_displacement_are_never_both_free(refined):
    free = tuple(Freed(group) for group in ("scale", "cell", "zero"))
    with pytest.raises(UserError, match="roll back to a state from before displacement"):
        refined.refinement.refine(Request(free), "trap")
    with pytest.raises(UserError, match="free one of them"):
        refined.refinement.refine(Request((*free, Freed("displacement"))), "trap")


def test_a_refinement_is_restored_from_its_folder(refined, engine, fluorapatite):
    again = Refinement.restore(engine, fluorapatite.pattern, refined.folder)
    assert len(again.kept) == 6
    ours, theirs = again.current, refined.refinement.kept[-1]
    assert to_json(ours.state) == to_json(theirs.state)
    assert engine_messages.fit(ours.fit) == engine_messages.fit(theirs.fit)
    assert np.array_equal(ours.fit.curves.calculated, theirs.fit.curves.calculated)
    with pytest.raises(UserError, match="not empty"):
        Refinement.begin(engine, fluorapatite, refined.folder)


def test_a_changed_state_is_not_restored(refined, engine, fluorapatite, tmp_path):
    at = tmp_path / "0" / "state.json"
    at.parent.mkdir()
    named = json.loads((refined.folder / "0" / "state.json").read_text())
    named["state"]["moved"] = ["zero"]
    at.write_text(json.dumps(named))
    with pytest.raises(UserError, match="was changed since it was written"):
        Refinement.restore(engine, fluorapatite.pattern, tmp_path)
    at.write_text("{")
    with pytest.raises(UserError, match="not a state of a refinement"):
        Refinement.restore(engine, fluorapatite.pattern, tmp_path)


def test_rolled_back_and_refined_again_gives_the_same(refined, engine, fluorapatite, tmp_path):
    for name in ("0", "1", "2"):
        (tmp_path / name).mkdir()
        for file in (refined.folder / name).iterdir():
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    again = Refinement.restore(engine, fluorapatite.pattern, tmp_path)
    assert again.roll_back().number == 1
    free = tuple(Freed(group) for group in ("scale", "background", "cell", "displacement"))
    cycle = again.refine(Request(free, limit_s=300), "cell")
    assert again.current.number == 3
    assert again.current.parent == 1
    assert cycle.fit.rwp == refined.cycles[1].fit.rwp
    with pytest.raises(UserError, match="no state 9"):
        again.roll_back(9)


def test_a_cycle_ends_at_its_time_and_loses_nothing(refined, engine, fluorapatite):
    state = refined.refinement.kept[0].state
    free = tuple(Freed(group) for group in ("scale", "background", "cell", "position", "u_iso"))
    cycle = engine.refine(fluorapatite.pattern, state, Request(free, limit_s=0.05))
    assert cycle.ended == "timeout"
    assert cycle.state is state
    assert cycle.wall_s < 10
    assert cycle.reason == "no answer within 0.05 s"
    after = engine.refine(fluorapatite.pattern, state, Request(free[:2], limit_s=300))
    assert after.ended == "converged"
    assert after.fit.rwp == refined.cycles[0].fit.rwp


def test_values_and_background_can_be_set_and_parameters_held_equal(refined, engine, fluorapatite):
    state = refined.refinement.current.state
    oxygen = tuple(f"u_iso/FAP/{label}" for label in ("O5", "O6", "O7"))
    free = (Freed("scale"), Freed("background"), Freed("u_iso", "FAP"))
    asked = Request(free, equal=(oxygen,), values={"profile_w": 0.0025}, background=Background(count=6), limit_s=300)
    cycle = engine.refine(fluorapatite.pattern, state, asked)
    assert cycle.ended == "converged"
    assert cycle.fit.variables == 1 + 6 + 5
    assert len({cycle.state.values[name] for name in oxygen}) == 1
    assert cycle.state.values["profile_w"] == 0.0025
    assert cycle.state.background.count == 6
    with pytest.raises(UserError, match='no parameter "u_iso/FAP/O9"'):
        engine.refine(fluorapatite.pattern, state, replace(asked, values={"u_iso/FAP/O9": 0.1}))
    with pytest.raises(UserError, match='phase FAP has no atom "O9"; it has Ca1'):
        engine.refine(fluorapatite.pattern, state, Request((Freed("u_iso", "FAP", "O9"),)))
    with pytest.raises(UserError, match="has no march_axis"):
        engine.refine(fluorapatite.pattern, state, Request((Freed("preferred_orientation"),)))


def test_a_model_that_is_far_from_the_data_is_a_typed_ending(refined, engine, fluorapatite):
    state = refined.refinement.kept[0].state
    free = tuple(Freed(group) for group in ("cell", "displacement", "profile_w", "size", "strain", "position", "u_iso"))
    far = Request(free, values={"cell/FAP/a": 4.1, "scale/FAP": 1e9}, cycles=5, limit_s=300)
    cycle = engine.refine(fluorapatite.pattern, state, far)
    assert cycle.ended == "diverged"
    assert cycle.state is state
    assert cycle.fit is None
    assert cycle.reason.startswith("the engine calls the fit unusable (MODEL_FAR_FROM_DATA")


def test_an_engine_that_is_killed_is_a_typed_ending(refined, engine, fluorapatite):
    process = engine._process._process
    os.kill(process.pid, signal.SIGSTOP)  # so that it is asked before it is gone
    threading.Timer(0.5, os.kill, (process.pid, signal.SIGKILL)).start()
    state = refined.refinement.kept[0].state
    cycle = engine.refine(fluorapatite.pattern, state, Request((Freed("scale"),)))
    assert cycle.ended == "failed"
    assert cycle.state is state
    assert "the engine stopped" in cycle.reason


def test_the_model_is_calculated_where_asked(refined, engine):
    kept = refined.refinement.kept[-1]
    curves = kept.fit.curves
    found = engine.calculate(kept.state, curves.two_theta_deg[:500].tolist(), limit_s=300)
    assert found == pytest.approx(curves.calculated[:500], rel=0.05)
    with pytest.raises(UserError, match="holds from 15 to 130"):
        engine.calculate(kept.state, [10.0])


def test_pictures_of_the_pattern_and_of_a_window(refined, tmp_path):
    fit = refined.cycles[-1].fit
    whole = plots.pattern_png(fit, tmp_path / "whole.png").read_bytes()
    window = plots.pattern_png(fit, tmp_path / "window.png", (30.0, 36.0)).read_bytes()
    assert whole.startswith(b"\x89PNG")
    assert window.startswith(b"\x89PNG")
    assert whole != window
    assert whole == plots.pattern_png(fit, tmp_path / "again.png").read_bytes()
    with pytest.raises(UserError, match="holds 0 points of the fit; it runs from 15 to 130"):
        plots.pattern_png(fit, tmp_path / "none.png", (140.0, 150.0))
