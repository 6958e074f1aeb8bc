"""The trail of a finished build of a toy agent that adds numbers: contract, agent, two iterations."""

import json
from hashlib import sha256
from pathlib import Path

from sophron.build.release import aud
from sophron.records.canonical import file_digest

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
tools: []
limits: {calls: 2, tokens: 1000, dollars: 0.1, seconds: 60, max_tokens: 500}
---
Add {{ numbers }} by {{ recipe }}; files: {{ sample }}; hand back {{ remark }}.
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
FILES = {
    "contract/VERSION": "1.2\n",
    "contract/rubric.yaml": "dimensions: {D1: {pass: 3}, T1: {pass: 2}}\n",
    "contract/curriculum.yaml": "cases: [small, large]\n",
    "contract/knowledge/adding.md": "Carry the one. This is what only the producer knows.\n",
    "entries/1/aud/agent.md": AGENT,
    "entries/1/aud/recipe.yaml": "factor: 1\n",
    "entries/1/aud/schemas/adder.schema.yaml": ANSWER,
    "entries/1/aud/helpers/checks.py": "LARGEST = 10\n",
}
HEURISTIC = {"backend": "heuristic"}
MODELS = {"agent": HEURISTIC, "screen": HEURISTIC, "score": HEURISTIC, "optimize": HEURISTIC}


def make(folder: Path) -> Path:
    """Write it; the folder."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    files = {name: file_digest(folder / name) for name in FILES if name.startswith("contract/")}
    judged = aud.load(folder / "entries" / "1" / "aud", {}).digest
    first = iteration(folder, "1", 1, "0" * 64, {"small": {"D1": 1, "T1": 3}})
    second = iteration(folder, "1", 2, judged, {"small": {"D1": 5, "T1": 3}, "large": {"D1": 3, "T1": 2}})
    trail = {
        "agent": "adder",
        "about": "Adds numbers for tests.",
        "contract": {
            "name": "toy-sums",
            "version": "1.2",
            "authors": ["alex"],
            "rubric": {"version": "1.0", "file": "contract/rubric.yaml", "thresholds": {"D1": 3, "T1": 2}},
            "curriculum": {"version": "1.1", "file": "contract/curriculum.yaml"},
            "files": files,
        },
        "entries": [entry("build", MODELS, [first, second])],
    }
    write(folder, trail)
    return folder


def entry(kind: str, models: dict, iterations: list) -> dict:
    """One entry of a trail."""
    return {
        "kind": kind,
        "recorded": "2026-11-22T09:00:00+00:00",
        "models": models,
        "tools": {"sophron": "0.1.0", "abacus": "7"},
        "inventory": ["abacus__add"],
        "iterations": iterations,
    }


def iteration(folder: Path, entry: str, number: int, judged: str, scores: dict[str, dict]) -> dict:
    """One iteration with its judgements written to disk."""
    home = f"entries/{entry}/iterations/{number}"
    cases = []
    for case, found in scores.items():
        transcript = kept(folder, f"{home}/judge/{case}.json", json.dumps({"told": f"{case}'s report", "said": found}))
        cases.append({"case": case, "scores": found, "transcripts": [transcript]})
    times = {"started": f"2026-11-22T0{number}:00:00+00:00", "ended": f"2026-11-22T0{number}:30:00+00:00"}
    diff = None
    if number > 1:
        text = "--- a/recipe.yaml\n+++ b/recipe.yaml\n@@ -1 +1 @@\n-factor: 2\n+factor: 1\n"
        about = {"status": "applied", "reason": "", "rationale": "sums came out twice too large"}
        diff = kept(folder, f"{home}/diff", text) | about
    parent = number - 1 if number > 1 else None
    found = {"number": number, "aud": judged, "parent": parent, "diff": diff, "active": list(scores), "cases": cases}
    return found | times


def kept(folder: Path, name: str, text: str) -> dict:
    """A file of the trail, and how the trail names it."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return {"file": name, "sha256": sha256(text.encode()).hexdigest()}


def read(folder: Path) -> dict:
    """The trail as plain data, to be changed."""
    return json.loads((folder / "trail.json").read_text())


def write(folder: Path, trail: dict) -> None:
    """Put a trail into its place."""
    (folder / "trail.json").write_text(json.dumps(trail, indent=2, sort_keys=True) + "\n")
