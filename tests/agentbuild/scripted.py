"""A build for tests: a toy domain whose agent states a number, scripts in place of models, and rounds of both."""

import json
import shutil
from pathlib import Path

from sophron.agentbuild import contract, iteration
from sophron.agentbuild.release.trail import Source
from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.kinds.agent_build import agent_inputs, stages
from sophron.kinds.agent_build.kind import BUILD, ranges
from sophron.records import documents
from sophron.records.files import write_json, write_text
from sophron.records.typed_json import to_json

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
    contract.create(folder, "numbers", "A. Person")
    shutil.rmtree(folder / "blank" / "adapter")
    (folder / "blank" / "wiring.yaml").write_text("tools: []\n")
    (folder / "rubric.yaml").write_text(RUBRIC)
    (folder / "curriculum.yaml").write_text(CURRICULUM)
    (folder / "blank" / "recipe.yaml").write_text("skill: 1\n")
    return contract.load(folder)


def raised(agent, skill):
    """A diff that sets the skill of an agent whose files are given."""
    (line,) = agent["recipe.yaml"].splitlines()
    return f"--- a/recipe.yaml\n+++ b/recipe.yaml\n@@ -1 +1 @@\n-{line}\n+skill: {skill}\n"


class ScriptedAgents:
    """A toy agent that scores what its recipe says, less one on hard cases; proposals come from a script.

    proposals: one a round, a skill to propose or a whole diff. told: what the meta-optimizer was told, in order.
    """

    def __init__(self, proposals):
        self.proposals, self.told = list(proposals), []

    def attempt(self, agent, wildcards, folder):
        skill = int((agent / "recipe.yaml").read_text().split(":")[1])
        hard = wildcards["case"] in ("three", "kept")
        (folder / "trajectory.json").write_text(json.dumps({"calls": []}))
        failed = "the agent broke" if skill == 99 else None
        result = {} if failed else {"skill": skill - hard}
        return UpstreamStep("aud", wildcards, result, {"trajectory": folder / "trajectory.json"}, failed)

    def screen(self, run):
        return {"passed": True, "reasons": []}

    def score(self, run):
        score = max(1, min(5, (run.report or {"skill": 1})["skill"]))
        return {"scores": [{"code": code, "score": score, "evidence": "its skill"} for code in ("D1", "T1")]}

    def optimize(self, number, inputs):
        self.told.append(inputs)
        wanted = self.proposals[min(number, len(self.proposals)) - 1]
        diff = wanted if isinstance(wanted, str) else raised(inputs["agent"], wanted)
        return {"rationale": f"proposal {number}", "targets": ["D1"], "diff": diff}


class Rounds:
    """A campaign of the kind without Snakemake: the same functions, what they build on by hand, agents by a script."""

    def __init__(self, folder, made, agents, iterations):
        self.folder, self.made, self.agents = folder, made, agents
        self.definition = {
            "contract": str(made.folder),
            "contract_digest": made.digest,
            "iterations": iterations,
            "repeats": 2,
        }
        self.concluded, self.candidates, self.proposals, self.tried = [], [], {}, []

    def step(self, unit, wildcards, upstream=None, previous=None):
        """One step: its result fits its schema, its files are there."""
        workdir = self.folder / "-".join([unit.name, *wildcards.values()])
        workdir.mkdir(parents=True, exist_ok=True)
        context = StepContext(
            unit.name, wildcards, self.definition, upstream or {}, workdir, workdir, 1, previous=previous or {}
        )
        done = getattr(stages, unit.run.partition(":")[2])(context)
        documents.validate(documents.Document(done.result, Path("result")), unit.schema, "result")
        assert set(done.files) == set(unit.outputs)
        return UpstreamStep(unit.name, wildcards, done.result, done.files)

    def part(self, name):
        (part,) = (part for part in BUILD.parts if part.name == name)
        return BUILD.unit(part)

    def card(self, number, case, agent):
        """Run and judge one case as the agent rules would."""
        wildcards, folder = {"round": str(number), "case": case}, self.folder / f"run-{number}-{case}"
        folder.mkdir()
        answered = self.agents.attempt(agent, wildcards, folder)
        run = stages.run_of(case, answered, self.made)
        screening = UpstreamStep("judge_screen", wildcards, self.agents.screen(run), {})
        scores = [
            UpstreamStep("judge_score", {**wildcards, "repeat": repeat}, self.agents.score(run), {})
            for repeat in ("1", "2")
        ]
        return self.step(
            self.part("card"), wildcards, {"aud": [answered], "judge_screen": [screening], "judge_score": scores}
        )

    def round(self, number):
        """One round; whether another follows."""
        wildcards = {"round": str(number)}
        before = self.concluded[-1:]
        improved = (
            [UpstreamStep("optimize", {}, self.proposals[number - 1], {})] if number - 1 in self.proposals else []
        )
        previous = {"conclude": before, "optimize": improved}
        candidate = self.step(self.part("candidate"), wildcards, previous=previous)
        self.tried.append(tuple(candidate.result["cases"]))
        self.candidates.append(candidate)
        agent = stages.unpacked(candidate.files["agent"], self.folder / f"aud-{number}")
        cards = [self.card(number, case, agent) for case in candidate.result["cases"]]
        upstream = {"candidate": [candidate], "card": cards}
        concluded = self.step(self.part("conclude"), wildcards, upstream, {"conclude": before})
        self.concluded.append(concluded)
        if concluded.result["improve"]:
            inputs = agent_inputs.improving(self.made, concluded.files)
            self.proposals[number] = self.agents.optimize(number, inputs)
        return not concluded.result["done"]

    def run(self):
        """Rounds until none follows; the result of the stage."""
        number = 1
        while self.round(number):
            number += 1
        assert str(number) in ranges({"build": self.definition, "sample": {"cases": ["one"]}})["round"]
        return self.step(BUILD, {}, {"conclude": self.concluded})

    @property
    def history(self):
        """What every iteration came to, and how its agent came about."""
        return iteration.read_history(self.concluded[-1].files["history"])

    @property
    def skills(self):
        """Skill of the agent of every iteration."""
        packed = [json.loads(one.files["agent"].read_text()) for one in self.candidates[: len(self.history)]]
        return [int(files["recipe.yaml"].split(":")[1]) for files in packed]

    def source(self, folder):
        """The records of the rounds as a trail gathers them."""
        about = {"contract": self.made.name, "version": self.made.version, "digest": self.made.digest}
        write_json(folder / "build.json", about | {"handles": self.made.handles})
        for entry, candidate in zip(self.history, self.candidates, strict=False):
            place = folder / "iterations" / str(entry.verdict.iteration)
            stages.unpacked(candidate.files["agent"], place / "aud")
            change = to_json(entry.change)
            write_text(place / "diff", change.pop("diff"))
            write_json(place / "change.json", change)
            write_json(place / "verdict.json", to_json(entry.verdict))
            for case in entry.verdict.active:
                card = self.folder / f"card-{entry.verdict.iteration}-{case}" / "card.json"
                write_json(place / "judge" / f"{case}.json", json.loads(card.read_text()))
        return Source(folder, self.made.folder, folder)
