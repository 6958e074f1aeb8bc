"""`sophron evolve suggest`: what its agent is told, what its edits may touch, and patches that apply."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import toy

from sophron import cli
from sophron.agents.step import conversation, definition_edits, evolve_inputs
from sophron.records import events
from sophron.records.errors import UserError
from sophron.records.files import append_json_line, resource

SKILL = "---\nname: our-cluster\ndescription: How work is done here. Read it first.\n---\n# Here\n\nUse scratch.\n"
MODELS = "models:\n  small: {provider: openai, name: s, rank: 1, context: 4096, max_output: 1024}\n"
EXPLAIN = resource("workflow", "agents", "explain.md").read_text(encoding="utf-8")
FILES = {"agents/explain.md": EXPLAIN, "agents/skills/our-cluster/SKILL.md": SKILL, "config/models.yaml": MODELS}
INPUTS = {
    "models": [{"model": "small", "rank": 1}],
    "repairs": [],
    "usage": [{"agent": "explain", "took": {"calls": 6}}],
    "events": [{"event": "agent_failed", "reason": 'verdict is "pass"; copy it'}],
    "memory": "# campaign.md\n\nscratch cured produce",
    "history": {"produce": [{"iteration": 1, "decisions": ["memory_mb = 4000"]}]},
    "files": FILES,
}
EVIDENCE = ["scratch cured produce"]
SOUND = [{"file": "agents/skills/our-cluster/SKILL.md", "old": "Use scratch.", "new": "Use scratch, not home."}]


def against(edits, evidence=EVIDENCE):
    one = {"title": "t", "why": "w", "evidence": evidence, "shows": "s", "edits": edits}
    answer = {"summary": "s", "proposals": [one], "suspicious_text": []}
    return conversation.guardrail_faults("evolve", INPUTS, answer)


@pytest.mark.parametrize(
    "edits",
    [
        SOUND,
        [{"file": "agents/explain.md", "old": "rank: 2", "new": "rank: 1"}],
        [{"file": "config/models.yaml", "old": "rank: 1", "new": "rank: 3"}],
        [{"file": "agents/explain.md", "old": EXPLAIN[-60:], "new": f"{EXPLAIN[-60:]}\nSay which replica.\n"}],
    ],
)
def test_prompts_skills_and_ranks_may_change(edits):
    assert against(edits) == []


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"file": "campaign.yaml", "old": "a", "new": "b"}, "is not among the files that may change"),
        ({"file": "agents/../approvals/x.md", "old": "a", "new": "b"}, "is not among the files that may change"),
        ({"file": "agents/explain.md", "old": "no such words", "new": "b"}, "stands there 0 times"),
        ({"file": "agents/explain.md", "old": "the", "new": "b"}, "times, not once"),
        ({"file": "agents/explain.md", "old": "tools: []", "new": "tools: [run_command]"}, "only `rank` may change"),
        ({"file": "agents/explain.md", "old": "rank: 2", "new": "rank: 2\ngrants: {}"}, "only `rank` may change"),
        ({"file": "agents/explain.md", "old": "rank: 2", "new": "rank: many"}, "rank"),
        ({"file": "agents/explain.md", "old": "{{ judged }}", "new": "judged"}, "does not use this input"),
        ({"file": "config/models.yaml", "old": "name: s", "new": "name: t"}, "only values of `rank` may change"),
        ({"file": "config/models.yaml", "old": "rank: 1", "new": "rank: 0"}, "rank"),
        (
            {"file": "agents/skills/our-cluster/SKILL.md", "old": "name: our-cluster", "new": "name: x"},
            "called as its folder",
        ),
        (
            {"file": "agents/skills/our-cluster/SKILL.md", "old": "Use scratch.", "new": "Use scratch."},
            "change nothing",
        ),
    ],
)
def test_everything_else_is_refused(edit, message):
    found = against([edit])
    assert found, "it was let through"
    assert any(message in fault for fault in found), found


def test_evidence_stands_in_the_inputs():
    assert against(SOUND, ["verdict is pass; copy it", "memory_mb = 4000", '"took": {"calls": 6}']) == []
    (fault,) = against(SOUND, ["the moon is full"])
    assert "stands in none of the inputs" in fault
    assert against(SOUND, ["Use scratch."])  # words of the file that is edited show nothing that happened


RECORDED = sorted((Path(__file__).parents[1] / "recorded" / "evolve").glob("*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_patches_of_recorded_proposals_apply(path, tmp_path):
    recorded = json.loads(path.read_text(encoding="utf-8"))
    files = recorded["inputs"]["files"]
    for number, one in enumerate(json.loads(recorded["answers"][-1])["proposals"]):
        root = tmp_path / str(number)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        (root / "a.patch").write_text("Why.\n\n" + definition_edits.patch(files, one["edits"]), encoding="utf-8")
        subprocess.run([shutil.which("git"), "apply", "a.patch"], cwd=root, check=True)
        for name, text in definition_edits.edited(files, one["edits"]).items():
            assert (root / name).read_text(encoding="utf-8") == text


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    return toy.campaign(tmp_path, monkeypatch)


@pytest.fixture
def learnt(campaign, monkeypatch, tmp_path):
    """A signed campaign in which the explain agent was repaired, with memory, history and a skill."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = campaign.root
    campaign.sign()
    for step in ("explain-total-1", "explain-total-2"):
        events.append(root, "sophron", "agent_asked", step=step, agent="explain")
        who = {"backend": "anthropic", "model": "m", "calls": 2, "summary": "it failed", "wall_s": 1.0}
        events.append(root, "sophron", "agent_answered", step=step, agent="explain", **who)
    sent_back = {"parts": [{"type": "text", "text": "That answer is not valid:\n- verdict is pass"}]}
    first = {"parts": [{"type": "text", "text": '{"verdict": "pass"}'}]}
    request = {"step": "explain-total-1", "agent": "explain", "messages": [{"parts": []}, first, sent_back]}
    line = {"run": "r", "request_digest": "d", "request": request, "response": {"parts": []}}
    append_json_line(root / "records" / "explain-total-1" / "audit.jsonl", line)
    took = {"calls": 2, "tokens": 900, "dollars": 0.1}
    for event in ({"event": "reserve", "step": "explain-total-1", "day": "2026-01-01"}, {"event": "settle"}):
        append_json_line(root / "records" / "ledger.jsonl", {**event, "id": "a", **took})
    memory = root / "records" / "memory"
    memory.mkdir(parents=True)
    (memory / "campaign.md").write_text("## 2026-01-01T00:00:00Z debug-total-1\n\nscratch cured total\n\n")
    record = {
        "time": "2026-01-01T00:00:00Z",
        "by": "debug-total-1",
        "iteration": 1,
        "status": "pass",
        "decisions": ["x"],
    }
    append_json_line(memory / "total.history.jsonl", record)
    return campaign


def test_inputs_are_memory_history_usage_and_the_files_of_agents_that_were_asked(learnt):
    told = evolve_inputs.inputs(learnt.root)
    (usage,) = told["usage"]
    assert (usage["agent"], usage["steps"], usage["answered"], usage["failed"]) == ("explain", 2, 2, 0)
    assert usage["took"] == {"calls": 2, "tokens": 900, "dollars": 0.1}
    assert [one["calls"] for one in told["events"] if one["event"] == "agent_answered"] == [2, 2]
    (repair,) = told["repairs"]
    assert (repair["agent"], repair["answer"]) == ("explain", '{"verdict": "pass"}')
    assert "verdict is pass" in repair["refused"]
    assert "claude-opus" in {one["model"] for one in told["models"]}
    assert "heuristic" not in {one["model"] for one in told["models"]}
    assert "scratch cured total" in told["memory"]
    assert told["history"]["total"] == [{"by": "debug-total-1", "iteration": 1, "status": "pass", "decisions": ["x"]}]
    assert told["files"] == {"agents/explain.md": EXPLAIN}
    assert "2026-01-01T00:00:00Z" not in json.dumps(told["history"])


def test_a_campaign_without_agents_has_nothing_to_learn_from(campaign):
    with pytest.raises(UserError, match="no agent was asked"):
        evolve_inputs.inputs(campaign.root)


def test_rules_of_thumb_say_that_a_model_is_needed(learnt, capsys):
    assert cli.main(["evolve", "suggest", str(learnt.root)]) == 2
    assert "open work needs a model" in capsys.readouterr().err


def test_a_patch_is_applied_by_a_person_and_closes_the_gate_until_it_is_signed(learnt, capsys, monkeypatch):
    pytest.importorskip("anthropic")
    from loopback_anthropic import serve_anthropic
    from loopback_peer import Turn, queue

    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")
    root, end = learnt.root, EXPLAIN.rstrip("\n").splitlines()[-1]
    edit = {"file": "agents/explain.md", "old": end, "new": f"{end}\n\nSay which sum it is."}
    one = {
        "title": "Say which sum",
        "why": "It was asked twice.",
        "evidence": ["scratch cured total"],
        "shows": "one call",
    }
    answer = {"summary": "Two repairs.", "proposals": [one | {"edits": [edit]}], "suspicious_text": []}
    with serve_anthropic(queue(Turn(json.dumps(answer)))) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        assert cli.main(["evolve", "suggest", str(root), "--agents", "anthropic"]) == 0
    said = capsys.readouterr().out
    assert "evolve/1/1-say-which-sum.patch: Say which sum" in said
    assert "Nothing is applied." in said
    patch = root / "evolve" / "1" / "1-say-which-sum.patch"
    text = patch.read_text()
    assert "It was asked twice." in text
    assert f"sophron agent adopt explain {root.name}" in text  # the shipped prompt is not the campaign's yet
    assert not (root / "agents" / "explain.md").exists()

    assert cli.main(["agent", "adopt", "explain", str(root)]) == 0
    subprocess.run([shutil.which("git"), "apply", str(patch)], cwd=root, check=True)
    assert "Say which sum it is." in (root / "agents" / "explain.md").read_text()
    with pytest.raises(UserError, match="agent behind explain is another one"):
        learnt.sign()
    assert learnt.amend().changes == ["agents: the agent behind explain is another one"]
