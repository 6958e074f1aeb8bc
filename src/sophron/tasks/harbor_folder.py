"""Read a task in the form of Harbor: task.toml, instruction.md, environment/, tests/ and solution/.

Harbor ignores unknown keys and never looks at the number of the schema, so keys are read by name; what is not known is
named in a warning. What cannot be honoured here is refused in one sentence.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from sophron.interfaces import JsonObject
from sophron.records.documents import Document, Key, schema, validate
from sophron.records.errors import UserError, did_you_mean, shown
from sophron.records.files import MAX_BYTES, read_bytes, read_text
from sophron.tasks import folder_tree

SCHEMA = "task/harbor"
SETTINGS, INSTRUCTION = "task.toml", "instruction.md"
ENVIRONMENT, TESTS, SOLUTION = "environment", "tests", "solution"
DOCKERFILE = "Dockerfile"
TEST_SCRIPT, SOLUTION_SCRIPT = "tests/test.sh", "solution/solve.sh"
COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
OLDER_FORM = ("task.yaml", "run-tests.sh")
DEFAULT_TEST_S, DEFAULT_BUILD_S = 600.0, 600.0

Network = Literal["public", "no-network", "allowlist"]

_CANARY = re.compile(r"<!--.*canary.*-->|#.*canary.*", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?\}")
_TABLE = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\-\s]+?)\s*\]\]?\s*(?:#.*)?")
_ENTRY = re.compile(r"\s*([A-Za-z0-9_\-]+(?:\s*\.\s*[A-Za-z0-9_\-]+)*)\s*=")
_SIZE_MB: Mapping[str, float] = {"G": 1000, "M": 1, "K": 0.001}


@dataclass(frozen=True)
class Artifact:
    """What crosses from the work to tests in an environment of their own. exclude: patterns that are left out."""

    source: str
    destination: str = ""
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class Phase:
    """One of work and tests. timeout_s: None without a limit; env: beside that of the environment."""

    timeout_s: float | None
    network: Network
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HarborTask:
    """A task folder as it was read.

    instruction: what the agent sees, without canary lines. work, tests: their limits. separate: whether tests see
    declared artifacts alone. cpus, memory_mb, storage_mb: None where the task asks for nothing. workdir: overrides that
    of the Dockerfile. files: path below the folder -> hex sha256. warnings: a sentence each.
    """

    folder: Path
    name: str
    instruction: str
    work: Phase
    tests: Phase
    build_timeout_s: float
    separate: bool
    artifacts: tuple[Artifact, ...]
    env: Mapping[str, str]
    solution_env: Mapping[str, str]
    cpus: float | None
    memory_mb: int | None
    storage_mb: int | None
    workdir: str
    files: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    @property
    def has_solution(self) -> bool:
        """Return whether an oracle can run."""
        return SOLUTION_SCRIPT in self.files


def is_folder_of_task(folder: Path) -> bool:
    """Return whether a folder looks like a task of Harbor."""
    return (folder / SETTINGS).is_file()


def read(folder: Path) -> HarborTask:
    """Return the task of a folder. UserError, a sentence, for what is wrong with it or cannot be honoured here."""
    _refuse_other_forms(folder)
    document = _settings(folder / SETTINGS)
    _refuse_settings(document)
    files = folder_tree.digests(folder)
    _refuse_files(folder, document, files)
    environment = document.data.get("environment", {})
    agent, verifier = document.data.get("agent", {}), document.data.get("verifier", {})
    network = _network(environment, _environment_network(environment))
    return HarborTask(
        folder=folder,
        name=document.data.get("task", {}).get("name", folder.resolve().name),
        instruction=without_canary(read_text(folder / INSTRUCTION)),
        work=Phase(agent.get("timeout_sec"), _network(agent, network)),
        tests=Phase(
            verifier.get("timeout_sec", DEFAULT_TEST_S),
            _network(verifier, network),
            _variables(document, ("verifier", "env")),
        ),
        build_timeout_s=environment.get("build_timeout_sec", DEFAULT_BUILD_S),
        separate=_is_separate(verifier),
        artifacts=tuple(_artifacts(document)),
        env=_variables(document, ("environment", "env")),
        solution_env=_variables(document, ("solution", "env")),
        cpus=environment.get("cpus"),
        memory_mb=_megabytes(document, "memory"),
        storage_mb=_megabytes(document, "storage"),
        workdir=environment.get("workdir", ""),
        files=files,
        warnings=tuple(_warnings(document)),
    )


def without_canary(text: str) -> str:
    """Return an instruction without its leading canary comments, as the agent sees it."""
    lines = text.splitlines(keepends=True)
    while lines and (not lines[0].strip() or _CANARY.fullmatch(lines[0].strip())):
        lines.pop(0)
    return "".join(lines)


def _settings(path: Path) -> Document:
    raw = read_bytes(path, MAX_BYTES)
    try:
        text = raw.decode("utf-8-sig")
        data = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: is not UTF-8 text; save it as plain UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        place = re.search(r"at line (\d+)", str(error))
        reason = re.sub(r" \(at .*\)", "", str(error))
        raise UserError(f"{path}:{place[1] if place else 1}: is not valid TOML ({shown(reason)}); correct it") from None
    document = Document(data, path, _lines(text))
    validate(document, SCHEMA)
    return document


def _lines(text: str) -> dict[tuple[Key, ...], int]:
    """The line of each key that stands plainly at the beginning of one; tomllib keeps none."""
    lines: dict[tuple[Key, ...], int] = {(): 1}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if head := _TABLE.fullmatch(line):
            table = _keys(head[1])
            lines.setdefault(table, number)
        elif entry := _ENTRY.match(line):
            lines.setdefault((*table, *_keys(entry[1])), number)
    return lines


def _keys(dotted: str) -> tuple[str, ...]:
    return tuple(key.strip() for key in dotted.split("."))


def _refuse_other_forms(folder: Path) -> None:
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder; name the folder that holds {SETTINGS}")
    if is_folder_of_task(folder):
        return
    for name in OLDER_FORM:
        if (folder / name).exists():
            raise UserError(f"{folder / name}: is a task of Terminal-Bench 1; convert it to a Harbor folder first")
    raise UserError(f"{folder / SETTINGS}: there is no such file; a task folder has one beside {INSTRUCTION}")


_REFUSED: Sequence[tuple[tuple[str, ...], str]] = (
    (("steps",), "several steps in one environment are not read; make a task of each"),
    (("environment", "tpu"), "the task wants a TPU, which no sandbox here gives; run it elsewhere"),
    (("environment", "mcp_servers"), "servers of a task are not started; wire the agent to them in campaign.yaml"),
    (("environment", "healthcheck"), "waits for a service, and none is started here; run the task elsewhere"),
    (("verifier", "collect"), "commands between work and tests are not run; let tests/test.sh do it"),
)


def _refuse_settings(document: Document) -> None:
    """Raise UserError for the first thing that cannot be honoured."""
    for keys, sentence in _REFUSED:
        if _at(document.data, keys):
            raise UserError(f"{document.where(keys)}: {sentence}")
    for top in (("environment",), ("verifier", "environment")):
        if _at(document.data, (*top, "os")) == "windows":
            raise UserError(f"{document.where((*top, 'os'))}: a Windows task cannot run here; it needs Linux")
        if _at(document.data, (*top, "gpus")):
            raise UserError(
                f"{document.where((*top, 'gpus'))}: the task wants a GPU, which is not offered to tasks; "
                "run it elsewhere"
            )
    verifier = document.data.get("verifier", {})
    if verifier.get("environment_mode") == "shared" and "environment" in verifier:
        raise UserError(
            f"{document.where(('verifier', 'environment'))}: tests that share the agent's environment have none of "
            'their own; write environment_mode = "separate", or remove the table'
        )


def _refuse_files(folder: Path, document: Document, files: Mapping[str, str]) -> None:
    """Raise UserError for a folder that misses what it needs, or brings what cannot be run."""
    for name in files:
        path = PurePosixPath(name)
        if path.name in COMPOSE and str(path.parent) in (ENVIRONMENT, TESTS):
            raise UserError(f"{folder / name}: several containers are not started; a task here has one environment")
    if f"{TESTS}/{DOCKERFILE}" in files:
        raise UserError(
            f"{folder / TESTS / DOCKERFILE}: tests are not given an environment of their own; let "
            f"{ENVIRONMENT}/{DOCKERFILE} install what they need, and remove it"
        )
    for name in (INSTRUCTION, TEST_SCRIPT):
        windows = name.replace(".sh", ".bat")
        if name not in files and windows in files:
            raise UserError(f"{folder / windows}: a Windows script cannot run here; write {name}")
        if name not in files:
            raise UserError(f"{folder / name}: there is no such file; every task has one")
    if f"{ENVIRONMENT}/{DOCKERFILE}" not in files:
        keys = ("environment", "docker_image")
        if _at(document.data, keys):
            raise UserError(
                f"{document.where(keys)}: a prebuilt image cannot be taken apart; add the {ENVIRONMENT}/{DOCKERFILE} "
                "that it was built from"
            )
        raise UserError(f"{folder / ENVIRONMENT / DOCKERFILE}: there is no such file; it says what the task needs")


def _at(data: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _environment_network(environment: JsonObject) -> Network:
    return "no-network" if environment.get("allow_internet") is False else "public"


def _network(table: JsonObject, otherwise: Network) -> Network:
    mode: Network = table.get("network_mode", otherwise)
    return mode


def _is_separate(verifier: JsonObject) -> bool:
    return bool(verifier.get("environment_mode", "separate" if "environment" in verifier else "shared") == "separate")


def _variables(document: Document, keys: tuple[str, ...]) -> dict[str, str]:
    """A table of variables, `${NAME:-default}` as its default: nothing of this account's environment goes in."""
    resolved: dict[str, str] = {}
    for name, value in (_at(document.data, keys) or {}).items():
        wanted = _VARIABLE.fullmatch(value)
        if wanted and wanted["default"] is None:
            raise UserError(
                f"{document.where((*keys, name))}: takes {wanted['name']} from this machine's environment, which no "
                "sandbox is given; write the value, or a default: "
                f"${{{wanted['name']}:-value}}"
            )
        resolved[name] = wanted["default"] if wanted else value
    return resolved


def _artifacts(document: Document) -> Iterator[Artifact]:
    for number, entry in enumerate(document.data.get("artifacts", [])):
        about = {"source": entry} if isinstance(entry, str) else entry
        made = Artifact(about["source"], about.get("destination", ""), tuple(about.get("exclude", ())))
        where = document.where(("artifacts", number))
        if about.get("service", "main") != "main":
            raise UserError(f"{where}: comes from another container, and there is one alone; remove it")
        if ".." in PurePosixPath(made.source).parts or ".." in PurePosixPath(made.destination).parts:
            raise UserError(f'{where}: has ".." in it; name the path from its beginning')
        if PurePosixPath(made.destination).is_absolute() or made.destination == "manifest.json":
            raise UserError(f"{where}: the destination is to be a relative path other than manifest.json")
        yield made


def _megabytes(document: Document, what: str) -> int | None:
    """`memory_mb` or `storage_mb`, or the old spelling; UserError if both stand there and differ."""
    table = document.data.get("environment", {})
    new: int | None = table.get(f"{what}_mb")
    old: str | None = table.get(what)
    if old is None:
        return new
    size = round(float(old[:-1]) * _SIZE_MB[old[-1]])
    # Harbor takes 1024 MB for a G; either is meant by people, so both agree.
    if new is not None and new not in (size, round(float(old[:-1]) * 1024 * _SIZE_MB[old[-1]] / 1000)):
        raise UserError(f"{document.where(('environment', what))}: says {old} and {what}_mb says {new}; keep one")
    return new if new is not None else size


def _warnings(document: Document) -> Iterator[str]:
    for keys, known in _unknown(document.data, schema(SCHEMA), schema(SCHEMA)["$defs"], ()):
        yield f"{document.where(keys)}: unknown key, not read; {did_you_mean(str(keys[-1]), known, cutoff=0.5)}"
    environment = document.data.get("environment", {})
    if _network(environment, _environment_network(environment)) != "no-network":
        yield f"{document.path}: allows the network, which a task is given only where campaign.yaml signs it"
    for keys in (("agent", "user"), ("verifier", "user")):
        if str(_at(document.data, keys) or "root") not in ("root", "0"):
            yield f"{document.where(keys)}: there is one user in a sandbox, whoever is named"
    if environment.get("skills_dir"):
        yield f"{document.where(('environment', 'skills_dir'))}: skills of the image are not handed to the agent"


def _unknown(
    data: Any, about: JsonObject, shared: JsonObject, keys: tuple[Key, ...]
) -> Iterator[tuple[tuple[Key, ...], list[str]]]:
    """(keys, the known ones beside it) of each key that the schema does not name."""
    if "$ref" in about:
        about = shared[about["$ref"].rpartition("/")[2]]
    known = about.get("properties")
    if known is None or not isinstance(data, Mapping):
        return
    for key, value in data.items():
        if key in known:
            yield from _unknown(value, known[key], shared, (*keys, key))
        else:
            yield (*keys, key), list(known)
