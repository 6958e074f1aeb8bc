"""The trial loop (MDForge, algorithm 1): setup, rehearsal, stage files, panel, benchmark, and ablations."""
