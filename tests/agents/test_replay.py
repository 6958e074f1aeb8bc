"""Replay: a finished campaign's answers again, byte for byte, at no cost; a miss shows what differs."""

import json
import shutil

import pytest
import stub_models
from stub_models import answer, failure, model, request

from sophron.agents.documents.answers import AgentError
from sophron.agents.documents.redact import Redactor
from sophron.agents.gateway import gateway
from sophron.agents.gateway.audit import Audit, path_of
from sophron.agents.gateway.backends.replay import Replay
from sophron.agents.gateway.gateway import Gateway
from sophron.agents.gateway.ledger import Cap, Caps, Ledger
from sophron.interfaces.model_backend import Message
from sophron.records import entry_points

NOTHING = Caps(Cap(0, 0, 0), Cap(0, 0, 0), Cap(0, 0, 0))


@pytest.fixture(autouse=True)
def _user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def record(root, monkeypatch, script, *requests):
    made = stub_models.gateway(root, monkeypatch, {"a": script}, [model("a")])
    return [made.ask(one, rank=1, role="work") for one in requests]


def replay(root, monkeypatch, *requests, rank=2):
    monkeypatch.setattr(entry_points, "load", lambda group, name: {"replay": Replay}[name])
    made = Gateway(gateway.load_catalogue(root), Ledger(root, NOTHING), Audit(root, Redactor()), backend="replay")
    return [made.ask(one, rank=rank, role="control") for one in requests]


def test_a_replay_gives_the_same_responses_without_cost_under_caps_of_zero(tmp_path, monkeypatch):
    asked = [request(), request("more", turn=2), request("more", turn=2)]
    script = [failure("server"), answer("one"), failure("cut"), answer("two"), answer("three")]
    first = record(tmp_path, monkeypatch, script, *asked)
    spent = Ledger(tmp_path, NOTHING).used()
    assert replay(tmp_path, monkeypatch, *asked) == first
    assert replay(tmp_path, monkeypatch, *asked) == first
    assert [one.backend for one in first] == ["stub"] * 3
    assert Ledger(tmp_path, NOTHING).used() == spent


def test_another_campaign_replays_from_the_one_that_a_variable_names(tmp_path, monkeypatch):
    first = record(tmp_path / "finished", monkeypatch, [answer("one")], request())
    monkeypatch.setenv("SOPHRON_REPLAY", str(tmp_path / "finished"))
    assert replay(tmp_path / "copy", monkeypatch, request()) == first
    shutil.rmtree(tmp_path / "finished")
    with pytest.raises(AgentError, match="holds no records"):
        replay(tmp_path / "copy", monkeypatch, request())


def test_the_newest_run_counts_not_what_a_killed_one_got(tmp_path, monkeypatch):
    record(tmp_path, monkeypatch, [answer("of the killed run")], request())
    record(tmp_path, monkeypatch, [answer("of the last run")], request())
    assert replay(tmp_path, monkeypatch, request())[0].text == "of the last run"


def test_redaction_makes_no_miss_in_the_request_nor_in_what_follows_an_answer(tmp_path, monkeypatch):
    key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz"
    asked = request(f"the key is {key}")
    first = record(tmp_path, monkeypatch, [answer(f"I saw {key}")], asked)[0]
    second = request("and?", turn=2)
    second = type(second)(**{**second.__dict__, "messages": (Message("assistant", first.parts), *second.messages)})
    record(tmp_path, monkeypatch, [answer("well")], second)
    assert key not in path_of(tmp_path, "caveats").read_text()
    again = replay(tmp_path, monkeypatch, asked)[0]
    follow = type(second)(**{**second.__dict__, "messages": (Message("assistant", again.parts), *second.messages[1:])})
    assert replay(tmp_path, monkeypatch, follow)[0].text == "well"


def test_a_miss_shows_the_nearest_recorded_request_and_the_difference(tmp_path, monkeypatch):
    other, near = request("Quite another question\nof two lines"), request("Is the run done?\nSay why.")
    record(tmp_path, monkeypatch, [answer(), answer()], other, near)
    with pytest.raises(AgentError) as failed:
        replay(tmp_path, monkeypatch, request("Is the run over?\nSay why."))
    assert failed.value.kind == "absent"
    assert "-Is the run done?\n+Is the run over?" in failed.value.reason
    assert "another question" not in failed.value.reason
    with pytest.raises(AgentError, match="differs in:\nmax_tokens differs"):
        replay(tmp_path, monkeypatch, type(near)(**{**near.__dict__, "max_tokens": 17}))


def test_answers_that_are_used_up_and_steps_without_any_are_misses(tmp_path, monkeypatch):
    record(tmp_path, monkeypatch, [answer()], request())
    with pytest.raises(AgentError, match="is used up"):
        replay(tmp_path, monkeypatch, request(), request())
    with pytest.raises(AgentError, match="holds no answer for the step debug-1"):
        replay(tmp_path, monkeypatch, request(step="debug-1"))


def test_a_torn_line_and_failed_attempts_are_no_answers(tmp_path, monkeypatch):
    record(tmp_path, monkeypatch, [failure("server"), answer("kept")], request())
    path = path_of(tmp_path, "caveats")
    path.write_text(path.read_text() + path.read_text().splitlines()[-1][:200])
    assert replay(tmp_path, monkeypatch, request())[0].text == "kept"
    assert [json.loads(line)["provider"] for line in path.read_text().splitlines() if line.endswith("}")][
        -1
    ] == "replay"


def test_a_secret_is_not_in_the_difference(tmp_path, monkeypatch):
    record(tmp_path, monkeypatch, [answer()], request())
    with pytest.raises(AgentError) as failed:
        replay(tmp_path, monkeypatch, request("it is ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"))
    assert "AbCdEf" not in failed.value.reason
