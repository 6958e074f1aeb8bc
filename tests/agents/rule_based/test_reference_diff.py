"""What a rule of thumb says of a file that descends from ours, and of one that does not."""

import pytest

from sophron.agents.rule_based.pipeline_agents import restored, source
from sophron.science.host_guest.pipelines import reference_pipelines

FILE = "04_analysis.py"
OURS = reference_pipelines.lj_dimer()
LINES = source(OURS, FILE).splitlines()


def with_file(lines):
    return OURS.replace("\n".join(LINES), "\n".join(lines))


@pytest.mark.parametrize("at", [12, 40, len(LINES) - 3])
@pytest.mark.parametrize("change", [["    pass  # changed"], [], ["# one", "# two", "# three"]])
def test_one_place_is_put_back(at, change):
    reply = with_file([*LINES[:at], *change, *LINES[at + 1 :]])
    edit = restored(FILE, reply)
    assert edit is not None
    assert source(reply, FILE).count(edit["region"]) == 1
    assert reply.replace(source(reply, FILE), source(reply, FILE).replace(edit["region"], edit["change"])) == OURS


def test_a_line_too_many_is_taken_away_and_a_line_too_few_comes_back():
    for lines in ([*LINES[:40], "        places = [0]", *LINES[40:]], [*LINES[:40], *LINES[41:]]):
        reply = with_file(lines)
        edit = restored(FILE, reply)
        assert reply.replace(source(reply, FILE), source(reply, FILE).replace(edit["region"], edit["change"])) == OURS


@pytest.mark.parametrize(
    "lines",
    [
        LINES,
        [*LINES[:12], "# one", *LINES[13:40], "# two", *LINES[41:]],
        ["print('something else')"] * len(LINES),
        [*LINES[:20], *["# much"] * 9, *LINES[20:]],
    ],
    ids=["ours", "two places", "not ours", "a long place"],
)
def test_of_all_else_it_says_nothing(lines):
    assert restored(FILE, with_file(lines)) is None


def test_of_a_file_that_is_not_there_it_says_nothing():
    assert restored("05_more.py", OURS) is None
