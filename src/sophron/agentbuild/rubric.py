"""The rubric: what a competent analysis must satisfy, dimension by dimension (AgentBuild, II-A and table II)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sophron.agentbuild.case_run import Json
from sophron.records import entry_points
from sophron.records.documents import Document, Key, validate
from sophron.records.errors import UserError

SCHEMA = "build/rubric"
CHECKS = "sophron.rubric_checks"


@dataclass(frozen=True)
class Dimension:
    """One dimension. threshold: least score that passes; checks: names in the registry of rubric checks.

    asks: what the scoring judge is asked, empty if the dimension is computed alone; parameters: of its checks.
    """

    code: str
    name: str
    about: str
    kind: Literal["output", "trajectory"]
    threshold: int
    checks: tuple[str, ...] = ()
    asks: str = ""
    parameters: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Rubric:
    """All dimensions. lowest, highest: the scale of scores; repeats: how often the scoring judge is asked.

    report_schema, trajectory_schema: what the documents of a run must fit to be scored, empty for any object.
    """

    title: str
    lowest: int
    highest: int
    repeats: int
    dimensions: tuple[Dimension, ...]
    report_schema: str = ""
    trajectory_schema: str = ""

    @property
    def asked(self) -> tuple[Dimension, ...]:
        """The dimensions that a judge has a say in."""
        return tuple(one for one in self.dimensions if one.asks)

    @property
    def thresholds(self) -> dict[str, int]:
        """Code -> least score that passes."""
        return {one.code: one.threshold for one in self.dimensions}


def read(document: Document) -> Rubric:
    """Return the rubric that a document states; UserError with file and key if it cannot be one."""
    validate(document, SCHEMA)
    data = document.data
    lowest, highest = data["scale"]["lowest"], data["scale"]["highest"]
    if not lowest < highest:
        raise UserError(f"{document.where(['scale'])}: {lowest} to {highest} is no scale; give the lower score first")
    known, codes = entry_points.names(CHECKS), set()
    for number, one in enumerate(data["dimensions"]):
        at: list[Key] = ["dimensions", number]
        if one["code"] in codes:
            raise UserError(f"{document.where([*at, 'code'])}: {one['code']} stands there twice; rename one of them")
        codes.add(one["code"])
        if not lowest < one["pass"] <= highest:
            raise UserError(
                f"{document.where([*at, 'pass'])}: {one['pass']} is no threshold on the scale {lowest} to {highest}; "
                "give one above its lower end"
            )
        for check in one.get("checks", []):
            if check not in known:
                where = document.where([*at, "checks"])
                raise UserError(f'{where}: there is no check "{check}"; known are {", ".join(known)}')
    return Rubric(
        title=data["title"],
        lowest=lowest,
        highest=highest,
        repeats=data["repeats"],
        dimensions=tuple(_dimension(one) for one in data["dimensions"]),
        report_schema=data.get("report_schema", ""),
        trajectory_schema=data.get("trajectory_schema", ""),
    )


def _dimension(data: Json) -> Dimension:
    about = {key: data[key] for key in ("code", "name", "about", "kind")}
    more = {"asks": data.get("asks", ""), "parameters": data.get("parameters", {})}
    return Dimension(**about, threshold=data["pass"], checks=tuple(data.get("checks", [])), **more)
