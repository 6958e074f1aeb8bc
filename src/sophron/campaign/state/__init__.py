"""The state of a campaign: events reduced to workflow-state.json, progress.log, and init.sh."""

__all__ = ["projector", "reducer", "time_left"]
