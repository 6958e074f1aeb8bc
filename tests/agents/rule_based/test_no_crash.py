"""Whatever the inputs hold, a rule of thumb gives a valid answer or a typed failure; through the backend, as it is used."""

import copy
import json

import pytest
from agent_inputs import LIQUID, MELT, PITFALLS, judged, stage_block, verdict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophron.agents.gateway.backends.rule_based_backend import Heuristic
from sophron.campaign.execution import margins
from sophron.campaign.execution.verdict import Verdict
from sophron.interfaces.model_backend import Model, ModelError, Request
from sophron.records import documents, entry_points
from sophron.records.typed_json import from_json, to_json

MISSED = verdict(judged("error", "viscosity_relative_error < 0.06", 0.12, 0.06, passed=False))
MARGINS = to_json(margins.of_verdict(from_json(Verdict, MISSED)))
FAILURE = {"kind": "verdict", "reasons": {"a": "criteria"}, "verdict": MARGINS, "tries": [{"step": "a", "reason": "x"}]}
WORDS = "Viscosity of the Lennard-Jones liquid by Green-Kubo at density 0.84, temperature 0.7, cutoff 2.5"
TURNS = [{"question": 3, "asked": "", "answered": "yes"}, {"question": 4, "asked": "", "answered": "no others"}]
STAGE = {
    "status": "completed",
    "delta_g_kcal_per_mol": -1.0,
    "statistical_error_kcal_per_mol": 0.1,
    "convergence_flags": {"mbar_overlap_above_0p03": True},
    "energy_components": {"attach_and_pull": 0.5, "release": 0.5},
    "diagnostics": {
        "window_count": 8,
        "minimum_overlap": 0.1,
        "effective_samples": [60.0],
        "release_target_a": 13.8,
        "release_k_kcal_per_mol_a2": 1.0,
        "temperature_k": 298.15,
        "charge_sum_e": 0.0,
        "charge_expected_e": 0.0,
        "dwell_within_target": 0.5,
    },
}
BENCHMARK = {"windows": 8, "guests": {"weak": {"stages": dict.fromkeys("1234", STAGE)}}, "scores": None}
VOTES = {"sampling": {"concerns": [{"severity": "high", "focus": "production", "text": "x"}]}}
EXPERT = {"mode": "post_benchmark", "results": BENCHMARK, "pipeline": "FILE 04_analysis.py", "votes": VOTES}
EDIT = {"file": "04_analysis.py", "region": "x", "change": "y"}
CRITIQUES = {"post": {"focus": "production", "rounds": [{"analysis": {"edit": EDIT}}]}}
INPUTS = {
    "analysis": EXPERT,
    "force-field": EXPERT,
    "sampling": EXPERT,
    "pipeline-author": {"task": {"form": "particles"}, "pipeline": "FILE 04_analysis.py\nx\n", "critiques": CRITIQUES},
    "pipeline-critic": {"task": {"form": "particles"}, "contract": "four files", "draft": "FILE 04_analysis.py\nx\n"},
    "pipeline-engineer": {
        "pipeline": "FILE 01_prep.py\nfrom pathlib import Path\n",
        "failure": {"file": "01_prep.py", "said": "NameError: name 'np' is not defined"},
    },
    "amend": {"spec": MELT, "stage": "green_kubo", "failed": FAILURE, "diagnosis": {}, "known_pitfalls": PITFALLS[:4]},
    "checkpoint-management": {
        "restarts": [{"step": "a", "file": "r", "bytes": 1, "order": 1, "valid": True}],
        "policy": {"keep": 1},
    },
    "debug": {
        "stage": "produce",
        "failed": {"kind": "dead", "reasons": {"a": "oom-kill"}, "verdict": None, "tries": []},
        "log": "mpirun: command not found",
        "spec_stage": stage_block(memory_mb=[2000], modules=["openmpi"]),
        "overlays": [{"stage": "produce", "key": "memory_mb", "value": 1}],
        "tries": [{"action": "overlay", "overlay": {"key": "memory_mb", "value": 1}}],
    },
    "design": {"request": WORDS, "turns": TURNS},
    "task-maker": {
        "request": "Fit it.",
        "turns": [{"question": 1, "asked": "?", "answered": f"`a.json` exists. {n}"} for n in "123"],
    },
    "propose-sequences": {
        "chain": {"length": 4, "count_b": 2},
        "evaluated": [{"sequence": "ABAB", "blocks": "ABAB", "radius": 1.0, "error": 0.01, "evaluations": 1}],
        "wanted": {"proposals": 2, "round": 1, "of_rounds": 5},
    },
    "plan": {
        "spec": LIQUID,
        "plan": {
            "counts": [{"stage": "build", "rule": "build", "steps": 1}],
            "core_hours": {"build": 1.0},
            "excess": [],
        },
    },
    "caveats": {
        "question": {"question": LIQUID["question"], "method": LIQUID["method"]},
        "definitions": LIQUID["stages"],
        "judged": [MARGINS],
        "answers": {"green_kubo": {"viscosity": 3.2, "viscosity_standard_error": 0.1}},
        "assumptions": [{"id": "a", "statement": "b", "status": "UNVERIFIED"}],
        "amendments": [{"version": 2, "rationale": "x", "invalidated_stages": []}],
        "tries": ["x"],
    },
    "resume": {
        "state": {
            "stages": [{"id": "a", "depends_on": [], "status": "failed", "running_process": []}],
            "running_process": [{"step": "a", "pid": 1, "host": "h"}],
            "next_command": "snakemake",
        },
        "progress": "",
        "init": "",
    },
    "explain": {"judged": MARGINS, "results": {"steps": {"a": {"refusal": "noise: x"}}}},
}
OUTPUTS = {"analysis": "vote", "force-field": "vote", "sampling": "vote", "pipeline-author": "pipeline-author"} | {
    "pipeline-critic": "pipeline-critic",
    "pipeline-engineer": "pipeline-engineer",
}
MODEL = Model("heuristic", "heuristic", "rules", 1)
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.sampled_from(["(", "x < 1", "\ud800", "\x00", "a.b", "stages", "-1", "__class__"]),
    st.lists(st.integers(), max_size=2),
    st.just([{}]),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


def asked(agent, inputs):
    request = Request("step", agent, 1, "", (), schema(agent) if agent in INPUTS else {}, inputs)
    return Heuristic().complete(request, MODEL)


def schema(agent):
    return documents.schema(f"agents/{OUTPUTS.get(agent, agent)}")


def places(data, path=()):
    """The path of every value in plain data."""
    yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from places(value, (*path, index))


def check(agent, inputs):
    """Whether there is an answer; it fits its schema, and without one the failure is typed."""
    failure = None
    try:
        response = asked(agent, inputs)
    except ModelError as raised:
        failure = raised
    if failure is None:
        document = documents.Document(json.loads(response.text), agent)
        assert documents.faults(document, f"agents/{OUTPUTS.get(agent, agent)}") == []
    else:
        assert (failure.kind, failure.outcome) == ("rejected", "none")
    return failure is None


@pytest.mark.parametrize("agent", sorted(INPUTS))
def test_good_inputs_give_a_valid_answer_that_names_its_maker(agent):
    assert check(agent, INPUTS[agent])
    response = asked(agent, INPUTS[agent])
    assert (response.backend, response.stop) == ("heuristic", "end")
    assert response.model.startswith("rules of thumb ")
    assert response.usage.input_tokens == response.usage.output_tokens == Heuristic().count(None, MODEL) == 0
    assert response.text == asked(agent, copy.deepcopy(INPUTS[agent])).text


@pytest.mark.parametrize("agent", sorted(INPUTS))
def test_missing_inputs_are_a_typed_failure(agent):
    with pytest.raises(ModelError, match="cannot use its inputs"):
        asked(agent, {})


@pytest.mark.parametrize("agent", sorted(INPUTS))
def test_no_input_crashes(agent):
    known = [path for path in places(INPUTS[agent]) if path]

    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(st.lists(st.tuples(st.sampled_from(known), JUNK), min_size=1, max_size=3))
    def spoiled(changes):
        inputs = copy.deepcopy(INPUTS[agent])
        for path, value in changes:
            place = inputs
            try:
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = value
            except (KeyError, IndexError, TypeError):
                continue  # an earlier change took this place away
        check(agent, inputs)

    spoiled()


def test_rules_do_not_change_their_inputs():
    for agent, inputs in INPUTS.items():
        before = copy.deepcopy(inputs)
        asked(agent, inputs)
        assert inputs == before


def test_every_registered_rule_is_tried_here_or_in_a_file_of_its_own():
    elsewhere = {
        "aud",
        "refinement",
        "optimize",
        "judge-score",
        "judge-screen",
        "task-worker",
        "task-reviewer",
        "ask",
        "evolve",
        "skill-maker",
    }  # test_refinement, test_optimize, test_judges, test_task_campaign, test_open_work, test_skill_make
    of_tests = {"adder"}
    assert set(entry_points.names("sophron.rule_based_agents")) - of_tests == elsewhere | set(INPUTS)


def test_an_agent_without_a_rule_is_a_typed_failure():
    with pytest.raises(ModelError, match="no rule of thumb"):
        asked("no-such-agent", {})
