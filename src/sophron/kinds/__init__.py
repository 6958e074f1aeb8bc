"""Kinds of campaigns, one package a kind: its stages, the inputs of its agents, and sections of its report."""
