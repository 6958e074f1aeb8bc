"""Our pipeline for molecules as four stage files: what the offline author emits and varies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates" / "complex"
RATIONALE = (
    "Attach-pull-release along the axis of the host, against dummy atoms (10.1021/acs.jctc.5b00405), with GAFF2 and\n"
    "the charges of the benchmark. Windows are seeded from both ends and spaced by their overlap; all are analysed at\n"
    "once by MBAR (10.1063/1.2978177) with guards that refuse; release and standard state are an integral."
)
FILES = ("01_prep.py", "02_equilibrate.py", "03_production.py", "04_analysis.py")


@dataclass(frozen=True)
class Shape:
    """What the author may choose. windows: slots in all; those that spacing leaves are for windows put in.

    charges: `shipped` or `am1bcc`; strengths: of the attach windows, from 0; spacing, pull_length: in Angstrom;
    spring, angle_spring: kcal/mol/Angstrom^2 and kcal/mol/rad^2, without 1/2; interval: time steps of 4 fs between
    two samples. Equilibration and seeding follow the sampling that each window is given.
    """

    windows: int = 44
    charges: str = "shipped"
    strengths: tuple[float, ...] = (0.0, 0.004, 0.016, 0.055, 0.181, 0.496)
    spacing: float = 0.4
    pull_length: float = 12.0
    spring: float = 5.0
    angle_spring: float = 100.0
    interval: int = 250


def files(shape: Shape) -> dict[str, str]:
    """File name -> source."""
    return {name: _environment().get_template(f"{name}.j2").render(asdict(shape)) for name in FILES}


def draft() -> str:
    """The whole reply of an author (`sophron.debate.pipeline`), with our own choices."""
    shape = Shape()
    entries = [f"{name} windows={shape.windows}" if name == "03_production.py" else name for name in FILES]
    blocks = [f"FILE {name}\n```python\n{source.rstrip()}\n```" for name, source in files(shape).items()]
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
