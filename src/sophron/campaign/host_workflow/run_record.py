"""What a run of a host workflow leaves in the campaign's events, whichever loggers its owner uses."""

import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sophron.campaign.state.projector import project
from sophron.records import events
from sophron.records.digests import step_name

LOGGER = "sophron"
"""Snakemake's name of our logger plugin, which records by itself."""


class RecordHandler(logging.Handler):
    """Hands what Snakemake says of its jobs to the recorder of our logger plugin; prints nothing."""

    def __init__(self, root: Path, version: str) -> None:
        """root: the campaign; version: of Snakemake."""
        super().__init__()
        from snakemake_logger_plugin_sophron.recorder import Recorder

        self._recorder = Recorder(root, version)

    def emit(self, record: logging.LogRecord) -> None:
        """Record it; whatever fails here, the run goes on."""
        try:
            self._recorder.emit(record)
        except Exception:  # noqa: BLE001 - a full disk, a record of a form that nobody knew
            self.handleError(record)

    def close(self) -> None:
        """Say that Snakemake has ended in an orderly way."""
        with contextlib.suppress(OSError):
            self._recorder.close()
        super().close()


def record_run(root: Path, workflow: Any, jobs: Iterable[Any]) -> None:
    """Record a run from here on, and what its graph says of the host's jobs so far. jobs: those of the host."""
    import snakemake
    from snakemake.logging import logger

    needed, known = set(workflow.dag.needrun_jobs()), project(root).get("host", {})
    done: dict[str, list[str]] = defaultdict(list)
    again: dict[str, list[str]] = defaultdict(list)
    for job in jobs:
        name, rule = step_name(job.rule.name, job.wildcards_dict), job.rule.name
        was = name in known.get(rule, {}).get("done", ())
        if (job in needed) == was:
            (again if was else done)[rule].append(name)
    if done or again:
        events.append(root, "snakemake", "host_planned", finished=dict(done), again=dict(again))
    if LOGGER not in workflow.logger_manager.settings.log_handler_settings:
        logger.addHandler(RecordHandler(root, snakemake.__version__))
        logger.setLevel(min(logger.level, logging.INFO))  # --quiet all would drop events; its handlers filter, too
