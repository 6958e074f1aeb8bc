"""Contexts of steps, as the harness makes them."""

import pytest

from sophron.interfaces.kind import StepContext


@pytest.fixture
def context(tmp_path):
    """Return a function that makes the context of a step in folders of its own."""

    def make(stage, definition, wildcards=None, upstream=None, previous=None, *, seed=7):
        name = "-".join([stage, *(wildcards or {}).values()])
        work, log = tmp_path / name / "work", tmp_path / name / "log"
        work.mkdir(parents=True, exist_ok=True)
        log.mkdir(exist_ok=True)
        return StepContext(
            stage, wildcards or {}, definition, upstream or {}, work, log, seed, previous=previous or {}, runtime_min=5,
            spec_seed=11,
        )  # fmt: skip

    return make
