"""The gateway: retries, fallback within a rank, budgets, and what the ledger and the audit say of it."""

import json
import time
from collections import Counter

import pytest
import stub_models
from loopback_anthropic import serve_anthropic
from loopback_peer import LOST, seeded
from stub_models import answer, failure, model, request

from sophron.agents.documents.answers import AgentError
from sophron.agents.documents.redact import Redactor
from sophron.agents.gateway import gateway as module
from sophron.agents.gateway.audit import Audit, path_of
from sophron.agents.gateway.gateway import load_catalogue
from sophron.agents.gateway.ledger import Cap, Caps, Ledger
from sophron.interfaces.model_backend import Response, Text, ToolCall, Usage


@pytest.fixture
def make(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return lambda script, models, **more: stub_models.gateway(tmp_path, monkeypatch, script, models, **more)


def ask(made, asked=None, rank=1, role="work", **more):
    return made.ask(asked or request(), rank=rank, role=role, **more)


def audited(made, step="caveats"):
    return [json.loads(line)["status"] for line in path_of(made.ledger.root, step).read_text().splitlines()]


def test_an_answer_is_reserved_audited_and_settled_at_its_real_cost(make):
    made = make({"a": [answer()]}, [model("a")])
    assert ask(made).text == '{"verdict": "yes"}'
    assert made.ledger.used()["campaign"] == {"calls": 1, "tokens": 110, "dollars": 0.0002}
    assert audited(made) == ["answered"]
    assert made.slept == []


@pytest.mark.parametrize(
    "kind", ["limited", "overloaded", "server", "timeout", "cut", "malformed", "wrong_shape", "unreachable"]
)
def test_a_passing_failure_is_asked_again_after_a_growing_wait(make, kind):
    made = make({"a": [failure(kind), failure(kind), answer()]}, [model("a")])
    assert ask(made).text
    assert audited(made) == [kind, kind, "answered"]
    assert 0.5 <= made.slept[0] <= 1.0 <= made.slept[1] <= 2.0


def test_waits_are_the_services_own_where_it_says_so_and_seeded_where_not(make):
    script = {"a": [failure("limited", "none", retry_after_s=7.0), failure("server"), answer()]}
    first = make(script, [model("a")])
    ask(first)
    second = make(script, [model("a")])
    ask(second)
    assert first.slept[0] == 7.0
    assert first.slept == second.slept


def test_what_surely_was_not_worked_on_costs_nothing_and_an_unknown_outcome_its_reservation(make):
    made = make({"a": [failure("limited", "none"), failure("cut"), answer()]}, [model("a")])
    ask(made, request(max_tokens=500))
    # 100 counted and 500 of answer for the cut call; 110 for the answered one.
    assert made.ledger.used()["campaign"]["tokens"] == 600 + 110
    assert made.ledger.used()["campaign"]["calls"] == 2


@pytest.mark.parametrize("kind", ["rejected", "unauthorized"])
def test_a_lasting_failure_goes_to_the_next_model_of_the_rank_at_once(make, kind):
    made = make({"a": [failure(kind, "none")], "b": [answer()], "c": []}, [model("a"), model("c", rank=2), model("b")])
    ask(made)
    assert made.stub.asked == ["a", "b"]


def test_a_model_that_keeps_failing_or_lacks_its_key_is_replaced_within_its_rank(make):
    made = make({"a": [failure("server")] * 99, "b": [answer()]}, [model("x"), model("a"), model("b")], lacks=["x"])
    ask(made)
    assert made.stub.asked == ["a"] * module.PAUSES.attempts + ["b"]


def test_no_model_of_another_rank_or_role_is_asked_and_the_failure_names_every_model(make):
    models = [model("a"), model("b", roles=("control",)), model("c", rank=2)]
    made = make({"a": [failure("rejected", "none")]}, models)
    with pytest.raises(AgentError, match=r"a: the stub was told to be rejected") as failed:
        ask(made)
    assert failed.value.kind == "unavailable"
    assert made.stub.asked == ["a"]
    with pytest.raises(AgentError, match="no model of rank 7 for work"):
        ask(made, rank=7)


def test_a_named_backend_is_the_only_one_and_a_named_model_is_first(make):
    models = [model("a"), model("b", provider="other"), model("c", provider="other")]
    made = make({"b": [failure("rejected", "none")], "c": [answer()]}, models, backend="other")
    ask(made)
    assert made.stub.asked == ["b", "c"]
    made = make({"c": [failure("rejected", "none")], "a": [answer()]}, models, model="c")
    ask(made)
    assert made.stub.asked == ["c", "a"]


def test_a_model_over_budget_is_replaced_by_one_that_fits(make):
    models = [model("dear", price_out=1000.0), model("cheap", price_out=1.0)]
    made = make({"cheap": [answer()]}, models, caps=Caps(Cap(), Cap(dollars=0.005), Cap()))
    ask(made)
    assert made.stub.asked == ["cheap"]


def test_only_budgets_make_the_failure_a_budget(make):
    caps = Caps(Cap(calls=0), Cap(), Cap())
    made = make({}, [model("a"), model("b")], caps=caps)
    with pytest.raises(AgentError, match=r"a: the step may take 0 calls.*; b: the step may") as failed:
        ask(made)
    assert failed.value.kind == "budget"
    assert not path_of(made.ledger.root, "caveats").exists()
    mixed = make({}, [model("a"), model("b")], caps=caps, lacks=["b"])
    with pytest.raises(AgentError) as failed:
        ask(mixed)
    assert failed.value.kind == "unavailable"


def test_retries_stop_when_the_budget_or_the_time_of_the_step_is_used_up(make):
    made = make({"a": [failure("cut")] * 9}, [model("a")], caps=Caps(Cap(calls=2), Cap(), Cap()))
    with pytest.raises(AgentError) as failed:
        ask(made)
    assert (failed.value.kind, made.stub.asked) == ("budget", ["a", "a"])
    made = make({"a": [failure("limited", "none", retry_after_s=30.0)] * 9}, [model("a")])
    with pytest.raises(AgentError, match="limited, attempt 1"):
        ask(made, until=time.monotonic() + 20)
    assert made.slept == []


def test_a_request_that_fits_no_context_is_too_long_and_asks_nobody(make):
    made = make({}, [model("a", context=500), model("b", context=600)])
    with pytest.raises(AgentError) as failed:
        ask(made, request(max_tokens=900))
    assert failed.value.kind == "too_long"


def test_a_service_that_does_not_say_what_it_used_is_charged_as_reserved(make):
    made = make({"a": [answer(usage=Usage())]}, [model("a")])
    ask(made, request(max_tokens=200))
    assert made.ledger.used()["campaign"]["tokens"] == 300


def test_a_key_in_an_answer_does_not_reach_the_step(make):
    key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz"
    given = Response((Text(f"it is {key}"), ToolCall("1", "t", {"k": key}, key)), "tool", Usage(1, 1), "stub", "a")
    got = ask(make({"a": [given]}, [model("a")]))
    assert got.text == "it is [redacted]"
    assert got.tool_calls[0].arguments == {"k": "[redacted]"}
    assert key not in repr(got)


def test_a_key_in_a_failure_does_not_reach_the_reason(make):
    key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz"
    told = module.ModelError("rejected", f"bad key {key}", outcome="none")
    with pytest.raises(AgentError) as failed:
        ask(make({"a": [told]}, [model("a")]))
    assert key not in str(failed.value)


def test_requests_through_the_real_client_under_faults_are_neither_lost_nor_charged_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")
    faults = [fault for fault in LOST if fault != "timeout"]
    with serve_anthropic(seeded(3, 0.3, faults, '{"verdict": "yes"}')) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        ledger = Ledger(tmp_path, stub_models.UNBOUND)
        audit = Audit(tmp_path, Redactor())
        made = module.Gateway(load_catalogue(tmp_path), ledger, audit, backend="anthropic", sleep=lambda _: None)
        texts = [ask(made, request(f"number {turn}", turn=turn), rank=3).text for turn in range(30)]
        calls = peer.asked("/messages")
    assert texts == ['{"verdict": "yes"}'] * 30
    lines = [json.loads(line) for line in (tmp_path / "records" / "ledger.jsonl").read_text().splitlines()]
    closed = Counter(line["id"] for line in lines if line["event"] != "reserve")
    assert len(calls) == len(audited(made)) == len(closed) > 30
    assert {line["id"] for line in lines if line["event"] == "reserve"} == closed.keys()
    assert set(closed.values()) == {1}
    assert ledger.used()["campaign"]["tokens"] >= sum(sum(seen.usage) for seen in calls)
    assert "loopback-no-real-key" not in path_of(tmp_path, "caveats").read_text()
