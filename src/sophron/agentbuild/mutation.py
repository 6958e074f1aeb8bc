"""One change of an agent: a diff applied to a copy, checked against the edit boundary, and kept or rolled back.

The invariant is executability after every change (AgentBuild, section II-C); what breaks it never becomes an agent.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sophron.agentbuild import aud, sandboxed_apply, word_overlap
from sophron.agentbuild.contract import Contract
from sophron.records.digests import file_digest
from sophron.records.errors import UserError, shown


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
    if fault := sandboxed_apply.apply(diff, target):
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
    known = word_overlap.shingles(contract.knowledge.values(), length)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in aud.files(target).values()]
    return sum(len(word_overlap.shared_words(text, known, length)) for text in texts)


def _unsound(target: Path, contract: Contract) -> Iterator[str]:
    try:
        aud.check(target, contract)
    except UserError as error:
        yield str(error).replace(f"{target}/", "")
        return
    helpers = [path for name, path in aud.files(target).items() if name.endswith(".py")]
    if fault := sandboxed_apply.imported(helpers, target):
        yield f"a helper cannot be imported in the sandbox: {fault}; correct it"
