"""Rietveld refinement: engines behind one interface, patterns, recipes, states that are kept, figures."""
