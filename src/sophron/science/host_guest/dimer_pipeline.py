"""Our pipeline for the Lennard-Jones dimer as four stage files: what the offline author emits and varies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates" / "lj_dimer"
WINDOWS = 12
RATIONALE = (
    "Attach-pull-release: the guest has one way out, along the distance (10.1021/acs.jctc.5b00405). All windows are\n"
    "analysed at once by MBAR (10.1063/1.2978177) with guards that refuse; the release is an integral."
)
FILES = ("01_prep.py", "02_equilibrate.py", "03_production.py", "04_analysis.py")


@dataclass(frozen=True)
class Shape:
    """What the author may choose, besides the number of windows.

    spring: of the distance, in kcal/mol/Angstrom^2, without 1/2; strengths: of the attach windows, from 0;
    pull_length: in Angstrom, from contact; interval: time steps of 10 fs between two samples.
    """

    spring: float = 1.0
    strengths: tuple[float, ...] = (0.0, 0.04, 0.2)
    pull_length: float = 10.0
    interval: int = 50


def files(shape: Shape) -> dict[str, str]:
    """File name -> source."""
    values = asdict(shape) | {"strengths": tuple(shape.strengths)}
    return {name: _environment().get_template(f"{name}.j2").render(values) for name in FILES}


def draft() -> str:
    """The whole reply of an author (`sophron.debate.pipeline`), with our own choices."""
    entries = [f"{name} windows={WINDOWS}" if name == "03_production.py" else name for name in FILES]
    blocks = [f"FILE {name}\n```python\n{source.rstrip()}\n```" for name, source in files(Shape()).items()]
    return "\n".join(["RATIONALE", RATIONALE, "ENTRY", *entries, *blocks, ""])


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Python, not HTML
    )
