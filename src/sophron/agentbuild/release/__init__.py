"""Release of a built agent: its package, the endpoint that serves it, and the trail of its provenance."""
