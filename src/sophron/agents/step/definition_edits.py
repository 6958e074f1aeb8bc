"""Proposed edits of agents' definitions, skills and ranks: whether they apply, what they touch, and their patches.

The files that may change are those that the proposer was shown, and nothing else. Of a definition that is its prompt
and its rank; of a catalogue of models its ranks.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from sophron.campaign.planning import campaign_agents
from sophron.campaign.skills import skill_folder
from sophron.interfaces import JsonObject
from sophron.records import strict_yaml
from sophron.records.errors import UserError, shown
from sophron.records.sanitize import one_line

AGENTS, SKILLS, MODELS = "agents", "skills", "config/models.yaml"
RANK = "rank"
MUST_STAY = ("suspicious_text",)
LONGEST_QUOTE = 120


def edited(files: Mapping[str, str], edits: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return path -> text of the files that edits change. UserError, a sentence, for one that does not apply."""
    changed: dict[str, str] = {}
    for edit in edits:
        name = edit["file"]
        if name not in files:
            raise UserError(f"{shown(name)} is not among the files that may change; take one of them")
        text = changed.get(name, files[name])
        if (count := text.count(edit["old"])) != 1:
            raise UserError(f'{name}: "{one_line(edit["old"], LONGEST_QUOTE)}" stands there {count} times, not once')
        changed[name] = text.replace(edit["old"], edit["new"])
    return {name: text for name, text in changed.items() if text != files[name]}


def faults(inputs: JsonObject, answer: JsonObject) -> list[str]:
    """Return what speaks against proposals: edits that do not apply or touch what is frozen, quotes of nothing."""
    files, told = inputs["files"], _texts({role: value for role, value in inputs.items() if role != "files"})
    said = one_line("\n".join(told)).replace('"', "")
    return [
        f"proposal {number}: {fault}"
        for number, one in enumerate(answer["proposals"], 1)
        for fault in (*_edit_faults(files, one["edits"]), *_quote_faults(said, one["evidence"]))
    ]


def _quote_faults(said: str, evidence: Sequence[str]) -> Iterator[str]:
    for line in evidence:
        if one_line(line).replace('"', "").strip(" {}[],") not in said:
            yield f'the evidence "{one_line(line, LONGEST_QUOTE)}" stands in none of the inputs; copy a line exactly'


def _texts(data: Any) -> Iterator[str]:
    """Yield what a model is shown of data: a mapping or list as compact JSON, and texts in it as they are, too."""
    from sophron.agents.documents.model_request import compact

    for value in data.values():
        yield compact(value)
        yield from _inner(value)


def _inner(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    for value in data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ():
        yield from _inner(value)


def _edit_faults(files: Mapping[str, str], edits: Sequence[Mapping[str, str]]) -> Iterator[str]:
    try:
        changed = edited(files, edits)
    except UserError as refused:
        yield str(refused)
        return
    if not changed:
        yield "its edits change nothing"
    for name, text in changed.items():
        yield from _frozen(name, files[name], text)
    yield from _unsound({**files, **changed}, changed)


def _frozen(name: str, old: str, new: str) -> Iterator[str]:
    """Yield a sentence if an edit touches what is not a prompt, a skill or a rank."""
    if name == MODELS:
        if _without_ranks(old) != _without_ranks(new):
            yield f"{name}: only values of `rank` may change"
    elif not _is_skill(name) and _front(old) != _front(new):
        yield f"{name}: of its front matter only `rank` may change"
    for word in MUST_STAY:
        if old.count(word) > new.count(word):
            yield f"{name}: `{word}` was taken out; it stays"


def _is_skill(name: str) -> bool:
    return PurePosixPath(name).parts[1:2] == (SKILLS,)


def _front(text: str) -> list[str]:
    """The lines of a front matter but for its rank; all lines of a text that has none."""
    head = text.split(campaign_agents.FENCE, 2)
    return [line for line in (head[1] if len(head) > 2 else text).splitlines() if not line.startswith(f"{RANK}:")]


def _without_ranks(text: str) -> Any:
    models = strict_yaml.parse(text.encode(), MODELS)[0]["models"]
    return {handle: {key: value for key, value in entry.items() if key != RANK} for handle, entry in models.items()}


def _unsound(files: Mapping[str, str], changed: Mapping[str, str]) -> Iterator[str]:
    """Yield why a changed definition, skill or catalogue would be refused; read as a campaign reads it."""
    from sophron.agents.gateway.gateway import load_catalogue

    with TemporaryDirectory(prefix="sophron-edits-") as place:
        root = Path(place)
        for name, text in files.items():
            path = root.joinpath(*PurePosixPath(name).parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name in changed:
            try:
                if name == MODELS:
                    load_catalogue(root)
                elif _is_skill(name):
                    skill_folder.find([root / AGENTS / SKILLS], PurePosixPath(name).parts[2].removesuffix(".md"))
                else:
                    campaign_agents.load_agent(root / name, root)
            except UserError as refused:
                yield str(refused).replace(f"{root}/", "")


def patch(files: Mapping[str, str], edits: Sequence[Mapping[str, str]]) -> str:
    """Return the edits as a unified diff that `git apply` and `patch -p1` take."""
    pieces = []
    for name, text in sorted(edited(files, edits).items()):
        old, new = files[name].splitlines(keepends=True), text.splitlines(keepends=True)
        pieces += [*difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")]
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in pieces)
