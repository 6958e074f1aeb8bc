"""One change of an agent: a diff applied to a copy in the sandbox, held against the edit boundary, kept or rolled back.

The invariant is executability after every change (AgentBuild, section II-C); what breaks it never becomes an agent.

Words that the agent shares with the producer knowledge base are counted in runs, so that padding cannot dilute them:
shingles after Broder, On the resemblance and containment of documents, 10.1109/SEQUEN.1997.666900. Here the covered
words are counted and not their share, because an agent's text may be as long as it likes.
"""

from __future__ import annotations

import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sophron.agentbuild import aud
from sophron.agentbuild.contract import Contract
from sophron.interfaces.sandbox import Grant
from sophron.records.digests import file_digest
from sophron.records.errors import UserError, shown
from sophron.sandbox import mounts
from sophron.sandbox.select_backend import choose


@dataclass(frozen=True)
class Mutation:
    """What became of a diff. refusal: one sentence, empty where it stands; changed: the files that it touched.

    shared_words: how many words of the changed agent stand in runs that the producer knowledge base has too.
    """

    refusal: str
    changed: tuple[str, ...]
    shared_words: int

    @property
    def stands(self) -> bool:
        """Whether the changed agent is the next one."""
        return not self.refusal


def mutate(parent: Path, diff: str, target: Path, contract: Contract) -> Mutation:
    """Make `target` the agent that `diff` makes of `parent`, or leave no `target` and say why.

    The diff writes to a copy that nothing else holds; what is looked at is what it did there, not what it says.
    """
    target.mkdir(parents=True)
    try:
        aud.copy(parent, target)
        found = _mutated(parent, diff, target, contract)
    except UserError as error:
        found = Mutation(str(error), (), 0)
    except BaseException:
        shutil.rmtree(target)
        raise
    if not found.stands:
        shutil.rmtree(target)
    return found


def _mutated(parent: Path, diff: str, target: Path, contract: Contract) -> Mutation:
    most = contract.boundary.diff_bytes
    if len(diff.encode(errors="replace")) > most:
        return Mutation(f"the diff is longer than {most} bytes; change less at once", (), 0)
    if fault := apply(diff, target):
        return Mutation(f"the diff does not apply: {fault}; make it from the files as they are", (), 0)
    changed = tuple(_changed(parent, target))
    shared = _shared(target, contract)
    refusal = next(_refusals(parent, target, changed, shared, contract), "")
    return Mutation(refusal, changed, shared)


def _changed(parent: Path, target: Path) -> Iterator[str]:
    """Relative paths that are not the same before and after, of whatever type."""
    before, after = aud.files(parent), {path.relative_to(target).as_posix(): path for path in aud.entries(target)}
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None or new is None or new.is_symlink() or file_digest(old) != file_digest(new):
            yield name


def _refusals(parent: Path, target: Path, changed: tuple[str, ...], shared: int, contract: Contract) -> Iterator[str]:
    """What speaks against a changed agent: paths, then content, then whether it can be asked and run."""
    boundary = contract.boundary
    if not changed:
        yield "the diff changes nothing; change something or stop"
    for name in changed:
        if why := boundary.refusal(name):
            yield f"{shown(why, 200)}; change what the edit boundary lets change"
        surface = boundary.surface_of(name)
        if surface is not None and surface.part == "prompt" and not _same_front(parent / name, target / name):
            yield f"{name}: its front matter is frozen; change the text below it alone"
    found = aud.files(target)
    if len(found) > boundary.files:
        yield f"the agent would have {len(found)} files, at most are {boundary.files}; merge or remove some"
    if sum(path.stat().st_size for path in found.values()) > boundary.agent_bytes:
        yield f"the agent would be larger than {boundary.agent_bytes} bytes; shorten it"
    if shared > boundary.most_words:
        yield (
            f"{shared} words of the agent stand word for word in the producer knowledge base, at most are "
            f"{boundary.most_words}; say it in other words"
        )
    yield from _unsound(target, contract)


def _same_front(old: Path, new: Path) -> bool:
    if not old.is_file() or not new.is_file():
        return False
    texts = (path.read_text(encoding="utf-8") for path in (old, new))
    fronts = {aud.prompt_and_front(text)[0] for text in texts}
    return len(fronts) == 1


def _shared(target: Path, contract: Contract) -> int:
    """Words in the whole agent that its author took over, so that none crosses in small portions."""
    length = contract.boundary.run_words
    known = shingles(contract.knowledge.values(), length)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in aud.files(target).values()]
    return sum(len(shared_words(text, known, length)) for text in texts)


def _unsound(target: Path, contract: Contract) -> Iterator[str]:
    try:
        aud.check(target, contract)
    except UserError as error:
        yield str(error).replace(f"{target}/", "")
        return
    if fault := imported(target):
        yield f"its Python cannot be imported in the sandbox: {fault}; correct it"


WALL_S, MEMORY_MB, PROCESSES, DISK_MB = 60.0, 1000, 32, 20
IMPORTED = """\
import importlib.util, sys
folder, *files = sys.argv[1:]
alone = [path for path in files if path.split("/")[-2] == "helpers"]
for number, path in enumerate(alone):
    spec = importlib.util.spec_from_file_location(f"helper{number}", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
sys.path.insert(0, folder)
for path in files:
    if path not in alone:
        importlib.import_module(".".join(path.removesuffix(".py").split("/")[-2:]))
"""
"""A helper stands alone; adapter, plotting and engine import one another."""
NO_CONFIGURATION = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CEILING_DIRECTORIES": "/"}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def apply(diff: str, folder: Path) -> str | None:
    """Apply a unified diff to the files in `folder`, whole or not at all; what speaks against it, or None.

    `git apply` finds a hunk by its context, never by guessing; where the line counts of a hunk are wrong, as models
    write them, it counts itself. It writes where it is let: the caller looks at what changed. UserError without git.
    """
    git = shutil.which("git")
    if git is None:
        raise UserError("git is not on PATH; install it: diffs are applied by `git apply`")
    level = "1" if any(line.startswith(("--- a/", "+++ b/")) for line in diff.splitlines()) else "0"
    with TemporaryDirectory(prefix="sophron-diff-") as place:
        patch = Path(place) / "change.diff"
        patch.write_text(diff if diff.endswith("\n") else diff + "\n", encoding="utf-8")
        words = [git, "apply", f"-p{level}", "--whitespace=nowarn", str(patch)]
        given = [patch, *_beyond_usr(Path(git).resolve().parent.parent)]
        fault = _run(words, folder, given, Path(place))
        return fault and (_run([*words, "--recount"], folder, given, Path(place)) and fault)


def imported(folder: Path) -> str | None:
    """Import the Python of an agent with nothing granted but this Python; what speaks against it, or None."""
    code = [path for name, path in aud.files(folder).items() if name.endswith(".py")]
    if not code:
        return None
    pythons = [path for prefix in (sys.prefix, sys.base_prefix) for path in _beyond_usr(Path(prefix))]
    with TemporaryDirectory(prefix="sophron-helpers-") as place:
        command = [sys.executable, "-I", "-B", "-c", IMPORTED, str(folder), *map(str, code)]
        work = Path(place) / "work"
        work.mkdir()
        return _run(command, work, [folder, *pythons], Path(place))


def _beyond_usr(folder: Path) -> list[Path]:
    """A folder of programs as a mount, unless the sandbox shows it anyway."""
    return [] if folder == Path("/usr") else [folder]


def _run(command: Sequence[str], workdir: Path, read_only: Sequence[Path], place: Path) -> str | None:
    grant = Grant(
        workdir,
        read_only=read_only,
        hidden=mounts.SELF_HIDDEN,
        env=NO_CONFIGURATION | ONE_THREAD | {"PATH": "/usr/bin:/bin"},
        wall_s=WALL_S,
        memory_mb=MEMORY_MB,
        processes=PROCESSES,
        disk_mb=DISK_MB,
    )
    out, err = place / "stdout", place / "stderr"
    ended = choose().run(command, grant, stdout=out, stderr=err)
    if ended.returncode == 0:
        return None
    if ended.limit:
        return f"it went beyond its limit of {ended.limit}"
    lines = [line for line in err.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return shown(lines[-1] if lines else f"exit code {ended.returncode}", 200)


WORD = re.compile(r"[^\W_]+")
Shingle = tuple[str, ...]


def words(text: str) -> list[str]:
    """Return the words of a text: compatible forms made equal, lower case, accents and invisible characters left out.

    Marks of comments, lists and emphasis are not words, so a passage is the same in Markdown, YAML and Python.
    """
    plain = unicodedata.normalize("NFKD", text)
    kept = "".join(sign for sign in plain if unicodedata.category(sign) not in ("Cf", "Mn"))
    return WORD.findall(kept.casefold())


def shingles(texts: Iterable[str], length: int) -> frozenset[Shingle]:
    """Return all runs of `length` words in any of `texts`."""
    found: set[Shingle] = set()
    for text in texts:
        said = words(text)
        found.update(tuple(said[start : start + length]) for start in range(len(said) - length + 1))
    return frozenset(found)


def shared_words(text: str, known: frozenset[Shingle], length: int) -> list[str]:
    """Return the words of `text` that lie in runs of `length` words which `known` holds too, in their order."""
    said = words(text)
    covered = [False] * len(said)
    for start in range(len(said) - length + 1):
        if tuple(said[start : start + length]) in known:
            covered[start : start + length] = [True] * length
    return [word for word, inside in zip(said, covered, strict=True) if inside]
