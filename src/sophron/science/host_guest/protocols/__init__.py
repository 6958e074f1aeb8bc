"""Free-energy protocols: attach-pull-release, double decoupling, and the analysis of their windows."""

__all__ = [
    "analysis", "apr", "apr_setup", "complex_diagnostics", "decoupling", "decoupling_legs", "dimer_diagnostics",
    "lambda_schedule", "lj_dimer", "residual_interaction", "restrained_system", "seeding",
]  # fmt: skip
