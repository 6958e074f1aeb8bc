"""What is mechanical in a stage: ranks, threads, memory, time; overlays chosen from the signed choices.

`mechanical.yaml` is a log: a list of `{stage, key, value, by, timestamp, reason}`, of which the last one for a
key counts. A value that the spec does not list among its choices is refused, whoever wrote it. A signed change of a
key ends its older overlays: an entry with the signed value follows them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from sophron.campaign.spec import engines
from sophron.interfaces.kind import engine_s
from sophron.records import OVERLAYS_NAME, documents
from sophron.records.errors import UserError
from sophron.records.files import FileLock
from sophron.records.typed_json import from_json, left_out, to_json


@dataclass(frozen=True)
class Mechanical:
    """Shape of a stage's steps. memory in MB, of each node; time in minutes; ceilings bound one try, whatever grows.

    nodes: that a queue spreads the ranks over, as many on each; a run without a queue has one.
    modules: environment modules that are loaded before the engine starts.
    """

    memory_mb: int
    runtime_min: int
    nodes: int = 1
    ranks: int = 1
    threads: int = 1
    accelerator: str = "none"
    modules: tuple[str, ...] = ()
    retries: int = 2
    unsandboxed_fragments: bool = False
    ceiling_cores: int = 1
    ceiling_memory_mb: int = 1000
    ceiling_runtime_min: int = 60
    ceiling_retries: int = 2

    @classmethod
    def of(cls, block: Mapping[str, Any]) -> Self:
        """From the `mechanical` block of a valid spec."""
        plain = {key: value for key, value in block.items() if key not in ("choices", "ceilings", "modules")}
        ceilings = {f"ceiling_{key}": value for key, value in block["ceilings"].items()}
        ceilings["ceiling_retries"] = max(
            [plain.get("retries", cls.retries), *block.get("choices", {}).get("retries", [])]
        )
        return cls(**plain, modules=tuple(block.get("modules", ())), **ceilings)

    @property
    def cores(self) -> int:
        """Reserved cores: ranks x threads."""
        return self.ranks * self.threads

    @property
    def gpus(self) -> int:
        """GPUs of one step: one if the accelerator wants any."""
        return int(engines.wants_gpu(self.accelerator))

    def memory_at(self, attempt: int) -> int:
        """Return the memory in MB of try `attempt` (from 1): grows linearly, up to the ceiling."""
        return min(self.memory_mb * attempt, self.ceiling_memory_mb)

    def runtime_at(self, attempt: int) -> int:
        """Return the minutes of try `attempt` (from 1): grows linearly, up to the ceiling."""
        return min(self.runtime_min * attempt, self.ceiling_runtime_min)

    def may_grow(self, memory_mb: int, runtime_min: int) -> frozenset[str]:
        """Return which of "memory" and "time" a try after one with so much would have more of; none after the last."""
        last = 1 + self.retries
        room = {"memory": memory_mb < self.memory_at(last), "time": runtime_min < self.runtime_at(last)}
        return frozenset(name for name, more in room.items() if more)

    def core_hours(self) -> float:
        """Return the upper bound for one step: ceiling cores x ceiling runtime x attempts."""
        return self.ceiling_cores * self.ceiling_runtime_min / 60 * (self.ceiling_retries + 1)


HOST_KEYS = ("threads", "memory_mb", "runtime_min", "retries")
"""Mechanical keys of a stage whose signed choices may give the rules of a host workflow more."""


def chosen_amounts(root: Path, stage: str, block: Mapping[str, Any]) -> dict[str, int]:
    """Return what overlays give the rules of a host workflow: key -> amount; UserError for one that nobody signed."""
    overlaid(block, stage, root)
    return {
        one.key: one.value for one in overlays(root, {stage: block}) if one.key in HOST_KEYS and one.value != one.signed
    }


def most_chosen(block: Mapping[str, Any]) -> dict[str, int]:
    """Return the most that signed choices of a stage may give a rule of a host workflow, by ceiling."""
    choices = block.get("choices", {})
    found = {"cores" if key == "threads" else key: max(choices[key]) for key in HOST_KEYS if choices.get(key)}
    return {key: int(value) for key, value in found.items() if key != "retries"}


def most_gpus(block: Mapping[str, Any]) -> int:
    """Most GPUs that a step of this block may ask for, with any of its choices."""
    accelerators = [block.get("accelerator", "none"), *block.get("choices", {}).get("accelerator", [])]
    return int(any(map(engines.wants_gpu, accelerators)))


def reservation_lines(shapes: Iterable[Mechanical]) -> list[str]:
    """Return what a reservation gives an engine, and who holds a step to it."""
    shapes = list(shapes)
    minutes = sorted({minutes for one in shapes for minutes in (one.runtime_min, one.ceiling_runtime_min)})
    if not minutes:
        return []
    given = ", ".join(f"{engine_s(one):,} s of {one} min" for one in minutes)
    return [
        f"An engine that stops by itself in time runs for {given}: the rest is the job's own start and end.",
        "Queues hold a step to its memory, and the sandbox free text; without a queue a plain step may take more.",
    ]


def check_mechanical(document: documents.Document, keys: Sequence[str]) -> None:
    """Refuse a mechanical block whose own values or choices break its ceilings. keys: where it stands."""
    block = document.data
    for key in keys:
        block = block[key]
    ceilings, choices = block["ceilings"], block.get("choices", {})
    most = {
        "cores": max([block.get("ranks", 1), *choices.get("ranks", [])])
        * max([block.get("threads", 1), *choices.get("threads", [])]),
        "memory_mb": max([block["memory_mb"], *choices.get("memory_mb", [])]),
        "runtime_min": max([block["runtime_min"], *choices.get("runtime_min", [])]),
    }
    for name, value in most.items():
        if value > ceilings[name]:
            where = document.where((*keys, "ceilings", name))
            raise UserError(f"{where}: the stage may ask for {value}, above its ceiling {ceilings[name]}; raise it")
    nodes, ranks = block.get("nodes", 1), [block.get("ranks", 1), *choices.get("ranks", [])]
    if uneven := [count for count in ranks if count % nodes]:
        where = document.where((*keys, "nodes"))
        raise UserError(
            f"{where}: {uneven[0]} MPI ranks cannot be shared out evenly to {nodes} nodes; change one of them"
        )


def add_overlay(root: Path, stage: str, key: str, value: Any, *, by: str, reason: str) -> None:
    """Append one overlay to `mechanical.yaml`. The caller has checked that it is among the signed choices."""
    from sophron.records import clock

    _append(root, Overlay(stage, key, value, by, clock.isoformat(), reason))


def _append(root: Path, entry: "Overlay") -> None:
    from sophron.records import files

    path = root / OVERLAYS_NAME
    with FileLock(root / "records" / "mechanical.lock"):
        log = documents.load_yaml(path).data if path.is_file() else []
        log.append(to_json(entry))
        documents.validate(documents.Document(log, path), "mechanical")
        files.write_text(path, "".join(f"- {json.dumps(line, ensure_ascii=False)}\n" for line in log))


Blocks = Mapping[str, Mapping[str, Any]]
"""Stage or part -> its signed mechanical block."""


@dataclass(frozen=True)
class Overlay:
    """An entry of `mechanical.yaml`. signed: the value that it stands in place of; where: its line, if it was read."""

    stage: str
    key: str
    value: Any
    by: str
    timestamp: str
    reason: str
    signed: Any = left_out()  # noqa: RUF009
    where: str = left_out("")

    def allowed(self, block: Mapping[str, Any]) -> bool:
        """Return whether it is the signed value itself or among the signed choices."""
        return self.value == self.signed or self.value in block.get("choices", {}).get(self.key, [])


def overlays(root: Path, blocks: Blocks) -> list[Overlay]:
    """Return the overlays in force: for each stage and key the last one, as far as there is such a stage."""
    path = root / OVERLAYS_NAME
    if not path.is_file():
        return []
    document = documents.load_yaml(path)
    documents.validate(document, "mechanical")
    last = {}
    for index, one in enumerate(from_json(Overlay, line) for line in document.data):
        if one.stage in blocks:
            signed, where = signed_value(blocks[one.stage], one.key), document.where([index, "value"])
            last[one.stage, one.key] = replace(one, signed=signed, where=where)
    return list(last.values())


def signed_value(block: Mapping[str, Any], key: str) -> Any:
    """Return the value of a mechanical key as the spec has it, or its default."""
    value = getattr(Mechanical.of(block), key)
    return list(value) if isinstance(value, tuple) else value


def ended(found: Sequence[Overlay], old: Blocks, new: Blocks) -> list[Overlay]:
    """Return overlays that a signed change of blocks ends: of keys that it changes, and values no longer offered."""
    return [
        one
        for one in found
        if one.stage in new
        and one.value != signed_value(new[one.stage], one.key)
        and (
            one.stage not in old
            or signed_value(old[one.stage], one.key) != signed_value(new[one.stage], one.key)
            or one.value not in new[one.stage].get("choices", {}).get(one.key, [])
        )
    ]


def end_overlays(root: Path, old: Blocks, new: Blocks, *, by: str, timestamp: str) -> None:
    """Let newly signed values count: an entry with the signed value follows each overlay that is ended."""
    for one in ended(overlays(root, new), old, new):
        reason = f"signed as {one.signed}, which ends the overlay {one.value} by {one.by}"
        _append(root, Overlay(one.stage, one.key, one.signed, by, timestamp, reason))


def overlaid(block: Mapping[str, Any], stage: str, root: Path) -> Mechanical:
    """Return the mechanical block of a stage with the overlays of `mechanical.yaml`; UserError for one never signed."""
    mechanical = Mechanical.of(block)
    for one in overlays(root, {stage: block}):
        if not one.allowed(block):
            raise UserError(
                f"{one.where}: {one.value} is not among the signed choices of {stage}.{one.key}; remove the entry"
            )
        change: dict[str, Any] = {one.key: tuple(one.value) if one.key == "modules" else one.value}
        mechanical = replace(mechanical, **change)
    return mechanical
