"""Engines in a separate process: checks before, one question with its time, a typed ending after."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import sophron
from sophron.interfaces.rietveld import Cycle, Group, Pattern, Request, RietveldEngine, Setup, State
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json
from sophron.science.rietveld import engine_messages, request_validation

if TYPE_CHECKING:
    from sophron.interfaces.rietveld import Array


class ExternalEngine(RietveldEngine):
    """An engine that answers from `sophron.science.rietveld.workers`; its process keeps nothing between questions."""

    def __init__(self) -> None:
        self._process: EngineProcess | None = None

    @abstractmethod
    def _make(self) -> EngineProcess:
        """Its process, not yet started."""

    def start(self, setup: Setup, *, limit_s: float = 60.0) -> State:
        """The state before any cycle. UserError for a phase or an instrument that it cannot read."""
        limits = request_validation.check_setup(setup, self.name, self.capabilities())
        asked = {"setup": engine_messages.setup(setup, limits), "pattern": engine_messages.pattern(setup.pattern)}
        answer = self._must("start", asked, limit_s)
        return State(engine=self.name, **answer, background=setup.background, limits_deg=limits)

    def refine(self, pattern: Pattern, state: State, request: Request) -> Cycle:
        """One cycle. UserError for what it does not have, before anything is refined; never for a bad fit."""
        if state.engine != self.name:
            raise UserError(f"a state of {state.engine} cannot be refined by {self.name}; start anew from the setup")
        request_validation.check_request(request, state, self.name, self.capabilities())
        asked = {
            "pattern": engine_messages.pattern(pattern),
            "state": to_json(state),
            "request": engine_messages.request(request),
        }
        began = time.monotonic()
        try:
            answer = self._ask("refine", asked, request.limit_s)
        except EngineTimeoutError as error:
            return Cycle("timeout", state, None, str(error), time.monotonic() - began)
        except EngineStoppedError as error:
            return Cycle("failed", state, None, str(error), time.monotonic() - began)
        return self._cycle(state, request, answer, time.monotonic() - began)

    def _cycle(self, state: State, request: Request, answer: Mapping[str, Any], wall_s: float) -> Cycle:
        if answer["ended"] not in ("converged", "unfinished"):
            return Cycle(answer["ended"], state, None, answer["reason"], wall_s)
        moved: set[Group] = {*state.moved, *(freed.group for freed in request.free)}
        after = State(
            engine=self.name,
            **answer["state"],
            background=request.background or state.background,
            limits_deg=state.limits_deg,
            moved=tuple(sorted(moved)),
        )
        said = answer["fit"]
        fit = engine_messages.fit_back(said, self.name, engine_messages.curves(said["curves"]))
        return Cycle(answer["ended"], after, fit, answer["reason"], wall_s)

    def calculate(self, state: State, two_theta_deg: Sequence[float], *, limit_s: float = 60.0) -> Array:
        """The pattern that `state` gives at these angles, background included."""
        asked = {"state": to_json(state), "two_theta_deg": [float(one) for one in two_theta_deg]}
        return np.array(self._must("calculate", asked, limit_s))

    def read_pattern(self, path: str, *, limit_s: float = 20.0) -> Pattern:
        """A pattern from one of the formats that the engine knows, as it stands there, unchecked."""
        # Its process works elsewhere.
        answer = self._must("read_pattern", {"path": str(Path(path).absolute())}, limit_s)
        arrays = {key: None if one is None else np.array(one, dtype=float) for key, one in answer.items()}
        return Pattern(path, **arrays)  # type: ignore[arg-type]

    def close(self) -> None:
        """End its process, if there is one. The next call starts another."""
        if self._process is not None:
            self._process.close()

    def _must(self, operation: str, asked: Mapping[str, object], limit_s: float) -> Any:
        """An answer; where the engine gives none, what it was asked is what has to change."""
        try:
            return self._ask(operation, asked, limit_s)
        except (EngineTimeoutError, EngineStoppedError) as error:
            raise UserError(f"{self.name}, {operation}: {error}; check what it was given") from None

    def _ask(self, operation: str, asked: Mapping[str, object], limit_s: float) -> Any:
        lack = self.missing()
        if lack is not None:
            raise UserError(lack)
        if self._process is None:
            self._process = self._make()
        return self._process.ask(operation, asked, limit_s)


START_S = 180.0
"""To import an engine: seconds on a quiet machine, many times that on a busy file system."""

PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LD_LIBRARY_PATH")
"""All of the environment that an engine gets: no keys, no agent."""


class EngineTimeoutError(Exception):
    """It did not answer in time, and was ended."""


class EngineStoppedError(Exception):
    """It raised or stopped; one sentence."""


class EngineProcess:
    """A process that answers for one engine, started when it is first asked and again after it was ended.

    module: of the package `sophron`, run by `python`; it keeps nothing between two questions, so nothing is lost.
    """

    def __init__(self, module: str, python: str, environment: Mapping[str, str]) -> None:
        self._module = module
        self._python = python
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._unread = b""

    def ask(self, operation: str, arguments: Mapping[str, object], limit_s: float) -> Any:
        """Its answer. Raises EngineTimeoutError, EngineStoppedError, and UserError for what it refuses."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        question = {"do": operation, "limit_s": limit_s, "with": arguments}
        answer = self._exchange(json.dumps(question), limit_s)
        if "refused" in answer:
            raise UserError(answer["refused"])
        if "failed" in answer:
            raise EngineStoppedError(answer["failed"])
        return answer["ok"]

    def close(self) -> None:
        """End it and all that it started."""
        process, self._process, self._unread = self._process, None, b""
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __del__(self) -> None:
        self.close()

    def _start(self) -> None:
        self.close()
        self._folder = Path(tempfile.mkdtemp(prefix="sophron-engine-"))
        # An engine with a Python of its own sees this package alone, not what is installed beside it.
        (self._folder / "lib").mkdir()
        (self._folder / "lib" / "sophron").symlink_to(Path(sophron.__file__).resolve().parent)
        work = self._folder / "work"
        work.mkdir()
        passed = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
        with (self._folder / "stderr").open("wb") as stderr:
            self._process = subprocess.Popen(
                [self._python, "-m", f"sophron.science.rietveld.workers.{self._module}"],
                cwd=work,
                env={
                    "PYTHONDONTWRITEBYTECODE": "1",
                    **passed,
                    **self._environment,
                    "PYTHONPATH": str(work.parent / "lib"),
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                process_group=0,
            )
        try:
            self._read(START_S)
        except EngineTimeoutError:
            raise EngineStoppedError(f"the engine was not ready within {START_S:g} s") from None

    def _exchange(self, question: str, limit_s: float) -> Any:
        assert self._process is not None and self._process.stdin is not None  # noqa: S101, PT018
        try:
            self._process.stdin.write(question.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._stopped() from None
        return self._read(limit_s)

    def _read(self, limit_s: float) -> Any:
        """The next line that it writes. Nothing it does keeps this waiting longer than `limit_s`."""
        assert self._process is not None and self._process.stdout is not None  # noqa: S101, PT018
        until = time.monotonic() + limit_s
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(max(until - time.monotonic(), 0.0)):
                    self.close()
                    raise EngineTimeoutError(f"no answer within {limit_s:g} s")
                part = os.read(descriptor, 1 << 16)
                if not part:
                    raise self._stopped()
                self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    def _stopped(self) -> EngineStoppedError:
        said = self._last_words()
        self.close()
        return EngineStoppedError(f"the engine stopped{': ' + said if said else ''}")

    def _last_words(self) -> str:
        if self._folder is None:
            return ""
        lines = (self._folder / "stderr").read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""
