"""Copy skills into a campaign with a record of where they come from, and hand out those of Sophron to coding agents.

A skill comes from a folder, from a repository at one commit, or from those that are shipped. It is copied byte for byte
into `agents/skills/`, which is signed; nothing is fetched when a campaign runs.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sophron.campaign.skills import danger_checks, skill_folder
from sophron.campaign.skills.danger_checks import Finding
from sophron.campaign.skills.skill_folder import SKILL_FILE, Skill
from sophron.records import documents
from sophron.records.errors import UserError, did_you_mean, shown
from sophron.records.files import read_text, resource, write_bytes, write_json
from sophron.records.typed_json import from_json, to_json

SHIPPED = "shipped"
OURS = "Apache-2.0"
SKILLS = ("agents", "skills")
"""Folder of a campaign's skills."""
HARNESS = ("workflow", "agents", "skills")
FOR_AGENTS_ALONE = ("answering",)
PREFIX = "sophron-"
"""Before the name of a skill that is handed out: others have a `systematic-debugging` too."""
GIT_S = 600
_AT_COMMIT = re.compile(r"(?P<repository>[^@\s]+(?:@[^@/\s]+)?)@(?P<commit>[0-9a-f]{40}):(?P<path>[^:]+)")
_OWNER_NAME = re.compile(r"[A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*")
_LICENSE_FILES = re.compile(r"(?i)(un)?licen[cs]e(\.\w+)?|copying(\.\w+)?")
_LICENSES = {
    "GNU LESSER GENERAL PUBLIC LICENSE": "LGPL",
    "GNU AFFERO GENERAL PUBLIC LICENSE": "AGPL",
    "GNU GENERAL PUBLIC LICENSE": "GPL",
    "Apache License": "Apache-2.0",
    "Mozilla Public License": "MPL-2.0",
    "BSD 3-Clause": "BSD-3-Clause",
    "BSD 2-Clause": "BSD-2-Clause",
    "MIT License": "MIT",
    "Permission is hereby granted, free of charge": "MIT",
    "Creative Commons": "Creative Commons",
}
"""Words of a licence's text -> its name; the first that is there counts."""


@dataclass(frozen=True)
class SkillSource:
    """Where a skill of a campaign was copied from, as `skill-source.schema.yaml` has it."""

    name: str
    source: str
    commit: str
    path: str
    digest: str
    skill_license: str
    source_license: str
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """A skill that is to be copied: where it lies now, and what is to be recorded. license: path of its text."""

    skill: Skill
    source: str
    commit: str = ""
    path: str = ""
    license: Path | None = None


def shipped_names() -> list[str]:
    """Return the names of the skills about programs that Sophron ships."""
    return sorted(path.parent.name for path in resource("skills").glob(f"*/{SKILL_FILE}"))


def harness_skills() -> list[Skill]:
    """Return the orchestration skills, which coding agents may be given."""
    folders = sorted(path.parent for path in resource(*HARNESS).glob(f"*/{SKILL_FILE}"))
    return [skill_folder.read(folder) for folder in folders if folder.name not in FOR_AGENTS_ALONE]


@contextmanager
def opened(source: str) -> Iterator[Origin]:
    """Yield the skill that `source` names: a shipped one, a folder, or `REPOSITORY@COMMIT:PATH`.

    Raises UserError if there is none, or it is not valid.
    """
    if source in shipped_names():
        yield Origin(skill_folder.read(resource("skills", source)), SHIPPED)
    elif (folder := Path(source)).is_dir():
        yield _of_folder(folder)
    elif found := _AT_COMMIT.fullmatch(source):
        with TemporaryDirectory(prefix="sophron-skill-") as place:
            yield _of_repository(found["repository"], found["commit"], found["path"].strip("/"), Path(place))
    else:
        raise UserError(
            f"{shown(source, 200)}: is not a folder, nor REPOSITORY@COMMIT:PATH with 40 digits of a commit, nor a "
            f"shipped skill; {did_you_mean(source, shipped_names(), 'shipped are')}"
        )


def _of_folder(folder: Path) -> Origin:
    skill = skill_folder.read(folder)
    top = _git(folder, "rev-parse", "--show-toplevel", silent=True)
    if not top:
        return Origin(skill, str(folder.resolve()), license=_license_file(folder))
    changed = _git(folder, "status", "--porcelain", "--", ".", silent=True)
    path = str(folder.resolve().relative_to(top))
    commit = "" if changed else _git(folder, "rev-parse", "HEAD", silent=True)
    source = _git(folder, "remote", "get-url", "origin", silent=True) or top
    return Origin(skill, source, commit, path, _license_file(folder) or _license_file(Path(top)))


def _of_repository(repository: str, commit: str, path: str, place: Path) -> Origin:
    """Fetch one commit and take the folder `path` out of it. No program of the repository runs, no link is followed."""
    known = _OWNER_NAME.fullmatch(repository) and not Path(repository).exists()
    url = f"https://github.com/{repository}" if known else repository
    store, out = place / "store", place / "files"
    _git(place, "init", "--quiet", "--bare", str(store))
    _git(store, "fetch", "--quiet", "--depth", "1", "--no-tags", "--", _address(url), commit)
    names = _git(store, "ls-tree", "-r", "-z", commit, "--", path).split("\0")
    top = _git(store, "ls-tree", "-z", commit).split("\0")
    for mode, name in _entries(names, url):
        write_bytes(out / name, _blob(store, commit, name))
        (out / name).chmod(0o755 if mode == "100755" else 0o644)
    for _, name in _entries([one for one in top if _LICENSE_FILES.fullmatch(one.partition("\t")[2])], url):
        write_bytes(out / name, _blob(store, commit, name))
    if not (out / path / SKILL_FILE).is_file():
        raise UserError(f"{shown(url, 200)}: has no {shown(path, 200)}/{SKILL_FILE} at {commit[:12]}; correct the path")
    return Origin(skill_folder.read(out / path), url, commit, path, _license_file(out / path) or _license_file(out))


def _address(url: str) -> str:
    """The address for git: a local one whole, since it is fetched from elsewhere."""
    if url.startswith("-") or "::" in url:
        raise UserError(f"{shown(url, 200)}: is not the address of a repository; name one by https, ssh or a path")
    return str(Path(url).resolve()) if Path(url).exists() else url


def _entries(lines: Sequence[str], url: str) -> Iterator[tuple[str, str]]:
    for line in lines:
        about, _, name = line.partition("\t")
        if not name:
            continue
        mode = about.split()[0]
        if mode not in ("100644", "100755"):
            raise UserError(f"{shown(url, 200)}: {shown(name, 200)} is a link or submodule, which a skill may not hold")
        yield mode, name


def _blob(store: Path, commit: str, name: str) -> bytes:
    return _run_git(store, ["cat-file", "blob", f"{commit}:{name}"])


def _git(folder: Path, *words: str, silent: bool = False) -> str:
    """Return what git says; with `silent`, nothing if it fails, or is not there."""
    try:
        return _run_git(folder, words).decode(errors="replace").removesuffix("\n")
    except UserError:
        if silent:
            return ""
        raise


def _run_git(folder: Path, words: Sequence[str]) -> bytes:
    git = shutil.which("git")
    if git is None:
        raise UserError("git is not on PATH; install it, or copy the skill's folder here and add that")
    # No prompt, no hook, no helper that an address or the repository names.
    plain = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh", "GIT_CONFIG_NOSYSTEM": "1"}
    command = [git, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **plain}, capture_output=True, timeout=GIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"git {words[0]} took more than {GIT_S} s; clone the repository and add its folder") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise UserError(f"git {words[0]} failed: {shown(said[-1] if said else 'without a word', 200)}")
    return done.stdout


def _license_file(folder: Path) -> Path | None:
    found = sorted(path for path in folder.iterdir() if _LICENSE_FILES.fullmatch(path.name) and path.is_file())
    return found[0] if found else None


def license_name(text: str) -> str:
    """Return the name of a licence by its text, else its first line."""
    plain = " ".join(text.split()).lower()
    for words, name in _LICENSES.items():
        if words.lower() in plain:
            version = re.search(r"version (\d(?:\.\d)?)", plain)
            return f"{name}-{version[1]}" if name.endswith("GPL") and version else name
    return shown(next((line.strip() for line in text.splitlines() if line.strip()), ""), 80)


def add(origin: Origin, root: Path, findings: Sequence[Finding]) -> Path:
    """Copy a skill into the campaign `root` with its record and the text of its licence; its folder there.

    UserError if another skill of that name is there.
    """
    skill, above = origin.skill, root.joinpath(*SKILLS)
    target = above / skill.name
    if target.exists() and skill_folder.read(target).digest != skill.digest:
        raise UserError(f"{target}: another skill of that name is there; move it away, or keep it")
    skill.write(target)
    about = SkillSource(
        skill.name,
        origin.source,
        origin.commit,
        origin.path,
        skill.digest,
        str(skill.front.get("license", "")),
        OURS if origin.source == SHIPPED else license_name(read_text(origin.license)) if origin.license else "",
        tuple(map(str, findings)),
    )
    if origin.license:
        write_bytes(above / f"{skill.name}.LICENSE", origin.license.read_bytes())
    write_json(above / f"{skill.name}.source.json", to_json(about))
    return target


def source_of(root: Path, name: str) -> SkillSource | None:
    """Return where a skill of the campaign `root` was copied from; None if it was written there."""
    path = root.joinpath(*SKILLS, f"{name}.source.json")
    if not path.is_file():
        return None
    document = documents.Document(documents.load_json(path), path)
    documents.validate(document, "skill-source")
    return from_json(SkillSource, document.data)


def campaign_skills(root: Path) -> list[Skill]:
    """Return the skills that lie in the campaign `root`, by name."""
    return [skill_folder.read(path.parent) for path in sorted(root.joinpath(*SKILLS).glob(f"*/{SKILL_FILE}"))]


def review_line(root: Path, skill: Skill) -> str:
    """Return what the review says of a skill: what may be found in it, and whose text it is."""
    findings = danger_checks.kinds(danger_checks.examine(skill))
    about = source_of(root, skill.name)
    whose = "written here" if about is None else f"from {shown(about.source, 120)}"
    if about is not None and about.digest != skill.digest:
        whose += ", edited since"
    return (
        f"skill {skill.name} ({skill.digest[:12]}), {whose}: {findings or 'nothing found that it should not ask for'}"
    )


def install(folder: Path) -> list[Path]:
    """Put the orchestration skills below `folder`, where a coding agent looks for skills; their folders there.

    One of that name that differs is replaced if it is an earlier one of ours; UserError if it is somebody else's.
    """
    made = []
    for skill in harness_skills():
        target = folder / f"{PREFIX}{skill.name}"
        if target.exists() and (target.is_symlink() or not _is_ours(target)):
            raise UserError(f"{target}: is there already, and not from Sophron; move it away")
        for name, content in skill.files.items():
            renamed = content.replace(f"name: {skill.name}\n".encode(), f"name: {target.name}\n".encode(), 1)
            write_bytes(target / name, renamed if name == SKILL_FILE else content)
        made.append(target)
    return made


def _is_ours(folder: Path) -> bool:
    return (folder / SKILL_FILE).is_file() and b"disclosure: whole\n" in (folder / SKILL_FILE).read_bytes()
