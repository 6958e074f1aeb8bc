"""Running steps: locks, tries, outcomes, verdicts, retries, and the history they leave."""

__all__ = [
    "campaign_lock", "clear_failed", "completion", "environment_faults", "margins", "outcome_store", "run_step",
    "tries", "verdict",
]  # fmt: skip
