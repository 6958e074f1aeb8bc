"""Running steps: locks, tries, outcomes, verdicts, retries, and the history they leave."""
