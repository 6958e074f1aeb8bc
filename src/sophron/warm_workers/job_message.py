"""Messages between driver and worker about one step: plain data, so that any pool can carry them."""

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self


class _Message:
    """Sent as one line of JSON: a pool carries a string fast, and the ends need not unpickle each other's classes."""

    def text(self) -> str:
        """Return the message as one line."""
        return json.dumps(vars(self))

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the message that `text` gave."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Order(_Message):
    """One step. Exactly one of `command` (a shell line) and `argv` (of Snakemake's own job step) is given.

    folder: the working directory. lease: the file without which the step must not run. log: where standard output and
    error go. limit_s: wall time after which the step is ended, 0 for none. environment: variables that the workflow
    declares for its jobs. Of a shell line only: executable of the shell, inputs that must be there, outputs (path ->
    whether it is a directory) and logs that are removed before it begins, latency_s to wait for inputs.

    A step of the fork server has neither lease nor log, since its streams are its client's; `environment` is all of
    the client's, `argv` its words, `executable` the prefix of its Python.
    """

    folder: str
    lease: str
    log: str
    limit_s: int = 0
    threads: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    argv: list[str] = field(default_factory=list)
    command: str = ""
    executable: str = "/bin/sh"
    inputs: list[str] = field(default_factory=list)
    outputs: Mapping[str, bool] = field(default_factory=dict)
    logs: list[str] = field(default_factory=list)
    latency_s: float = 0


@dataclass(frozen=True)
class Ended(_Message):
    """How a step ended. code: its exit code, negative for a signal. problem: a sentence, if there is one.

    cpu_s: what the step and all it waited for used, in CPU seconds.
    """

    code: int
    problem: str = ""
    cpu_s: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the step failed."""
        return bool(self.code or self.problem)

    def reason(self) -> str:
        """Return one sentence about a failure."""
        if self.problem:
            return self.problem
        if self.code < 0:
            return f"the step was killed by {signal.Signals(-self.code).name}"
        return f"the step ended with exit code {self.code}"
