"""The spec of a screen, from a finished campaign of trials and a library of guests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sophron.campaign.execution import outcome_store
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.debate.pipelines.pipeline import STAGES, Pipeline
from sophron.debate.trials.execute_stage_file import PARTS
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json, to_json
from sophron.science.host_guest.systems import library_system, systems

SCHEMA = "host_guest/tasks"


@dataclass(frozen=True)
class Library:
    """The guests of a screen: definition of its stage `tasks`. settings: in the form of their system."""

    system: str
    guests: tuple[str, ...]
    settings: Mapping[str, object]


def make(root: Path, library: Path, folder: Path) -> None:
    """Make the campaign `folder` from the deployed pipeline of the one at `root`.

    library: a file in the form of the definition of `tasks`, or a folder of guests with its library.yaml. UserError
    if there is no pipeline, where the library is not valid, or if the folder has something in it.
    """
    spec = load(root / SPEC_NAME)
    pipeline = _deployed(root, spec)
    campaign_folder.check_empty(folder)
    made = draft(pipeline, defined(library, spec.data["stages"]["tasks"]["definition"]["system"]), spec.data)
    folder.mkdir(parents=True, exist_ok=True)
    campaign_folder.from_draft(folder, made)


def _deployed(root: Path, spec: Spec) -> Pipeline:
    ended = outcome_store.finished(root, spec, "trials", {})
    if ended.outcome.result["deployed"] is None:
        raise UserError(f"{root}: its trials ended without a pipeline to deploy; there is nothing to screen with")
    return Pipeline.parse(ended.files["pipeline"].read_text(encoding="utf-8"))


def defined(library: Path, origin: str) -> Library:
    """Return the definition of `tasks` for a library, with digests of its files. origin: the system of the trials.

    Raise UserError if a guest cannot be made a task of, or if the pipeline is for another form of guests.
    """
    document = _document(library)
    documents.validate(document, SCHEMA, "definition")
    found = from_json(Library, document.data)
    system, before = systems.find(found.system), systems.find(origin)
    if system.form != before.form:
        raise UserError(
            f"{document.where(('system',))}: its guests are {system.form}, and the deployed pipeline is for "
            f"{before.form}; take a library of these"
        )
    return replace(found, settings=system.pinned(found.settings, found.guests, document.path.absolute().parent))


def _document(library: Path) -> documents.Document:
    if library.is_dir():
        return documents.Document(library_system.definition(library), library / library_system.CONDITIONS_FILE)
    return documents.load_yaml(library)


def draft(pipeline: Pipeline, library: Library, origin: Mapping[str, Any]) -> dict[str, object]:
    """The spec. origin: that of the trials, whose ensemble, length, platform and mechanical blocks it takes over."""
    trials = origin["stages"]["trials"]
    length = {key: trials["definition"][key] for key in ("ns_per_window", "platform")}
    blocks = {name: dict(trials.get("parts", {}).get(name, trials["mechanical"])) for name in PARTS}
    stages = {"tasks": _stage([], to_json(library), origin["stages"]["tasks"]["mechanical"])}
    for number, (name, file) in enumerate(zip(PARTS, STAGES, strict=True)):
        definition = {"source": pipeline.files[file.file], "windows": pipeline.windows, **length}
        stages[name] = _stage(["tasks", *PARTS[:number]], definition, blocks[name])
    stages["rank"] = _stage(["analyse"], {}, trials["mechanical"])
    return {
        "campaign": "screen",
        "version": 1,
        "kind": "screen",
        "question": _question(library, origin["question"]["ensemble"]),
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
        "seed": origin["seed"],
        "stages": stages,
    }


def _question(library: Library, ensemble: str) -> dict[str, object]:
    """What a screen answers; conditions: what the library's settings say of all its guests."""
    guests, settings = len(library.guests), library.settings
    return {
        "quantity": f"standard binding free energies of {guests} guests, ranked",
        "units": "kcal/mol (1 mol/l)",
        "ensemble": ensemble,
        "conditions": {
            "library": library.system,
            **{key: value for key, value in settings.items() if isinstance(value, int | float)},
            **{key: settings[key] for key in ("benchmark", "solvent") if key in settings},
        },
    }


def _stage(
    depends_on: list[str], definition: Mapping[str, object], mechanical: Mapping[str, object]
) -> dict[str, object]:
    return {"depends_on": depends_on, "definition": dict(definition), "criteria": [], "mechanical": dict(mechanical)}
