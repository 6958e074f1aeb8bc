"""The state of a campaign: events reduced to workflow-state.json, progress.log, and init.sh."""

__all__ = ["campaign_state", "host_jobs", "projector", "reducer", "time_left"]
