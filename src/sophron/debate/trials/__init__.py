"""The trial loop (MDForge, algorithm 1): setup, rehearsal, stage files, panel, benchmark, and ablations."""

__all__ = [
    "ablation_campaigns", "author_tools", "execute_stage_file", "methods", "panel_stages", "repaired_failure", "scores",
    "stage_sandbox", "trial_figures", "trial_loop", "trial_setup",
]  # fmt: skip
