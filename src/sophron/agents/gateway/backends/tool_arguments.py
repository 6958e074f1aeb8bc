"""The arguments that a model wrote for a tool: an object, or the text that is none."""

import json

from sophron.interfaces.model import ToolCall


def tool_call(identity: str, name: str, written: str) -> ToolCall:
    """A call with the JSON text `written` as its arguments; they are None, and the text kept, where it is no object."""
    try:
        arguments = json.loads(written)
    except json.JSONDecodeError:
        arguments = None
    if isinstance(arguments, dict):
        return ToolCall(identity, name, arguments)
    return ToolCall(identity, name, None, written)
