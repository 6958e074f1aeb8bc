"""A headless Chromium that tests drive over a pipe (Chrome DevTools Protocol), without a network port."""

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self

PROGRAM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
]
PATIENCE_S = 60


class Browser:
    """One browser with one page at a time; closes with the `with` block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._rest = b""
        self.seen: list[dict] = []

    def __enter__(self) -> Self:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        redirect = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out} 2>/dev/null'
        command = ["bash", "-c", redirect, "bash", PROGRAM, *FLAGS, f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(command, pass_fds=[theirs_in, theirs_out], stdout=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._send("Browser.close", {}, None)
            self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._in)
            os.close(self._out)

    def _send(self, method: str, parameters: dict, session: str | None) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._number

    def _receive(self) -> dict:
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser says nothing more")
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, session: str | None = None, **parameters: object) -> dict:
        """One command and its result; events that come before it are kept in `seen`."""
        number = self._send(method, parameters, session)
        while (message := self._receive()).get("id") != number:
            self.seen.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']['message']}")
        return message["result"]

    def wait(self, event: str) -> None:
        """Until an event has come."""
        while not any(message.get("method") == event for message in self.seen):
            self.seen.append(self._receive())

    def open(self, path: Path, width: int = 1200, *, dark: bool = False) -> "Tab":
        """Load a file in a new page of this width."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.seen.clear()
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable", session)
        self.call(
            "Emulation.setDeviceMetricsOverride", session, width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session, features=[scheme])
        self.call("Page.navigate", session, url=path.as_uri())
        self.wait("Page.loadEventFired")
        return Tab(self, session)


class Tab:
    """A loaded page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, **parameters: object) -> dict:
        """A command to this page."""
        return self._browser.call(method, self._session, **parameters)

    def value(self, expression: str) -> object:
        """What an expression gives in the page; the page's own policy holds for what it adds to the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        events = [message for message in self._browser.seen if message.get("method") == "Network.requestWillBeSent"]
        return [message["params"]["request"]["url"] for message in events]

    def complaints(self) -> list[str]:
        """What the browser logged: violations of the policy, failed loads, errors."""
        entries = [message for message in self._browser.seen if message.get("method") == "Log.entryAdded"]
        return [message["params"]["entry"]["text"] for message in entries]
