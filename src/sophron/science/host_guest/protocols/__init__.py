"""Free-energy protocols: attach-pull-release, double decoupling, and the analysis of their windows."""
