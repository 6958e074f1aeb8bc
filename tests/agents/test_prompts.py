"""Definitions of agents: valid front matter, every input declared and used, and words that a prompt must hold."""

import pytest

from sophron.campaign.planning import campaign_agents
from sophron.campaign.skills import skill_folder
from sophron.records import documents
from sophron.records.files import resource

SOCRATIC = ["amend", "checkpoint-management", "debug", "design", "plan", "caveats", "resume", "explain"]
AGENTS = [*SOCRATIC, "ask", "evolve", "skill-maker", "task-maker"]
SKILLS = """using-it experiment-design workflow-planning executing-workflows compute-backend result-verification
workflow-completion session-resume systematic-debugging checkpoint-management""".split()  # noqa: SIM905


def test_the_socratic_agents_are_there():
    assert set(SOCRATIC) <= set(campaign_agents.agent_names(None))


@pytest.mark.parametrize("name", AGENTS)
def test_definition_is_valid(name):
    agent = campaign_agents.find_agent(None, name)
    assert agent.name == name
    assert set(campaign_agents.PLACE.findall(agent.prompt)) == set(agent.front["inputs"])
    assert agent.schema["additionalProperties"] is False
    assert "data" in agent.prompt
    assert "instruction" in agent.prompt or "tells you what to do" in agent.prompt


@pytest.mark.parametrize("name", AGENTS)
def test_every_field_of_an_answer_is_described(name):
    def check(schema, where):
        for key, part in schema.get("properties", {}).items():
            assert "description" in part, f"{where}.{key}"
            for inner in (part, part.get("items", {}), *part.get("anyOf", [])):
                check(inner, f"{where}.{key}")

    schema = documents.schema(f"agents/{name}")
    check(schema, name)
    assert set(schema["required"]) == set(schema["properties"])


@pytest.mark.parametrize("name", SKILLS)
def test_the_ten_skills_are_there_and_documented(name):
    text = skill_folder.read(resource("workflow", "agents", "skills", name)).body
    assert text.startswith("# ")
    table = resource("workflow").resolve().parent / "docs" / "reference" / "skills.md"
    assert f"| {name} |" in table.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{{ judged }}", "{{ judgd }}", "judgd"),
        ("{{ log }}", "", "does not use this input"),
        ("rank: 2", "rank: 0", "rank"),
        ("name: explain", "name: other", "called as its file"),
        ("tools: []", "tool: []", "did you mean"),
        ("calls: 2", "calls: 0", "calls"),
    ],
)
def test_faults_are_named(tmp_path, old, new, message):
    text = resource("workflow", "agents", "explain.md").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "explain.md"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(Exception, match=message):
        campaign_agents.load_agent(path)
