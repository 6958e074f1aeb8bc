"""Our reference pipelines as an author would hand them in: four stage files from templates, in one reply."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.records import templates

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
FILES = ("01_prep.py", "02_equilibrate.py", "03_production.py", "04_analysis.py")
PRODUCTION = FILES[2]


def files(folder: str, values: Mapping[str, object]) -> dict[str, str]:
    """Return file name -> source; folder: below `templates`; values: of the templates' variables."""
    return {name: _environment().get_template(f"{folder}/{name}.j2").render(values) for name in FILES}


def reply(rationale: str, sources: Mapping[str, str], windows: int) -> str:
    """Return the whole reply (`sophron.debate.pipelines.pipeline`); windows: steps of production."""
    entries = [f"{name} windows={windows}" if name == PRODUCTION else name for name in FILES]
    blocks = [f"FILE {name}\n```python\n{source.rstrip()}\n```" for name, source in sources.items()]
    return "\n".join(["RATIONALE", rationale, "ENTRY", *entries, *blocks, ""])


@cache
def _environment() -> Environment:
    return templates.environment(TEMPLATES, autoescape=False)
