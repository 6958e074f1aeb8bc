"""The refine agent whole: its definition, its server in the sandbox, a scripted model over the real client, a replay."""

import base64
import json
import shutil

import crystals
import numpy as np
import pytest
from loopback_anthropic import serve_anthropic
from loopback_peer import Turn

from sophron.agents.documents import model_request
from sophron.agents.documents.answers import AgentError
from sophron.agents.step import agent_step, step_wiring
from sophron.agents.step.agent_step import AgentStep
from sophron.campaign.approval import invalidation
from sophron.campaign.planning import campaign_agents
from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, Setup
from sophron.records import documents, events
from sophron.records.digests import file_digest
from sophron.records.files import write_json
from sophron.science.rietveld.rietx_engine import Rietx
from sophron.science.rietveld.session import sample as samples

pytest.importorskip("mcp")
pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bwrap"),
    pytest.mark.skipif(Rietx().missing() is not None, reason="no rietx"),
]
ANGLES = np.arange(25.0, 60.0, 0.02)
INSTRUMENT = Instrument((1.5406,), profile_w=0.004, profile_x=0.02)
RECIPE = {
    "background": {"kind": "chebyshev", "count": 3},
    "rungs": [{"name": "scale", "groups": ["scale", "background"]}, {"name": "cell", "groups": ["cell"]}],
    "plots": {"whole_after": ["scale"], "windows": 1},
}
ENVELOPE = {"model_calls": 20, "tokens": 3_000_000, "dollars": 50}
PROSE = {"caveats": ["few lines"], "alternatives": [], "confidence": "medium", "summary": "It is salt."}


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The file of a simulated pattern of salt, Poisson counts of seed 3; the cell begins 300 ppm off."""
    engine = Rietx()
    order = Pattern("order", ANGLES, 100.0 + 3000.0 * np.exp(-(((ANGLES - 40) / 5) ** 2)))
    setup = Setup(
        order,
        (Phase("salt", crystals.CIF.format(edge=5.6421, **crystals.SALT)),),
        INSTRUMENT,
        Background("chebyshev", 3, 100.0),
    )
    state = engine.start(setup, limit_s=300)
    counts = np.random.default_rng(3).poisson(engine.calculate(state, ANGLES.tolist(), limit_s=300)).astype(float)
    engine.close()
    given = (samples.GivenPhase(Phase("salt", crystals.CIF.format(edge=5.6404, **crystals.SALT)), "main"),)
    made = samples.Sample("rietx", Pattern("salt", ANGLES, counts), given, INSTRUMENT)
    path = tmp_path_factory.mktemp("sample") / "sample.json"
    write_json(path, samples.data(made))
    return path


@pytest.fixture
def work(sample, tmp_path, monkeypatch):
    """A step of the installed agent."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    agent = campaign_agents.find_agent(None, "refinement")
    inputs = {"task": {"pattern": "salt"}, "recipe": RECIPE, "sample": sample}
    answer = tmp_path / "results" / "answer.json"
    return AgentStep(tmp_path, "refinement-salt", agent, "d" * 64, inputs, answer, {"sample": sample})


def run(work, spec=None, override=None):
    step_wiring.run_step(work, ENVELOPE, spec or {}, override)
    return documents.load_json(work.answer)


@pytest.mark.slow
def test_the_rule_of_thumb_refines_in_the_sandbox_and_a_replay_gives_the_same_bytes(work):
    made = run(work)
    assert made["backend"] == "heuristic"
    documents.validate(documents.Document(made["answer"], work.answer), "agents/refinement")
    assert abs(made["answer"]["phases"][0]["cell"]["a"]["value"] - 5.6421) < 0.0005
    assert {name: entry["sha256"] for name, entry in made["files"].items()} == {
        name: file_digest(work.answer.with_name(entry["file"])) for name, entry in made["files"].items()
    }
    assert set(made["files"]) == {"trajectory", "model", "structure"}
    first = work.answer.read_bytes()
    work.answer.unlink()
    run(work)  # the kept answer is put there again
    assert work.answer.read_bytes() == first
    assert len([one for one in events.read(work.root)[0] if one["event"] == "agent_answered"]) == 1
    run(work, override="replay")
    again = documents.load_json(work.answer)
    assert again["backend"] == "heuristic"
    assert work.answer.read_bytes() == first
    assert len(list((work.root / "scratch" / "agents" / "refinement-salt").glob("session.*"))) >= 1
    left = {work.answer.with_name(name) for name in ("answer.json", "trajectory.json", "model.json", "model.cif")}
    assert set(invalidation._answers_of(work.root, ["refinement"])) == left
    agent_step.reask(work.root, work.step)
    assert not any(path.exists() for path in left)
    aside = work.folder / "set-aside" / "1"
    assert (aside / "published-model.json").is_file()
    assert (aside / "published-answer.json").read_bytes() == first


def scripted(body):
    """A model that looks once and takes the report as it is."""
    results = [part for one in body["messages"] if one["role"] == "user" for part in one["content"]]
    told = [part for part in results if part["type"] == "tool_result"]
    uses = {
        0: (
            ("rietveld__histogram", {"coefficients": 3}),
            ("rietveld__phase", {"name": "salt"}),
            ("rietveld__release", {"groups": ["scale", "background", "cell"]}),
            ("rietveld__refine", {"label": "all at once"}),
        ),
        4: (("rietveld__get_pattern_plot", {}), ("rietveld__get_zoomed_plot", {"low_deg": 30, "high_deg": 33})),
        6: (("rietveld__note", {"text": "nothing is left over"}), ("rietveld__report", {})),
    }
    if len(told) in uses:
        return Turn("I go on.", tools=uses[len(told)])
    fields = json.loads(told[-1]["content"][0]["text"])["report"]
    return Turn(json.dumps({**fields, **PROSE}))


def test_a_model_sees_the_plots_and_its_report_is_kept(work, monkeypatch):
    pytest.importorskip("anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")
    with serve_anthropic(scripted) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        made = run(work, {"agents": {"backend": "anthropic"}})
        bodies = [seen.body for seen in peer.seen if seen.path == "/v1/messages"]
    assert made["backend"] == "anthropic"
    assert made["answer"]["summary"] == "It is salt."
    assert [one["whole"] for one in made["answer"]["plots"]] == [True, False]
    pictures = [
        part["source"]
        for one in bodies[-1]["messages"]
        for result in one["content"]
        if result["type"] == "tool_result"
        for part in result["content"]
        if part["type"] == "image"
    ]
    assert len(pictures) == 2
    assert all(one["media_type"] == "image/png" for one in pictures)
    assert all(base64.b64decode(one["data"]).startswith(b"\x89PNG") for one in pictures)
    trajectory = documents.load_json(work.answer.with_name("trajectory.json"))
    assert [one["tool"] for one in trajectory["calls"]][-2:] == ["note", "report"]


def test_an_answer_without_a_model_is_a_failure(work, monkeypatch):
    pytest.importorskip("anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")
    phase = {
        "name": "salt", "role": "main", "in_model": False, "claimed": False, "significance": None, "cell": {},
        "weight_fraction": None, "weight_fraction_esd": None, "r_f_percent": None, "reflections": None,
    }  # fmt: skip
    made_up = {
        "pattern": "salt", "engine": "rietx", "engine_version": "1.10.0", "state": 0, "converged": False, "fit": None,
        "phases": [phase], "refined": {"count": 0, "groups": [], "parameters": []}, "held": [], "decisions": [],
        "plots": [], **PROSE,
    }  # fmt: skip
    with serve_anthropic(lambda body: Turn(json.dumps(made_up))) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        with pytest.raises(AgentError, match="tools left no trajectory"):
            run(work, {"agents": {"backend": "anthropic"}})
    assert not work.answer.exists()


def test_the_sample_is_for_the_tools_and_not_told(work):
    asked = model_request.request(work.agent, work.step, work.inputs)
    text = "".join(part.text for part in asked.messages[0].parts)
    assert "(a file: your tools have it as `sample`)" in text
    assert "two_theta_deg" not in text
    assert work.input_digests["sample"] == file_digest(work.inputs["sample"])
