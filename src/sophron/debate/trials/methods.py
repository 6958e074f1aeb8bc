"""The ladder of methods (MDForge, section 5.1 and table 1): which feedback the author of pipelines has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """critic: a second agent rewrites each draft, unrun; engineer: faults are fixed within a trial.

    memory: the author sees its last pipeline and what became of it; diagnostics: what stages measured is shown;
    panel: three experts debate before and after; each_guest: they also look at every training guest by itself.
    """

    critic: bool = False
    engineer: bool = False
    memory: bool = False
    diagnostics: bool = False
    panel: bool = False
    each_guest: bool = False


METHODS = {
    "no_feedback": Method(),
    "llm_critic": Method(critic=True),
    "step_level": Method(engineer=True),
    "trial_level": Method(engineer=True, memory=True),
    "full": Method(engineer=True, memory=True, diagnostics=True, panel=True),
    "full_each_guest": Method(engineer=True, memory=True, diagnostics=True, panel=True, each_guest=True),
    "without_debate": Method(engineer=True, memory=True, diagnostics=True),
    "without_diagnostics": Method(engineer=True, memory=True, panel=True),
}
"""Name in the spec -> method, in the order of table 1; `full_each_guest` is not in it."""
EXPERTS = {"force_field": "force-field", "sampling": "sampling", "analysis": "analysis"}
"""Name in rules -> name of the agent."""
TURNS = ("1", "2")
