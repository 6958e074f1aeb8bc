import hashlib
import json
import re
from pathlib import Path

manifest = {}
for path in sorted(Path("inbox").iterdir()):
    head = re.fullmatch(r"# detector: (\w+), run: (\d+)", path.read_text().splitlines()[0])
    target = Path("sorted", head[1], f"run-{int(head[2]):04}.csv")
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)
    manifest[str(target)] = hashlib.sha256(target.read_bytes()).hexdigest()
Path("manifest.json").write_text(json.dumps(manifest))
