"""What a design can start from: installed kinds with stages, schemas and examples, and the pitfalls.

As plain data for rules of thumb, and as text for whoever reads: one line a kind, one kind in full, one example.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import takewhile
from math import fsum
from pathlib import Path
from typing import Any

from sophron.campaign.scaffold.schema_outline import SchemaOutline
from sophron.campaign.spec.pitfalls import Pitfall, catalogue
from sophron.campaign.spec.spec import SPEC_NAME
from sophron.interfaces.kind import Kind, StageKind
from sophron.records import documents, entry_points, templates
from sophron.records.errors import UserError, did_you_mean, shown
from sophron.records.files import read_text, resource
from sophron.records.strict_yaml import parse

MOST_BYTES = 14_000
"""Of the stages of a kind that are shown in full; of a second kind that is."""
NEAR = 0.6
"""Share of the best score from which another kind is near, too."""
LEAST_SCORE = 0.5
"""Of a kind that is near: two words that one other kind has as well."""
COMMON_WORDS = frozenset("the and for with that this your from what which are its one not all".split())  # noqa: SIM905
SET_BY_PROGRAM = ("campaign", "version", "agents", "workflow")
"""Keys of the spec that whoever drafts it need not know."""


@dataclass(frozen=True)
class Example:
    """A campaign to start from, as its file has it."""

    name: str
    text: str

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The content of the file."""
        content: dict[str, Any] = parse(self.text.encode(), self.name)[0]
        return content


def kinds() -> dict[str, Any]:
    """Return kind -> {schemas, templates}.

    schemas: stage -> its `$defs` without the result; templates: list of {name, spec}, the campaign that `sophron new`
    makes and the shipped campaigns of the kind.
    """
    return {
        name: {
            "schemas": {stage.name: _definition(stage.schema) for stage in _kind(name).stages},
            "templates": [{"name": example.name, "spec": example.spec} for example in _examples(name)],
        }
        for name in _installed()
    }


def pitfalls(campaign_root: Path) -> list[dict[str, Any]]:
    """Return the catalogue as it stands in its files, sorted by id."""
    return [documents.load_yaml(pitfall.path).data for pitfall in catalogue(campaign_root)]


def _installed() -> list[str]:
    """Names of the kinds that a design can start from; not those whose stages are a workflow that somebody has."""
    return [name for name in entry_points.names("sophron.kinds") if _kind(name).stages_of is None]


def _kind(name: str) -> Kind:
    kind: Kind = entry_points.load("sophron.kinds", name)
    return kind


def _definition(schema: str) -> dict[str, Any]:
    return {key: value for key, value in documents.schema(schema)["$defs"].items() if key != "result"}


@cache
def _examples(kind: str) -> tuple[Example, ...]:
    """Return the campaign that `sophron new` makes, and the shipped ones of a kind."""
    shipped = [
        Example(path.parent.name, read_text(path)) for path in sorted(resource("campaigns").glob(f"*/{SPEC_NAME}"))
    ]
    return (*_new(_kind(kind)), *(one for one in shipped if re.search(rf"^kind: {kind}\b", one.text, re.MULTILINE)))


def _new(kind: Kind) -> list[Example]:
    name = f"new-{kind.name}".replace("_", "-")
    return [Example(name, render_new(kind, name, seed=1))] if _template(kind).is_file() else []


def render_new(kind: Kind, campaign: str, *, seed: int) -> str:
    """Return the spec that `sophron new` makes. UserError if the kind has none to start from."""
    if kind.stages_of:
        raise UserError(f'a campaign of the kind "{kind.name}" is made where the workflow is: sophron adopt')
    if not _template(kind).is_file():
        raise UserError(f'the kind "{kind.name}" brings no campaign to start from; copy one that exists')
    return templates.render(_template(kind), campaign=campaign, seed=seed)


def _template(kind: Kind) -> Path:
    # A kind that comes from another distribution gives the absolute path of its template.
    return resource("campaign", "templates", "new") / (kind.template or f"{kind.name}.yaml.j2")


def most_like(spec: Mapping[str, Any]) -> Example | None:
    """Return the example that has most values in common with a spec of its kind; None if there is no example."""
    name, own = str(spec.get("kind")), set(_values(spec))
    examples = _examples(name) if name in _installed() else ()
    return max(examples, key=lambda example: len(own & set(_values(example.spec))), default=None)


def _values(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Yield (keys, value as text) of each value that is no mapping."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _values(value, (*path, str(key)))
    else:
        yield path, str(data)


# The same as text: what a language model, which knows nothing of this installation, drafts a campaign from


def spec_text() -> str:
    """Return the parts of campaign.yaml around the definitions, one line a key."""
    schema = documents.schema("campaign")
    parts = {key: part for key, part in schema["properties"].items() if key not in SET_BY_PROGRAM}
    return "\n".join(SchemaOutline(schema["$defs"]).lines({**schema, "properties": parts}))


def kind_lines() -> str:
    """Return a line for each installed kind: what it answers, its stages, the names of its examples."""
    return "\n".join(map(_kind_line, _installed()))


def _kind_line(name: str) -> str:
    stages = " > ".join(f"{stage.name}{'?' if stage.optional else ''}" for stage in _kind(name).stages)
    examples = ", ".join(example.name for example in _examples(name))
    return f"{name}: {_kind(name).about or 'no word on what it is'}. Stages {stages}. Examples: {examples or 'none'}."


def nearest(words: str) -> list[str]:
    """Return the kinds that share most words with a request, best first; none if none shares a word that tells.

    One behind the first is near it in score, and both together are not longer than 2 MOST_BYTES.
    """
    scores = _scores({name: _kind_words(name) for name in _installed()}, words)
    ranked = sorted(scores, key=lambda name: (-scores[name], name))
    near = [name for name in ranked if scores[name] >= max(LEAST_SCORE, NEAR * scores[ranked[0]])]
    chosen, size = near[:1], len(near and kind_text(near[0], words))
    for name in near[1:]:
        size += len(kind_text(name, words))
        chosen += [name] if size <= 2 * MOST_BYTES else []
    return chosen


def _scores(texts: dict[str, set[str]], words: str) -> dict[str, float]:
    """Return how much of the words each text shares; a word counts the less the more texts have it."""
    spread = Counter(word for text in texts.values() for word in text)
    wanted = _words(words)
    # fsum: the same for any order of a set, or a tie would be decided anew in each process
    return {name: fsum(1 / spread[word] ** 2 for word in wanted & text) for name, text in texts.items()}


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in re.findall(r"[a-z][a-z0-9]{2,}", text.lower())} - COMMON_WORDS


def _kind_words(name: str) -> set[str]:
    said = [name.replace("_", " "), _kind(name).about, *(stage.name.replace("_", " ") for stage in _kind(name).stages)]
    for example in _examples(name):
        said += [example.name, str(example.spec["question"]), str(example.spec["method"])]
    return _words(" ".join(said))


def kind_text(name: str, words: str = "") -> str:
    """Return a kind in full: what it answers, the keys of its stages, and its example that is nearest to `words`.

    If all stages are longer than MOST_BYTES, only those of the example are in it, and the others are named.
    """
    example = _example(name, words)
    own = set(example.spec["stages"]) if example else set()
    stages = _stage_texts(_kind(name).stages)
    if example and sum(map(len, stages.values())) > MOST_BYTES:
        stages = _stage_texts([stage for stage in _kind(name).stages if stage.name in own])
    said = ["\n".join([f"## Kind {name}", *_question_lines(name)]), *stages.values()]
    if others := [stage.name for stage in _kind(name).stages if stage.name not in stages]:
        said.append(f"Further stages, to look up as {name}/STAGE: {', '.join(others)}.")
    return "\n\n".join([*said, *(_example_texts(example) if example else [])])


def _example_texts(example: Example) -> list[str]:
    readme = resource("campaigns") / example.name / "README.md"
    _, heading, sections = read_text(readme).partition("\n## ") if readme.is_file() else ("", "", "")
    texts = [f"### Example {example.name}", example.text.rstrip()]
    return [*texts, f"### README.md of {example.name}{heading}{sections}".rstrip()] if sections else texts


def _stage_texts(stages: Sequence[StageKind]) -> dict[str, str]:
    """Return stage -> its text; what an earlier one has too is written as that."""
    first: dict[str, str] = {}
    known: set[str] = set()
    texts = {}
    for stage in stages:
        same = first.setdefault(stage.schema, stage.name)
        lines = (
            _stage_lines(stage, known) if same == stage.name else [_head(stage), f"definition, result: as of {same}"]
        )
        texts[stage.name] = "\n".join(lines)
    return texts


def _example(kind: str, words: str) -> Example | None:
    """Return the example whose name (which counts twice), question and first lines share most words."""
    examples = {example.name: example for example in _examples(kind)}
    texts = {
        name: _words(" ".join([name, str(one.spec["question"]), str(one.spec["method"]["name"]), _introduction(one)]))
        for name, one in examples.items()
    }
    scores, by_name = _scores(texts, words), _scores({name: _words(name) for name in examples}, words)
    return max(examples.values(), key=lambda one: scores[one.name] + by_name[one.name], default=None)


def _introduction(example: Example) -> str:
    return " ".join(takewhile(lambda line: line.startswith("#"), example.text.splitlines()))


def _question_lines(name: str) -> list[str]:
    """Return what a kind answers in its examples, and for which conditions, each with its unit."""
    ask = _kind(name).question
    lines: dict[str, None] = {}
    for example in _examples(name):
        if ask is None:
            break
        about = ask({stage: block["definition"] for stage, block in example.spec["stages"].items()})
        for word, entries in (("quantities", about.quantities), ("conditions", about.conditions)):
            lines[f"{word}: " + "; ".join(f"{entry} [{unit or 'text'}]" for entry, unit in entries.items())] = None
    return list(lines)


def _head(stage: StageKind) -> str:
    return f"### Stage {stage.name}{' (optional)' if stage.optional else ''}"


def _stage_lines(stage: StageKind, known: set[str]) -> list[str]:
    """Return a stage as lines. known: fields of results that were described before; those of this one are added."""
    schema = documents.schema(stage.schema)
    defs = schema["$defs"]
    outline = SchemaOutline(defs)
    repeated = f", once for each {' and '.join(stage.wildcards)}" if stage.wildcards else ""
    builds = f"Builds on {', '.join(stage.depends_on)}{repeated}." if stage.depends_on else f"Begins{repeated}."
    lines = [_head(stage), f"{builds} definition:", *outline.lines(defs.get("definition", {}), 1)]
    outline.brief = True
    fields = list(outline.lines(defs.get("result", {}), 1))
    again = ", ".join(field.partition(":")[0].strip() for field in fields if field in known)
    new = [field for field in fields if field not in known]
    known.update(fields)
    return [*lines, "result, which its criteria compare:", *new, *([f"  as above: {again}"] if again else [])]


def engines(kind_names: Iterable[str]) -> list[str]:
    """Return the names of the engines that stages of these kinds run, but for those that a definition chooses."""
    used = (stage.engine for name in kind_names for stage in _kind(name).stages)
    return list(dict.fromkeys(engine for engine in used if engine and "." not in engine))


def pitfall_lines(campaign_root: Path, kind_names: Sequence[str]) -> str:
    """Return a line for each pitfall that a campaign of these kinds could fall into."""
    found = (one for one in catalogue(campaign_root) if any(_concerns(one, name) for name in kind_names))
    return "\n".join(
        f"{one.id}: {one.what} {_first(one.why)} Safeguard: {one.safeguard}{_way_out(one)}" for one in found
    )


def _first(text: str) -> str:
    """Return the first sentence of a text."""
    return re.split(r"(?<=[.:]) (?=[A-Z])", text, maxsplit=1)[0]


def _concerns(pitfall: Pitfall, kind: str) -> bool:
    """Return whether a campaign of a kind could fall into a pitfall: it has the stages, the keys and the words."""
    stages = {stage.name for stage in _kind(kind).stages}
    needed = {*pitfall.stages, *_amendment(pitfall).get("remove_stages", ())}
    return (not pitfall.kinds or kind in pitfall.kinds) and needed <= stages and _knows(kind, pitfall)


def _knows(kind: str, pitfall: Pitfall) -> bool:
    if pitfall.kinds:
        return True
    text = "\n".join([*_stage_texts(_kind(kind).stages).values(), *(one.text for one in _examples(kind))])
    words = [one.wanted if one.test == "mentions" else [str(one.key).split(".")[-1]] for one in pitfall.when]
    return all(any(word in text for word in of_one) for of_one in words)


def _way_out(pitfall: Pitfall) -> str:
    """Return the stages that a pitfall brings in place of those that fall into it, if it has any."""
    amendment = _amendment(pitfall)
    if "add_stages" not in amendment:
        return ""
    removed, added = ", ".join(amendment["remove_stages"]), json.dumps(amendment["add_stages"], ensure_ascii=False)
    return f" Stages in place of {removed}: {added}"


def _amendment(pitfall: Pitfall) -> dict[str, Any]:
    content: dict[str, Any] = documents.load_yaml(pitfall.path).data.get("amendment", {})
    return content


def look_up(name: str) -> str:
    """Return a kind, a stage of one (`kind/stage`) or an example, by its name. UserError if there is none."""
    kind_names = _installed()
    kind, _, stage = name.partition("/")
    if kind in kind_names and not stage:
        return kind_text(kind)
    known = {example.name: "\n\n".join(_example_texts(example)) for one in kind_names for example in _examples(one)}
    if kind in kind_names:
        known |= {f"{kind}/{one.name}": "\n".join(_stage_lines(one, set())) for one in _kind(kind).stages}
    if name not in known:
        raise UserError(f'"{shown(name)}" is not installed; {did_you_mean(name, [*kind_names, *known])}')
    return known[name]
