"""One HTTP call to a service: bounded in time as a whole, its faults translated into a ModelError.

Imported only once a call is made. The clients of both services come from one generator and share their errors' names.
"""

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import Any, Literal

import httpx2

from sophron.agents.gateway.backends.endpoint import Endpoint
from sophron.interfaces.model_backend import FailureKind, ModelError
from sophron.records.clock import now
from sophron.records.errors import shown

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
    """Read the certificates, once a process: 50 ms of every new client otherwise."""
    return httpx2.create_ssl_context()


def timeout(timeout_s: float) -> httpx2.Timeout:
    """Return the time-out of each read and write, with at most 15 s for the connection itself."""
    return httpx2.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S))


def client(sdk: Any, timeout_s: float) -> Any:
    """Make an HTTP client with the defaults of `sdk` for one call, which ends `timeout_s` from now, or is a time-out.

    It is not kept for the next call: a kept connection that the service has closed meanwhile looks like a call that
    was cut, and would be charged. Redirects are not followed: they would carry prompt and key to another host.
    """
    return _make_client(sdk.DefaultHttpxClient, timeout_s)


def plain_client(timeout_s: float) -> httpx2.Client:
    """Return a client that belongs to no SDK, bounded likewise: neither kept, nor led elsewhere by a redirect."""
    made: httpx2.Client = _make_client(partial(httpx2.Client, timeout=timeout(timeout_s)), timeout_s)
    return made


def _make_client(make: Callable[..., Any], timeout_s: float) -> Any:
    end = time.monotonic() + timeout_s

    def bind(response: httpx2.Response) -> None:
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Bounded(response.stream, end)

    return make(verify=_trust(), follow_redirects=False, event_hooks={"response": [bind]})


_STATUS: dict[int, tuple[FailureKind, Literal["none", "unknown"]]] = {
    401: ("unauthorized", "none"),
    402: ("unauthorized", "none"),
    403: ("unauthorized", "none"),
    408: ("timeout", "unknown"),
    429: ("limited", "none"),
    503: ("overloaded", "unknown"),  # also what a proxy says of a service that it has lost in the middle
    529: ("overloaded", "none"),
}
_EVENT: dict[str, FailureKind] = {
    "overloaded_error": "overloaded",
    "rate_limit_error": "limited",
    "timeout_error": "timeout",
    "invalid_request_error": "rejected",
}
_LONGEST_BODY = 4_000
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.UnsupportedProtocol, httpx2.InvalidURL)


@contextmanager
def typed_errors(sdk: Any, endpoint: Endpoint) -> Iterator[None]:
    """Let errors of the client package `sdk` and of its transport leave this block as ModelError.

    The original is not chained: its text may hold a header, and a header holds the key.
    """
    try:
        yield
    except sdk.APIStatusError as error:
        failure = of_status(error.status_code, error.response.headers, error.body, endpoint)
    except sdk.APIConnectionError as error:
        failure = _of_transport(error.__cause__ or error, endpoint)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        failure = _of_transport(error, endpoint)
    except (json.JSONDecodeError, UnicodeDecodeError):
        failure = ModelError("malformed", f"{endpoint.service} at {endpoint.host} answered with what is no JSON")
    else:
        return
    raise failure from None


def of_status(status: int, headers: Mapping[str, str], body: object, endpoint: Endpoint) -> ModelError:
    """Return the failure behind an HTTP status outside 200 to 299. body: decoded JSON or text."""
    kind, outcome = _STATUS.get(status, ("server", "unknown") if status >= 500 else ("rejected", "none"))
    sentence = endpoint.cleaned(_message(body))
    return ModelError(
        kind,
        f"{endpoint.service} at {endpoint.host} answered {status}{': ' + shown(sentence, 300) if sentence else ''}",
        outcome=outcome,
        retry_after_s=retry_after_s(headers),
        status=status,
        raw={"status": status, "body": _shorten(endpoint.cleaned(body))},
    )


def of_event(error: object, endpoint: Endpoint) -> ModelError:
    """Return the failure behind an error that comes inside a stream, after work has begun."""
    kind = _EVENT.get(str(error.get("type")), "server") if isinstance(error, Mapping) else "server"
    sentence = shown(endpoint.cleaned(_message(error)), 300)
    reason = f"{endpoint.service} at {endpoint.host} gave up in the middle of its answer: {sentence}"
    return ModelError(kind, reason, raw={"body": _shorten(endpoint.cleaned(error))})


def wrong_shape(endpoint: Endpoint, detail: str, body: object) -> ModelError:
    """Return the failure behind JSON that this service does not answer. detail: what is wrong, in a few words."""
    reason = f"{endpoint.service} at {endpoint.host} answered in a wrong shape: {detail}"
    return ModelError("wrong_shape", reason, raw={"body": _shorten(endpoint.cleaned(body))})


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return seconds the service asks to wait: `retry-after-ms`, `retry-after` in seconds or as a date, or None."""
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            wait = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if 0 <= wait < float("inf"):
            return wait
    try:
        return max(0.0, (parsedate_to_datetime(headers.get("retry-after", "")) - now()).total_seconds())
    except (ValueError, TypeError):
        return None


def _of_transport(error: BaseException, endpoint: Endpoint) -> ModelError:
    where, name = f"{endpoint.service} at {endpoint.host}", type(error).__name__
    if isinstance(error, _UNSENT):
        return ModelError("unreachable", f"{where} cannot be reached ({name})", outcome="none")
    if isinstance(error, httpx2.TimeoutException):
        return ModelError("timeout", f"{where} did not answer in time ({name})")
    if isinstance(error, httpx2.DecodingError):
        return ModelError("malformed", f"{where} answered with a body that cannot be decoded ({name})")
    return ModelError("cut", f"{where} ended the connection in the middle ({name})")


def _message(body: object) -> str:
    """Return the sentence in an error body: `{"error": {"message": ...}}`, `{"message": ...}`, or the text itself."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    sentence = inner.get("message", "") if isinstance(inner, Mapping) else inner
    return sentence if isinstance(sentence, str) else ""


def _shorten(body: object) -> object:
    """Return a body as the audit keeps it: whole if it is short, else the beginning of its text."""
    text = body if isinstance(body, str) else json.dumps(body, default=str)
    return body if len(text) <= _LONGEST_BODY else text[:_LONGEST_BODY]
