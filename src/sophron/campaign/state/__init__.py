"""The state of a campaign: events reduced to workflow-state.json, progress.log, and init.sh."""
