"""Digests: the content identity of a JSON value (RFC 8785), of a file, of a step, and of the code.

The identity of a step is its rule, unformatted shell line, stage digest and wildcards; never paths, threads or
resources. Every step computes its own before it begins, so that what it calls here is standard library only.

The digest of the code is the sha256 of every file that decides, in three parts. science: physics, its templates,
schemas and environments, the rules of a kind, the campaign's own Snakefile and what that loads. agents: their code and
data, the catalogue of models. harness: all the rest of the installation.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

IDENTITY_LENGTH = 64
SHELL_FIELD = re.compile(r"\{[^{}]+\}")

PACKAGE = Path(__file__).parent.parent
SUFFIXES = (".cif", ".py", ".smk", ".yaml", ".j2", ".json", ".lmp", ".so")
ENTRY_NAMES = ("Snakefile",)
OUTSIDE = ("__pycache__", "campaigns", "contracts", "docs", "example_tasks", "profiles", "skills")
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
SCIENCE = re.compile(r"(science|kinds|tasks|workflow|envs|schemas/\w+)/")
MOST_NAMES = 3

CodeFiles = dict[str, dict[str, str]]
"""Part -> name of a file -> its hex sha256."""


def canonical_bytes(value: Any) -> bytes:
    """Return `value` as canonical JSON.

    Raises ValueError if JSON cannot hold it: NaN, infinities, integers beyond 2**53, keys that are not strings.
    """
    import rfc8785

    return rfc8785.dumps(value)


def digest(value: Any) -> str:
    """Return the hex sha256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def file_digest(path: Path, *, missing_ok: bool = False) -> str:
    """Return the hex sha256 of a file's bytes; with `missing_ok`, of nothing if there is no such file."""
    if missing_ok and not path.is_file():
        return hashlib.sha256().hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def step_identity(rule: str, shell: str, digest: str, wildcards: Mapping[str, str]) -> str:
    """Return the hex sha256 of the canonical JSON of the four parts.

    All parts are strings with ASCII keys, for which this `json.dumps` is RFC 8785 (a test compares the two).
    """
    parts = [rule, shell, digest, dict(sorted(wildcards.items()))]
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def step_name(rule: str, wildcards: Mapping[str, str]) -> str:
    """Return the name of a step in records and messages, e.g. `produce-3`."""
    return "-".join([rule, *wildcards.values()])


def signed_digest(signed: str | Mapping[str, str], wildcards: Mapping[str, str]) -> str:
    """Return the digest that a step must have.

    signed: one, or those by `wildcard=value`, if a wildcard names the agent.
    """
    if isinstance(signed, str):
        return signed
    return next((signed[key] for key in (f"{name}={value}" for name, value in wildcards.items()) if key in signed), "")


def is_listed(steps_file: Path, wanted: str) -> bool:
    """Return whether the sorted list of identities holds `wanted`, by bisection (18 reads for 200,000 steps)."""
    record = IDENTITY_LENGTH + 1
    with steps_file.open("rb") as stream:
        low, high = 0, stream.seek(0, 2) // record
        while low < high:
            middle = (low + high) // 2
            stream.seek(middle * record)
            found = stream.read(IDENTITY_LENGTH).decode("ascii", "replace")
            if found == wanted:
                return True
            low, high = (middle + 1, high) if found < wanted else (low, middle)
    return False


def fits_shell_line(shell: str, argv: Sequence[str]) -> bool:
    """Return whether `argv` (without the program) can be a formatted form of the signed, unformatted shell line.

    Word for word: a `{field}` stands for any text inside its word, for no further words (our rules pass no lists).
    So a host that overrides the shell line of one of our rules is found by the step itself.
    """
    words = shlex.split(shell)[1:]
    return len(words) == len(argv) and all(map(_fits, words, argv))


def _fits(word: str, given: str) -> bool:
    """What lies between two fields is taken at its first place: linear, where a pattern would try all places."""
    begin, *inner = SHELL_FIELD.split(word)
    if not inner or not given.startswith(begin):
        return given == begin
    *between, end = inner
    position = len(begin)
    for part in between:
        found = given.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return given.endswith(end) and position + len(end) <= len(given)


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


def read_library_files() -> CodeFiles:
    """Return the files of Sophron as installed, read now."""
    files: CodeFiles = {part: {} for part in (*PARTS, PROMPTS)}
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
def library_files() -> CodeFiles:
    """Return `read_library_files`, once a process."""
    return read_library_files()


def read_code(root: Path, kind_folder: str | None = None, loaded: Sequence[str] = ()) -> CodeFiles:
    """Return the files of the library, of the kind, and of the campaign's own workflow, models and `agents/`.

    kind_folder: where a kind of another distribution keeps its rules, schemas and modules. loaded: what else the
    workflow includes and imports, relative to the campaign's folder.
    """
    files = {part: dict(found) for part, found in library_files().items()}
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


def code_digests(files: CodeFiles) -> dict[str, str]:
    """Return part -> hex sha256 over the names and digests of its files."""
    return {part: hashlib.sha256(_text(files[part]).encode()).hexdigest() for part in PARTS}


def _text(content: Mapping[str, object]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def code_listing(files: CodeFiles) -> tuple[str, str]:
    """Return the text that is kept beside an approval, so that a refusal can name a file, and its hex sha256."""
    text = f"{_text(files)}\n"
    return hashlib.sha256(text.encode()).hexdigest(), text


def changed_files(before: CodeFiles, now: CodeFiles, parts: Sequence[str] = PARTS) -> list[str]:
    """Return the names of the files of these parts that are new, gone or other ones, sorted."""
    found: set[str] = set()
    for part in parts:
        old, new = before.get(part, {}), now.get(part, {})
        found |= {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    return sorted(found)


def first_names(names: Sequence[str]) -> str:
    """Return the first names and how many more there are, for a sentence."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
