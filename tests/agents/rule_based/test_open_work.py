"""Agents whose work is open have no rule of thumb, and say so."""

import pytest

from sophron.records import entry_points


@pytest.mark.parametrize("agent", ["ask", "evolve", "task-worker", "task-reviewer"])
def test_open_work_needs_a_model(agent):
    with pytest.raises(ValueError, match="open work needs a model"):
        entry_points.load("sophron.rule_based_agents", agent)({})
