"""Random edits of a workflow that is not ours, and whether the amendment that follows leaves anything stale.

The oracle is Snakemake without a gate: a clean run of the edited workflow in a folder of its own, file by file.
"""

import contextlib
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import toy
import warm_snakemake
import yaml

from sophron.campaign.approval import amendment_draft
from sophron.campaign.planning import host_plan
from sophron.campaign.scaffold import adopt
from sophron.records.errors import UserError

CODE = (".py", ".R", ".r", ".sh")
RULES = ("Snakefile", ".smk")
NUMBER = re.compile(r"(?<![\w.\"'{/~-])\d+(?:\.\d+)?(?![\w.\"'}/-])")
GLOBBED = re.compile(r"""glob_wildcards\(\s*["']([\w/.-]*)\{""")
APPENDED = {
    ".py": "\nwith open(str(snakemake.output[0]), 'a') as more:\n    more.write('{word}')\n",
    ".R": "\ncat('{word}', file=snakemake@output[[1]], append=TRUE)\n",
}
OURS = {"campaign", ".snakemake", "__pycache__", ".cache", ".ipynb_checkpoints"}


class NothingToEditError(Exception):
    """The workflow has nothing of the class that was drawn, or its edited form does not run."""


@dataclass(frozen=True)
class Edit:
    """kind: its class; change: does it to the workflow in a folder."""

    kind: str
    what: str
    change: Callable[[Path], None]


@dataclass
class Found:
    """What came of one amendment: files that are not what a clean run makes, and outputs that were made again."""

    kinds: list[str]
    what: list[str]
    stale: list[str]
    left: list[str]
    repeated: int
    beyond: list[str] = field(default_factory=list)
    same: int = 0
    drafted: bool = True


def files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """Paths below a folder of a workflow, relative to it, by how their names end."""
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in paths if path.name.endswith(suffixes) and not OURS & {*path.parts}]


def _text(path: Path, old: str, new: str, place: int) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / path).read_text()
        assert text[place : place + len(old)] == old
        (folder / path).write_text(text[:place] + new + text[place + len(old) :])

    return change


def _appended(path: Path, text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / path).write_text((folder / path).read_text() + text)


def _number(draw: random.Random, text: str, path: Path, kind: str) -> Edit:
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        raise NothingToEditError
    one = draw.choice(numbers)
    new = f"{float(one[0]) * 1.5:g}" if "." in one[0] else str(int(one[0]) + draw.choice([1, 2]))
    line = text.count("\n", 0, one.start()) + 1
    return Edit(kind, f"{path}:{line} {one[0]} -> {new}", _text(path, one[0], new, one.start()))


def script(draw: random.Random, folder: Path) -> Edit:
    """A number of a script or of a module that one imports; or one more line, that writes to the first output."""
    path = draw.choice(files(folder, CODE) or [Path()])
    if path == Path():
        raise NothingToEditError
    text = (folder / path).read_text()
    named = any(path.name in (folder / rules).read_text() for rules in files(folder, RULES))
    kind = "script" if named else "imported module"
    if "snakemake" in text and draw.random() < 0.5 and path.suffix in APPENDED:
        word = f"more{draw.randrange(10**6)}"
        return Edit(kind, f"{path}: writes {word}", _appended(path, APPENDED[path.suffix].replace("{word}", word)))
    return _number(draw, text, path, kind)


def rule_text(draw: random.Random, folder: Path) -> Edit:
    """A number of a rule file: in a shell line, params, a list of samples, Python."""
    path = draw.choice(files(folder, RULES))
    return _number(draw, (folder / path).read_text(), path, "number in a Snakefile")


def shell_line(draw: random.Random, folder: Path) -> Edit:
    """One more command behind a redirection to the output."""
    path = draw.choice(files(folder, RULES))
    text = (folder / path).read_text()
    places = list(re.finditer(r">>? *\{output(\.\w+)?\}(?=\"|'|\s*$)", text, re.MULTILINE))
    if not places:
        raise NothingToEditError
    one = draw.choice(places)
    new = f"{one[0]}; echo {draw.randrange(10**6)} >> {{output{one[1] or ''}}}"
    return Edit("shell line", f"{path}: {new}", _text(path, one[0], new, one.start()))


def config(draw: random.Random, folder: Path) -> Edit:
    """A value of a config file; names of samples stay."""
    named = [path for path in files(folder, (".yaml", ".yml")) if "env" not in str(path) and "meta" not in str(path)]
    named = [path for path in named if any(path.name in (folder / one).read_text() for one in files(folder, RULES))]
    if not named:
        raise NothingToEditError
    path = draw.choice(named)
    leaves = list(_leaves(yaml.safe_load((folder / path).read_text()), ()))
    keys, value = draw.choice(leaves)
    new = value * 2 + 1 if isinstance(value, int | float) else f"{value}x"

    def change(root: Path) -> None:
        content = yaml.safe_load((root / path).read_text())
        place = content
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = new
        (root / path).write_text(yaml.safe_dump(content, sort_keys=False))

    return Edit("config value", f"{path}: {'.'.join(map(str, keys))}: {value} -> {new}", change)


def _leaves(value: object, keys: tuple[object, ...]) -> Iterator[tuple[tuple, object]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, (*keys, key))
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield keys, value


def environment(draw: random.Random, folder: Path) -> Edit:
    """One more package in an environment file that a rule names."""
    rules = "".join((folder / path).read_text() for path in files(folder, RULES))
    named = [path for path in files(folder, (".yaml", ".yml")) if re.search(rf"conda:\s*\"[^\"]*{path.name}", rules)]
    if not named:
        raise NothingToEditError
    path, version = draw.choice(named), draw.randrange(10**6)
    return Edit("env file", f"{path}: {version}", _appended(path, f"\n  - more={version}\n"))


def source(draw: random.Random, folder: Path) -> Edit:
    """The last line of a data file once more."""
    found = files(folder, (".txt", ".csv", ".tsv", ".dat"))
    found = [path for path in found if path.parts[0] in ("data", "ingredients", "tools", "samples", "config")]
    if not found:
        raise NothingToEditError
    path = draw.choice(found)
    last = (folder / path).read_text().rstrip("\n").split("\n")[-1]
    return Edit("source file", f"{path}: one more line", _appended(path, f"{last}\n"))


def sample(draw: random.Random, folder: Path) -> Edit:
    """One sample more, or one fewer: of a folder that `glob_wildcards` reads, or of a list `samples` in the config."""
    rules = "".join((folder / path).read_text() for path in files(folder, RULES))
    if places := GLOBBED.findall(rules):
        data = Path(draw.choice(places)).parent if not places[0].endswith("/") else Path(draw.choice(places))
        found = sorted(path.relative_to(folder) for path in (folder / data).glob("*") if path.is_file())
        if len(found) < 2:
            raise NothingToEditError
        one = draw.choice(found)
        if draw.random() < 0.4 and len(found) > 2:
            return Edit("removed sample", str(one), lambda root: (root / one).unlink())
        other = one.with_stem(f"new{draw.randrange(10**4)}")
        return Edit("new sample", str(other), lambda root: (root / other).write_bytes((root / one).read_bytes()))
    return _listed_sample(draw, folder)


def _listed_sample(draw: random.Random, folder: Path) -> Edit:
    for path in files(folder, (".yaml", ".yml")):
        content = yaml.safe_load((folder / path).read_text())
        listed = content.get("samples") if isinstance(content, dict) else None
        if not isinstance(listed, list):
            continue
        one = draw.choice(listed)
        if draw.random() < 0.4 and len(listed) > 2:
            return Edit("removed sample", one, partial(_fewer_samples, path=path, one=one))
        return Edit("new sample", one, partial(_more_samples, path=path, one=one, new=f"new{draw.randrange(10**4)}"))
    raise NothingToEditError


def _listed(path: Path, more: list[str], fewer: str = "") -> None:
    now = yaml.safe_load(path.read_text())
    now["samples"] = [name for name in now["samples"] if name != fewer] + more
    path.write_text(yaml.safe_dump(now, sort_keys=False))


def _fewer_samples(root: Path, path: Path, one: str) -> None:
    _listed(root / path, [], one)


def _more_samples(root: Path, path: Path, one: str, new: str) -> None:
    _listed(root / path, [new])
    for data in files(root, (f"{one}.txt", f"{one}.csv")):
        if data.parts[0] in ("data", "samples"):
            (root / data.with_stem(new)).write_bytes((root / data).read_bytes())


def comment(draw: random.Random, folder: Path) -> Edit:
    """Something that means nothing: a comment at the end of a rule file."""
    path = draw.choice(files(folder, RULES))
    return Edit("comment", str(path), _appended(path, f"\n# {draw.randrange(10**6)}\n"))


CLASSES = (script, script, rule_text, shell_line, config, config, environment, source, sample)
OF_COMMENTS = 0.05


class Gated:
    """A workflow under a gate, and beside it the same one that never ran: both are edited alike."""

    def __init__(self, source: Path, folder: Path, arguments: list[str], templates: str) -> None:
        """source: the workflow; templates: as in campaign.yaml. UserError, or AssertionError if it does not run."""
        self.live, self.pristine, self.arguments = folder / "live", folder / "pristine", arguments
        self.scratch = folder / "clean"
        for copy in (self.live, self.pristine):
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns(".git", ".snakemake"))
        adopt.adopt(self.live, None, arguments, write=False, outer=True)
        self.campaign = toy.Campaign(self.live / "campaign", toy.make_key(folder / "key"))
        text = self.campaign.spec.read_text().replace("UNVERIFIED", "verified")
        self.campaign.spec.write_text(text.replace("templates: {}", f"templates: {templates}"))
        self.campaign.sign()
        first, second = self.clean(), self.clean()
        self.random = {path for path in first if first[path] != second.get(path)}
        self.run()

    def run(self) -> None:
        """Make all that the signed plan makes and nothing else reads; what judges it makes none of the files."""
        steps = host_plan.in_force(self.campaign.root).steps
        read = {path for step in steps for path in step.inputs}
        targets = sorted({path for step in steps for path in step.outputs} - read)
        done = warm_snakemake.run(["-s", "campaign/Snakefile", *self.arguments, *toy.BASICS, "--", *targets], self.live)
        assert done.returncode == 0, done.stdout[-3000:]

    def clean(self) -> dict[Path, bytes]:
        """Files of a clean run, path -> content. NothingToEditError if it fails."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        shutil.copytree(self.pristine, self.scratch)
        done = warm_snakemake.run([*self.arguments, *toy.BASICS], self.scratch)
        if done.returncode != 0:
            raise NothingToEditError
        return contents(self.scratch)

    def apply(self, edits: list[Callable[[Path], Edit]]) -> Found:
        """Edit, amend, sign, run, and compare with a clean run. NothingToEditError if the edited workflow fails."""
        shutil.copytree(self.pristine, kept := self.pristine.with_name("kept"))
        try:
            made = []
            for drawn in edits:
                made.append(drawn(self.pristine))
                made[-1].change(self.pristine)
            wanted = self.clean()
        except NothingToEditError:
            shutil.rmtree(self.pristine)
            kept.rename(self.pristine)
            raise
        shutil.rmtree(kept)
        before = contents(self.live)
        for edit in made:
            edit.change(self.live)
        return self._amended(made, wanted, before)

    def _amended(self, made: list[Edit], wanted: dict[Path, bytes], before: dict[Path, bytes]) -> Found:
        drafted = True
        times = {path: (self.live / path).stat().st_mtime_ns for path in contents(self.live)}
        try:
            amendment_draft.draft_amendment(self.campaign.root, made[0].what)
            self.campaign.sign()
        except UserError as error:
            if "changes nothing" not in str(error):
                raise
            drafted = False
        kept = {path for path in times if (self.live / path).exists()}
        self.run()
        now = contents(self.live)
        again = {path for path in {*times} & {*now} if (self.live / path).stat().st_mtime_ns != times[path]}
        return Found(
            [edit.kind for edit in made],
            [edit.what for edit in made],
            stale=sorted(str(path) for path in {*wanted} - self.random if now.get(path) != wanted[path]),
            left=sorted(str(path) for path in {*now} - {*wanted}),
            repeated=len(again),
            beyond=sorted(str(path) for path in again & kept),
            same=sum(before.get(path) == now[path] for path in again),
            drafted=drafted,
        )


def contents(folder: Path) -> dict[Path, bytes]:
    """Files of a workflow's folder, without Snakemake's and the campaign's own: path -> content."""
    return {path: (folder / path).read_bytes() for path in files(folder, ("",))}


def plan_warm(monkeypatch) -> None:
    """Let the plan of a host workflow be made by a fork of a warm Snakemake, and once: hash seeds are another test's."""

    def guarded(command: list[str], workdir: Path, variables: dict[str, str], seed: str) -> dict:
        import json

        path = workdir / ".plan.json"
        with monkeypatch.context() as patch:
            for name, value in {**variables, host_plan.PLAN_VARIABLE: str(path)}.items():
                patch.setenv(name, value)
            done = warm_snakemake.run(command[3:], workdir)
        if done.returncode != 0 or not path.is_file():
            raise UserError(f"the dry run failed: {done.stdout[-1500:]}")
        found = json.loads(path.read_text())
        path.unlink()
        return found

    monkeypatch.setattr(host_plan, "_guarded", guarded)
    monkeypatch.setattr(host_plan, "PROCESSES", host_plan.PROCESSES[:1])


def edits(draw: random.Random, gated: Gated, wanted: int, at_once: int = 1) -> Iterator[Found]:
    """Make as many edits, so many an amendment, one upon the other; those that cannot run are drawn again."""
    made = tried = 0
    while made < wanted and tried < 10 * wanted + 20:
        tried += 1
        classes = [comment if draw.random() < OF_COMMENTS else draw.choice(CLASSES) for _ in range(at_once)]
        with contextlib.suppress(NothingToEditError):
            found = gated.apply([partial(_drawn, draw, one) for one in classes])
            made += len(found.kinds)
            yield found


def _drawn(draw: random.Random, first: Callable[[random.Random, Path], Edit], folder: Path) -> Edit:
    """An edit of a class, or of another one if the workflow has nothing of it."""
    for one in [first, *draw.sample(CLASSES, len(CLASSES))]:
        with contextlib.suppress(NothingToEditError):
            return one(draw, folder)
    raise NothingToEditError
