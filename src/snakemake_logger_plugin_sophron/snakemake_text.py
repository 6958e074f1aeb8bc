"""Print Snakemake's own text wherever this logger prints nothing."""

import logging
import os
import sys
from typing import Any

STREAM_VARIABLE = "SOPHRON_STREAM"
"""Set in the jobs of a run whose terminal we write to: what they have to say stands in their logs, which we show."""
# Options that ask for more of it.
OPTIONS = ("verbose", "debug_dag", "printshellcmds", "show_failed_logs")


class SnakemakeText:
    """Snakemake's own handler, with the filter and the format that it would give it."""

    def __init__(self, settings: Any) -> None:
        from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter

        os.environ.pop(STREAM_VARIABLE, None)
        quiet, stream = settings.quiet or set(), sys.stdout if settings.stdout else sys.stderr
        self._handler: logging.Handler = ColorizingTextHandler(nocolor=settings.nocolor, stream=stream)
        self._handler.setFormatter(DefaultFormatter(quiet, settings.show_failed_logs))
        wanted = DefaultFilter(quiet, settings.debug_dag, settings.verbose, settings.dryrun, settings.printshellcmds)
        self._handler.addFilter(wanted.filter)

    def show(self, record: logging.LogRecord) -> None:
        """Let Snakemake's handler filter, format and print."""
        self._handler.handle(record)

    def close(self) -> None:
        """Nothing is left."""
