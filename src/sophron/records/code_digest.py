"""Code digest of a plan: the sha256 of every file that decides, in three parts. Standard library only.

science: physics, its templates, schemas and environments, the rules of a kind, the campaign's own Snakefile and what
that loads. agents: their code and data, the catalogue of models. harness: all the rest of the installation.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
SUFFIXES = (".cif", ".py", ".smk", ".yaml", ".j2", ".json", ".lmp", ".so")
ENTRY_NAMES = ("Snakefile",)
OUTSIDE = ("__pycache__", "campaigns", "contracts", "profiles")
"""Top folders of the package that no step reads: examples, and what a user copies into a configuration."""
PLUGINS = (
    "snakemake_executor_plugin_dpdispatcher",
    "snakemake_executor_plugin_globus_compute",
    "snakemake_executor_plugin_parsl",
    "snakemake_logger_plugin_sophron",
)
"""Packages of this distribution beside the library; other distributions' plugins lie there too."""
PARTS = ("science", "agents", "harness")
PROMPTS = "prompts"
"""Markdown of agents: named where an agent is another one, but in no digest of a part, for each agent has its own."""
AGENTS = re.compile(
    r"(agents|agentbuild|debate|kinds/(agent_build|host_guest|screen)|config|workflow/agents|schemas/(agents|build|debate))/"
    r"|workflow/rules/agents"
)
HARNESS = re.compile(r"workflow/(Snakefile|rules/(gate|report|verdict)\.smk)$|envs/sophron\.yaml$")
SCIENCE = re.compile(r"(science|kinds|workflow|envs|schemas/\w+)/")
MOST_NAMES = 3

Files = dict[str, dict[str, str]]
"""Part -> name of a file -> its hex sha256."""


def _below(folder: str, name: str) -> Iterator[tuple[str, str]]:
    """(name, path) of what counts in a folder."""
    # Every full check pays for this walk: `scandir` asks the system once a folder, and no Path is made of anything.
    with os.scandir(folder) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    for entry in entries:
        inner = f"{name}/{entry.name}"
        if entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, inner)
        elif _counts(entry.name) and entry.is_file():
            yield inner, entry.path


def _counts(name: str) -> bool:
    return name.endswith((*SUFFIXES, ".md")) or name in ENTRY_NAMES


def part_of(name: str) -> str:
    """Return the part that a file of the package belongs to. name: below the package, e.g. `science/lammps/run.py`."""
    for part, pattern in (("agents", AGENTS), ("harness", HARNESS), ("science", SCIENCE)):
        if pattern.match(name):
            return part
    return "harness"


def _sha256(path: str) -> str:
    with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 - no Path, see `_below`
        return hashlib.sha256(stream.read()).hexdigest()


def read_library() -> Files:
    """Return the files of Sophron as installed, read now."""
    files: Files = {part: {} for part in (*PARTS, PROMPTS)}
    for top in sorted(os.listdir(PACKAGE)):  # noqa: PTH208
        path = os.path.realpath(PACKAGE / top)  # an editable installation links to some folders
        if os.path.isdir(path) and top not in OUTSIDE:  # noqa: PTH112
            found = list(_below(path, top))
        else:
            found = [(top, path)] if _counts(top) else []
        for name, one in found:
            part = part_of(name)
            if name.endswith(".md"):
                if not name.startswith("workflow/agents/"):
                    continue
                part = PROMPTS
            files[part][f"sophron/{name}"] = _sha256(one)
    for plugin in PLUGINS:
        folder = PACKAGE.parent / plugin
        if folder.is_dir():
            files["harness"] |= {name: _sha256(one) for name, one in _below(str(folder), plugin)}
    return files


@cache
def library() -> Files:
    """Return `read_library`, once a process."""
    return read_library()


def read(root: Path, kind_folder: str | None = None, loaded: Sequence[str] = ()) -> Files:
    """Return the files of the library, of the kind, and of the campaign's own workflow, models and `agents/`.

    kind_folder: where a kind of another distribution keeps its rules, schemas and modules. loaded: what else the
    workflow includes and imports, relative to the campaign's folder.
    """
    files = {part: dict(found) for part, found in library().items()}
    if kind_folder and Path(kind_folder).is_dir():
        found = _below(str(Path(kind_folder).resolve()), Path(kind_folder).name)
        files["science"] |= {name: _sha256(path) for name, path in found if not name.endswith(".md")}
    own = [path for path in sorted((root / "agents").rglob("*")) if path.is_file()]
    for path in own:
        part = PROMPTS if path.suffix == ".md" else "agents"
        files[part][str(path.relative_to(root))] = _sha256(str(path))
    for part, name in (("agents", "config/models.yaml"), *(("science", name) for name in ("Snakefile", *loaded))):
        if (root / name).is_file():
            files[part][name] = _sha256(str(root / name))
    return files


def digests(files: Files) -> dict[str, str]:
    """Return part -> hex sha256 over the names and digests of its files."""
    return {part: hashlib.sha256(_text(files[part]).encode()).hexdigest() for part in PARTS}


def _text(content: Mapping[str, object]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def listing(files: Files) -> tuple[str, str]:
    """Return the text that is kept beside an approval, so that a refusal can name a file, and its hex sha256."""
    text = f"{_text(files)}\n"
    return hashlib.sha256(text.encode()).hexdigest(), text


def changed(before: Files, now: Files, parts: Sequence[str] = PARTS) -> list[str]:
    """Return the names of the files of these parts that are new, gone or other ones, sorted."""
    found: set[str] = set()
    for part in parts:
        old, new = before.get(part, {}), now.get(part, {})
        found |= {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    return sorted(found)


def named(names: Sequence[str]) -> str:
    """Return the first names and how many more there are, for a sentence."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
