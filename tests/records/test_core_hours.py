"""The running sum of core-hours: no try is lost between processes, and it can be made again from the tries."""

import json
import subprocess
import sys

import pytest

from sophron.records.core_hours import charge, core_hours, settle
from sophron.records.errors import UserError

CHARGER = """
import sys
from pathlib import Path
from sophron.records.core_hours import charge
for _ in range(20):
    charge(Path(sys.argv[1]), 9.0)
"""


def tried(root, step, number, core_seconds):
    path = root / "records" / step / str(number) / "try.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"core_seconds": core_seconds}))


def test_nothing_is_used_before_the_first_try(tmp_path):
    assert core_hours(tmp_path) == 0


def test_tries_add_up_between_processes(tmp_path):
    command = [sys.executable, "-c", CHARGER, str(tmp_path)]
    for process in [subprocess.Popen(command) for _ in range(2)]:
        assert process.wait() == 0
    assert core_hours(tmp_path) == pytest.approx(2 * 20 * 9 / 3600)


def test_a_missing_sum_is_made_again_from_the_tries_and_goes_on(tmp_path):
    tried(tmp_path, "build-0", 1, 1800)
    tried(tmp_path, "build-0", 2, 1800.5)
    tried(tmp_path, "build-1", 1, None)  # still running, or killed
    assert core_hours(tmp_path) == pytest.approx(3600.5 / 3600)
    charge(tmp_path, 3600)
    assert core_hours(tmp_path) == pytest.approx(7200.5 / 3600)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"core_seconds": "many"}', '{"core_seconds": NaN}', '{"core_seconds": -1e15}', "\x00\xff"],
)
def test_a_damaged_sum_is_one_sentence_with_the_remedy(tmp_path, text):
    tried(tmp_path, "build-0", 1, 1800)
    (tmp_path / "records" / "usage.json").write_text(text)
    with pytest.raises(UserError) as caught:
        core_hours(tmp_path)
    assert "usage.json" in str(caught.value)
    assert "remove it" in str(caught.value)
    (tmp_path / "records" / "usage.json").unlink()
    assert core_hours(tmp_path) == pytest.approx(0.5)


def test_a_sum_below_that_of_the_tries_is_raised_to_it(tmp_path):
    tried(tmp_path, "build-0", 1, 7200)
    charge(tmp_path, 0)
    (tmp_path / "records" / "usage.json").write_text('{"core_seconds": 0}')
    settle(tmp_path)
    assert core_hours(tmp_path) == pytest.approx(2)
    charge(tmp_path, 3600)  # of a try that is not ended yet: the greater one stays
    settle(tmp_path)
    assert core_hours(tmp_path) == pytest.approx(3)


def test_a_torn_note_of_a_try_is_one_sentence(tmp_path):
    tried(tmp_path, "build-0", 1, 1800)
    (tmp_path / "records" / "build-0" / "1" / "try.json").write_text('{"core')
    with pytest.raises(UserError, match=r"build-0/1/try\.json: .* is damaged"):
        core_hours(tmp_path)
