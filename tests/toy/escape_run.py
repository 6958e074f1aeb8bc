"""Run escapes, in the sandbox or without, and look from outside which succeeded."""

import json
import os
import resource
import secrets
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from escape_world import PYTHON, World
from escapes import ALIVE, CHANGED, GOT, HIT, LEAK, PRELUDE, SIGNAL, VICTIM, WORKED, Escape

from sophron.sandbox.bubblewrap import Bubblewrap

MANY = """
for number, script in enumerate(json.loads(sys.argv[2])):
    child = os.fork()
    if not child:
        os.mkdir(str(number))
        os.chdir(str(number))
        W["work"] = os.getcwd()
        os.dup2(os.open("said", os.O_CREAT | os.O_WRONLY), 1)
        try:
            exec(script)
        except BaseException as error:
            print(repr(error))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""
"""Runs many scripts one after another, each as a process and in a folder of its own; what each says is in `said`."""


class Trial:
    """A world for escapes; each gets a scratch folder of its own inside the campaign."""

    def __init__(self, root: Path) -> None:
        self.world = World(root)
        self.said = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.world.close()

    def sandboxed(self, one: Escape) -> bool:
        """Whether it got out of bubblewrap."""
        with self._scratch() as folder:
            return self._succeeds(one, Path(folder), sandboxed=True)

    def unconfined(self, one: Escape) -> bool:
        """Whether it succeeds as an ordinary process of this account, with the account's environment."""
        with self._scratch() as folder:
            try:
                return self._succeeds(one, Path(folder), sandboxed=False)
            finally:
                self.world.restore()

    def together(self, several: Sequence[Escape], *, sandboxed: bool) -> list[str]:
        """Names of those that showed a leak or said that they worked, all run in one go."""
        with self._scratch() as folder:
            work = Path(folder)
            self._run(MANY, work, {}, json.dumps([one.script for one in several]), sandboxed=sandboxed)
            said = [(work / str(number) / "said").read_text(errors="replace") for number in range(len(several))]
        signs = (self.world.token, "ESCAPED")
        return [one.name for one, words in zip(several, said, strict=True) if any(sign in words for sign in signs)]

    def controllable(self, one: Escape) -> bool:
        """Whether the same script is to be tried without a sandbox here."""
        return one.control is None and not (one.root and os.geteuid() != 0)

    def _scratch(self) -> tempfile.TemporaryDirectory:
        (folder := self.world.campaign / "scratch").mkdir(exist_ok=True)
        return tempfile.TemporaryDirectory(dir=folder)

    def _run(self, script: str, work: Path, limits: dict, *more: str, sandboxed: bool) -> None:
        world = self.world
        world.mark = f"mark-{secrets.token_hex(8)}"
        out, err = world.root / "stdout", world.root / "stderr"
        command = [PYTHON, "-I", "-S", "-c", PRELUDE + script, json.dumps(world.facts(work)), *more]
        if sandboxed:
            Bubblewrap().run(command, world.grant(work, **limits), stdout=out, stderr=err)
        else:
            self._unconfined(command, work, limits, out, err)
        self.said = out.read_bytes()[-20_000:].decode(errors="replace") + err.read_text(errors="replace")

    @staticmethod
    def _unconfined(command: list[str], work: Path, limits: dict, out: Path, err: Path) -> None:
        def limited() -> None:
            if "cpu_s" in limits:  # higher than any control needs, but there to be raised
                resource.setrlimit(resource.RLIMIT_CPU, (100, 100))

        with out.open("wb") as said, err.open("wb") as complained:
            process = subprocess.Popen(
                command,
                cwd=work,
                stdout=said,
                stderr=complained,
                start_new_session=True,
                preexec_fn=limited,  # noqa: PLW1509
            )
            try:
                process.wait(2 if "wall_s" in limits and limits["wall_s"] == 0.5 else 30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _outlived(self, patience_s: float) -> bool:
        """Whether something outlives the program; a busy machine may take its time to start it."""
        until = time.monotonic() + patience_s
        while not self.world.outlived():
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True

    def _succeeds(self, one: Escape, work: Path, *, sandboxed: bool) -> bool:
        world = self.world
        world.signals, world.hits[:] = 0, []
        state = world.victim_state()
        self._run(one.script, work, dict(one.limits), sandboxed=sandboxed)
        if one.shows in (SIGNAL, HIT):
            time.sleep(0.05)
        seen = {
            LEAK: lambda: world.token in self.said,
            WORKED: lambda: "ESCAPED" in self.said,
            CHANGED: lambda: "ESCAPED" in self.said or not world.untouched(),
            VICTIM: lambda: world.victim_state() != state,
            SIGNAL: lambda: world.signals > 0,
            HIT: lambda: bool(world.hits),
            ALIVE: lambda: self._outlived(0.3 if sandboxed else 5.0),
            GOT: (work / "got-it").exists,
        }
        return seen[one.shows]()
