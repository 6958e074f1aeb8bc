"""The Anthropic backend through the real client package, against a loopback service with scripted faults."""

import json
import subprocess
import sys
import threading
import traceback
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from loopback_anthropic import serve_anthropic
from loopback_peer import FAULTS, LOST, Turn, queue, seeded

from sophron.agents.gateway.backends.anthropic import Anthropic
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
from sophron.records.documents import load_yaml
from sophron.records.files import resource

anthropic = pytest.importorskip("anthropic")
AGENTS = resource("schemas") / "agents"
KEY = "sk-planted-4711-secret"
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "share": {"type": ["number", "null"], "minimum": 0, "maximum": 1}},
    "required": ["ok"],
}
READ = Tool("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def model(**changes):
    return Model("strong", "anthropic", "a-model", 1, **{"timeout_s": 20.0} | changes)


def request(*messages, **changes):
    told = messages or (Message("user", (Text("Is all well?"),)),)
    given = {"step": "caveats", "agent": "report", "turn": 1, "system": "You report.", "schema": SCHEMA}
    return Request(messages=told, **given | changes)


@pytest.fixture
def serve(monkeypatch):
    """Start a service with a script and point the environment at it."""
    open_services = []

    def start(*turns, script=None):
        service = serve_anthropic(script or queue(*turns))
        open_services.append(service)
        peer = service.__enter__()
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        return peer

    yield start
    for service in open_services:
        service.__exit__(None, None, None)


def failure(asked=None, using=None):
    with pytest.raises(ModelError) as caught:
        Anthropic().complete(asked or request(), using or model())
    return caught.value


def test_an_answer_and_what_was_sent_for_it(serve):
    peer = serve(Turn('{"ok": true, "share": 0.5}'))
    answer = Anthropic().complete(request(max_tokens=9_000), model(max_output=700))
    assert (answer.text, answer.stop, answer.backend, answer.model) == (
        '{"ok": true, "share": 0.5}',
        "end",
        "anthropic",
        "strong",
    )
    assert answer.raw["content"][0]["text"] == answer.text
    (seen,) = peer.seen
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == seen.usage
    assert seen.body["max_tokens"] == 700
    assert seen.body["stream"] is True
    assert seen.body["system"] == [{"type": "text", "text": "You report.", "cache_control": {"type": "ephemeral"}}]
    assert seen.headers["authorization"] == f"Bearer {KEY}"


def test_the_schema_reaches_the_service_in_its_own_form(serve):
    """Ranges and lists of types, which the service refuses, are transformed; the answer may still be null."""
    peer = serve()
    Anthropic().complete(request(), model())
    schema = peer.seen[0].body["output_config"]["format"]["schema"]
    assert schema["additionalProperties"] is False
    number, null = schema["properties"]["share"]["anyOf"]
    assert number["type"] == "number"
    assert "minimum: 0" in number["description"]
    assert null == {"type": "null"}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"type": "object"},
        {"type": "array", "items": {"type": "object", "patternProperties": {"^a": {"type": "string"}}}},
        {"description": "anything"},
        {"$ref": "other.schema.yaml"},
    ],
)
def test_a_schema_that_the_service_cannot_express_is_said_in_words(serve, part):
    """Closed objects would forbid the only answers that are right."""
    peer = serve()
    Anthropic().complete(request(schema={"type": "object", "properties": {"values": part}}), model())
    body = peer.seen[0].body
    assert "output_config" not in body
    assert body["system"][0]["text"].startswith("You report.")
    assert '"values"' in body["system"][0]["text"]


CONDITION = {"if": {"properties": {"ok": {"const": True}}}, "then": {"required": ["share"]}}


def test_a_condition_is_said_in_words_beside_the_form(serve):
    """The service knows no `if`; the rest of the schema it can still hold the answer to."""
    peer = serve()
    Anthropic().complete(request(schema=SCHEMA | {"allOf": [CONDITION]}), model())
    body = peer.seen[0].body
    assert set(body["output_config"]["format"]["schema"]) == {
        "type",
        "properties",
        "required",
        "additionalProperties",
    }
    assert json.dumps(CONDITION) in body["system"][0]["text"]


@pytest.mark.parametrize("path", sorted(AGENTS.glob("*.schema.yaml")), ids=lambda path: path.stem)
def test_the_schemas_of_our_agents_are_taken(serve, path):
    serve()
    assert Anthropic().complete(request(schema=load_yaml(path).data), model()).stop == "end"


def test_tools_and_pictures_go_there_and_back(serve):
    peer = serve(Turn("I look.", tools=(("read_file", {"path": "log"}), ("read_file", {}))))
    first = Message("user", (Text("See"), Image("image/png", PIXEL)))
    answer = Anthropic().complete(request(first, tools=(READ,)), model())
    assert answer.stop == "tool"
    assert answer.tool_calls == (
        ToolCall("toolu_1_0", "read_file", {"path": "log"}),
        ToolCall("toolu_1_1", "read_file", {}),
    )
    results = (
        Text("Go on."),
        ToolAnswer("toolu_1_0", (Text("42"), Image("image/png", PIXEL))),
        ToolAnswer("toolu_1_1", (Text("no path"),), is_error=True),
    )
    again = Anthropic().complete(
        request(first, Message("assistant", answer.parts), Message("user", results), tools=(READ,), turn=2), model()
    )
    assert again.stop == "end"
    body = peer.seen[1].body
    assert body["messages"][0]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": PIXEL}
    good, bad, text = body["messages"][2]["content"]
    assert [part["type"] for part in good["content"]] == ["text", "image"]
    assert bad["is_error"] is True
    assert "is_error" not in good
    assert text["text"] == "Go on."
    assert body["tools"][0]["input_schema"] == READ.schema


def test_thoughts_go_back_with_the_answers_of_tools_to_the_model_that_had_them(serve):
    peer = serve(Turn("I look.", tools=(("read_file", {"path": "log"}),), thinking="What does the log say?"))
    backend = Anthropic()
    answer = backend.complete(request(tools=(READ,)), model())
    assert answer.text == "I look."
    told = Message("user", (ToolAnswer(answer.tool_calls[0].id, (Text("42"),)),))
    asked = request(*request().messages, Message("assistant", answer.parts), told, tools=(READ,), turn=2)
    assert backend.complete(asked, model()).stop == "end"
    thought, text, call = peer.seen[1].body["messages"][1]["content"]
    assert (thought["type"], thought["thinking"]) == ("thinking", "What does the log say?")
    assert (text["text"], call["input"]) == ("I look.", {"path": "log"})
    assert "partial_json" not in call
    another = Model("other", "anthropic", "another-model", 1)
    assert backend.complete(asked, another).stop == "end"
    assert [block["type"] for block in peer.seen[2].body["messages"][1]["content"]] == ["text", "tool_use"]


def test_the_prompt_is_cached_from_the_second_call_on(serve):
    serve()
    first, second = (Anthropic().complete(request(tools=(READ,)), model()).usage for _ in range(2))
    assert first.cached == 0
    assert second.cached > 0
    assert second.input_tokens == first.input_tokens


def test_arguments_that_are_no_object_are_kept_as_text_and_can_be_answered(serve):
    peer = serve(Turn(fault="bad_arguments"))
    answer = Anthropic().complete(request(tools=(READ,)), model())
    (call,) = answer.tool_calls
    assert (answer.stop, call.arguments, call.raw) == ("tool", None, '{"path": "a')
    told = Message("user", (ToolAnswer(call.id, (Text("the arguments are no JSON object"),), is_error=True),))
    history = (request().messages[0], Message("assistant", answer.parts), told)
    assert Anthropic().complete(request(*history, tools=(READ,)), model()).stop == "end"
    assert peer.seen[1].body["messages"][1]["content"][-1]["input"] == {"INVALID_JSON": '{"path": "a'}


@pytest.mark.parametrize(("fault", "stop"), [("refusal", "refusal"), ("overlong", "length")])
def test_refused_and_over_long_answers_are_answers(serve, fault, stop):
    serve(Turn('{"ok": true, "share": 0.25}', fault))
    assert Anthropic().complete(request(), model()).stop == stop


@pytest.mark.parametrize(
    ("fault", "kind", "outcome", "status"),
    [
        ("limited", "limited", "none", 429),
        ("overloaded", "overloaded", "none", 529),
        ("server", "server", "unknown", 500),
        ("503", "overloaded", "unknown", 503),
        ("504", "server", "unknown", 504),
        ("408", "timeout", "unknown", 408),
        ("400", "rejected", "none", 400),
        ("404", "rejected", "none", 404),
        ("413", "rejected", "none", 413),
        ("307", "rejected", "none", 307),
        ("401", "unauthorized", "none", 401),
        ("402", "unauthorized", "none", 402),
        ("403", "unauthorized", "none", 403),
        ("cut", "cut", "unknown", None),
        ("early_end", "cut", "unknown", None),
        ("event_error", "overloaded", "unknown", None),
        ("malformed", "malformed", "unknown", None),
        ("wrong_shape", "wrong_shape", "unknown", None),
        ("wrong_event", "wrong_shape", "unknown", None),
    ],
)
def test_every_fault_has_its_kind(serve, fault, kind, outcome, status):
    """One request each: nothing is tried again behind the gateway's back."""
    peer = serve(Turn(fault=fault))
    found = failure()
    assert (found.kind, found.outcome, found.status, found.retry_after_s) == (kind, outcome, status, None)
    assert len(peer.seen) == 1


def test_prompt_and_key_do_not_follow_a_redirect(serve):
    with serve_anthropic() as elsewhere:
        serve(Turn(fault="307", headers={"location": f"{elsewhere.url}/v1/messages"}))
        assert failure().kind == "rejected"
        assert not elsewhere.seen


@pytest.mark.parametrize("fault", ["timeout", "trickle"])
def test_no_whole_answer_in_time(serve, fault):
    """Pings for ever are no answer either."""
    peer = serve(Turn(fault=fault))
    found = failure(using=model(timeout_s=0.3))
    assert (found.kind, found.outcome) == ("timeout", "unknown")
    assert len(peer.seen) == 1


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_how_long_to_wait_is_read_from_the_headers(serve, headers, wait_s):
    serve(Turn(fault="limited", headers=headers))
    assert failure().retry_after_s == wait_s


def test_a_date_to_wait_for_is_in_seconds_from_now(serve):
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)
    serve(Turn(fault="overloaded", headers={"retry-after": then}))
    assert 500 < failure().retry_after_s <= 600


def test_nobody_listens(serve, monkeypatch):
    serve()
    with serve_anthropic() as gone:
        url = gone.url
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    found = failure()
    assert (found.kind, found.outcome) == ("unreachable", "none")


def test_what_is_missing_is_said_before_anything_is_imported(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    assert "ANTHROPIC_API_KEY" in Anthropic().missing(model())
    assert (failure().kind, failure().outcome) == ("unauthorized", "none")
    assert "MY_KEY" in Anthropic().missing(model(key_env="MY_KEY"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", f"{KEY}\nX-Evil: 1")
    told = Anthropic().missing(model())
    assert "ANTHROPIC_API_KEY" in told
    assert KEY not in told
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert Anthropic().missing(model()) is None
    assert "MY_URL" in Anthropic().missing(model(base_url_env="MY_URL"))
    monkeypatch.setenv("MY_URL", "file:///etc/passwd")
    assert "MY_URL" in Anthropic().missing(model(base_url_env="MY_URL"))


def test_the_default_key_is_not_handed_to_another_address(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("MY_URL", "http://127.0.0.1:9")
    assert "key_env" in Anthropic().missing(model(base_url_env="MY_URL"))
    monkeypatch.setenv("MY_KEY", "another-key-of-mine")
    assert Anthropic().missing(model(base_url_env="MY_URL", key_env="MY_KEY")) is None


@pytest.mark.parametrize("fault", ["", *FAULTS, "400", "401", "event_error"])
def test_the_key_is_nowhere_even_where_the_service_echoes_it(serve, fault, caplog):
    caplog.set_level("DEBUG")
    peer = serve(Turn(text=f'{{"ok": "{KEY}"}}', fault=fault, says=f"what is {KEY}?"))
    try:
        answer = Anthropic().complete(request(), model(timeout_s=0.3))
        shown = f"{answer!r} {answer.raw}"
    except ModelError as found:
        shown = f"{found!r} {found.raw} {found.reason} {traceback.format_exception(found)}"
    assert KEY in str(peer.seen[0].headers)
    assert KEY not in shown
    assert KEY not in caplog.text


def test_a_long_echo_is_cleaned_before_it_is_cut(serve):
    """Half a key at the end of what is kept would be half a leak."""
    serve(Turn(fault="400", says=KEY * 400))
    assert KEY[:8] not in str(failure().raw)


def test_tokens_are_counted_by_the_service(serve):
    peer = serve()
    asked = request(tools=(READ,))
    counted = Anthropic().count(asked, model())
    assert counted == Anthropic().complete(asked, model()).usage.input_tokens
    assert [seen.path for seen in peer.seen] == ["/v1/messages/count_tokens", "/v1/messages"]


def test_where_nobody_counts_a_bound_is_given(serve, monkeypatch):
    serve()
    counted = Anthropic().count(request(), model())
    with serve_anthropic() as gone:
        url = gone.url
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    assert Anthropic().count(request(), model()) >= counted


def test_calls_under_faults_are_each_answered_once(serve):
    """Four threads, a fifth of the calls lost: whoever asks again until it is answered is answered once."""
    peer = serve(script=seeded(7, 0.2, [fault for fault in LOST if fault != "timeout"]))
    failures, missing = Counter(), []

    def ask(number):
        for _ in range(20):
            try:
                Anthropic().complete(request(Message("user", (Text(f"call {number}"),))), model())
            except ModelError as found:
                failures[found.kind] += 1
            else:
                return
        missing.append(number)

    def work(first):
        for number in range(first, 40, 4):
            ask(number)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answered = Counter(seen.body["messages"][0]["content"][0]["text"] for seen in peer.seen if seen.answered)
    assert not missing
    assert answered == {f"call {number}": 1 for number in range(40)}
    assert sum(failures.values()) == sum(1 for seen in peer.seen if seen.fault) > 0


def test_the_service_of_these_tests_answers_whole_too(serve):
    """The real client, its own shape check on: what the loopback service writes is what the real one writes."""
    peer = serve(Turn("Hm.", tools=(("read_file", {"path": "a"}),)), Turn(fault="cut"), Turn(fault="malformed"))
    client = anthropic.Anthropic(api_key=KEY, base_url=peer.url, max_retries=0, _strict_response_validation=True)
    asked = {
        "model": "a-model",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "?"}]}],
    }
    message = client.messages.create(**asked)
    assert (message.stop_reason, message.content[1].input) == ("tool_use", {"path": "a"})
    with pytest.raises(anthropic.APIConnectionError):
        client.messages.create(**asked)
    with pytest.raises(json.JSONDecodeError):
        client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        assert stream.get_final_message().content[0].text == '{"ok": true}'


def test_importing_the_backends_imports_no_client():
    code = (
        "import sys, sophron.agents.gateway.backends.anthropic, sophron.agents.gateway.backends.openai;"
        "print([name for name in ('anthropic', 'openai', 'httpx2', 'pydantic', 'numpy') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
