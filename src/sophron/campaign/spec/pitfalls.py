"""The pitfall catalogue, installed data files and the campaign's own, and what the probes say of a spec."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sophron.campaign.spec.spec import Spec
from sophron.interfaces.probe import Finding
from sophron.records import entry_points
from sophron.records.documents import load_yaml, validate
from sophron.records.errors import UserError
from sophron.records.files import resource


@dataclass(frozen=True)
class Condition:
    """One test of a spec: `test` is present, equals, at_least or mentions; without a key it looks at the whole spec."""

    test: str
    wanted: Any
    key: str | None = None

    def holds(self, spec: Mapping[str, Any]) -> bool:
        """Return whether the spec passes; a key that it lacks passes only `present false`."""
        found = _at(spec, self.key) if self.key else spec
        if self.test == "present":
            return (found is not None) == bool(self.wanted)
        if self.test == "at_least":
            return isinstance(found, int | float) and not isinstance(found, bool) and bool(found >= self.wanted)
        if self.test == "mentions":
            return any(wanted in text for text in _texts(found) for wanted in self.wanted)
        return bool(found == self.wanted)


@dataclass(frozen=True)
class Pitfall:
    """One known way to a wrong result, and the name and parameters of the probe that looks for it.

    kinds, stages, when: what a spec must be, have and pass to be probed (empty: no demand). sources: (DOI, what is
    found there). path: the file it came from.
    """

    id: str
    title: str
    what: str
    why: str
    safeguard: str
    probe: str
    parameters: Mapping[str, Any]
    sources: tuple[tuple[str, str], ...]
    path: Path
    kinds: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    when: tuple[Condition, ...] = field(default=())

    def is_for(self, kind: object) -> bool:
        """Return whether campaigns of this kind could fall into it."""
        return not self.kinds or kind in self.kinds

    def applies(self, spec: Mapping[str, Any]) -> bool:
        """Return whether a spec (parsed `campaign.yaml`) could fall into it."""
        stages = spec.get("stages", {})
        return (
            self.is_for(spec.get("kind"))
            and all(stage in stages for stage in self.stages)
            and all(condition.holds(spec) for condition in self.when)
        )


Findings = Sequence[tuple[Pitfall, Finding]]
ProbeSpec = Callable[[Spec], Findings]
"""Runs the probes of all pitfalls that a spec could fall into."""


def hits(findings: Findings) -> list[str]:
    """Return one sentence for each pitfall that is there; any keeps the gate closed."""
    return [
        f"the pitfall {pitfall.id} was found: {finding.evidence}"
        for pitfall, finding in findings
        if finding.status == "hit"
    ]


def catalogue(campaign_root: Path) -> list[Pitfall]:
    """Return all pitfalls by id: the installed ones, overridden by id by those in the campaign's `agents/pitfalls/`.

    Raises UserError, with file and line, for a file that is not a valid pitfall.
    """
    found: dict[str, Pitfall] = {}
    for folder in (resource("workflow", "agents", "pitfalls"), campaign_root / "agents" / "pitfalls"):
        for path in sorted(folder.glob("*.yaml")):
            pitfall = load(path)
            found[pitfall.id] = pitfall
    return [found[name] for name in sorted(found)]


def load(path: Path) -> Pitfall:
    """Return the pitfall in one file; UserError if it does not fit `schemas/pitfall.schema.yaml` or is misnamed."""
    document = load_yaml(path)
    validate(document, "pitfall")
    data = document.data
    if data["id"] != path.stem:
        raise UserError(f"{document.where(('id',))}: is {data['id']} in a file called {path.name}; make them the same")
    applies = data["applies_to"]
    return Pitfall(
        **{name: " ".join(data[name].split()) for name in ("id", "title", "what", "why", "safeguard")},
        probe=data["probe"]["name"],
        parameters=data["probe"].get("parameters", {}),
        sources=tuple((source["doi"], source["about"]) for source in data["sources"]),
        path=path,
        kinds=tuple(applies.get("kinds", ())),
        stages=tuple(applies.get("stages", ())),
        when=tuple(_condition(entry) for entry in applies.get("when", ())),
    )


def applicable(pitfalls: list[Pitfall], spec: Mapping[str, Any]) -> list[Pitfall]:
    """Return those of `pitfalls` that the spec could fall into, in the same order."""
    return [pitfall for pitfall in pitfalls if pitfall.applies(spec)]


def _condition(entry: Mapping[str, Any]) -> Condition:
    test = next(name for name in entry if name != "key")
    return Condition(test, entry[test], entry.get("key"))


def _at(spec: Mapping[str, Any], key: str) -> Any:
    here: Any = spec
    for part in key.split("."):
        here = here.get(part) if isinstance(here, Mapping) else None
    return here


def _texts(data: Any) -> Iterator[str]:
    """All strings in plain data, keys included."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        yield from data
        data = list(data.values())
    if isinstance(data, list):
        for part in data:
            yield from _texts(part)


# The probes are entry points: a campaign knows pitfalls, science the probes


GROUP = "sophron.probes"
STATUSES = ("clear", "hit", "unknown")


def findings(root: Path, spec: Spec) -> list[tuple[Pitfall, Finding]]:
    """Return what the probes say of every pitfall that `spec` could fall into. UserError for a broken catalogue."""
    return [(pitfall, _look(pitfall, spec)) for pitfall in applicable(catalogue(root), spec.data)]


def probes_of(root: Path) -> ProbeSpec:
    """Return `findings` for the specs of one campaign folder."""
    return lambda spec: findings(root, spec)


def _look(pitfall: Pitfall, spec: Spec) -> Finding:
    """Run one probe. A probe that fails, for whatever reason, has found out nothing: that is what is shown."""
    try:
        finding = entry_points.load(GROUP, pitfall.probe)(spec.data, pitfall.parameters)
    except UserError as error:
        return Finding("unknown", str(error))
    except Exception as error:  # noqa: BLE001 - a probe is somebody's plugin, and a review must not end in its traceback
        return Finding("unknown", f"the probe {pitfall.probe} failed ({type(error).__name__}: {error})")
    if not isinstance(finding, Finding) or finding.status not in STATUSES:
        return Finding("unknown", f"the probe {pitfall.probe} gave no finding")
    return finding
