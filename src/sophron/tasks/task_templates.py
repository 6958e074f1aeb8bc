"""Write a new task that can be done, and that programs check from its first line on; its author edits it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sophron.records.errors import UserError, shown
from sophron.records.files import write_text
from sophron.tasks import harbor_folder, scifi_markdown

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_MARKDOWN = """\
---
Timeout: 1800
BashTime: 600
---
# {title}

## Context

The worker gets the files beside this one, here `numbers.txt` with one number a line.

## To-do

Compute the mean and the standard deviation (of the population) of the numbers, write them to `summary.json`, and a
program that did it to `summarise.py`.

## Expectation

<!-- A sentence a line. `sophron task check` says which program checks it. Files of a folder tests/ stay hidden. -->

- `summary.json` exists with keys mean, deviation; mean in [4.9, 5.1]; deviation in [1.9, 2.1]
- `summarise.py` is not empty
- `numbers.txt` is not modified
"""
_NUMBERS = "\n".join(["2", "4", "4", "4", "5", "5", "7", "9"]) + "\n"
_HARBOR = {
    "task.toml": """\
schema_version = "1.4"

[task]
name = "local/{name}"
description = "{title}"

[agent]
timeout_sec = 1800.0

[verifier]
timeout_sec = 300.0

[environment]
cpus = 1
memory_mb = 2048
network_mode = "no-network"
""",
    "instruction.md": """\
The file `/app/numbers.txt` has one number a line. Compute their mean and standard deviation (of the
population), and write them to `/app/summary.json` as `{{"mean": <number>, "deviation": <number>}}`.
""",
    "environment/Dockerfile": "FROM python:{python}-slim\nWORKDIR /app\nCOPY numbers.txt ./\n",
    "environment/numbers.txt": _NUMBERS,
    "tests/test.sh": """\
#!/bin/bash
# The reward is what counts: 1 is a pass.
if python3 /tests/check.py; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
""",
    "tests/check.py": """\
\"\"\"Mean and deviation are those of the numbers; the worker never sees this file.\"\"\"

import json

found = json.load(open("/app/summary.json"))
assert abs(found["mean"] - 5) < 0.01, "mean"
assert abs(found["deviation"] - 2) < 0.01, "deviation"
""",
    "solution/solve.sh": """\
#!/bin/bash
# One way to do it, for the oracle: it shows that the task can be done.
python3 - <<'PY'
import json, statistics

numbers = [float(line) for line in open("/app/numbers.txt")]
summary = {{"mean": statistics.mean(numbers), "deviation": statistics.pstdev(numbers)}}
json.dump(summary, open("/app/summary.json", "w"))
PY
""",
}


def checked_name(folder: Path) -> str:
    """Return the name of a task's folder. UserError if it is not one for a task."""
    name = folder.absolute().name
    if not _NAME.fullmatch(name):
        raise UserError(f"{shown(name)}: is not a name for a task; write letters, digits, - and _")
    return name


def write(folder: Path, *, harbor: bool) -> Path:
    """Write a task into a new folder: in Markdown, or as a folder of Harbor; the file that its author edits first.

    UserError if there is something in the folder, or its name is not one for a task.
    """
    name = checked_name(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is not an empty folder; give the name of a new one")
    title = name.replace("-", " ").replace("_", " ").capitalize()
    files = _HARBOR if harbor else {scifi_markdown.TOP: _MARKDOWN, "numbers.txt": _NUMBERS}
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    for file, text in files.items():
        filled = text if file.endswith(".py") else text.format(name=name.lower(), title=title, python=python)
        write_text(folder / file, filled)
    return folder / (harbor_folder.INSTRUCTION if harbor else scifi_markdown.TOP)
