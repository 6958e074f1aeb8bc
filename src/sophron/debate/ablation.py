"""The ladder of methods (MDForge, section 5.1 and table 1): which feedback the author of pipelines has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """memory: the author sees its last pipeline and what became of it; engineer: faults are fixed within a trial.

    panel: three experts debate before and after; diagnostics: what stages measured is shown.
    """

    memory: bool
    engineer: bool
    panel: bool
    diagnostics: bool


METHODS = {
    "no_feedback": Method(memory=False, engineer=False, panel=False, diagnostics=False),
    "step_level": Method(memory=False, engineer=True, panel=False, diagnostics=False),
    "trial_level": Method(memory=True, engineer=True, panel=False, diagnostics=False),
    "full": Method(memory=True, engineer=True, panel=True, diagnostics=True),
    "without_debate": Method(memory=True, engineer=True, panel=False, diagnostics=True),
    "without_diagnostics": Method(memory=True, engineer=True, panel=True, diagnostics=False),
}
"""Name in the spec -> method, in the order of table 1."""
EXPERTS = {"force_field": "force-field", "sampling": "sampling", "analysis": "analysis"}
"""Name in rules -> name of the agent."""
TURNS = ("1", "2")
