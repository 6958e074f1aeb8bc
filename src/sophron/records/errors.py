"""Errors that a user can cause: one sentence that says what is wrong, where, and what to do."""


class UserError(Exception):
    """Shown as it is, without a traceback; the command ends with exit code 2."""


class Refused(UserError):
    """The gate says no: nothing was run and nothing was changed."""
