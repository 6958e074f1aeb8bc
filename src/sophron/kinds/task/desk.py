"""The desk of an agent at a task: the tree that it works on, in the sandbox, with what its tools may do there.

It lies below the scratch folder of the agent's step, so that a kill leaves it as it is; a new conversation begins with
a new one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from sophron.interfaces import JsonObject
from sophron.kinds.task import stages
from sophron.kinds.task.kind import CALLS, FILES, MANIFEST, TREE
from sophron.records.digests import file_digest
from sophron.records.errors import UserError
from sophron.records.files import write_json, write_text
from sophron.records.typed_json import left_out, load
from sophron.tasks import attempts, environment, folder_tree, harbor_folder, tool_history
from sophron.tasks.environment import Box
from sophron.tasks.tool_history import Recorder

BEGUN = "begun"
FILE = "desk.json"


@dataclass(frozen=True)
class Order:
    """What `desk.json` says of a desk.

    Paths are relative to the campaign. start, start_digest: the archive of the tree that it begins with; folder: of the
    task, if it is one of Harbor; prefix: of its Python; network: whether commands have it; work_s, command_s: seconds
    of all commands together and of one; memory: level -> Markdown file.
    """

    start: str
    start_digest: str
    folder: str = left_out("")
    prefix: str = left_out("")
    network: bool = left_out(default=False)
    work_s: float = left_out(attempts.DEFAULT_WORK_S)
    command_s: float = left_out(environment.COMMAND_S)
    memory: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Desk:
    """A desk below `scratch`."""

    order: Order
    scratch: Path

    @property
    def root(self) -> Path:
        """Return the campaign's folder."""
        return stages.campaign_above(self.scratch)

    @property
    def tree(self) -> Path:
        """Return where the agent's tree is."""
        return self.scratch / "tree"

    @property
    def calls(self) -> Path:
        """Return the history of the tools' calls."""
        return self.scratch / FILES[CALLS]

    @cached_property
    def box(self) -> Box:
        """Return the box around the tree."""
        root = self.root
        task = harbor_folder.read(root / self.order.folder) if self.order.folder else None
        prefix = root / self.order.prefix if self.order.prefix else None
        return replace(stages.box_of(task, self.tree, prefix), network=self.order.network)

    @property
    def spent_s(self) -> float:
        """Return the seconds that commands took so far."""
        return sum(one.ended - one.begun for one in tool_history.load(self.calls) if one.command)

    @contextmanager
    def call(self, tool: str, arguments: JsonObject) -> Iterator[list[tuple[str, bool]]]:
        """Record a call and what it changes in the work folder; what is shown goes into what this yields."""
        with Recorder(stages.inside(self.tree, self.box.workdir), self.calls).call(tool, arguments) as shown:
            yield shown

    def freeze(self) -> None:
        """Leave the frozen tree, its digests and the calls beside the desk, for whoever assesses the work."""
        frozen = self.scratch / "frozen"
        if frozen.exists():
            shutil.rmtree(frozen)
        folder_tree.freeze(self.tree, frozen)
        folder_tree.pack(frozen, self.scratch / FILES[TREE])
        write_json(self.scratch / FILES[MANIFEST], folder_tree.digests(frozen))
        if not self.calls.is_file():
            write_text(self.calls, "")
        shutil.rmtree(frozen)


def open_desk(order_file: Path, scratch: Path) -> Desk:
    """Return the desk below `scratch`; a new one begins with the tree of its order.

    UserError if that is not there as it was.
    """
    order = load(order_file, Order)
    desk = Desk(order, scratch)
    if not (scratch / BEGUN).is_file():
        start = desk.root / order.start
        if file_digest(start, missing_ok=True) != order.start_digest:
            raise UserError(f"{start}: is not the tree that this step begins with; remove it and run again: snakemake")
        if desk.tree.exists():
            shutil.rmtree(desk.tree)
        folder_tree.unpack(start, desk.tree, attempts.MOST_WORK_BYTES)
        (desk.tree / environment.HOME).mkdir(exist_ok=True)
        stages.inside(desk.tree, desk.box.workdir).mkdir(parents=True, exist_ok=True)
        write_text(scratch / BEGUN, "")
    return desk
