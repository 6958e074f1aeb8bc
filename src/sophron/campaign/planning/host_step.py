"""One job of a host workflow as it is signed, and the lines of the signed list that say more than its identity.

Job processes import it, so it imports little.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from sophron.records.digests import step_identity, step_name

PLAN_VARIABLE = "SOPHRON_HOST_PLAN"
"""Set in a forced dry run of a host workflow, to the path where its plan goes."""
WORKDIR = "<workdir>"
"""Stands for the folder that the workflow works in, in paths."""

APART = "apart"
"""Marks a workflow whose rules name none of Sophron's, so that a job process can do without them."""


@dataclass(frozen=True)
class HostStep:
    """One job of the host.

    code: digest of the rule's parts; job: digest of its params and inputs; logs: its logs and benchmark.
    """

    rule: str
    code: str
    job: str
    wildcards: Mapping[str, str]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()

    @property
    def made(self) -> tuple[str, ...]:
        """All that it leaves: a log may be the input of another job."""
        return (*self.outputs, *self.logs)

    @property
    def identity(self) -> str:
        """Hex sha256, made as that of Sophron's own steps."""
        return step_identity(self.rule, self.code, self.job, self.wildcards)

    @property
    def name(self) -> str:
        """Name in messages."""
        return step_name(self.rule, self.wildcards)


def mark(*words: str) -> str:
    """Return the line of the signed list that says something of a source file or of a rule."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()
