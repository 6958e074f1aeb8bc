"""Physics: one package per engine or campaign kind, estimators, and probes. Knows no agents."""
