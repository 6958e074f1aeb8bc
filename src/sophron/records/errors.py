"""Errors that a user can cause: one sentence that says what is wrong, where, and what to do."""


class UserError(Exception):
    """Shown as it is, without a traceback; the command ends with exit code 2."""


class Refused(UserError):
    """The gate says no: nothing was run and nothing was changed."""


def shown(text: str, most: int = 60) -> str:
    """A stranger's text as it may stand in a sentence: one line, nothing that paints a terminal, `most` characters."""
    plain = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
    return plain if len(plain) <= most else plain[: most - 3] + "..."
