#!/usr/bin/env python3
"""Run a LAMMPS script in a folder, and average the thermo columns of its last run."""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

DEFAULTS = {"script": None, "variables": {}, "columns": [], "discard": 0.3, "files": []}
FEW = 20


def checked(given):
    """The input with its defaults; ends with a sentence if it is not of the form."""
    for key in given.keys() - DEFAULTS.keys():
        sys.exit(f"input: {key} is unknown; known are {', '.join(DEFAULTS)}")
    about = {**DEFAULTS, **given}
    if not isinstance(about["script"], str):
        sys.exit("input: script must be there, the path of a LAMMPS input")
    if not 0 <= about["discard"] < 1:
        sys.exit("input: discard is a part of the run, from 0 to below 1")
    return about


def thermo(log):
    """Names and rows of the last thermo table of a log, one line a row."""
    names, rows = [], []
    for line in log.splitlines():
        words = line.split()
        if words[:1] == ["Step"]:
            names, rows = words, []
        elif names and len(words) == len(names) and re.fullmatch(r"\d+", words[0]):
            rows.append([float(word) for word in words])
    return names, rows


def average(series):
    """Mean, standard error and number of independent samples, with the initial positive sequence of the autocorrelation."""
    count = len(series)
    mean = sum(series) / count
    away = [value - mean for value in series]
    variance = sum(value * value for value in away) / count
    if count < 4 or variance < 1e-24 * max(mean * mean, 1):
        return {"mean": mean, "standard_error": 0.0, "samples": float(count)}
    time = 1.0
    for lag in range(1, count // 2):
        rho = sum(away[i] * away[i + lag] for i in range(count - lag)) / (count * variance)
        if rho <= 0:
            break
        time += 2 * rho
    samples = max(count / time, 1.0)
    return {"mean": mean, "standard_error": (variance / max(samples - 1, 1)) ** 0.5, "samples": samples}


def main():
    """Run, average, write result.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    args = parser.parse_args()
    about = checked(json.loads(args.input.read_text()))
    program = shutil.which("lmp") or sys.exit("lmp is not on PATH; install LAMMPS, or load its module")
    args.work.mkdir(parents=True, exist_ok=True)
    for name in (about["script"], *about["files"]):
        shutil.copy(args.input.parent / name, args.work / Path(name).name)
    words = [
        word for key, value in {"seed": args.seed, **about["variables"]}.items() for word in ("-var", key, str(value))
    ]
    command = [program, "-in", Path(about["script"]).name, "-log", "log.lammps", *words]
    done = subprocess.run(command, cwd=args.work, capture_output=True, text=True, check=False)
    log = (args.work / "log.lammps").read_text() if (args.work / "log.lammps").exists() else ""
    if done.returncode or "ERROR" in log:
        reason = next(
            (line for line in (log + done.stdout + done.stderr).splitlines() if "ERROR" in line), done.stderr[-200:]
        )
        sys.exit(f"LAMMPS failed: {reason.strip()}")
    names, rows = thermo(log)
    if not rows:
        sys.exit("LAMMPS wrote no thermo line; add `thermo` and a `run` to the script")
    missing = [name for name in about["columns"] if name not in names]
    kept = rows[int(about["discard"] * len(rows)) :]
    columns = {name: average([row[names.index(name)] for row in kept]) for name in about["columns"] if name in names}
    warnings = [line.strip() for line in log.splitlines() if line.startswith("WARNING")]
    warnings += [f"there is no column {name}; the log has {', '.join(names)}" for name in missing]
    warnings += [
        f"{name}: {one['samples']:.0f} independent samples are too few for an error"
        for name, one in columns.items()
        if one["samples"] < FEW < len(kept)
    ]
    version = re.search(r"^LAMMPS \((.+?)\)", log, re.MULTILINE) or re.search(
        r"^LAMMPS \((.+?)\)", done.stdout, re.MULTILINE
    )
    result = {
        "lammps": version[1] if version else "unknown",
        "rows": len(rows),
        "columns": columns,
        "last": dict(zip(names, rows[-1])),
        "warnings": warnings,
    }
    (args.work / "result.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
