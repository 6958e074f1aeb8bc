import json
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sophron.agents.documents.answers import AgentError, parsed
from sophron.agents.step.conversation import converse
from sophron.interfaces.model_backend import Message, Request, Response, Text, Tool, ToolAnswer, ToolCall, Usage

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
REQUEST = Request("s", "a", 1, "system", (Message("user", (Text("how many?"),)),), SCHEMA)


class Scripted:
    """A stand-in for a gateway: gives prepared responses in turn and keeps the requests."""

    def __init__(self, *responses):
        self.responses, self.requests = list(responses), []

    def __call__(self, request):
        self.requests.append(request)
        return self.responses.pop(0)


def said(text, stop="end"):
    return Response((Text(text),), stop, Usage(), "scripted", "stand-in")


def wants(*calls):
    return Response(tuple(calls), "tool", Usage(), "scripted", "stand-in")


def faults(answer):
    from jsonschema import Draft202012Validator

    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(answer)]


class Hands:
    tools: ClassVar = [Tool("look", "looks", {"type": "object"})]

    def __init__(self):
        self.calls = []

    def call(self, call):
        self.calls.append(call)
        return ToolAnswer(call.id, (Text("seven"),))


def test_a_valid_answer_is_taken_with_who_gave_it():
    answered = converse(REQUEST, Scripted(said('{"n": 7}')), faults)
    assert (answered.answer, answered.backend, answered.calls) == ({"n": 7}, "scripted", 1)


def test_an_invalid_answer_is_repaired_once_and_the_model_sees_what_was_wrong():
    ask = Scripted(said('{"n": "seven"}'), said('```json\n{"n": 7}\n```'))
    assert converse(REQUEST, ask, faults, most_calls=2).answer == {"n": 7}
    turn = ask.requests[1]
    assert turn.turn == 2
    assert turn.messages[1].role == "assistant"
    assert "'seven' is not of type 'integer'" in turn.messages[2].parts[0].text


def test_half_a_character_is_repaired_like_any_other_fault():
    ask = Scripted(said('{"n": 1, "\\ud800": 2}'), said('{"n": 7}'))
    assert converse(REQUEST, ask, lambda _: [], most_calls=2).answer == {"n": 7}
    assert "half a character, \\ud800" in ask.requests[1].messages[-1].parts[0].text


@pytest.mark.parametrize(
    "bad", ['{"n": NaN}', '{"n": 1, "n": 2}', "[1]", "seven", "", '{"n": 7.5}', '{"n": 7, "m": 1}']
)
def test_two_invalid_answers_are_a_typed_failure(bad):
    with pytest.raises(AgentError) as failure:
        converse(REQUEST, Scripted(said(bad), said(bad)), faults, most_calls=5)
    assert failure.value.kind == "invalid_answer"


def test_without_a_call_left_there_is_no_repair_turn():
    ask = Scripted(said("no"))
    with pytest.raises(AgentError, match="no valid answer"):
        converse(REQUEST, ask, faults, most_calls=1)
    assert len(ask.requests) == 1


def test_tools_are_called_and_their_answers_come_before_the_final_one():
    hands = Hands()
    ask = Scripted(wants(ToolCall("1", "look", {"at": "it"}), ToolCall("2", "look", None, "{bad")), said('{"n": 7}'))
    assert converse(REQUEST, ask, faults, tools=hands, most_calls=3).calls == 2
    assert [call.id for call in hands.calls] == ["1", "2"]
    assert [part.id for part in ask.requests[1].messages[-1].parts] == ["1", "2"]


def test_a_tool_is_not_called_with_half_a_character():
    hands = Hands()
    ask = Scripted(wants(ToolCall("1", "look", {"path": "\ud800"})), said('{"n": 7}'))
    assert converse(REQUEST, ask, faults, tools=hands, most_calls=3).answer == {"n": 7}
    assert hands.calls == []
    assert "half a character" in ask.requests[1].messages[-1].parts[0].content[0].text


def test_tools_without_end_are_a_typed_failure():
    forever = [wants(ToolCall(str(n), "look", {})) for n in range(9)]
    with pytest.raises(AgentError) as failure:
        converse(REQUEST, Scripted(*forever), faults, tools=Hands(), most_calls=4)
    assert failure.value.kind == "tool"


def test_an_agent_without_tools_that_asks_for_one_is_told_so():
    ask = Scripted(wants(ToolCall("1", "look", {})), said('{"n": 7}'))
    converse(REQUEST, ask, faults, most_calls=2)
    assert ask.requests[1].messages[-1].parts[0].is_error


@pytest.mark.parametrize(("stop", "kind"), [("refusal", "refusal"), ("length", "too_long")])
def test_refused_and_cut_answers_are_typed_failures(stop, kind):
    with pytest.raises(AgentError) as failure:
        converse(REQUEST, Scripted(said('{"n": 7}', stop)), faults)
    assert failure.value.kind == kind


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["n", "m", ""]), inner, max_size=3),
    max_leaves=8,
)
answers = st.one_of(
    st.text(max_size=60),
    json_values.map(json.dumps),
    json_values.map(lambda value: f"```json\n{json.dumps(value)}\n```"),
    st.builds(lambda value, cut: json.dumps(value)[:cut], json_values, st.integers(0, 30)),
    st.just('{"n": 7}'),
)


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=answers, second=answers)
@example(first="", second='{"n": 0.0}')
@example(first='{"n": 0.5}', second='{"n": true}')
def test_500_fuzzed_answers_none_unvalidated_passes(first, second):
    try:
        answer = converse(REQUEST, Scripted(said(first), said(second)), faults, most_calls=2).answer
    except AgentError as failure:
        kind, answer = failure.kind, None
    # 7.0 is an integer by JSON Schema, which knows no types of Python; true is none.
    number = None if answer is None else answer.get("n")
    valid = answer is not None and set(answer) == {"n"} and not isinstance(number, bool) and number == int(number)
    assert valid or (answer is None and kind == "invalid_answer")


def test_a_very_long_answer_is_not_even_parsed():
    assert "longer" in parsed('{"n": ' + "1" * 500_000 + "}")[1][0]
