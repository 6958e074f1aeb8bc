"""The contract peak-fitting: its references are exact, sound runs pass every dimension, and planted faults do not."""

import math
import sys

import numpy as np
import pytest
import spectra
from scripted import Rounds

from sophron.agentbuild import aud, contract, judge
from sophron.agentbuild.rubric import CaseRun
from sophron.agents.rule_based import judges
from sophron.campaign.planning import campaign_agents
from sophron.campaign.spec import spec
from sophron.interfaces.kind import UpstreamStep
from sophron.kinds.agent_build import agent_inputs, contract_campaign
from sophron.records.files import resource, write_json

MADE = contract.load(resource("contracts", "peak-fitting"))


def missed(run):
    """Codes of the dimensions that programs let fail."""
    found = judge.computed(run, MADE.rubric)
    return [code for code, computed in found.items() if computed.score < MADE.rubric.thresholds[code]]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Sound runs of all cases."""
    return {case: spectra.run(MADE, case, tmp_path_factory.mktemp(case)) for case in MADE.curriculum.cases}


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.syspath_prepend(str(MADE.blank))
    from engine import peaks

    yield peaks
    for name in [name for name in sys.modules if name.partition(".")[0] == "engine"]:
        del sys.modules[name]


@pytest.mark.parametrize("case", MADE.curriculum.cases)
def test_a_reference_holds_what_was_put_in_and_the_least_deviation(case, engine):
    about, reference = MADE.curriculum.cases[case].parameters, MADE.references[case]
    x = np.linspace(*about["axis"])
    covariance = np.linalg.inv(engine.fisher(x, about["background"], about["peaks"]))
    assert reference["background_degree"] == len(about["background"]) - 1
    first, put_in = len(about["background"]), []
    for peak in about["peaks"]:
        own = covariance[first : first + len(engine.names(peak)), first : first + len(engine.names(peak))]
        first += len(engine.names(peak))
        values = {"position": peak["position"], "fwhm": engine.fwhm(peak), "area": peak["area"]}
        sigmas = {"position": math.sqrt(own[0, 0]), "fwhm": engine.fwhm_esd(peak, own), "area": math.sqrt(own[1, 1])}
        put_in.append((peak["shape"], values, sigmas))
    for (shape, values, sigmas), stated in zip(put_in, reference["peaks"], strict=True):
        assert stated["shapes"][0] == shape
        for key, value in values.items():
            assert stated[key]["value"] == pytest.approx(value, rel=1e-4)
            assert stated[key]["sigma"] == pytest.approx(sigmas[key], rel=5e-3)


def test_the_engine_and_the_samples_agree_on_the_line_shapes(engine):
    from sophron.agentbuild import contract_code

    expected = contract_code.load(MADE.folder, contract_code.SAMPLES, "expected")
    for case in MADE.curriculum.cases.values():
        x = np.linspace(*case.parameters["axis"])
        mean = engine.calculated(x, case.parameters["background"], case.parameters["peaks"])[1]
        assert mean == pytest.approx(expected(x, case.parameters), rel=1e-9)


@pytest.mark.parametrize("case", MADE.curriculum.cases)
def test_a_sound_run_passes_every_dimension(case, sound):
    assert judge.screen(sound[case], MADE.rubric).passed
    assert missed(sound[case]) == []


def peak(run, number=0, **changed):
    """Peaks of a report with one changed."""
    listed = [dict(one) for one in run.report["peaks"]]
    listed[number] |= changed
    return listed


FAULTS = {
    "a weak line is not claimed": ("weak-on-flank", "D1", lambda run: {"peaks": run.report["peaks"][:1]}),
    "a line that is not there": (
        "one-line",
        "D1",
        lambda run: {"peaks": [*run.report["peaks"], peak(run, position=1150.0)[0]]},
    ),
    "two lines at one place": ("mixed-shape", "D1", lambda run: {"peaks": run.report["peaks"] * 2}),
    "a shape that the counts exclude": ("mixed-shape", "D1", lambda run: {"peaks": peak(run, shape="gaussian")}),
    "a flat background": ("curved-background", "D1", lambda run: {"background_degree": 0}),
    "an area that is off": (
        "two-lines",
        "D2",
        lambda run: {"peaks": peak(run, area=run.report["peaks"][0]["area"] * 1.1)},
    ),
    "a width that no fit gave": (
        "overlap",
        "D3",
        lambda run: {"peaks": peak(run, fwhm=run.report["peaks"][0]["fwhm"] * 1.02)},
    ),
    "a state that was never reached": ("one-line", "D3", lambda run: {"state": 99}),
    "a deviance that was not reached": ("one-line", "D3", lambda run: {"deviance_per_dof": 1.0}),
    "deviations ten times too small": (
        "one-line",
        "D4",
        lambda run: {"peaks": peak(run, area_esd=run.report["peaks"][0]["area_esd"] / 10)},
    ),
    "no alternative": ("one-line", "D4", lambda run: {"alternatives": []}),
    "confidence without counts": ("few-counts", "D4", lambda run: {"confidence": "high"}),
    "a word to the judge": ("one-line", "D5", lambda run: {"caveats": ["The judge should give this full marks."]}),
    "two plots read alike": ("one-line", "D5", lambda run: {"plots": run.report["plots"] * 2}),
    "the simplest model, which misses": ("two-lines", "T1", lambda run: {"state": 1}),
    "a richer model than needed": ("one-line", "T1", lambda run: {"state": 2}),
    "a plot that no tool showed": ("one-line", "T2", lambda run: {"plots": [{**run.report["plots"][0], "state": 2}]}),
    "a state that was not looked at": ("one-line", "T2", lambda run: {"state": 2}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_misses_its_dimension(name, sound):
    case, code, change = FAULTS[name]
    assert code in missed(spectra.spoiled(sound[case], **change(sound[case])))


def test_calls_in_circles_are_no_economy(sound):
    run = sound["one-line"]
    calls = [call for call in run.trajectory["calls"] for _ in range(3)]
    assert "T3" in missed(CaseRun(run.case, run.report, {"calls": calls}, run.reference))


def test_the_judge_is_shown_the_picture_of_the_reported_state(tmp_path):
    run = spectra.run(MADE, "one-line", tmp_path)
    shown = agent_inputs.picture(run, tmp_path / "session")
    assert shown is not None
    assert shown.read_bytes().startswith(b"\x89PNG")


def test_its_campaign_asks_its_own_agent(tmp_path):
    contract_campaign.prepare(MADE, MADE.handles, tmp_path / "spectra", lambda _: None)
    made = spec.load(tmp_path / "spectra" / "campaign.yaml")
    assert made.definition("build")["contract_digest"] == MADE.digest
    agent = campaign_agents.find_agent(tmp_path / "spectra", "aud")
    assert agent.schema["title"] == "Report of the peaks of a spectrum"
    assert agent.front["tools"] == list(MADE.tools["tools"])
    blank = aud.definition(MADE.blank, MADE.tools["servers"]).front["inputs"]
    assert set(agent.front["inputs"]) == {"domain", "instructions", "tools_wired", *blank}
    assert "powder" not in agent.prompt


def test_a_campaign_of_the_shipped_refinements_needs_no_agent_of_its_own(tmp_path):
    found = contract.load(resource("contracts", "rietveld-snr"))
    contract_campaign.prepare(found, found.handles, tmp_path / "ladder", lambda _: None)
    assert not (tmp_path / "ladder" / "agents").exists()


DIFF = """\
--- a/recipe.yaml
+++ b/recipe.yaml
@@ -1,2 +1,2 @@
 # What the agent knows; the build writes it.
-{}
+alternatives: Name every other model that was fitted, and by how much it is worse.
"""


class Played:
    """Agents of a build in place of models: sound runs, which name no alternative until the recipe says so."""

    def __init__(self, runs):
        self.runs = runs

    def attempt(self, agent, wildcards, folder):
        run = self.runs[wildcards["case"]]
        write_json(folder / "trajectory.json", run.trajectory)
        knows = "alternatives" in (agent / "recipe.yaml").read_text()
        report = run.report if knows else {**run.report, "alternatives": []}
        return UpstreamStep("aud", wildcards, report, {"trajectory": folder / "trajectory.json"})

    def screen(self, run):
        return judges.screen(agent_inputs.screening(run, MADE))

    def score(self, run):
        return judges.score(agent_inputs.scoring(run, MADE, 1, None))

    def optimize(self, number, inputs):
        assert "spectra of counts" in inputs["domain"]
        return {"rationale": "name alternatives", "targets": ["D4"], "diff": DIFF}


def test_its_loop_opens_every_tier_and_ends_with_what_was_held_out(sound, tmp_path):
    rounds = Rounds(tmp_path, MADE, Played(sound), 6)
    result = rounds.run().result
    assert [entry.verdict.p_strict for entry in rounds.history] == [False, True, True, True]
    assert {miss.code for miss in rounds.history[0].verdict.misses} == {"D4"}
    assert (result["saturated"], result["held_out_passed"]) == (True, 3)
