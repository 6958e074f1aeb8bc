"""Which example campaign a request is nearest to, and the example filled with what the request states."""

import ast
import copy
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sophron.agents.rule_based.input_checks import mapping, number, objects, stages_of, strings, text
from sophron.interfaces import UncheckedObject

METHODS = (
    *("green-kubo", "sllod", "mueller-plathe", "muller-plathe", "müller-plathe", "rnemd", "nemd", "ehex", "rouse"),
    *("einstein", "helfand", "umbrella", "rietveld", "free energy perturbation", "thermodynamic integration"),
)
LARGEST_SEED = 2**31 - 1
Values = Mapping[str, float]
SpecDraft = dict[str, Any]
"""The content of a campaign.yaml while it is filled in; the schema of its kind says what belongs there."""


@dataclass(frozen=True)
class Example:
    """A campaign to start from. spec: content of its campaign.yaml; schemas: stage -> definition schema."""

    kind: str
    name: str
    spec: UncheckedObject
    schemas: UncheckedObject

    @property
    def conditions(self) -> UncheckedObject:
        """Name -> value of its question's conditions."""
        question = mapping(self.spec.get("question", {}), "question of an example")
        return mapping(question.get("conditions", {}), "conditions of an example")

    @property
    def reduced(self) -> bool:
        """Whether its numbers are in reduced (LJ) units."""
        question = mapping(self.spec.get("question", {}), "question of an example")
        return "LJ" in str(question.get("units", ""))

    @property
    def chain_length(self) -> float:
        """Beads a chain, 1 where the example knows no chains."""
        build = mapping(stages_of(self.spec).get("build", {}).get("definition", {}), "definition of build")
        return number(self.conditions.get("chain_length", build.get("chain_length"))) or 1

    @property
    def methods(self) -> set[str]:
        """Names of methods in what it says of itself."""
        return methods(" ".join(strings(self.spec.get("method", {}))))


def methods(words: str) -> set[str]:
    """Return names of methods that occur in a text."""
    plain = words.lower().replace("green kubo", "green-kubo")
    return {name for name in METHODS if name in plain}


def examples(kinds: UncheckedObject) -> list[Example]:
    """Return all examples of the installed kinds, sorted by kind and name."""
    specs = []
    for kind in sorted(kinds):
        entry = mapping(kinds[kind], f"the kind {kind}")
        schemas = mapping(entry.get("schemas", {}), f"schemas of {kind}")
        for one in objects(entry.get("templates", []), f"templates of {kind}"):
            name = text(one.get("name"), "the name of an example")
            specs.append(Example(kind, name, mapping(one.get("spec"), f"the example {name}"), schemas))
    return sorted(specs, key=lambda one: (one.kind, one.name))


def nearest(known: Sequence[Example], words: str, chain_length: float | None) -> Example | None:
    """Find the example whose quantity the words name and whose method and words they share most; None if none does.

    Where the length of the chains is stated, chains are not answered by single beads, nor the reverse.
    """
    word_set = set(re.findall(r"[a-z][a-z-]{2,}", words.lower()))
    fitting = [one for one in known if _about(one, word_set)]
    if chain_length is not None:
        fitting = [one for one in fitting if (one.chain_length == 1) == (chain_length == 1)]
    return max(fitting, key=lambda one: _likeness(one, words, word_set), default=None)


def _about(example: Example, words: set[str]) -> bool:
    return all(word in words for word in example.kind.lower().split("_"))


def _likeness(example: Example, words: str, word_set: set[str]) -> tuple[int, int, int]:
    wanted, own = methods(words), example.methods
    question = [*strings(example.spec.get("question", {})), example.name.replace("-", " ")]
    shared = word_set & set(re.findall(r"[a-z][a-z-]{2,}", " ".join(question).lower()))
    return len(wanted & own), len(shared), -len(own - wanted)


def outside(example: Example, name: str, value: float) -> str | None:
    """Return the bound of the definition schemas that a condition's value breaks, in words."""
    for schema in _properties(example.schemas, name):
        low, high = number(schema.get("minimum")), number(schema.get("maximum"))
        above, below = number(schema.get("exclusiveMinimum")), number(schema.get("exclusiveMaximum"))
        if (low is not None and value < low) or (above is not None and value <= above):
            return f"at least {low:g}" if low is not None else f"above {above:g}"
        if (high is not None and value > high) or (below is not None and value >= below):
            return f"at most {high:g}" if high is not None else f"below {below:g}"
        if schema.get("type") == "integer" and value != int(value):
            return "a whole number"
    return None


def _properties(schemas: Any, name: str) -> Iterator[UncheckedObject]:
    if isinstance(schemas, Mapping):
        properties = schemas.get("properties")
        if isinstance(properties, Mapping) and isinstance(properties.get(name), Mapping):
            yield properties[name]
        for part in schemas.values():
            yield from _properties(part, name)


def filled(example: Example, values: Values, words: str) -> SpecDraft:
    """Fill these conditions into question, definitions and criteria of the example's spec, with its own name and seed.

    A definition's value follows where it has the condition's name and the example's value. The seed is derived from
    the words: the same request gives the same draft. A reference for other conditions is left out.
    """
    spec: SpecDraft = copy.deepcopy({key: example.spec[key] for key in example.spec})
    spec["campaign"] = f"{example.kind.replace('_', '-')}-draft"
    spec["version"] = 1
    spec["seed"] = int(hashlib.sha256(words.encode()).hexdigest()[:12], 16) % LARGEST_SEED
    changed = {name: value for name, value in values.items() if value != example.conditions.get(name)}
    for name, value in changed.items():
        old = example.conditions.get(name)
        new = int(value) if isinstance(old, int) and value == int(value) else value
        spec["question"]["conditions"][name] = new
        for block in spec["stages"].values():
            _follow(block["definition"], name, old, new)
            for criterion in block["criteria"]:
                criterion["expression"] = _followed(criterion["expression"], name, old, new)
                criterion["statement"] = str(criterion["statement"])
    if changed:
        spec["question"].pop("reference", None)
    for block in spec["stages"].values():
        _recount(block)
    return spec


def _follow(definition: Any, name: str, old: Any, new: float) -> None:
    if isinstance(definition, dict):
        for key, value in definition.items():
            if key == name and value == old and not isinstance(value, bool):
                definition[key] = new
            else:
                _follow(value, name, old, new)


def _followed(expression: str, name: str, old: Any, new: float) -> str:
    """Return an expression in which the old value of a condition is the new one.

    A whole number such as 1.0 may stand there for another reason: it follows only beside a name like temperature_mean.
    """
    if number(old) is None:
        return expression
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return expression
    beside = any(isinstance(node, ast.Name) and node.id.startswith(name) for node in ast.walk(tree))
    if not beside and float(old).is_integer():
        return expression
    spans = [
        (node.col_offset, node.end_col_offset or node.col_offset)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == old
    ]
    raw = expression.encode()
    for start, end in sorted(spans, reverse=True):
        raw = raw[:start] + f"{new!r}".encode() + raw[end:]
    return raw.decode()


def _recount(block: SpecDraft) -> None:
    """Make chains whole, and the criterion that counts their bonds fit, after the length of the chains changed."""
    definition = block["definition"]
    atoms, length = definition.get("atoms"), definition.get("chain_length")
    if type(atoms) is not int or type(length) is not int or length < 1 or atoms < 1:
        return
    definition["atoms"] = whole = -(-atoms // length) * length
    for criterion in block["criteria"]:
        plain = criterion["expression"].strip()
        if re.fullmatch(r"bonds == \d+", plain):
            criterion["expression"] = f"bonds == {whole - whole // length}"
        if re.fullmatch(r"atoms == \d+", plain):
            criterion["expression"] = f"atoms == {whole}"


def with_error(spec: SpecDraft, share: float) -> bool:
    """Put a wanted relative error into the criteria that bound one; whether there was such a criterion."""
    replaced = False
    for block in spec["stages"].values():
        for criterion in block["criteria"]:
            match = re.fullmatch(r"\s*([a-z_]*relative_error)\s*<\s*[0-9.eE+-]+\s*", criterion["expression"])
            if match:
                criterion["expression"] = f"{match[1]} < {share:g}"
                criterion["statement"] = f"The standard error is under {100 * share:g} %."
                replaced = True
    return replaced
