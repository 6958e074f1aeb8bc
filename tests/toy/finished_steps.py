"""Finished steps of a shipped campaign, put where an engine or an analysis would have left them."""

import shutil
from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.interfaces.kind import UpstreamStep
from sophron.records.digests import file_digest, step_name
from sophron.records.files import write_json


def put(loaded, stage, wildcards, result, files):
    """A finished step with these files, an output without one empty; as the step after it is given it."""
    root = loaded.document.path.parent
    folder = root.joinpath("results", stage, *wildcards.values())
    folder.mkdir(parents=True)
    entries, there = {}, {}
    for name, file in loaded.unit(stage).outputs.items():
        there[name] = folder / file
        if name in files:
            shutil.copy(files[name], there[name])
        else:
            Path(there[name]).write_bytes(b"")
        entries[name] = {"file": file, "sha256": file_digest(there[name]), "bytes": there[name].stat().st_size}
    about = {"stage": stage, "wildcards": wildcards, "status": "done", "reason": None, "inputs": {}, "seed": 1}
    about |= {"definition_digest": loaded.definition_digest(stage), "result": result, "files": entries}
    write_json(folder / "outcome.json", about | {"tools": {"sophron": "0"}})
    outcome_store.publish(root, step_name(stage, wildcards), folder / "outcome.json")
    return UpstreamStep(stage, wildcards, result, there)
