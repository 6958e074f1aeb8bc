"""The loop around Snakemake: fresh processes until the campaign is done, a debug agent between them, and its limits.

Superscientist, A.3 and B.5; DESIGN section 3, number 5. The loop decides nothing: what may change is chosen by the
debug agent among the signed choices, and a change of definition is drafted and left for a signature.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from sophron.agents import drafting, failing, remembering
from sophron.campaign import amend, draft, driver, mechanical
from sophron.campaign.pitfalls import ProbeSpec
from sophron.campaign.spec import SPEC_NAME, Spec, load
from sophron.campaign.state import project
from sophron.records import documents, events

PAUSE_NAME = "PAUSE"
RAPID_S = 60.0
MOST_RAPID = 3
LOCAL_TRIES, REMOTE_TRIES = 3, 5


class Ending(IntEnum):
    """How the loop ended; the exit code of `sophron run`."""

    DONE = 0
    PAUSED = 3
    SIGNATURE = 4
    ESCALATED = 5
    HALTED = 6


@dataclass(frozen=True)
class Settings:
    """How to drive. options: for Snakemake, e.g. `--profile slurm`; tries: of the debug agent for a failed stage.

    probe: runs the pitfall probes on what the amend agent drafts.
    """

    options: Sequence[str]
    tries: int = LOCAL_TRIES
    stagewise: bool = False
    processes: int = 200
    environment: Mapping[str, str] = field(default_factory=dict)
    probe: ProbeSpec = lambda _: ()


def snakemake(root: Path, settings: Settings, targets: Sequence[str]) -> int:
    """One fresh Snakemake process; its exit code."""
    command = [sys.executable, "-P", "-m", "snakemake", *settings.options, "--", *targets]
    return subprocess.run(command, cwd=root, env={**os.environ, **settings.environment}, check=False).returncode


class Loop:
    """One `sophron run`. say: where sentences for people go."""

    def __init__(self, root: Path, settings: Settings, say: Callable[[str], None] = print) -> None:
        self._root, self._settings, self._say = root, settings, say
        self._started, self._rapid = 0, 0
        self._passed: set[str] = set()
        self._tried: tuple[str, int, Mapping[str, Any]] | None = None

    def run(self) -> Ending:
        """Drive until the campaign is done, paused, waits for a person, or keeps dying."""
        while True:
            if (self._root / PAUSE_NAME).exists():
                self._say(f"Paused: remove the file {PAUSE_NAME} and call sophron run again.")
                return Ending.PAUSED
            spec = load(self._root / SPEC_NAME)
            driver.tell(self._root)  # a host's Snakefile may leave that to us
            stage = self._next(spec)
            if self._snakemake([] if stage is None else [f"results/{stage}/passed"]) == 0:
                self._note_end(spec, None)
                if stage is None:
                    return Ending.DONE
                self._passed.add(stage)
                continue
            ending = self._failed(spec)
            if ending is not None:
                return ending

    def _next(self, spec: Spec) -> str | None:
        """The first stage that is not passed yet; None where the whole campaign is to run."""
        if not self._settings.stagewise:
            return None
        status = {stage["id"]: stage["status"] for stage in project(self._root)["stages"]}
        done = {name for name, one in status.items() if one == "completed"} | self._passed
        return next((stage.name for stage in spec.stages if stage.name not in done), None)

    def _snakemake(self, targets: Sequence[str]) -> int:
        if self._started >= self._settings.processes:
            return 1
        self._started += 1
        begun = time.monotonic()
        code = snakemake(self._root, self._settings, targets)
        died = code != 0 and time.monotonic() - begun < RAPID_S
        self._rapid = self._rapid + 1 if died else 0
        return code

    def _failed(self, spec: Spec) -> Ending | None:
        """What comes after a process that failed; None where the loop goes on."""
        if self._started >= self._settings.processes:
            self._say(f"Halted: {self._started} processes were started, which is the cap (--processes).")
            return Ending.HALTED
        failure = failing.first(self._root, spec)
        if failure is None:
            return self._halted("no stage is known to have failed; see what Snakemake said")
        self._note_end(spec, failure.stage)
        attempt = failing.note(self._root, spec, failure)
        remembering.take(self._root, failure.stage, attempt)
        if attempt > self._settings.tries:
            self._say(f"{failure.stage} failed {attempt} times; the cap is {self._settings.tries}.")
            return self._escalated(failure, self._settings.tries)
        self._explain(failure)
        answer = self._ask("debug", failure.stage, attempt)
        if answer is None:
            return self._halted("the debug agent gave no answer")
        self._say(f"debug of {failure.stage}, try {attempt}: {answer['action']}: {answer['diagnosis']}")
        remembering.decided(self._root, failure.stage, attempt, answer)
        if answer["action"] == "escalate":
            return self._escalated(failure, attempt)
        self._tried = failure.stage, attempt, answer
        if answer["action"] == "overlay":
            self._overlay(failure.stage, answer)
        failing.set_aside(self._root, spec, failure)
        return self._halted("they left nothing to change") if self._rapid >= MOST_RAPID else None

    def _note_end(self, spec: Spec, failed: str | None) -> None:
        """Remember how the last attempt went. failed: the stage that failed now, None where none did."""
        if self._tried is not None:
            stage, attempt, answer = self._tried
            remembering.ended(self._root, spec.campaign, stage, attempt, answer, passed=stage != failed)
            self._tried = None

    def _explain(self, failure: failing.Failure) -> None:
        """What the verify agent makes of a failed verdict, for people; it decides nothing."""
        if failure.verdict is not None:
            answer = self._answer(f"results/{failure.stage}/explanation.json")
            if answer is not None:
                self._say(f"{failure.stage}: {answer['explanation']}")

    def _halted(self, why: str) -> Ending | None:
        if self._rapid < MOST_RAPID:
            return None
        self._say(f"Halted: {self._rapid} processes died within a minute each; {why}.")
        return Ending.HALTED

    def _ask(self, rule: str, stage: str, attempt: int) -> Mapping[str, Any] | None:
        name = {"debug": "debug", "propose": "proposal"}[rule]
        return self._answer(f"results/{stage}/{name}-{attempt}.json")

    def _proposal(self, stage: str, attempt: int, refusals: Sequence[str]) -> Mapping[str, Any] | None:
        """The amend agent's answer; with refusals, its second one, which is told why the first cannot be signed."""
        if refusals:
            failing.note_refusals(self._root, stage, attempt, refusals)
        return self._ask("propose", stage, attempt)

    def _answer(self, target: str) -> Mapping[str, Any] | None:
        """The answer of the agent step that makes `target`; None where it gave none."""
        if snakemake(self._root, self._settings, [target]) != 0:
            return None
        answer: Mapping[str, Any] = documents.load_json(self._root / target)["answer"]
        return answer

    def _overlay(self, stage: str, answer: Mapping[str, Any]) -> None:
        """The one thing that debug may change. A changed campaign has earned new processes."""
        key, value = answer["overlay"]["key"], answer["overlay"]["value"]
        mechanical.add_overlay(self._root, stage, key, value, by="debug agent", reason=answer["diagnosis"])
        events.append(self._root, "sophron", "overlay", stage=stage, key=key, value=value)
        project(self._root)
        self._rapid = 0

    def _escalated(self, failure: failing.Failure, attempt: int) -> Ending:
        """Draft an amendment, if the amend agent knows one, and stop: a person decides."""
        waits = draft.read(self._root)
        if waits is not None:
            self._say(f"{failure.stage}: {amend.told_waiting(waits)}. Next: sophron review, sophron approve")
            return Ending.SIGNATURE
        drafted, faults, why = drafting.offer(
            self._root, lambda refusals: self._proposal(failure.stage, attempt, refusals), self._settings.probe
        )
        if drafted is None:
            self._say(f"{failure.stage}: {why} Next: sophron status, sophron amend")
            return Ending.ESCALATED
        self._say(f"Version {drafted.version} is drafted: {json.dumps(drafted.changes, ensure_ascii=False)}")
        for fault in faults:
            self._say(f"As it stands it cannot be signed: {fault}")
        self._say("Nothing changes before a person signs it. Next: sophron review, sophron approve")
        return Ending.SIGNATURE
