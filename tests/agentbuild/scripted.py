"""Ways of a build for tests: a toy domain whose agent states a number, and scripts in place of models."""

import json

from sophron.agentbuild import build_store, contract, contract_scaffold

RUBRIC = """\
title: numbers
authors: [A. Person]
scale: {lowest: 1, highest: 5}
repeats: 2
dimensions:
  - {code: D1, name: Value, about: The value is near the reference., kind: output, pass: 3, asks: Is the value right?}
  - {code: T1, name: Order, about: It was looked at first., kind: trajectory, pass: 2, asks: Was it looked at?}
"""
CURRICULUM = """\
title: numbers
authors: [A. Person]
cases:
  one: {about: one, source: {name: file, parameters: {file: samples/first.json}}, reference: references/first.yaml}
  two: {about: two, source: {name: file, parameters: {file: samples/first.json}}, reference: references/first.yaml}
  three: {about: three, source: {name: file, parameters: {file: samples/first.json}}, reference: references/first.yaml}
  kept: {about: kept, source: {name: file, parameters: {file: samples/first.json}}, reference: references/first.yaml}
tiers:
  - {name: easy, cases: [one, two]}
  - {name: hard, cases: [three]}
held_out: [kept]
"""


def toy_contract(folder):
    """A contract of a toy domain: an agent is as good as the number `skill` in its recipe."""
    contract_scaffold.create(folder, "numbers", "A. Person")
    (folder / "rubric.yaml").write_text(RUBRIC)
    (folder / "curriculum.yaml").write_text(CURRICULUM)
    (folder / "blank" / "recipe.yaml").write_text("skill: 1\n")
    return contract.load(folder)


def raised(agent, skill):
    """A diff that sets the skill of an agent whose files are given."""
    (line,) = agent["recipe.yaml"].splitlines()
    return f"--- a/recipe.yaml\n+++ b/recipe.yaml\n@@ -1 +1 @@\n-{line}\n+skill: {skill}\n"


class Killed(BaseException):
    """Stands for a kill: nothing in a build catches it."""


class ScriptedWays:
    """A toy agent that scores what its recipe says, less one on hard cases; proposals come from a script.

    proposals: one an iteration, a skill to propose or a whole diff. dies_at: number of the action that kills it.
    """

    def __init__(self, proposals, dies_at=None):
        self.proposals, self.dies_at, self.calls = list(proposals), dies_at, []

    def _act(self, step):
        self.calls.append(step)
        if self.dies_at == len(self.calls):
            raise Killed(step)

    def attempt(self, step, agent, case, folder):
        skill = int((agent / "recipe.yaml").read_text().split(":")[1])
        (folder / build_store.REPORT).write_text(json.dumps({"skill": skill - (case.name in ("three", "kept"))}))
        self._act(step)
        (folder / build_store.TRAJECTORY).write_text(json.dumps({"calls": []}))
        return "the agent broke" if skill == 99 else ""

    def screen(self, step, run):
        self._act(step)
        return {"passed": True, "reasons": []}

    def score(self, step, run, computed, folder):
        self._act(step)
        score = max(1, min(5, run.report["skill"]))
        return {"scores": [{"code": code, "score": score, "evidence": "its skill"} for code in ("D1", "T1")]}

    def optimize(self, step, inputs):
        self._act(step)
        number = int(step.rpartition("-")[2])
        wanted = self.proposals[min(number, len(self.proposals)) - 1]
        diff = wanted if isinstance(wanted, str) else raised(inputs["agent"], wanted)
        return {"rationale": f"proposal {number}", "targets": ["D1"], "diff": diff}
