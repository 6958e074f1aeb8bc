"""The state of a campaign: events reduced to workflow-state.json, progress.log, and init.sh."""

__all__ = ["init_script", "model", "progress_log", "projector", "reducer", "step_reducer", "time_left"]
