"""Whether the wrapper is right for data and pauses that nobody saw, joined with the files as they were given."""

import secrets
import shutil
import sys
import tempfile
from pathlib import Path

sys.path[:0] = ["/tests", "/tests/sim"]
from model import golden, words, write
from run_sim import RTL, build, simulate

with tempfile.TemporaryDirectory() as place:
    rtl = Path(place, "rtl")
    rtl.mkdir()
    for name in RTL:
        source = Path("/app/sim/rtl" if name == "stream_wrapper.sv" else "/tests/sim/rtl", name)
        shutil.copy(source, rtl)
    for name in ("rtl/lane_sum.sv", "rtl/weigh.sv", "sim_main.cpp", "run_sim.py", "data/golden.txt", "data/words.txt"):
        assert Path("/app/sim", name).read_bytes() == Path("/tests/sim", name).read_bytes(), f"{name} was changed"
    program = build(Path(place, "build"), rtl)
    for count, pause in ((60, 0.0), (1201, 0.0), (600, 0.4), (605, 0.8)):
        given = words(secrets.randbits(40), count)
        write(Path(place), given)
        values = simulate(program, Path(place, "words.txt"), pause, secrets.randbits(30))
        assert values == [str(value) for value in golden(given)], f"{count} words with pauses of {pause} come out wrong"
