"""One HTTP connection for one call, bounded in time as a whole. Imported only once a call is made."""

import ssl
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import httpx2

_CONNECT_S = 15.0
"""A host that has not taken the connection by then will not."""


class _Bounded(httpx2.SyncByteStream):
    """A body that stops at `end` (monotonic clock): a time-out between two bytes never ends a trickle of pings."""

    def __init__(self, body: httpx2.SyncByteStream, end: float) -> None:
        self._body = body
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._body:
            yield chunk
            if time.monotonic() > self._end:
                raise httpx2.ReadTimeout("the answer was not complete in time")

    def close(self) -> None:
        self._body.close()


@cache
def _trust() -> ssl.SSLContext:
    """Certificates, read once a process: 50 ms of every new client otherwise."""
    return httpx2.create_ssl_context()


def timeout(timeout_s: float) -> httpx2.Timeout:
    """Return the time-out of each read and write, with at most 15 s for the connection itself."""
    return httpx2.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S))


def client(sdk: Any, timeout_s: float) -> Any:
    """An HTTP client with the defaults of `sdk` for one call: the answer ends `timeout_s` from now, or is a time-out.

    It is not kept for the next call: a kept connection that the service has closed meanwhile looks like a call that
    was cut, and would be charged. Redirects are not followed: they would carry prompt and key to another host.
    """
    return _made(sdk.DefaultHttpxClient, timeout_s)


def plain_client(timeout_s: float) -> httpx2.Client:
    """Return a client that belongs to no SDK, bounded likewise: neither kept, nor led elsewhere by a redirect."""
    made: httpx2.Client = _made(partial(httpx2.Client, timeout=timeout(timeout_s)), timeout_s)
    return made


def _made(make: Callable[..., Any], timeout_s: float) -> Any:
    end = time.monotonic() + timeout_s

    def bind(response: httpx2.Response) -> None:
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Bounded(response.stream, end)

    return make(verify=_trust(), follow_redirects=False, event_hooks={"response": [bind]})
