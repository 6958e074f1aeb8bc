"""What agents cost: the envelope is a hard cap, what is expected must fit it, and the defaults agree with each other."""

import re
from pathlib import Path

import html_page
import pytest
import toy

from sophron.agents.gateway import ledger
from sophron.campaign.planning import campaign_agents, plan
from sophron.campaign.review import review, review_page, review_text
from sophron.campaign.spec import spec
from sophron.records import strict_yaml

DOCUMENTED = Path(__file__).parents[2] / "docs" / "how-to" / "agents.md"


def documented() -> dict[str, float]:
    """The line of limits that the page on agents shows."""
    line = re.search(r"^    (limits: \{.*dollars.*\})$", DOCUMENTED.read_text(), re.MULTILINE)[1]
    return strict_yaml.parse(line.encode(), "agents.md")[0]["limits"]


@pytest.fixture
def asking(tmp_path, monkeypatch):
    """A campaign whose agents are answered by a language model."""
    toy.plan_here(monkeypatch)
    made = toy.campaign(tmp_path, monkeypatch)
    made.edit("limits:", "agents: {backend: anthropic}\nlimits:")
    return made


def make(campaign) -> plan.Plan:
    return plan.make(campaign.root, spec.load(campaign.spec))


def stated(amounts) -> str:
    return ", ".join(f"{key}: {amounts[key]}" for key in campaign_agents.LIMIT_KEYS)


def test_the_documented_limits_can_be_signed_and_are_hard_caps_below_the_worst(asking):
    limits = documented()
    asking.edit("core_hours: 100", f"core_hours: 100, {stated(limits)}")
    made = make(asking)
    assert made.excess() == []
    assert {key: made.envelope()[key] for key in campaign_agents.LIMIT_KEYS} == {
        key: limits[key] for key in campaign_agents.LIMIT_KEYS
    }
    worst = campaign_agents.total_cost(cost.worst for cost in made.agent_costs)
    assert worst["dollars"] > 100
    assert asking.sign()["envelope"]["dollars"] == limits["dollars"]


def test_without_limits_a_campaign_that_asks_a_model_gets_the_defaults_and_another_nothing(asking):
    made = make(asking)
    assert made.excess() == []
    assert {key: made.envelope()[key] for key in campaign_agents.LIMIT_KEYS} == campaign_agents.default_limits()
    asking.edit("agents: {backend: anthropic}", "agents: {backend: heuristic}")
    assert not any(make(asking).envelope()[key] for key in campaign_agents.LIMIT_KEYS)


def test_a_cap_below_what_is_expected_closes_the_gate_and_what_fails_is_not_expected(asking):
    by_rule = {cost.rule: cost for cost in make(asking).agent_costs}
    assert by_rule["debug"].expected == dict.fromkeys(campaign_agents.LIMIT_KEYS, 0)
    assert by_rule["caveats"].expected["dollars"] == 0.03
    asking.edit("core_hours: 100", "core_hours: 100, dollars: 0.01")
    assert make(asking).excess() == [
        "limits.dollars: the agent steps are expected to take 0.03, the limit is 0.01; raise it"
    ]


def test_the_review_shows_expected_and_worst_beside_the_cap_and_says_what_happens_there(asking):
    asking.edit("core_hours: 100", f"core_hours: 100, {stated(documented())}")
    looked = review.collect(asking.root, None, lambda _: [])
    words, page = review_text.render(looked), html_page.Page(review_page.render(looked)).words
    assert re.search(r"dollars +15 +0.03 +\d{3}", words)
    assert re.search(r"caveats +1 +1 +1 call, 10,000 tokens, 0.03 dollars +2 calls, 250,000 tokens, 1.5 dollars", words)
    assert re.search(r"debug +0 +30 ", words)
    assert "caveats 1 1 1 call, 10,000 tokens, 0.03 dollars 2 calls, 250,000 tokens, 1.5 dollars" in page
    assert campaign_agents.AT_THE_CAP in page
    assert campaign_agents.AT_THE_CAP in " ".join(words.split())


def test_a_mailbox_costs_no_money(asking):
    asking.edit("{backend: anthropic}", "{backend: mailbox}")
    worst = campaign_agents.total_cost(cost.worst for cost in make(asking).agent_costs)
    assert worst["dollars"] == 0 < worst["tokens"]


def test_defaults_of_campaigns_documents_and_a_day_agree(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    default, day = campaign_agents.default_limits(), ledger.day_cap()
    assert {key: documented()[key] for key in campaign_agents.LIMIT_KEYS} == default
    assert day.dollars == default["dollars"]
    assert day.tokens >= default["tokens"]
    assert day.calls >= default["model_calls"]
    for name in campaign_agents.agent_names(None):
        front = campaign_agents.find_agent(None, name).front
        assert front["limits"]["dollars"] <= day.dollars, name
        assert front["limits"]["tokens"] <= day.tokens, name
        assert all(value <= front["limits"][key] for key, value in front["usual"].items()), name
        assert all(front["usual"][key] <= default[limit] for limit, key in campaign_agents.LIMIT_KEYS.items()), name


def test_what_an_agent_usually_takes_is_no_part_of_what_it_is():
    agent = campaign_agents.find_agent(None, "caveats")
    other = campaign_agents.AgentFile(
        agent.path, {**agent.front, "usual": {"calls": 2, "tokens": 9, "dollars": 0}}, agent.prompt, agent.skills
    )
    assert other.digest({}) == agent.digest({})
