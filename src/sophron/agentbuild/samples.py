"""Sources of a curriculum's samples: functions by name, each giving the agent's input."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sophron.agentbuild.case_run import Json
from sophron.agentbuild.curriculum import Case
from sophron.records import entry_points
from sophron.records.documents import load_json
from sophron.records.errors import UserError

GROUP = "sophron.samples"


@dataclass(frozen=True)
class Given:
    """What an agent is given in a case. sample: all of it; task: what it is told of it in words and few numbers."""

    sample: Json
    task: Json


class SampleSource(Protocol):
    """function(contract folder, parameters) -> Given; an entry point of the group `sophron.samples`."""

    def __call__(self, folder: Path, parameters: Json) -> Given:
        """The sample; UserError if its files are not there."""
        ...


def sample(folder: Path, case: Case) -> Given:
    """Return what the agent is given in a case. folder: of the contract."""
    source: SampleSource = entry_points.load(GROUP, case.source)
    return source(folder, case.parameters)


def of_file(folder: Path, parameters: Json) -> Given:
    """Return a JSON file of the contract. parameters: `file`, its path in the contract's folder."""
    path = (folder / parameters["file"]).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise UserError(f"{folder}: the sample {parameters['file']} lies outside of the contract; put it into samples/")
    content: Json = load_json(path)
    return Given(content, {"file": path.name})
