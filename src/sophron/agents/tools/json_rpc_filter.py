"""Filter the output of a server over stdio: too many lines that are not protocol messages end it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mcp.client.stdio import StdioServerParameters

MOST_BAD_LINES = 100


@dataclass
class Noise:
    """How many lines of a server were not messages."""

    lines: int = 0

    @property
    def sentence(self) -> str:
        """Why it was ended; empty if it was not."""
        return f"it wrote {self.lines} lines that are no messages" if self.lines >= MOST_BAD_LINES else ""


@asynccontextmanager
async def patient(where: "StdioServerParameters", noise: Noise) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the SDK's transport to a server, which counts in `noise` and ends after too much of it."""
    from mcp.client.stdio import stdio_client

    async with stdio_client(where) as (read, write):
        yield _Reader(read, noise), write


class _Reader:
    """The SDK's stream of messages; a line that is none comes out of it as an exception."""

    def __init__(self, stream: Any, noise: Noise) -> None:
        self._stream, self._noise = stream, noise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        self._noise.lines += isinstance(item, Exception)
        if self._noise.sentence:
            raise StopAsyncIteration
        return item

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *about: object) -> Any:
        return await self._stream.__aexit__(*about)
