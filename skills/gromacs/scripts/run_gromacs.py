#!/usr/bin/env python3
"""Run grompp, mdrun and energy, and average the terms that are asked for."""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

DEFAULTS = {
    "structure": None,
    "topology": None,
    "files": [],
    "parameters": {},
    "terms": ["Potential"],
    "discard": 0.0,
    "threads": 1,
    "allowed_warnings": 0,
}
FEW = 20


def checked(given):
    """The input with its defaults; ends with a sentence if it is not of the form."""
    for key in given.keys() - DEFAULTS.keys():
        sys.exit(f"input: {key} is unknown; known are {', '.join(DEFAULTS)}")
    about = {**DEFAULTS, **given}
    if not about["structure"] or not about["topology"]:
        sys.exit("input: structure and topology must be there")
    if not 0 <= about["discard"] < 1:
        sys.exit("input: discard is a part of the run, from 0 to below 1")
    return about


def gmx(work, *words, told="", may_fail=False):
    """What a program of GROMACS says; if it fails, None or the end with its error."""
    program = shutil.which("gmx") or sys.exit("gmx is not on PATH; install GROMACS, or load its module")
    done = subprocess.run(
        [program, "-nobackup", *words], cwd=work, input=told, capture_output=True, text=True, check=False
    )
    if done.returncode and may_fail:
        return None
    if done.returncode:
        fault = re.search(r"(?:Fatal error|Error in user input|ERROR \d+.*):\n(.*?)\n\n", done.stderr, re.DOTALL)
        sys.exit(f"gmx {words[0]} failed: {' '.join((fault[1] if fault else done.stderr[-300:]).split())}")
    return done.stdout + done.stderr


def remarks(text, kind):
    """Notes or warnings of grompp, each on one line."""
    return [
        " ".join(one.split()) for one in re.findall(rf"^{kind} \d+ \[.*?\]:\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    ]


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


def column(work, term, discard):
    """Average and last value of one energy term; None if the run has no such term."""
    said = gmx(work, "energy", "-f", "md.edr", "-o", "term.xvg", told=f"{term}\n0\n", may_fail=True)
    if said is None:
        return None
    lines = (work / "term.xvg").read_text().splitlines()
    values = [float(line.split()[1]) for line in lines if line and line[0] not in "#@"]
    return {**average(values[int(discard * len(values)) :]), "last": values[-1]}


def main():
    """Prepare, run, average, write result.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    args = parser.parse_args()
    about = checked(json.loads(args.input.read_text()))
    args.work.mkdir(parents=True, exist_ok=True)
    for name in (about["structure"], about["topology"], *about["files"]):
        shutil.copy(args.input.parent / name, args.work / Path(name).name)
    parameters = {"ld-seed": args.seed, "gen-seed": args.seed, **about["parameters"]}
    (args.work / "md.mdp").write_text("".join(f"{key} = {value}\n" for key, value in parameters.items()))
    structure, topology = (Path(about[key]).name for key in ("structure", "topology"))
    said = gmx(
        args.work,
        "grompp",
        "-f",
        "md.mdp",
        "-c",
        structure,
        "-r",
        structure,
        "-p",
        topology,
        "-o",
        "md.tpr",
        "-maxwarn",
        str(about["allowed_warnings"]),
    )
    threads = str(about["threads"])
    ran = gmx(args.work, "mdrun", "-deffnm", "md", "-ntmpi", "1", "-ntomp", threads, "-nb", "cpu", "-pin", "off")
    version = re.search(r"GROMACS(?: - gmx \w+|:\s+gmx \w+)?,? (?:version )?(\d{4}[.\d]*)", ran)
    terms = {term: column(args.work, term, about["discard"]) for term in about["terms"]}
    warnings = remarks(said, "WARNING") + [f"the run has no term {term}" for term, one in terms.items() if one is None]
    warnings += [
        f"{term}: {one['samples']:.0f} independent samples are too few for an error"
        for term, one in terms.items()
        if one and one["samples"] < FEW and int(about["parameters"].get("nsteps", 0))
    ]
    result = {
        "gromacs": version[1] if version else "unknown",
        "steps": int(about["parameters"].get("nsteps", 0)),
        "terms": terms,
        "notes": remarks(said, "NOTE"),
        "warnings": warnings,
    }
    (args.work / "result.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
