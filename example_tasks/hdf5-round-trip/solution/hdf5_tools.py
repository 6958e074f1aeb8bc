"""Runs of a small detector in HDF5, there and back."""

import csv
import json
from pathlib import Path

import h5py
import numpy as np


def pack(runs, file):
    """Write the runs of a folder into one file."""
    with h5py.File(file, "w") as out:
        for run in sorted(Path(runs).iterdir()):
            group = out.create_group(run.name)
            image = np.loadtxt(run / "image.csv", delimiter=",", dtype=np.uint16, ndmin=2)
            group.create_dataset("image", data=image, compression="gzip")
            with (run / "hits.csv").open(newline="", encoding="utf-8") as stream:
                hits = list(csv.DictReader(stream))
            group["hits/time_s"] = np.array([float(hit["time_s"]) for hit in hits], dtype=np.float64)
            group["hits/channel"] = np.array([int(hit["channel"]) for hit in hits], dtype=np.int32)
            labels = np.array([hit["label"] for hit in hits], dtype=object)
            group.create_dataset("hits/label", data=labels, dtype=h5py.string_dtype("utf-8"))
            for name, value in json.loads((run / "meta.json").read_text("utf-8")).items():
                group.attrs[name] = value


def unpack(file, folder):
    """Write the runs of a file into a folder."""
    with h5py.File(file) as source:
        for name, group in source.items():
            run = Path(folder, name)
            run.mkdir(parents=True)
            np.savetxt(run / "image.csv", group["image"][()], fmt="%d", delimiter=",")
            rows = zip(
                (repr(float(time)) for time in group["hits/time_s"][()]),
                group["hits/channel"][()].tolist(),
                group["hits/label"].asstr()[()],
                strict=True,
            )
            with (run / "hits.csv").open("w", newline="", encoding="utf-8") as stream:
                csv.writer(stream).writerows([("time_s", "channel", "label"), *rows])
            meta = {key: value.item() if hasattr(value, "item") else value for key, value in group.attrs.items()}
            (run / "meta.json").write_text(json.dumps(meta, ensure_ascii=False), encoding="utf-8")
