"""Estimators: means, autocorrelations, Green-Kubo integrals and their errors, from arrays alone."""
