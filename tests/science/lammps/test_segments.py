"""Segments of a continued run: joined without gap or overlap, torn ends left out."""

import os
import struct

import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure
from sophron.science.lammps import segments

MAGIC = segments.RESTART_END


def write_series(path, steps, offset=0.0, torn=""):
    rows = "".join(f"{step} {step + offset} {-step}\n" for step in steps)
    path.write_text("# Time-averaged data\n# TimeStep a b\n" + rows + torn)


def write_frames(path, steps, atoms=2, offset=0.0, torn=0):
    """A DCD file in CHARMM's layout, little-endian."""

    def record(data):
        return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))

    every = steps[1] - steps[0] if len(steps) > 1 else 1
    header = b"CORD" + struct.pack("<3i", len(steps), steps[0], every) + bytes(68)
    data = record(header) + record(bytes(84)) + record(struct.pack("<i", atoms))
    for step in steps:
        data += record(bytes(48))
        for axis in range(3):
            data += record(np.full(atoms, step + offset + axis / 4, "<f4").tobytes())
    path.write_bytes(data[: len(data) - torn])


def test_one_segment_is_read_as_it_is(tmp_path):
    write_series(tmp_path / "s.0.dat", range(0, 50, 10))
    taken = segments.samples(tmp_path, "s", 2)
    steps, values = taken.steps, taken.values
    assert steps.tolist() == [0, 10, 20, 30, 40]
    assert values.tolist() == [[step, -step] for step in range(0, 50, 10)]


@pytest.mark.parametrize("torn", ["50", "50 5", "50 50.0 -5", "\x00\x00"])
def test_a_torn_last_line_is_left_out(tmp_path, torn):
    write_series(tmp_path / "s.0.dat", range(0, 50, 10), torn=torn)
    assert segments.samples(tmp_path, "s", 2).steps.tolist() == [0, 10, 20, 30, 40]


def test_a_later_segment_replaces_what_follows_its_first_step(tmp_path):
    write_series(tmp_path / "s.0.dat", range(0, 70, 10))
    write_series(tmp_path / "s.1.dat", range(40, 60, 10), offset=0.1)
    write_series(tmp_path / "s.2.dat", range(40, 110, 10), offset=0.2)
    taken = segments.samples(tmp_path, "s", 2)
    steps, values = taken.steps, taken.values
    assert steps.tolist() == list(range(0, 110, 10))
    assert (values[:, 0] - steps).tolist() == pytest.approx([0.0] * 5 + [0.2] * 6)
    assert taken.pieces == 2  # nothing of the second is left


def test_segments_are_taken_in_order_of_their_tries(tmp_path):
    for number in range(12):
        write_series(tmp_path / f"s.{number}.dat", range(number * 10, number * 10 + 30, 10), offset=number / 100)
    taken = segments.samples(tmp_path, "s", 2)
    steps, values = taken.steps, taken.values
    assert steps.tolist() == list(range(0, 140, 10))
    assert values[5, 0] - 50 == pytest.approx(0.04)


def test_a_segment_without_samples_changes_nothing(tmp_path):
    write_series(tmp_path / "s.0.dat", range(0, 30, 10))
    (tmp_path / "s.1.dat").write_text("")
    (tmp_path / "s.2.dat").write_text("# only a head\n")
    assert segments.samples(tmp_path, "s", 2).steps.tolist() == [0, 10, 20]


def test_no_segment_at_all_is_a_failure(tmp_path):
    with pytest.raises(EngineFailure, match="no samples"):
        segments.samples(tmp_path, "s", 2)


def test_frames_are_joined_like_samples(tmp_path):
    write_frames(tmp_path / "frames.0.dcd", [0, 50, 100, 150], torn=5)
    write_frames(tmp_path / "frames.1.dcd", [100, 150, 200], offset=1000)
    taken = segments.frames(tmp_path, 2)
    steps, positions = taken.steps, taken.values
    assert steps.tolist() == [0, 50, 100, 150, 200]
    assert positions.shape == (5, 2, 3)
    assert positions[2, 0].tolist() == [100.0, 100.25, 100.5]
    assert positions[3, 1].tolist() == [1150.0, 1150.25, 1150.5]


def test_without_a_trajectory_there_are_no_frames(tmp_path):
    taken = segments.frames(tmp_path, 7)
    assert taken.steps.size == 0
    assert taken.values.shape == (0, 7, 3)


@pytest.mark.parametrize("size", [0, 3, 50, 100, 190])
def test_a_trajectory_without_its_whole_head_has_no_frames(tmp_path, size):
    write_frames(tmp_path / "a.dcd", [0, 50])
    (tmp_path / "a.dcd").write_bytes((tmp_path / "a.dcd").read_bytes()[:size])
    assert segments.read_frames(tmp_path / "a.dcd")[0].size == 0


@pytest.mark.parametrize(
    ("steps", "said"),
    [([0, 10, 30], "1 of 4 samples are missing, first at step 20"), ([0, 10, 10, 20, 30], "there twice")],
)
def test_gaps_and_overlaps_are_found(steps, said):
    with pytest.raises(EngineFailure, match=said):
        segments.check_complete(np.array(steps), "stress", 30, 10)


def test_all_steps_once_are_complete():
    segments.check_complete(np.array([0, 10, 20, 30]), "stress", 30, 10)


def test_the_newest_whole_restart_file_is_taken(tmp_path):
    import os

    for age, (name, data) in enumerate(
        [
            ("run.0.a.restart", MAGIC + bytes(100) + MAGIC + bytes(1)),
            ("run.0.b.restart", MAGIC + bytes(100)),  # killed while it was written
            ("run.1.a.restart", b""),
            ("run.1.notes.restart", MAGIC + bytes(100) + MAGIC),
        ]
    ):
        (tmp_path / name).write_bytes(data)
        os.utime(tmp_path / name, (1000 + age, 1000 + age))
    assert segments.newest_restart(tmp_path) == tmp_path / "run.0.a.restart"


def write_restart(path, step):
    path.write_bytes(MAGIC.ljust(24, b"\0") + struct.pack("<iq", 5, step) + bytes(100) + MAGIC)


@pytest.mark.parametrize(
    ("sampled", "taken"),
    [
        ([*range(0, 101, 10)], "run.0.b.restart"),
        ([*range(0, 61, 10)], "run.0.a.restart"),  # the disk was full from then on
        ([*range(0, 61, 10), 90, 100], "run.0.a.restart"),  # and had room again
        ([*range(0, 31, 10)], None),
        ([], None),
    ],
)
def test_a_restart_file_behind_a_gap_of_samples_is_passed_over(tmp_path, sampled, taken):
    for name, step in (("a", 50), ("b", 100)):
        write_restart(tmp_path / f"run.0.{name}.restart", step)
    os.utime(tmp_path / "run.0.a.restart", (1, 1))
    write_series(tmp_path / "s.0.dat", sampled)
    found = segments.newest_restart(tmp_path, ["s"])
    assert (found and found.name) == taken


def test_without_restart_files_there_is_none(tmp_path):
    assert segments.newest_restart(tmp_path) is None


def test_numbers_count_all_that_a_try_left(tmp_path):
    assert segments.next_number(tmp_path, ["s"]) == 0
    write_series(tmp_path / "s.0.dat", [0])
    (tmp_path / "frames.4.dcd").write_bytes(b"")
    assert segments.next_number(tmp_path, ["s"]) == 5
    segments.discard(tmp_path, ["s"])
    assert list(tmp_path.iterdir()) == []
