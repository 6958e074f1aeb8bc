"""A finished build of a toy agent that adds numbers, as the loop of a build leaves it, and the trail of it."""

import json
import shutil
from pathlib import Path

from sophron.agentbuild.release import package, trail
from sophron.agentbuild.release.trail import Source
from sophron.records.digests import digest, file_digest

AGENT = """\
---
name: adder
role: work
rank: 3
output: adder
inputs:
  numbers: {kind: json, about: "Terms, and how long the work takes in seconds."}
  remark: {kind: text, about: "A remark that is handed back.", optional: true}
  sample: {kind: folder, about: "Files that go with it.", optional: true}
  recipe: {kind: json, about: "The factor that every sum gets."}
  agent: {kind: file, about: "Its own files, with the code that it may run."}
tools: []
limits: {calls: 2, tokens: 1000, dollars: 0.1, seconds: 60, max_tokens: 500}
---
Add {{ numbers }} by {{ recipe }}; files: {{ sample }}; hand back {{ remark }}; helpers: {{ agent }}.
"""
ANSWER = """\
$schema: https://json-schema.org/draft/2020-12/schema
title: A sum
type: object
additionalProperties: false
required: [sum, note]
properties:
  sum: {type: number, description: The sum.}
  note: {type: string, description: The remark.}
"""
CONTRACT = {
    "VERSION": "1.2.0\n",
    "rubric.yaml": (
        "title: Adds numbers for tests.\nauthors: [alex]\n"
        "dimensions:\n  - {code: D1, pass: 3}\n  - {code: T1, pass: 2}\n"
    ),
    "curriculum.yaml": "authors: [alex, kim]\ncases: [small, large]\n",
    "knowledge/adding.md": "Carry the one. This is what only the producer knows.\n",
    "tools.yaml": 'servers:\n  abacus: {command: [abacus]}\ntools: {abacus__add: "Adds."}\n',
}
AUD = {
    "agent.md": AGENT,
    "recipe.yaml": "factor: 1\n",
    "schemas/adder.schema.yaml": ANSWER,
    "helpers/checks.py": "LARGEST = 10\n",
}
DIFF = "--- a/recipe.yaml\n+++ b/recipe.yaml\n@@ -1 +1 @@\n-factor: 2\n+factor: 1\n"
HEURISTIC = {"backend": "heuristic"}
MODELS = {"agent": HEURISTIC, "screen": HEURISTIC, "score": HEURISTIC, "optimize": HEURISTIC}
COURSE = (
    {"small": {"D1": 1, "T1": 3}},
    {"small": {"D1": 5, "T1": 3}, "large": {"D1": 3, "T1": 2}},
)
"""Scores of each iteration: the first fails, the second passes."""


def make(folder: Path) -> Path:
    """A trail in `folder` whose only entry is a build that passed; the folder."""
    trail.begin(folder, source(folder.with_name(f"{folder.name}-records")))
    return folder


def source(home: Path, *, models: dict = MODELS, course=COURSE, agent: dict = AUD) -> Source:
    """The records of a finished build in `home`: contract, iterations, audits, events."""
    shutil.rmtree(home, ignore_errors=True)
    contract = CONTRACT | {"models.yaml": json.dumps(models)}
    _write(home / "contract", contract)
    digests = {path: file_digest(home / "contract" / path) for path in sorted(contract)}
    about = {"contract": "toy-sums", "version": "1.2.0", "digest": digest(digests), "handles": models}
    _write(home / "build", {"build.json": json.dumps(about)})
    for number, scores in enumerate(course, start=1):
        _iteration(home, number, scores, agent if number == len(course) else agent | {"recipe.yaml": "factor: 2\n"})
    return Source(home / "build", home / "contract", home / "build")


def _iteration(home: Path, number: int, scores: dict, agent: dict) -> None:
    place = home / "build" / "iterations" / str(number)
    _write(place / "aud", agent)
    judged = package.load_agent(place / "aud", {}).digest
    parent = number - 1 or None
    change = {"agent": judged, "parent": parent, "refusal": "", "rationale": "sums came out twice too large"}
    cards = {f"judge/{case}.json": json.dumps(_card(case, found)) for case, found in scores.items()}
    report = json.dumps({"engine": "abacus", "engine_version": "7"})
    files = {"change.json": json.dumps(change), "diff": DIFF if parent else "", "cases/small/report.json": report}
    _write(place, cards | files | {"verdict.json": json.dumps({"active": list(scores)})})
    events = []
    for case in scores:
        step = f"score-{number}-{case}-1"
        _write(
            home / "build" / "records" / step, {"audit.jsonl": json.dumps({"told": f"{case}'s report", "said": "fine"})}
        )
        about = {"step": step, "agent": "score", "backend": "heuristic", "model": "toy", "calls": 1, "summary": "fine"}
        time = f"2026-11-22T0{number}:00:00+00:00"
        events.append({"time": time, "actor": "sophron", "event": "agent_answered"} | about)
    with (home / "build" / "records" / "events.jsonl").open("a") as stream:
        stream.writelines(json.dumps(event) + "\n" for event in events)


def _card(case: str, scores: dict) -> dict:
    dimensions = [{"code": code, "score": score} for code, score in scores.items()]
    return {"case": case, "screening": {"passed": bool(scores)}, "dimensions": dimensions}


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def read(folder: Path) -> dict:
    """The trail as plain data, to be changed."""
    return json.loads((folder / "trail.json").read_text())


def write(folder: Path, trail: dict) -> None:
    """Put a trail into its place."""
    (folder / "trail.json").write_text(json.dumps(trail, indent=2, sort_keys=True) + "\n")
