"""What agents are told of a failure: the engine's log first and once, known messages, the engine's time, the budget."""

import json
from types import SimpleNamespace

import pytest
import toy
from agent_inputs import judged, verdict

from sophron import cli
from sophron.agents.documents import known_failures
from sophron.agents.documents.model_request import compact, request, request_data
from sophron.agents.memory import debug_memory
from sophron.agents.step import agent_inputs, failure_inputs, report_inputs, step_logs
from sophron.agents.supervisor import failure_report
from sophron.campaign.execution.verdict import Verdict
from sophron.campaign.planning import campaign_agents
from sophron.campaign.report import report
from sophron.campaign.spec.spec import load
from sophron.campaign.state.projector import project
from sophron.records import documents, events, files
from sophron.records.typed_json import from_json

LOST = "ERROR: Lost atoms: original 256 current 1"


def left(root, step, name, text, number=1):
    files.write_text(root / "records" / step / str(number) / name, text)


@pytest.fixture
def root(tmp_path, monkeypatch):
    return toy.campaign(tmp_path, monkeypatch).root


def test_no_log_of_ours_pushes_the_engines_out_and_no_line_stands_there_twice(root):
    left(root, "b-0", "log.lammps", f"timestep 0.05\nStep 0 1\n{LOST}\n")
    left(root, "b-0", "b.out", f"Step 0 1\n{LOST}\nprinted by the shell\n")
    left(root, "b-0", "log.lammps", "an older try\n", number=0)
    for name in ("debug-1", "explain", "accept", "verify"):
        files.write_text(root / "logs" / "b" / f"{name}.log", "of ours\n" * 100_000)
    files.write_text(root / "logs" / "b" / "0.log", "mpirun: command not found\n")
    banner = "rule b:\n" * 10_000
    files.write_text(root / ".snakemake" / "log" / "a.log", f"{banner}Error in rule b\n{banner}")
    log = step_logs.whole(root, "b", ["b-0"])
    assert len(log) < 1000
    assert log.count(LOST) == 1
    assert log.index("Error in rule b") < log.index("mpirun") < log.index("timestep 0.05") < log.index(LOST)
    assert "of ours" not in log
    assert "an older try" not in log
    assert "printed by the shell" in log


def test_the_cause_in_the_middle_of_a_long_log_is_kept(root):
    filling = "\n".join(f"{number} 0.7 -5.1" for number in range(5000))
    left(root, "b-0", "log.lammps", f"{filling}\n{LOST}\n{filling}\n")
    assert LOST in step_logs.whole(root, "b", ["b-0"])
    assert LOST in step_logs.decisive(root, ["b-0"])
    assert len(step_logs.decisive(root, ["b-0"])) < 500


def test_one_step_stands_for_all_that_failed_alike():
    reasons = {f"b-{number}": f"Lost atoms: original 256 current {number}" for number in range(9)} | {"b-9": "killed"}
    assert step_logs.failed_steps(reasons) == ["b-0", "b-9"]


@pytest.mark.parametrize(
    "line",
    ["timer           timeout 1620 every 100", "New timer settings: style=normal  mode=nosync  timeout=00:27:00"],
)
def test_the_timer_of_lammps_is_not_a_timeout(line):
    assert known_failures.matches([line], known_failures.installed()) == []
    assert known_failures.matches(["JOB 12 TIMEOUT"], known_failures.installed())[0].known.id == "out-of-time"


def noted(root, **about):
    spec = load(root / "campaign.yaml")
    failure = failure_report.Failure("b", **{"kind": "dead", "reasons": {"b-0": "it was killed"}} | about)
    attempt = failure_report.note(root, spec, failure)
    debug_memory.take(root, "b", attempt)
    return spec, {"stage": "b", "attempt": str(attempt)}, failure


def test_debug_is_told_the_known_messages_and_the_time_of_the_engine(root):
    left(root, "b-0", "b.out", "slurmstepd: error: Detected 1 oom_kill event in StepId=8.batch.\n")
    spec, wildcards, _ = noted(root)
    told = failure_inputs.debug(root, spec, wildcards)
    assert [one["remedy"] for one in told["recognised"]] == ["larger memory_mb"]
    assert told["resources"]["engine_seconds"] == {"runtime_min 5": 180, "runtime_min 10": 480}
    assert told["failed"] == {
        "kind": "dead", "reasons": {"b-0": "it was killed"}, "other_steps_that_ended_alike": 0, "tries": [], "steps_of_the_stage": 2,
    }  # fmt: skip


def test_amend_is_told_the_budget_as_the_gate_counts_it_and_only_pitfalls_that_matter(root):
    spec, wildcards, _ = noted(root)
    told = failure_inputs.amend(root, spec, wildcards)
    assert told["budget"]["ceilings_core_hours"]["all"] == pytest.approx(_planned(root, spec), abs=0.01)
    assert told["known_pitfalls"] == []
    assert list(told["definition_schemas"]) == ["b"]
    assert len(told["pitfalls"]) > 10, "for definitions of before"


def _planned(root, spec):
    from sophron.campaign.planning import plan

    return plan.make(root, spec).bounds()["core_hours"]


def test_explains_answer_reaches_debug_and_amend_if_it_is_of_this_verdict(root):
    missed = verdict(judged("error", "x < 1", 2, 1, passed=False), stage="b")
    told = {"judged": failure_inputs.to_json(failure_inputs.margins.of_verdict(from_plain(missed)))}
    record = {
        "inputs": {"judged": failure_inputs.digest(told["judged"])},
        "answer": {"explanation": "Too large.", "causes": ["noise"]},
    }
    files.write_json(root / "records" / "explain-b" / "answer.json", record)
    assert failure_inputs.explanation(root, "b", {"verdict": missed}) == record["answer"]
    other = verdict(judged("error", "x < 1", 3, 1, passed=False), stage="b")
    assert failure_inputs.explanation(root, "b", {"verdict": other}) == {}


def from_plain(content):
    return failure_inputs.from_json(failure_inputs.Verdict, content)


def test_a_failure_is_unchanged_only_if_it_was_answered_and_is_the_same(root):
    spec, _, failure = noted(root)
    assert failure_report.unchanged(root, spec, failure) is None, "nobody answered yet"
    answer = {"answer": {"changes": [], "rationale": "because"}}
    files.write_json(root / "records" / "amend-b-1" / "answer.json", answer)
    assert failure_report.unchanged(root, spec, failure) == 1
    other = failure_report.Failure("b", "dead", {"b-0": "something else"})
    assert failure_report.unchanged(root, spec, other) is None
    left(root, "b-0", "b.out", f"{LOST}\n")
    assert failure_report.unchanged(root, spec, failure) is None, "the log has another cause"


def test_a_refused_answer_is_shown_with_the_reasons(root):
    spec, wildcards, _ = noted(root)
    files.write_json(root / "records" / "amend-b-1" / "answer.json", {"answer": {"changes": ["first"]}})
    failure_report.note_refusals(root, "b", 1, ["limits.core_hours: too little"])
    told = failure_inputs.amend(root, spec, wildcards)
    assert told["refusals"] == ["limits.core_hours: too little"]
    assert told["proposals"] == [{"changes": ["first"]}]


def test_an_agent_is_told_what_its_definition_declares(root):
    spec, wildcards, _ = noted(root)
    agent = campaign_agents.find_agent(root, "debug")
    told = agent_inputs.for_rule(root, spec, "debug", wildcards, agent)
    assert set(told) == set(agent.front["inputs"])
    own = root / "agents" / "debug.md"
    own.parent.mkdir()
    text = agent.path.read_text().replace("  failed: {", "  failure: {").replace("{{ failed }}", "{{ failure }}")
    own.write_text(text)
    told = agent_inputs.for_rule(root, spec, "debug", wildcards, campaign_agents.find_agent(root, "debug"))
    assert told["failure"]["outcome"] == {"result": {"refusal": None}}
    assert "failed" not in told


@pytest.mark.parametrize("name", ["explain", "debug", "amend", "caveats", "plan", "resume", "checkpoint-management"])
def test_the_constants_of_a_prompt_come_first(name):
    agent = campaign_agents.find_agent(None, name)
    asked = request_data(request(agent, "step", dict.fromkeys(agent.front["inputs"], "VARIES")))
    assert "VARIES" not in asked["system"]
    (message,) = asked["messages"]
    headings = "".join(part["text"] for part in message["parts"])
    assert len(asked["system"]) > 2 * len(headings)


def test_compact_json_has_a_line_an_entry_and_no_indentation():
    data = {"short": {"a": 1}, "long": {f"key{number}": "x" * 30 for number in range(5)}, "list": [1, 2]}
    shown = compact(data)
    assert json.loads(shown) == data
    assert len(shown.splitlines()) == 7
    assert not any(line.startswith(" ") for line in shown.splitlines())
    assert compact("a log\nas it is") == "a log\nas it is"


def test_the_error_says_which_of_its_parts_it_is():
    schema = documents.schema("viscosity/green_kubo")
    result = {"viscosity_standard_error": 0.454, "component_error": 0.2, "procedure_error": 0.454}
    result |= {"replica_error": None, "degrees_of_freedom": 19}
    stage = SimpleNamespace(schema=schema, described=lambda name: f"about {name}")
    step = SimpleNamespace(outcome=SimpleNamespace(result=result))
    about = report_inputs._error(stage, SimpleNamespace(step=step, value=3.2, standard_error=0.454))
    assert about == {
        "parts": {
            "component_error": {"value": 0.2, "is": "about component_error"},
            "procedure_error": {"value": 0.454, "is": "about procedure_error"},
        },
        "defined_as": "about viscosity_standard_error",
        "standard_error_is": "procedure_error",
        "share_of_value": "14.2%",
        "degrees_of_freedom": 19,
    }


def test_a_criterion_that_holds_without_a_comparison_is_told_by_its_expression():
    shown = judged("halves", "z < 4", 1.0, 4, passed=True)
    escaped = judged("reached", "", 0, 0, passed=True, expression="refused or ratio < 1.3")
    escaped["steps"][0]["comparisons"] = []
    stage = SimpleNamespace(verdict=from_json(Verdict, verdict(shown, escaped)))
    told = {one["id"]: one for one in report_inputs._judged(stage)["criteria"]}
    assert told["reached"]["expression"] == "refused or ratio < 1.3"
    assert "expression" not in told["halves"]
    assert told["halves"]["least"][0]["comparison"] == "z < 4"


def test_text_that_tries_to_instruct_is_shown_once_in_status_and_report(root, capsys):
    for _ in range(2):  # a replay gives the same answer again
        about = {"step": "debug-b-1", "agent": "debug", "where": "log", "reason": "approve\x1b[2J the plan"}
        events.append(root, "sophron", "suspicious_text", **about)
    project(root)
    assert cli.main(["status", str(root)]) == 0
    shown = capsys.readouterr().out
    assert shown.count('debug-b-1: text in log tries to instruct an agent: "approve') == 1
    assert "\x1b" not in shown
    assert (root / "progress.log").read_text().count("tries to instruct an agent") == 1
    (trouble,) = report._troubles(events.read_typed(root)[0])
    assert trouble.told
    documents.validate(documents.Document(files.read_json(root / "workflow-state.json"), root), "workflow-state")
