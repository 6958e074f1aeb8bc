"""Whether the codec writes and reads what the page says."""

import secrets
import sys
from pathlib import Path

from reference import right, waveforms

sys.path.insert(0, str(Path.cwd()))
import codec

page = right()
for wave in waveforms(secrets.randbits(40)):
    data = page["encode"](wave)
    assert bytes(codec.encode(wave)) == data, f"encode differs for a wave of {len(wave)} samples"
    assert list(codec.decode(data)) == wave, f"decode differs for a wave of {len(wave)} samples"
for wrong in (
    "",
    "57524C",
    "57524C31",
    "57524C3280",
    "57524C310105",
    "57524C3101050001",
    "57524C3102050002",
    "57524C310200",
):
    data = bytes.fromhex(wrong)
    if wrong == "57524C310105":
        assert list(codec.decode(data)) == [3], "one sample"
        continue
    try:
        codec.decode(data)
    except ValueError:
        continue
    raise AssertionError(f"{wrong} is no WRL1, and is read")
