import json
import struct
from pathlib import Path

data = Path("shared/shower.bin").read_bytes()
events, layers, rows, columns, scale = struct.unpack_from(">HBBBf", data, 8)
place, total, hottest, bad = 17, 0.0, (-1.0, []), 0
for event in range(events):
    place += 5 + data[place + 4]
    for cell in range(layers * rows * columns):
        (word,) = struct.unpack_from(">H", data, place)
        place += 2
        if word >> 15:
            bad += 1
            continue
        energy = (word & 0x7FFF) * scale / 1000
        total += energy
        where = [event, cell // (rows * columns), cell // columns % rows, cell % columns]
        hottest = max(hottest, (energy, where), key=lambda pair: pair[0])
summary = {"events": events, "total_GeV": total, "hottest": hottest[1], "bad_cells": bad}
Path("summary.json").write_text(json.dumps(summary))
