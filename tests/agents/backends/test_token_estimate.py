"""The bound on input tokens: never below what real vocabularies give, and nothing left out."""

import pytest

from sophron.agents.gateway.backends.token_estimate import IMAGE, tokens_at_most
from sophron.interfaces.model_backend import Image, Message, Request, Text, Tool, ToolAnswer, ToolCall


def request(*parts, **changes):
    given = {"step": "s", "agent": "a", "turn": 1, "system": "", "schema": {}}
    return Request(messages=(Message("user", parts),), **given | changes)


def added(*parts, **changes):
    return tokens_at_most(request(*parts, **changes)) - tokens_at_most(request())


@pytest.mark.parametrize(
    ("text", "real"),
    [
        # The most that the vocabularies o200k, cl100k and gpt2 give.
        ("The thermal conductivity is computed from the heat flux.", 11),
        ("heat-flux autocorrelation", 8),
        ("Step 1000 Temp 0.70000 Press -0.012345", 16),
        ("粘度は温度とともに下がる", 19),
        ("            indented", 13),
        ('{"a": [1, 2, 3], "b": {"c": null}}', 20),
        # Vocabularies of some local models hold single digits only.
        ("3.14159265358979", 16),
    ],
)
def test_no_text_is_undercounted(text, real):
    assert added(Text(text)) >= real


def test_every_part_counts():
    picture = Image("image/png", "AAAA")
    tool = Tool("read_file", "Read a file.", {"type": "object"})
    assert added(picture) >= IMAGE
    assert added(ToolAnswer("1", (picture, Text("12345678")))) >= IMAGE + 8
    assert added(ToolCall("1", "read_file", {"at": 12345678})) >= 8
    assert added(ToolCall("1", "read_file", None, "12345678")) >= 8
    assert added(tools=(tool,)) > 0
    assert added(system="12345678") >= 8
    assert added(schema={"const": 12345678}) >= 8
    assert tokens_at_most(request(), "12345678") >= tokens_at_most(request()) + 8
