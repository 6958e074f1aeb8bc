"""A fixture server on the base of the tools' server, with the fixed names that the public conformance suite calls.

It has what our server has: tools that answer with text, with a picture, and with an error. `python server.py PORT`.
"""

import base64
import sys

from mcp_types import CallToolResult, ImageContent, TextContent

from sophron.science.rietveld.mcp import base

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_simple_text() -> CallToolResult:
    """Text."""
    return CallToolResult(content=[TextContent(type="text", text="This is a simple text response for testing.")])


def test_image_content() -> CallToolResult:
    """A picture."""
    data = base64.b64encode(PIXEL).decode()
    return CallToolResult(content=[ImageContent(type="image", data=data, mime_type="image/png")])


def test_error_handling() -> CallToolResult:
    """An error of the tool."""
    text = "This tool intentionally returns an error for testing"
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


app = base("conformance", "A fixture.")
for tool in (test_simple_text, test_image_content, test_error_handling):
    app.add_tool(tool)
if __name__ == "__main__":
    app.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
