"""The Specify dialogue: what its agent is told, until there is a draft of campaign.yaml or a refusal.

It ends in a draft and a spoken approval, which is kept beside the signed one and replaces it nowhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sophron.agents.supervisor.dialogue import Dialogue
from sophron.campaign.scaffold import kind_catalogue
from sophron.interfaces import JsonObject
from sophron.interfaces.engine import Engine
from sophron.interfaces.kind import EnvironmentFailure
from sophron.records import clock, entry_points, files

AGENT, SPOKEN_NAME = "design", "spoken-approval.json"
STYLE_KEYS = ("pair_style", "compute")
NO_KIND_IS_NEAR = "None shares words with the request. Ask for the quantity, or look up the kind that you think of."


def dialogue(root: Path) -> Dialogue:
    """Return the dialogue of a campaign folder, begun or not."""
    return Dialogue(root, AGENT, AGENT)


def inputs(root: Path) -> JsonObject:
    """Return what the design agent is told at its next turn."""
    state = dialogue(root).state()
    return {**_constants(root, state["request"], [turn["answered"] for turn in state["turns"]]), **state}


def _constants(root: Path, request: str, answers: Sequence[str]) -> JsonObject:
    """Return what is the same at each turn. A request chooses the nearest kinds; answers do if it names none."""
    near = kind_catalogue.nearest(request) or kind_catalogue.nearest(" ".join(answers))
    return {
        "kinds": kind_catalogue.kind_lines(),
        "spec": kind_catalogue.spec_text(),
        "nearest": "\n\n".join(kind_catalogue.kind_text(name, request) for name in near) or NO_KIND_IS_NEAR,
        "pitfalls": kind_catalogue.pitfall_lines(root, near) or "none",
        "machine": "\n".join(map(_installed, kind_catalogue.engines(near))) or "Nothing is known.",
    }


def _installed(engine_name: str) -> str:
    engine: Engine = entry_points.load("sophron.engines", engine_name)
    try:
        return f"{engine.title}: {engine.installed() or 'nothing is known'}"
    except EnvironmentFailure as failure:
        return f"{engine.title}: not on this machine ({failure.reason})"


def engine_faults(draft: JsonObject) -> list[str]:
    """Return what a drafted spec wants and the engine of this machine lacks, a sentence each."""
    kind, styles = str(draft.get("kind")), list(dict.fromkeys(_styles(draft)))
    faults = []
    for name in kind_catalogue.engines([kind] if kind in entry_points.names("sophron.kinds") else []):
        engine: Engine = entry_points.load("sophron.engines", name)
        with suppress(EnvironmentFailure):
            faults += [f"{engine.title} on this machine has no style {style}" for style in engine.lacks(styles)]
    return faults


def _styles(data: Any) -> Iterator[str]:
    """Yield the engine's styles that a spec names, under whichever key they stand."""
    if isinstance(data, Mapping):
        yield from (str(data[key]) for key in STYLE_KEYS if key in data)
    inner = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    for part in inner:
        yield from _styles(part)


def keep_spoken_approval(root: Path, words: str, draft: JsonObject) -> Path:
    """Keep what the human said to the draft, with the draft it was said to; where it is kept."""
    path = dialogue(root).folder / SPOKEN_NAME
    files.write_json(path, {"said": words, "time": clock.isoformat(), "draft": dict(draft)})
    return path
