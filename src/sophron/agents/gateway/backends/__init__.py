"""The ways to reach a model, one module a backend, found by name through the entry points `sophron.models`."""
