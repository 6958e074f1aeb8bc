"""The rehearsals of a trial: the tries of its pipeline before it runs, and the pipeline that came out of them."""

from __future__ import annotations

from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Finished
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.kind import Wildcards


def rehearsals(root: Path, spec: Spec, wildcards: Wildcards) -> list[Finished]:
    """Return the rehearsals of a trial, the first one first."""
    found = outcome_store.of_loop(root, spec, "rehearse", {"trial": wildcards["trial"]})
    return sorted(found, key=lambda one: int(one.wildcards["attempt"]))


def pipeline_text(rehearsal: Finished) -> str:
    """Return the reply that a rehearsal left, fixes of the Engineer included."""
    return rehearsal.files["pipeline"].read_text(encoding="utf-8")


def ready(root: Path, spec: Spec, wildcards: Wildcards) -> str:
    """Return the reply that a trial ran, fixes of the Engineer included; empty if none passed Layer-1."""
    return pipeline_text(rehearsals(root, spec, wildcards)[-1])
