"""What agents read of a host workflow: rules of a stage as they were signed, what these run, and its config."""

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from sophron.campaign.planning import host_config, host_plan, plan
from sophron.campaign.planning.host_step import WORKDIR
from sophron.campaign.spec.spec import Spec
from sophron.interfaces import JsonObject

MOST_BYTES = 8_000
"""Of a script or Snakefile that is shown."""
FILE = "file "
"""Begins the names of parts of a rule that are files, by digest."""
INCLUDED = re.compile(r"""^\s*include:\s*["']([^"'{}]+)["']""", re.MULTILINE)
NUMBERS = {"int": int, "float": float}


def host_rules(root: Path, spec: Spec, stage: str) -> JsonObject:
    """Return rule -> jobs, parts and what a first try reserves, of the rules of a stage; nothing if it has none."""
    found = host_plan.in_force(root) if spec.stage(stage).host_rules else None
    if found is None:
        return {}
    jobs = Counter(step.rule for step in found.steps)
    return {
        rule: {
            "jobs": jobs[rule] or "behind a checkpoint",
            "parts": {name: _readable(part) for name, part in found.rules.get(rule, {}).items() if not _is_file(name)},
            "files": [name.removeprefix(FILE) for name in found.rules.get(rule, {}) if _is_file(name)],
            "reserves": found.ceilings.get(rule, {}),
        }
        for rule in spec.stage(stage).host_rules
    }


def host_workflow(root: Path, spec: Spec, stage: str) -> JsonObject:
    """Return the rules of a stage, the files that they run, and the config of the workflow; nothing without one."""
    rules = host_rules(root, spec, stage)
    found = host_plan.in_force(root)
    if not rules or found is None or spec.host is None:
        return {}
    workdir = plan.host_workdir(root, spec.host)
    return {
        "config": host_config.values(workdir, found.config_files),
        "arguments": list(spec.host.arguments),
        "rules": rules,
        "files": _texts(root, spec.host.snakefile, workdir, rules),
    }


def _is_file(name: str) -> bool:
    return name.startswith((FILE, "also "))


def _readable(part: object) -> Any:
    """Return the plain form of a value as JSON has it."""
    if isinstance(part, list):
        return [_readable(one) for one in part]
    if not isinstance(part, dict) or len(part) != 1:
        return part
    ((kind, value),) = part.items()
    if kind in NUMBERS:
        return NUMBERS[kind](value)
    if kind == "dict":
        return {str(_readable(key)): _readable(one) for key, one in value}
    return _readable(value)


def _texts(root: Path, snakefile: str, workdir: Path, rules: JsonObject) -> dict[str, str]:
    """Return name -> text of the Snakefile with those that it includes, and of the scripts that rules run.

    The end of long ones is left out.
    """
    source = (root / snakefile).resolve()
    paths = {os.path.relpath(path, workdir): path for path in _snakefiles(source)}
    for name in (name for rule in rules.values() for name in rule["files"]):
        paths[name] = Path(name.replace(WORKDIR, str(workdir)).replace("<workflow>", str(source.parent)))
    return {name: _head(path) for name, path in paths.items() if path.is_file()}


def _snakefiles(path: Path) -> list[Path]:
    """Return a Snakefile and those that it includes by a name that is written out."""
    if not path.is_file():
        return []
    inner = (path.parent / name for name in INCLUDED.findall(path.read_text(errors="replace")))
    return [path, *(one for included in inner for one in _snakefiles(included.resolve()))]


def _head(path: Path) -> str:
    raw = path.read_bytes()
    left = f"\n[{len(raw) - MOST_BYTES} bytes left out]" if len(raw) > MOST_BYTES else ""
    return raw[:MOST_BYTES].decode(errors="replace") + left
