"""What an executable pitfall probe is: a check that `sophron review` runs on a spec before compute is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sophron.interfaces import JsonObject


@dataclass(frozen=True)
class Finding:
    """Answer of a probe.

    status: "clear" (the pitfall was looked for and is absent), "hit" (it is there: the review shows it in
    red and approval is refused), "unknown" (could not be decided here; stays UNVERIFIED). evidence: one sentence.
    """

    status: str
    evidence: str


class Probe(Protocol):
    """function(spec, pitfall parameters) -> Finding. `spec` is the parsed campaign.yaml as plain data."""

    def __call__(self, spec: JsonObject, parameters: JsonObject) -> Finding:
        """Look for the pitfall in `spec`."""
        ...
