"""What is recorded against what was derived again."""

import numpy as np
import pytest

from sophron.campaign.report.compare_values import equal, file_pairs, pairs


@pytest.mark.parametrize(
    ("recorded", "derived", "same"),
    [
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0 + 1e-8, False),
        (1e300, 1.1e300, False),
        (0.0, 1e-15, True),
        (float("nan"), float("nan"), True),
        (3, 3.0, True),
        (True, 1, True),
        (True, 0.5, False),
        (None, 0.0, False),
        ("1.0", 1.0, False),
        ([], [], True),
    ],
)
def test_scalars(recorded, derived, same):
    assert equal(recorded, derived) is same


def test_arrays_of_named_things_are_compared_by_name():
    recorded = {"criteria": [{"id": "a", "passed": True}, {"id": "b", "passed": False}], "values": [1, 2]}
    derived = {"criteria": [{"id": "a", "passed": True}], "values": [1]}
    found = {name: (ours, theirs) for name, ours, theirs in pairs(recorded, derived)}
    assert found["criteria.a.passed"] == (True, True)
    assert found["criteria.b.passed"] == (False, "nothing")
    assert found["values.1"] == (2, "nothing")


def test_arrays_in_a_file_are_compared_each(tmp_path):
    curves = {"times": np.arange(3.0), "mean": np.ones((2, 3)), "names": np.array(["a", "b"])}
    np.savez(tmp_path / "a.npz", **curves)
    np.savez(tmp_path / "b.npz", **(curves | {"mean": curves["mean"] + 1e-13}))
    assert list(file_pairs(tmp_path / "a.npz", tmp_path / "b.npz")) == []
    edited = curves["mean"].copy()
    edited[1, 2] = 1.5
    np.savez(tmp_path / "c.npz", times=curves["times"], mean=edited)
    assert list(file_pairs(tmp_path / "c.npz", tmp_path / "a.npz")) == [
        ("mean[1, 2]", 1.5, 1.0),
        ("names", "nothing", "an array"),
    ]


def test_numbers_in_text_are_compared_as_numbers(tmp_path):
    for name, text in (
        ("a", "x 1.5 y -2e-3"),
        ("b", "x 1.50 y -0.002"),
        ("c", "x 1.5 y -3e-3"),
        ("d", "z 1.5 y -2e-3"),
    ):
        (tmp_path / f"{name}.csv").write_text(text)
    assert list(file_pairs(tmp_path / "a.csv", tmp_path / "b.csv")) == []
    assert list(file_pairs(tmp_path / "a.csv", tmp_path / "c.csv")) == [("3", -0.002, -0.003)]
    assert list(file_pairs(tmp_path / "a.csv", tmp_path / "d.csv")) == [("0", "x ", "z ")]
