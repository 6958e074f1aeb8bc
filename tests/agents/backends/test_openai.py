"""The OpenAI backend through the real client package, against a loopback service with scripted faults."""

import json
import traceback

import pytest
from loopback_openai import serve_openai
from loopback_peer import FAULTS, Turn, queue

from sophron.agents.gateway.backends import openai as backend
from sophron.agents.gateway.backends.endpoint import Endpoint
from sophron.agents.gateway.backends.openai import OpenAI
from sophron.interfaces.model_backend import (
    Image,
    Message,
    Model,
    ModelError,
    Request,
    Text,
    Tool,
    ToolAnswer,
    ToolCall,
)

openai = pytest.importorskip("openai")
KEY = "sk-planted-4712-secret"
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
READ = Tool("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def model(**changes):
    return Model("local", "openai", "a-model", 2, **{"timeout_s": 20.0} | changes)


def request(*messages, **changes):
    told = messages or (Message("user", (Text("Is all well?"),)),)
    given = {"step": "caveats", "agent": "report", "turn": 1, "system": "You report.", "schema": SCHEMA}
    return Request(messages=told, **given | changes)


@pytest.fixture
def serve(monkeypatch):
    """Start a service with a script and point the environment at it; what is known of servers is forgotten."""
    open_services = []
    monkeypatch.setattr(backend, "_forms", {})
    monkeypatch.setattr(backend, "_proven", set())

    def start(*turns, **told):
        service = serve_openai(queue(*turns), **told)
        open_services.append(service)
        peer = service.__enter__()
        monkeypatch.setenv("OPENAI_BASE_URL", f"{peer.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        return peer

    yield start
    for service in open_services:
        service.__exit__(None, None, None)


def failure(asked=None, using=None):
    with pytest.raises(ModelError) as caught:
        OpenAI().complete(asked or request(), using or model())
    return caught.value


def test_an_answer_and_what_was_sent_for_it(serve):
    peer = serve()
    answer = OpenAI().complete(request(max_tokens=9_000), model(max_output=700))
    assert (answer.text, answer.stop, answer.backend, answer.model) == ('{"ok": true}', "end", "openai", "local")
    (seen,) = peer.seen
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == seen.usage
    assert seen.body["max_tokens"] == 700
    assert seen.body["messages"] == [
        {"role": "system", "content": "You report."},
        {"role": "user", "content": "Is all well?"},
    ]
    assert seen.body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert seen.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1/", "max_completion_tokens"),
        ("http://localhost:8000/v1", "max_tokens"),
        ("https://api.openai.com.example/v1", "max_tokens"),
    ],
)
def test_the_bound_on_tokens_has_the_name_that_the_service_knows(url, name):
    """Not to be tried against the real service from here."""
    assert backend._token_bound(request(max_tokens=9), model(), Endpoint("OpenAI", url, KEY)) == {name: 9}


def test_tools_and_pictures_go_there_and_back(serve):
    peer = serve(Turn("I look.", tools=(("read_file", {"path": "log"}), ("read_file", {}))))
    first = Message("user", (Text("See"), Image("image/png", PIXEL)))
    answer = OpenAI().complete(request(first, tools=(READ,)), model())
    assert answer.stop == "tool"
    assert answer.tool_calls == (ToolCall("call_0", "read_file", {"path": "log"}), ToolCall("call_1", "read_file", {}))
    results = (
        Text("Go on."),
        ToolAnswer("call_0", (Text("42"), Image("image/png", PIXEL))),
        ToolAnswer("call_1", (Text("no path"),), is_error=True),
    )
    told = request(first, Message("assistant", answer.parts), Message("user", results), tools=(READ,), turn=2)
    assert OpenAI().complete(told, model()).stop == "end"
    _, user, assistant, good, bad, rest = peer.seen[1].body["messages"]
    assert user["content"][1]["image_url"]["url"] == f"data:image/png;base64,{PIXEL}"
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == {"path": "log"}
    assert (good["tool_call_id"], good["content"]) == ("call_0", "42")
    assert bad["content"] == "Error: no path"
    assert [part["type"] for part in rest["content"]] == ["image_url", "text"]


def test_arguments_that_are_no_object_are_kept_as_text_and_can_be_answered(serve):
    peer = serve(Turn(fault="bad_arguments"))
    answer = OpenAI().complete(request(tools=(READ,)), model())
    (call,) = answer.tool_calls
    assert (answer.stop, call.arguments, call.raw) == ("tool", None, '{"path": "a')
    told = Message("user", (ToolAnswer(call.id, (Text("no JSON object"),), is_error=True),))
    OpenAI().complete(request(request().messages[0], Message("assistant", answer.parts), told, tools=(READ,)), model())
    assert peer.seen[1].body["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"path": "a'


@pytest.mark.parametrize(("fault", "stop"), [("refusal", "refusal"), ("overlong", "length")])
def test_refused_and_over_long_answers_are_answers(serve, fault, stop):
    serve(Turn(fault=fault, says="I will not."))
    assert OpenAI().complete(request(), model()).stop == stop


@pytest.mark.parametrize(
    ("fault", "kind", "outcome", "status"),
    [
        ("limited", "limited", "none", 429),
        ("overloaded", "overloaded", "none", 529),
        ("503", "overloaded", "unknown", 503),
        ("502", "server", "unknown", 502),
        ("404", "rejected", "none", 404),
        ("401", "unauthorized", "none", 401),
        ("cut", "cut", "unknown", None),
        ("malformed", "malformed", "unknown", None),
        ("wrong_shape", "wrong_shape", "unknown", None),
    ],
)
def test_every_fault_has_its_kind(serve, fault, kind, outcome, status):
    """One request each: nothing is tried again behind the gateway's back."""
    peer = serve(Turn(fault=fault))
    found = failure()
    assert (found.kind, found.outcome, found.status, found.retry_after_s) == (kind, outcome, status, None)
    assert len(peer.seen) == 1


def test_a_server_error_is_not_asked_again_here(serve):
    peer = serve(Turn(), Turn(fault="server", headers={"retry-after": "3"}))
    OpenAI().complete(request(), model())
    found = failure()
    assert (found.kind, found.outcome, found.retry_after_s) == ("server", "unknown", 3.0)
    assert len(peer.seen) == 2


@pytest.mark.parametrize("fault", ["timeout", "trickle"])
def test_no_whole_answer_in_time(serve, fault):
    """Blanks for ever are no answer either."""
    serve(Turn(fault=fault))
    found = failure(using=model(timeout_s=0.3))
    assert (found.kind, found.outcome) == ("timeout", "unknown")


def test_nobody_listens(serve, monkeypatch):
    serve()
    with serve_openai() as gone:
        url = gone.url
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    assert (failure().kind, failure().outcome) == ("unreachable", "none")


def form_of(seen):
    return seen.body.get("response_format", {}).get("type")


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_json_schema_is_asked_in_the_other_form(serve, status):
    """A refusal is no work: the call goes on at once, and the next ones start with what the server knows."""
    peer = serve(no_json_schema=status)
    assert OpenAI().complete(request(), model()).text == '{"ok": true}'
    assert OpenAI().complete(request(), model()).text == '{"ok": true}'
    assert [form_of(seen) for seen in peer.seen] == ["json_schema", "json_object", "json_object"]
    assert peer.seen[1].body["response_format"]["schema"] == SCHEMA
    assert '"ok"' in peer.seen[1].body["messages"][0]["content"]


def test_a_server_that_breaks_on_json_schema_is_a_failure_once(serve):
    """It may have worked on it, so the gateway decides; nothing is to be waited for."""
    peer = serve(no_json_schema=500)
    found = failure()
    assert (found.kind, found.outcome, found.retry_after_s) == ("server", "unknown", 0.0)
    assert OpenAI().complete(request(), model()).text == '{"ok": true}'
    assert [form_of(seen) for seen in peer.seen] == ["json_schema", "json_object"]


def test_a_request_that_is_wrong_in_both_forms_is_rejected_and_teaches_nothing(serve):
    peer = serve(Turn(fault="400", says="too long"), Turn(fault="400", says="too long"))
    found = failure()
    assert (found.kind, found.outcome, found.status) == ("rejected", "none", 400)
    assert "too long" in found.reason
    OpenAI().complete(request(), model())
    assert [form_of(seen) for seen in peer.seen] == ["json_schema", "json_object", "json_schema"]


def test_a_proven_form_is_kept_whatever_fails_later(serve):
    peer = serve(Turn(), Turn(fault="server"), Turn(fault="400"))
    OpenAI().complete(request(), model())
    assert [failure().kind, failure().kind] == ["server", "rejected"]
    OpenAI().complete(request(), model())
    assert [form_of(seen) for seen in peer.seen] == ["json_schema"] * 4


def test_tools_are_not_shut_out_by_the_other_form(serve):
    """A grammar for the final object would keep the model from asking for a tool."""
    peer = serve(no_json_schema=400)
    OpenAI().complete(request(tools=(READ,)), model())
    assert form_of(peer.seen[1]) is None
    assert '"ok"' in peer.seen[1].body["messages"][0]["content"]


def test_a_condition_is_said_in_words_beside_the_form(serve):
    """Grammars of local servers know no `if`."""
    peer = serve()
    condition = {"if": {"required": ["ok"]}, "then": {"required": ["why"]}}
    OpenAI().complete(request(schema=SCHEMA | {"allOf": [condition]}), model())
    body = peer.seen[0].body
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert json.dumps(condition) in body["messages"][0]["content"]


def test_a_server_of_ones_own_needs_no_key_and_gets_none(serve, monkeypatch):
    peer = serve(keyless=True)
    monkeypatch.setenv("MY_SERVER", f"{peer.url}/v1")
    assert OpenAI().complete(request(), model(base_url_env="MY_SERVER")).stop == "end"
    assert KEY not in str(peer.seen[0].headers)


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert "OPENAI_API_KEY" in OpenAI().missing(model())
    assert (failure().kind, failure().outcome) == ("unauthorized", "none")
    assert "MY_SERVER" in OpenAI().missing(model(base_url_env="MY_SERVER"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert OpenAI().missing(model()) is None
    assert "MY_KEY" in OpenAI().missing(model(key_env="MY_KEY"))


@pytest.mark.parametrize("fault", ["", *FAULTS, "400", "401"])
def test_the_key_is_nowhere_even_where_the_service_echoes_it(serve, fault, caplog):
    caplog.set_level("DEBUG")
    peer = serve(Turn(text=f'{{"ok": "{KEY}"}}', fault=fault, says=f"what is {KEY}?"))
    try:
        answer = OpenAI().complete(request(), model(timeout_s=0.3))
        shown = f"{answer!r} {answer.raw}"
    except ModelError as found:
        shown = f"{found!r} {found.raw} {found.reason} {traceback.format_exception(found)}"
    assert KEY in str(peer.seen[0].headers)
    assert KEY not in shown
    assert KEY not in caplog.text


def test_the_service_of_these_tests_streams_too(serve):
    peer = serve(Turn("Hm."))
    client = openai.OpenAI(api_key=KEY, base_url=f"{peer.url}/v1", max_retries=0)
    asked = {"model": "a-model", "messages": [{"role": "user", "content": "?"}]}
    with client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}) as stream:
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Hm."
    assert chunks[-1].usage.completion_tokens == peer.seen[0].usage[1]
