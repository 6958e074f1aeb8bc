"""Simulated samples of the curriculum: what is in them is for the agent to find, and nothing that it is given says it."""

import json

import pytest

from sophron.agentbuild import contract, curriculum
from sophron.records.files import resource

MADE = contract.load(resource("contracts", "rietveld-snr"))


@pytest.mark.parametrize("case", ["mixture-30min", "wrong-phase-30min"])
def test_no_name_and_no_comment_tells_what_is_in_a_sample(case):
    rietx = pytest.importorskip("rietx")
    assert rietx
    given = curriculum.sample(MADE.folder, MADE.curriculum.cases[case])
    told = json.dumps({"sample": {**given.sample, "pattern": given.sample["pattern"]["name"]}, "task": given.task})
    for word in ("wrong", "mixture", "trap", "impurity", "tetragonal", "ladder"):
        assert word not in told.casefold()
    again = curriculum.sample(MADE.folder, MADE.curriculum.cases[case])
    assert again.sample["pattern"] == given.sample["pattern"]


def test_the_trap_is_marked_for_the_judge_alone():
    assert {name for name, one in MADE.references.items() if not one.get("explained", True)} == {"wrong-phase-30min"}
    assert MADE.curriculum.tiers[-1] == ("beyond-the-paper", ("mixture-30min", "wrong-phase-30min"))
