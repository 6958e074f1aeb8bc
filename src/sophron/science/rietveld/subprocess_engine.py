"""What engines in a process of their own have in common: checks before, one question, a typed ending after."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sophron.interfaces.rietveld import Cycle, Group, Pattern, Request, RietveldEngine, Setup, State
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json
from sophron.science.rietveld import engine_messages, request_validation
from sophron.science.rietveld.engine_process import EngineProcess, EngineStoppedError, EngineTimeoutError

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
