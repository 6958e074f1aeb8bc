"""Computed checks of the rubric: pure functions of one run. Their names stand under `checks` in rubric.yaml.

A run has `report` (what the agent answered), `trajectory` (what its tools wrote down) and `reference`. What is computed
is a ceiling for what a judge says, so prefer a check to a question wherever a field can be compared.
"""

from sophron.agentbuild.rubric import Checked, grave


def tools_used(run, parameters):
    """The report rests on tools that worked. parameters: none are read."""
    del parameters
    calls = [call for call in run.trajectory["calls"] if call["ok"]]
    faults = () if calls else (grave("nothing_looked_at", "no tool was used"),)
    return Checked(faults, f"{len(calls)} calls")
