"""Snakemake logger plugin: what Snakemake tells of a campaign goes into its record, and the record onto the screen.

Snakemake imports this package at every start, to find it: everything else is imported when a workflow begins.
"""

import contextlib
import os
import sys
from dataclasses import dataclass, field
from logging import WARNING, LogRecord
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from snakemake_logger_plugin_sophron.snakemake_text import OPTIONS, STREAM_VARIABLE
from sophron.records import SPEC_NAME
from sophron.records.import_path import put_campaign_last

if TYPE_CHECKING:
    from snakemake_logger_plugin_sophron.recorder import Recorder
    from snakemake_logger_plugin_sophron.screen import Screen


# Snakemake imports every plugin before it reads the Snakefile, whose folder it would put first in the path: a module
# that lies in a campaign would be imported in place of a library (tests/workflow/test_planted_files.py).
put_campaign_last()


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Settings of `--logger sophron`."""

    campaign: str | None = field(
        default=None,
        metadata={
            "help": "Folder of the campaign; without it, the one that the workflow opens, or the working directory.",
            "env_var": False,
            "required": False,
            "type": str,
        },
    )
    plain: bool = field(
        default=False,
        metadata={
            "help": "Print what Snakemake prints by itself, instead of one line a finished step.",
            "env_var": False,
            "required": False,
        },
    )


class LogHandler(LogHandlerBase):
    """Appends events to the campaign's record and prints them; Snakemake's own text in a dry run and elsewhere."""

    def __post_init__(self) -> None:
        """Decide who prints. A person's `--quiet progress` is kept here: Snakemake would stop counting its jobs."""
        settings: Any = self.common_settings
        self._quiet = frozenset(word.name for word in settings.quiet or ())
        self._version = "unknown"
        self._recorder: Recorder | None = None
        self._screen: Screen | None = None
        self._held: list[LogRecord] | None = []  # told before it is known whether this is a campaign's run
        if self.writes_to_stream:
            os.environ[STREAM_VARIABLE] = "logger"  # before the first job begins; it need not print what we show
            settings.quiet = {word for word in settings.quiet or () if word.name != "PROGRESS"}

    @property
    def writes_to_stream(self) -> bool:
        """Whether this run's text is ours to print: not in a dry run, and not beside another logger."""
        alone = len(getattr(self.common_settings, "log_handler_settings", ())) < 2
        return alone and not (self.common_settings.dryrun or self._wants_snakemakes_text)

    @property
    def _wants_snakemakes_text(self) -> bool:
        settings = self.common_settings
        return getattr(self.settings, "plain", False) or any(getattr(settings, name) for name in OPTIONS)

    @property
    def writes_to_file(self) -> bool:
        """The record is the campaign's own; Snakemake need not name it as a log file."""
        return False

    @property
    def has_filter(self) -> bool:
        """True: `--quiet` must not keep events from the record."""
        return True

    @property
    def has_formatter(self) -> bool:
        """True: records are translated, not formatted."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """False: the plan is known already."""
        return False

    def emit(self, record: LogRecord) -> None:
        """Record and show one record of Snakemake."""
        if self.common_settings.dryrun:
            return
        try:
            self._emit(record)
        except Exception:  # noqa: BLE001  # it would end the thread that serves all of Snakemake's loggers
            self.handleError(record)

    def _emit(self, record: LogRecord) -> None:
        """The workflow's folder is known when it starts, or fails to: what is told before is held back."""
        event = getattr(record, "event", None)
        if event == LogEvent.WORKFLOW_STARTED:
            self._version = getattr(record, "snakemake_version", "unknown")
        early = event in {None, LogEvent.WORKFLOW_STARTED} and record.levelno < WARNING
        if self._held is not None and early:
            self._held.append(record)
            return
        self._begin(is_run=True)
        try:
            if self._recorder is not None:
                self._recorder.emit(record)
        except OSError as error:  # a full or read-only disk
            if self._screen is not None:
                self._screen.give_up(error)
            else:
                self.handleError(record)
        if self._screen is not None:
            self._screen.show(record)

    def _begin(self, *, is_run: bool) -> None:
        """Find the campaign, late: Snakemake changes its working directory after it made its loggers.

        is_run: whether jobs are to run, unlike with `--lint` or `--unlock`.
        """
        if self._held is None:
            return
        held, self._held = self._held, None
        root = Path(getattr(self.settings, "campaign", None) or _opened() or ".").absolute()
        is_campaign = is_run and (root / SPEC_NAME).is_file()
        if is_campaign:
            from snakemake_logger_plugin_sophron.recorder import Recorder

            self._recorder = Recorder(root, self._version)
        if self.writes_to_stream:
            from snakemake_logger_plugin_sophron.screen import Screen

            self._screen = Screen(self.common_settings, self._quiet, root if is_campaign else None)
            for record in held:
                self._screen.show(record)

    def close(self) -> None:
        """Snakemake has ended in an orderly way."""
        started = (getattr(record, "event", None) == LogEvent.WORKFLOW_STARTED for record in self._held or ())
        self._begin(is_run=any(started))
        if self._recorder is not None:
            with contextlib.suppress(OSError):  # told by emit already, and Snakemake must still end
                self._recorder.close()
        if self._screen is not None:
            self._screen.close()
            self._screen = None
        os.environ.pop(STREAM_VARIABLE, None)
        super().close()


def _opened() -> Path | None:
    """The campaign that the Snakefile opened, which has imported what says so; it need not be the working directory."""
    snakefile_api = sys.modules.get("sophron.campaign.snakefile.snakefile_api")
    return snakefile_api.only_opened() if snakefile_api is not None else None
