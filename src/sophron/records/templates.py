"""Jinja templates: one environment in which a name that is not given is an error, never an empty text."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(folder: Path, *, autoescape: bool, **settings: Any) -> "Environment":
    """Return the environment of the templates in `folder`, which keep the line end of their last line.

    autoescape: for HTML; elsewhere values are checked or escaped by filters of their own. settings: other ones of
    Jinja, such as `trim_blocks`.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=autoescape,  # noqa: S701 - the caller says whether it is HTML
        **{"keep_trailing_newline": True, **settings},
    )


def render(path: Path, **values: Any) -> str:
    """Return the text of one template that is not HTML: YAML, a script."""
    return environment(path.parent, autoescape=False).get_template(path.name).render(values)
