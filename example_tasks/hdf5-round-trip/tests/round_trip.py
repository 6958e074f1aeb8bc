"""Whether files are what the instruction says, and nothing is lost on the way there and back."""

import secrets
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

sys.path[:0] = ["/app", "/tests"]
from hdf5_tools import pack, unpack
from runs import GIVEN, read, write


def check_file(path: Path, runs: Path) -> None:
    """AssertionError if a file does not hold these runs in the form that was asked for."""
    with h5py.File(path) as file:
        right = read(runs)
        assert set(file) == set(right), "the groups"
        for name, (image, _, hits, meta, _) in right.items():
            group = file[name]
            assert group["image"].dtype == np.uint16, "the type of image"
            assert group["image"].compression, "image is not compressed"
            assert group["image"][()].tolist() == image, "image"
            assert group["hits/time_s"].dtype == np.float64, "the type of time_s"
            assert group["hits/channel"].dtype == np.int32, "the type of channel"
            assert group["hits/time_s"][()].tolist() == [time for time, _, _ in hits], "time_s"
            assert group["hits/channel"][()].tolist() == [channel for _, channel, _ in hits], "channel"
            assert [text.decode() for text in group["hits/label"][()]] == [label for _, _, label in hits], "label"
            assert {key: _plain(value) for key, value in group.attrs.items()} == meta, "attributes"


def _plain(value: object) -> object:
    return value.decode() if isinstance(value, bytes) else value.item() if hasattr(value, "item") else value


with tempfile.TemporaryDirectory() as place:
    given = Path(place, "given")
    write(given, GIVEN)
    check_file(Path("/app/runs.h5"), given)
for runs in (1, 4):
    with tempfile.TemporaryDirectory() as place:
        source, file, target = Path(place, "in"), Path(place, "file.h5"), Path(place, "out")
        write(source, secrets.randbits(40), runs)
        pack(source, file)
        check_file(file, source)
        unpack(file, target)
        assert read(target) == read(source), "what is unpacked is not what was packed"
