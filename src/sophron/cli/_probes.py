"""Pitfall probes of a spec."""


def hits(root, spec):
    return []
