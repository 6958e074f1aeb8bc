"""The rule of thumb of the refine agent, with the real tools on a simulated pattern: it does what its recipe says."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from crystals import CIF, SALT, SILICON

from sophron.agents.gateway.backends.rule_based_backend import _exchanges
from sophron.agents.rule_based.refinement import script
from sophron.agents.rule_based.refinement_state import ToolResult, result_of
from sophron.agents.step.conversation import converse
from sophron.interfaces.model_backend import Message, Request, Response, Text, ToolAnswer, ToolCall, Usage
from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, Setup
from sophron.interfaces.rule_based_agent import ToolUser
from sophron.records import documents
from sophron.science.rietveld.rietx_engine import Rietx
from sophron.science.rietveld.session.sample import GivenPhase, Sample
from sophron.science.rietveld.session.session import Session
from sophron.science.rietveld.session.tools import call

ANGLES = np.arange(25.0, 70.0, 0.02)
LABORATORY = Instrument((1.5406,), profile_w=0.004, profile_x=0.02)
RECIPE = {
    "background": {"kind": "chebyshev", "count": 3},
    "calculated_weights_below_counts": 100.0,
    "rungs": [
        {"name": "scale", "groups": ["scale", "background"]},
        {"name": "cell", "groups": ["cell", "displacement"]},
        {"name": "width", "groups": ["profile_w"], "least_counts": 100_000},
        {"name": "atoms", "groups": ["u_iso"], "least_counts": 1_000_000_000},
    ],
    "recovery": {"tries": 4, "correlation": 0.999},
    "plots": {"whole_after": ["scale"], "windows": 2},
    "candidates": {"claim_significance": 5.0, "absent_below": 3.0},
}


class DirectTools:
    """Stands for the server: the real tools of a session, without the protocol."""

    tools = ()

    def __init__(self, session):
        self.session = session

    def call(self, wanted: ToolCall) -> ToolAnswer:
        answer = call(self.session, wanted.name.removeprefix("rietveld__"), wanted.arguments)
        text = {"ok": answer.ok, "hint": answer.hint, "numbers": dict(answer.numbers), **answer.details}
        return ToolAnswer(wanted.id, (Text(json.dumps(text)),), is_error=not answer.ok)


@pytest.fixture(scope="module")
def engine():
    found = Rietx()
    if found.missing():
        pytest.skip(found.missing())
    yield found
    found.close()


@pytest.fixture(scope="module")
def simulated(engine):
    """function(share) -> Sample: silicon has `share` of the intensity, 3,000 counts at the top; Poisson, seed 7."""

    def made(share):
        true = [Phase("salt", CIF.format(edge=5.6421, **SALT)), Phase("Si", CIF.format(edge=5.4302, **SILICON))]
        order = Pattern("order", ANGLES, 100.0 + 3000.0 * np.exp(-(((ANGLES - 40) / 5) ** 2)))
        setup = Setup(order, tuple(true), LABORATORY, Background("chebyshev", 3, 100.0))
        state = engine.start(setup, limit_s=300)
        state.document["structure"]["phases"][1]["scale"]["value"] *= share
        counts = np.random.default_rng(7).poisson(engine.calculate(state, ANGLES.tolist(), limit_s=300)).astype(float)
        off = Phase("salt", CIF.format(edge=5.6404, **SALT))
        given = (GivenPhase(off, "main"), GivenPhase(true[1], "candidate"))
        return Sample("rietx", Pattern("simulated salt", ANGLES, counts), given, LABORATORY)

    return cache(made)


@pytest.fixture
def refined(engine, tmp_path):
    """function(sample, recipe) -> (report, session)."""

    def made(sample, recipe):
        session = Session(engine, sample, tmp_path / f"session-{len(list(tmp_path.iterdir()))}")
        rule = ToolUser(script)
        inputs = {"task": {}, "recipe": recipe}

        def ask(request):
            told = rule.proceed(inputs, list(_exchanges(request)))
            if isinstance(told, tuple):
                calls = tuple(ToolCall(str(n), use.tool, use.arguments) for n, use in enumerate(told))
                return Response(calls, "tool", Usage(), "test", "rule")
            return Response((Text(json.dumps(told)),), "end", Usage(), "test", "rule")

        request = Request("refinement", "refinement", 1, "", (Message("user", (Text(""),)),), {}, inputs)
        answered = converse(request, ask, lambda _: [], tools=DirectTools(session), most_calls=60)
        documents.validate(documents.Document(answered.answer, tmp_path), "agents/refinement")
        return answered.answer, session

    return made


def test_it_climbs_its_recipe_and_claims_what_is_there(refined, simulated):
    report, session = refined(simulated(0.02), RECIPE)
    salt, silicon = report["phases"]
    assert abs(salt["cell"]["a"]["value"] - 5.6421) < 4 * salt["cell"]["a"]["esd_counting"]
    assert silicon["claimed"]
    assert silicon["in_model"]
    assert silicon["significance"] >= 5
    assert report["fit"]["gof"] < 1.2
    assert {one["group"] for one in report["refined"]["groups"]} == {
        "scale",
        "background",
        "cell",
        "displacement",
        "profile_w",
    }
    assert any(one["group"] == "u_iso" and "counts" in one["reason"] for one in report["held"])
    assert [one["whole"] for one in report["plots"]] == [True, True, False, False]
    labels = [state.label for state in session.trajectory.states]
    assert labels == ["start", "scale", "cell", "width", "start", "test Si", "test Si: rest"]
    assert all(one.ok for one in session.trajectory.calls)


def test_it_never_claims_what_is_not_significant(refined, simulated):
    report, session = refined(simulated(0.0), RECIPE)
    silicon = report["phases"][1]
    assert not silicon["claimed"]
    assert not silicon["in_model"]
    assert silicon["significance"] < 3
    assert session.current.phases == ("salt",)
    stricter = {**RECIPE, "candidates": {"claim_significance": 1e6, "absent_below": 3.0}}
    report, _ = refined(simulated(0.02), stricter)
    assert not report["phases"][1]["claimed"]
    assert any("Whether Si is there is open" in one for one in report["alternatives"])


def test_a_cell_that_had_to_travel_is_no_evidence_for_its_phase(refined, simulated):
    """The edge that is given is 1.2 % short: the fit converges all the same."""
    sample = simulated(0.0)
    short = replace(sample.phases[0].phase, cif=CIF.format(edge=5.6421 * 0.988, **SALT))
    sample = replace(sample, phases=(replace(sample.phases[0], phase=short), sample.phases[1]))
    recipe = {**RECIPE, "explains": {"misfit_percent": 100.0, "cell_percent": 0.5}}
    report, session = refined(sample, recipe)
    assert report["phases"][0]["in_model"]
    assert not any(one["claimed"] for one in report["phases"])
    assert report["converged"]
    assert report["confidence"] == "low"
    assert any("do not explain the pattern" in one for one in report["caveats"])
    assert "No phase is claimed" in report["summary"]
    found = call(session, "diagnose", {})
    assert found.details["findings"][0]["code"] == "CELL_FAR"
    assert found.numbers["cell_moved_percent"] > 1
    trusting, _ = refined(sample, RECIPE)
    assert trusting["phases"][0]["claimed"]
    right, _ = refined(simulated(0.02), recipe)
    assert [one["claimed"] for one in right["phases"]] == [True, True]


def test_an_empty_recipe_runs_and_does_badly(refined, simulated):
    report, _ = refined(simulated(0.02), {})
    assert {one["group"] for one in report["refined"]["groups"]} == {"scale", "background"}
    assert report["plots"] == []
    assert report["phases"][1]["significance"] is None
    assert not report["phases"][1]["claimed"]
    assert report["fit"]["gof"] > 2
    assert report["confidence"] == "low"


def test_zero_and_displacement_together_are_recovered_from_and_never_both_free(refined, simulated):
    rungs = [*RECIPE["rungs"][:1], {"name": "shift", "groups": ["cell", "zero", "displacement"]}]
    report, session = refined(simulated(0.0), {**RECIPE, "rungs": rungs, "candidates": RECIPE["candidates"]})
    groups = {one["group"] for one in report["refined"]["groups"]}
    assert {"cell", "zero"} <= groups
    assert "displacement" not in groups
    assert any(one.tool == "roll_back" for one in session.trajectory.calls)
    assert any(one["group"] == "displacement" and "zero" in one["reason"] for one in report["held"])


def test_a_recipe_without_recovery_stops_at_what_fails(refined, simulated):
    rungs = [*RECIPE["rungs"][:1], {"name": "shift", "groups": ["cell", "zero", "displacement"]}]
    report, _ = refined(simulated(0.0), {"rungs": rungs, "background": RECIPE["background"]})
    assert {one["group"] for one in report["refined"]["groups"]} == {"scale", "background"}


def test_weak_patterns_take_the_weights_that_the_recipe_wants(refined, simulated):
    sample = simulated(0.0)
    weak = replace(sample, pattern=replace(sample.pattern, intensity=np.floor(sample.pattern.intensity / 30)))
    recipe = {**RECIPE, "calculated_weights_below_counts": 1e9}
    report, _ = refined(weak, recipe)
    assert report["fit"]["weights"] == "calculated"


FIT = {"gof": 1.0, "rwp_engine": "x", "rwp_percent": 9.0, "r_expected_percent": 9.0, "limits_deg": [10.0, 90.0]}
REPORT = {
    "pattern": "p", "engine": "x", "engine_version": "1", "converged": True, "fit": FIT, "phases": [], "held": [],
    "refined": {"groups": [], "count": 0},
}  # fmt: skip


class HandsBack:
    """Stands for the tools: the first report hands state 4 back, in which an atom has left what is physical."""

    def __init__(self):
        self.uses, self.state, self.handed_back = [], 0, False

    def answer(self, use):
        name, more = use.tool.removeprefix("rietveld__"), {}
        self.uses.append((name, use.arguments))
        if name == "refine":
            self.state += 1
            more = {"state": self.state, "ended": "converged"}
        elif name == "report" and not self.handed_back:
            self.handed_back, self.state = True, 4
            return {"ok": False, "hint": "look at state 4", "state": 4}
        elif name == "report":
            more = {"report": REPORT}
        elif name == "diagnose" and self.state == 4:
            more = {"findings": [{"code": "U_OUT_OF_RANGE", "message": "below 0", "parameter": "u_iso/salt/Na1"}]}
        elif name == "project":
            more = {"numbers": {"counts": 1e9}, "phases": [{"name": "salt", "role": "main"}]}
        return {"ok": True, **more}


def driven(climbing, tools):
    """What a script ends with."""
    wanted = next(climbing)
    while True:
        try:
            wanted = climbing.send([ToolAnswer("1", (Text(json.dumps(tools.answer(use))),)) for use in wanted])
        except StopIteration as end:
            return end.value


def test_a_state_that_is_handed_back_is_judged_as_any_other():
    """What left what is physical there alone is held, and the model refined again before it is reported."""
    tools = HandsBack()
    rungs = [{"name": "scale", "groups": ["scale", "background"]}, {"name": "atoms", "groups": ["u_iso"]}]
    climbing = script({"task": {}, "recipe": {"rungs": rungs, "recovery": RECIPE["recovery"]}})
    report = driven(climbing, tools)
    after = tools.uses[[name for name, _ in tools.uses].index("report") + 1 :]
    assert [name for name, _ in after if name not in ("diagnose", "residuals")] == [
        "roll_back", "release", "hold", "refine", "report",
    ]  # fmt: skip
    held = dict(after)["hold"]
    assert (held["groups"], held["phase"], held["atom"]) == (["u_iso"], "salt", "Na1")
    assert report["confidence"] == "low"


def test_what_is_no_answer_of_a_tool_is_a_failed_one():
    refusal = result_of(ToolAnswer("1", (Text("there is no tool"),), is_error=True))
    assert refusal == ToolResult(ok=False, hint="there is no tool")
    assert result_of(ToolAnswer("1", (Text("[1]"),))) == ToolResult(ok=False, hint="[1]")
