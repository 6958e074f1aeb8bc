"""Self-contained HTML pages: one file, no scripts, no requests; what is shown is cleaned and escaped."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from sophron.campaign.rendering import formatting
from sophron.records import sanitize, templates
from sophron.records.files import resource

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = ("campaign", "templates")


def render(template: str, values: Mapping[str, object]) -> str:
    """Return a page from `templates/<template>`.

    Only values that were marked as safe (pictures of ours) pass unescaped.
    """
    from markupsafe import Markup

    style = (resource(*TEMPLATES) / "_style.css.j2").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # Nothing is fetched and nothing runs: only this very style, and pictures that the page itself holds.
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; img-src data:; base-uri 'none'; form-action 'none'"
    page: str = _environment().get_template(template).render(style=Markup(style), policy=policy, **values)  # noqa: S704
    return page


def picture(svg: str) -> str:
    """Return a picture of ours, marked as safe."""
    from markupsafe import Markup

    return Markup(svg)  # noqa: S704 - graph_picture escapes what it is given


@cache
def _environment() -> "Environment":
    environment = templates.environment(
        resource(*TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        finalize=_cleaned,
    )
    environment.filters |= {
        "plain": formatting.plain,
        "lines": sanitize.lines,
        "safe_line": _line,
        "hours": formatting.hours,
        "amount": formatting.amount,
        "of_a_model": formatting.of_a_model,
        "number": formatting.number,
        "short": formatting.short,
        "sentence": lambda words: words[:1].upper() + words[1:],
        "flat": lambda block: list(formatting.flat(block)),
    }
    return environment


def _cleaned(value: Any) -> Any:
    return sanitize.one_line(value) if type(value) is str else value


def _line(value: str) -> str:
    """A line that `sanitize.lines` cleaned, its inner blanks kept."""
    from markupsafe import escape

    return escape(value)
