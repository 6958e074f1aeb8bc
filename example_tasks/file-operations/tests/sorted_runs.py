"""Whether every run lies once at its place, unchanged, and the manifest is right."""

import hashlib
import json
from pathlib import Path

from make_inbox import RUNS, content

expected = {f"sorted/{detector}/run-{run:04}.csv": content(detector, run).encode() for detector, run in RUNS}
there = {str(path): path.read_bytes() for path in Path("sorted").rglob("*") if path.is_file()}
assert there == expected, f"sorted/ differs at {min(there.items() ^ expected.items())[0]}"
assert not [path for path in Path("inbox").rglob("*") if path.is_file()], "inbox/ is not empty"
manifest = json.loads(Path("manifest.json").read_text())
assert manifest == {path: hashlib.sha256(data).hexdigest() for path, data in expected.items()}, "manifest.json is wrong"
