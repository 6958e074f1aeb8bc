"""The spec of a screen, from a finished campaign of trials and a library of guests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.campaign import new, results
from sophron.campaign.spec import SPEC_NAME, load
from sophron.debate.pipeline import STAGES, Pipeline
from sophron.debate.stage_steps import PARTS
from sophron.records import documents
from sophron.records.errors import UserError

SCHEMA = "host_guest/tasks"
SERVICES = 2
"""verify and accept, for each stage."""


def make(root: Path, library: Path, folder: Path) -> None:
    """Make the campaign `folder` from the deployed pipeline of the one at `root`.

    UserError where that has none, where the library is not valid, or where the folder has something in it.
    """
    spec = load(root / SPEC_NAME)
    ended = results.finished(root, spec, "trials", {})
    if ended.outcome["result"]["deployed"] is None:
        raise UserError(f"{root}: its trials ended without a pipeline to deploy; there is nothing to screen with")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is not an empty folder; give the name of a new one")
    document = documents.load_yaml(library)
    documents.validate(document, SCHEMA, "definition")
    pipeline = Pipeline.parse(ended.files["pipeline"].read_text(encoding="utf-8"))
    made = draft(pipeline, document.data, spec.data)
    folder.mkdir(parents=True, exist_ok=True)
    new.from_draft(folder, made)


def draft(pipeline: Pipeline, library: Mapping[str, Any], origin: Mapping[str, Any]) -> dict[str, Any]:
    """The spec. origin: that of the trials, whose question, length, platform and mechanical blocks it takes over."""
    trials = origin["stages"]["trials"]
    length = {key: trials["definition"][key] for key in ("ns_per_window", "platform")}
    blocks = {name: dict(trials.get("parts", {}).get(name, trials["mechanical"])) for name in PARTS}
    stages: dict[str, Any] = {"tasks": _stage([], dict(library), origin["stages"]["tasks"]["mechanical"])}
    for number, (name, file) in enumerate(zip(PARTS, STAGES, strict=True)):
        definition = {"source": pipeline.files[file.file], "windows": pipeline.windows, **length}
        stages[name] = _stage(["tasks", *PARTS[:number]], definition, blocks[name])
    stages["rank"] = _stage(["analyse"], {}, trials["mechanical"])
    guests = len(library["guests"])
    listed = guests * (4 + pipeline.windows) + 1 + SERVICES * len(stages) + 2
    return {
        "campaign": "screen",
        "version": 1,
        "kind": "screen",
        "question": {key: value for key, value in origin["question"].items() if key != "reference"},
        "method": {
            "name": "a pipeline that trials chose, over guests that it has not seen",
            "assumptions": [
                {
                    "id": "transfers",
                    "statement": "The pipeline is as good for these guests as for those it was chosen by.",
                    "verified_by": "nobody yet; compare the library with the training guests",
                    "status": "UNVERIFIED",
                }
            ],
        },
        "limits": {"steps": listed, "core_hours": _core_hours(stages, guests, pipeline.windows)},
        "seed": origin["seed"],
        "stages": stages,
    }


def _stage(depends_on: list[str], definition: Mapping[str, Any], mechanical: Mapping[str, Any]) -> dict[str, Any]:
    return {"depends_on": depends_on, "definition": dict(definition), "criteria": [], "mechanical": dict(mechanical)}


def _core_hours(stages: Mapping[str, Any], guests: int, windows: int) -> int:
    """Ceilings of all steps: cores x runtime x attempts."""
    total = 0.0
    for name, stage in stages.items():
        block = stage["mechanical"]
        count = 1 if name == "rank" else guests * (windows if name == "produce" else 1)
        ceilings = block["ceilings"]
        total += count * ceilings["cores"] * ceilings["runtime_min"] * (1 + block["retries"]) / 60
    return int(total) + 10
