"""Attempts at tasks for tests: written as steps, done in a folder, and recorded as the harness records them."""

import subprocess
from dataclasses import dataclass, field

from sophron.tasks import fabrication, folder_tree
from sophron.tasks.expectations import bind
from sophron.tasks.fabrication import Attempt
from sophron.tasks.tool_history import Recorder, load

PICTURE = "\x89PNG {}"


@dataclass(frozen=True)
class Write:
    """The worker writes a file with a tool."""

    path: str
    text: str

    def do(self, folder, recorder):
        with recorder.call("task_write", {"path": self.path, "text": self.text}) as shown:
            place = folder / self.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(self.text)
            shown.append((f"wrote {len(self.text)} bytes", False))


@dataclass(frozen=True)
class Read:
    """The worker reads a file with a tool."""

    path: str

    def do(self, folder, recorder):
        with recorder.call("task_read", {"path": self.path}) as shown:
            shown.append(((folder / self.path).read_text(), False))


@dataclass(frozen=True)
class Run:
    """The worker runs a line. leaves: files that it writes, and said: what it prints, if it is not run in truth."""

    line: str
    leaves: dict = field(default_factory=dict)
    said: str = ""
    code: int = 0

    def do(self, folder, recorder):
        with recorder.call("task_shell", {"line": self.line}) as shown:
            if self.leaves or self.said or self.code:
                for name, text in self.leaves.items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_text(text)
                shown.append((f"[exit code {self.code}]\n{self.said}", self.code != 0))
                return
            ran = subprocess.run(
                ["/bin/bash", "-c", self.line], cwd=folder, capture_output=True, text=True, check=False, timeout=60
            )
            shown.append((f"[exit code {ran.returncode}]\n{ran.stdout}{ran.stderr}", ran.returncode != 0))


@dataclass(frozen=True)
class Case:
    """An attempt. text: context and to-do; expect: sentences; given, withheld: name -> text of files; kind: planted."""

    text: str
    expect: tuple
    steps: tuple
    given: dict = field(default_factory=dict)
    withheld: dict = field(default_factory=dict)
    kind: str = ""


def findings(case, tmp_path):
    """Do the steps of a case, and return what is found."""
    (folder := tmp_path / "work").mkdir()
    for place, files in ((folder, case.given), (tmp_path / "tests", case.withheld)):
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    given = folder_tree.digests(folder)
    for step in case.steps:
        step.do(folder, Recorder(folder, tmp_path / "calls.jsonl"))
    withheld = {"/tests": tmp_path / "tests"} if case.withheld else {}
    bound = [bind(one, number) for number, one in enumerate(case.expect, 1)]
    assert all(one.checks for one in bound), [one.why for one in bound if not one.checks]
    frozen = tmp_path / "frozen"
    folder_tree.freeze(folder, frozen)
    return fabrication.find(Attempt(frozen, given, bound, case.text, load(tmp_path / "calls.jsonl"), withheld))
