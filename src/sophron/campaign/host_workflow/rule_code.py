"""Identity of a rule of the host: what is executed, whatever the job, as named parts that a refusal can name.

Not identity: threads, resources, retries, groups, priority, messages, logs and benchmarks. Those are mechanical.
"""

import hashlib
import os
import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sophron.campaign.host_workflow import script_files
from sophron.campaign.host_workflow.file_digests import FileDigests
from sophron.campaign.host_workflow.function_code import FunctionCode
from sophron.campaign.host_workflow.plain_values import Places, Plain
from sophron.campaign.snakefile.own_rules import around_shell_lines

Parts = dict[str, object]
"""Name of a part, e.g. `shell`, `config.reads`, `script scripts/plot.py` -> its plain form or digest."""
OF_THE_JOB = frozenset(
    {"input", "output", "params", "wildcards", "threads", "resources", "log", "rule", "jobid", "attempt"}
)
"""What a shell line names of its job. All else comes from the Snakefile, and counts by value."""
DERIVING = {"input", "output", "threads", "resources"}
PINNED = re.compile(r"(v?\d+\.\d+\.\d+|[0-9a-f]{40})/")
FORMATS = ("script", "notebook", "cwl")


class RuleCode:
    """The parts of each rule of one workflow, made once a rule."""

    def __init__(self, workflow: Any, root: Path, also: Sequence[str] = ()) -> None:
        """workflow: Snakemake's own object, after it was parsed; root: the campaign; also: patterns that decide."""
        main = Path(str(workflow.main_snakefile)).parent
        self.workflow, self.workdir, self.root, self._also = workflow, Path.cwd(), root, also
        included = [source.get_path_or_uri(secret_free=True) for source in workflow.included]
        beside = [Path(path).resolve().parent for path in included if Path(path).is_file()]
        self.folders = tuple(dict.fromkeys([main.resolve(), self.workdir.resolve(), *beside]))
        self.plain = Plain(Places.of(self.workdir, main, str(workflow.sourcecache.runtime_cache_path)))
        self.files = FileDigests(root)
        self.unseen: dict[str, set[str]] = {}
        self._included = frozenset(included)
        self._made: dict[tuple[str, bool], Parts] = {}
        self._everywhere: Parts | None = None

    def parts(self, rule: Any, *, params: bool = False) -> Parts:
        """Return what the rule consists of. params: with its params too, of a rule whose jobs nobody can list."""
        if (rule.name, params) not in self._made:
            self._made[rule.name, params] = self._parts(rule, params=params)
        return self._made[rule.name, params]

    def is_made(self, path: Path) -> bool:
        """Whether some rule makes a file of this name: then it is no part of what a rule consists of."""
        name = str(path) if not path.is_absolute() else os.path.relpath(path, self.workdir)
        return any(rule.is_producer(name) for rule in self.workflow.rules)

    def file_parts(self, rule: Any, wildcards: Mapping[str, str], params: Any) -> Parts:
        """Return the parts of a rule whose script or environment is named by its job's wildcards or params."""
        parts: Parts = {}
        functions = self._functions(rule)
        for kind in FORMATS:
            if "{" in str(path := getattr(rule, kind) or ""):
                named = _Fields(**wildcards)
                text = string.Formatter().vformat(str(path), (), {"wildcards": named, "params": params})
                parts |= self._script(kind, text, rule, functions)
        environment = rule.conda_env
        if isinstance(environment, str) and "{" in environment:
            parts |= self._conda(environment.format(**wildcards), rule)
        return parts | functions.parts

    def _functions(self, rule: Any) -> FunctionCode:
        scope = self._scope(rule)
        return FunctionCode(self.plain, self.folders, scope.get("config", {}), self._included)

    def _scope(self, rule: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = getattr(rule, "module_globals", None) or self.workflow.globals
        return found

    def _parts(self, rule: Any, *, params: bool) -> Parts:
        functions = self._functions(rule)
        parts: Parts = dict(self._around())
        if rule.shellcmd is not None:
            parts |= self._shell(rule, functions)
        elif rule.is_run:
            functions.add("run", rule.run_func)
        parts |= self._scripts(rule, functions)
        if rule.template_engine:
            parts["template engine"] = str(rule.template_engine)
        if rule.wrapper:
            parts |= self._wrapper(rule)
        parts |= self._params(rule, functions, whole=params)
        parts |= self._environment(rule, functions)
        if functions.unseen:
            self.unseen.setdefault(rule.name, set()).update(functions.unseen)
        return parts | functions.parts

    def _scripts(self, rule: Any, functions: FunctionCode) -> Parts:
        parts: Parts = {}
        for kind in FORMATS:
            if (path := getattr(rule, kind)) and "{" in str(path):
                parts[f"{kind} template"] = self.plain(str(path))  # which file it is depends on the job: `file_parts`
            elif path:
                parts |= self._script(kind, path, rule, functions)
        return parts

    def _params(self, rule: Any, functions: FunctionCode, *, whole: bool) -> Parts:
        """Params that are made of inputs, by code. whole: the others too, which otherwise count in each job."""
        parts: Parts = {}
        for name, value in rule.params._allitems():  # noqa: SLF001 - the names of params have no other way
            if derives(value) or (whole and callable(value)):
                functions.add(f"params {name or ''}".strip(), value)
            elif whole:
                parts[f"params {name or ''}".strip()] = self.plain(value)
            if isinstance(value, str) and (path := self.plain.places.original(value)) and path.is_file():
                parts |= self._files(rule, path, path.read_text(errors="replace"), functions)
        return parts

    def _around(self) -> Parts:
        """What every rule has in common: text around shell lines, where Snakemake runs, further files that decide."""
        from snakemake.shell import shell

        if self._everywhere is None:
            parts: Parts = {}
            prefix, suffix = around_shell_lines()
            if prefix or suffix:
                parts["shell.prefix"] = self.plain([prefix, suffix])
            if (program := Path(shell.get_executable() or "bash").name) != "bash":
                parts["shell.executable"] = program
            if self.workdir.resolve() != self.root.resolve().parent:
                parts["workdir"] = os.path.relpath(self.workdir.resolve(), self.root.resolve())
            for pattern in self._also:
                for path in sorted(Path().glob(pattern) if not os.path.isabs(pattern) else _glob(pattern)):  # noqa: PTH117
                    if path.is_file() and not self.is_made(path):
                        parts[f"also {path}"] = self.files.full(path)
            self._everywhere = parts
        return self._everywhere

    def _shell(self, rule: Any, functions: FunctionCode) -> Parts:
        scope = self._scope(rule)
        parts: Parts = {"shell": self.plain(rule.shellcmd)}
        known, fields = [], string.Formatter()
        for literal, name, _, _ in fields.parse(rule.shellcmd):
            known.append(literal)
            first = re.split(r"[.\[]", name or "")[0]
            if not first or first in OF_THE_JOB or first not in scope:
                known.append("{}" if name else "")
                continue
            value, _ = fields.get_field(name or "", (), scope)
            parts[name or ""] = self.plain(value)
            known.append(str(value))
        return parts | self._named_files(rule, "".join(known), functions)

    def _named_files(self, rule: Any, text: str, functions: FunctionCode) -> Parts:
        """Scripts that a shell line calls; what it takes from the environment is noted."""
        parts: Parts = {}
        for word in script_files.WORD.findall(self.plain.places.strip(text)):  # a folder may have blanks in its name
            inner = word.lstrip("/")
            places = (path for path in (Path(word), Path(inner), self.folders[0] / inner) if path.is_file())
            if (path := next(places, None)) and not self.is_made(path):
                parts |= self._files(rule, path, path.read_text(errors="replace"), functions)
        if names := script_files.shell_variables(text):
            self.unseen.setdefault(rule.name, set()).update(f"${name}" for name in names)
        return parts

    def _script(self, kind: str, path: Any, rule: Any, functions: FunctionCode) -> Parts:
        """The text is read as Snakemake does, through its source cache: that copy is what is executed."""
        from snakemake.sourcecache import infer_source_file

        source = infer_source_file(path, infer_source_file(rule.basedir) if rule.basedir else None)
        with self.workflow.sourcecache.open(source) as stream:
            content = stream.read()
        text = content.decode(errors="replace") if isinstance(content, bytes) else content
        place = source.get_path_or_uri(secret_free=True)
        return {kind: self.plain(str(path))} | self._files(rule, Path(place), text, functions)

    def _files(self, rule: Any, path: Path, text: str, functions: FunctionCode) -> Parts:
        parts: Parts = {}
        for one, content in script_files.closure(path, text, self.is_made).items():
            parts[f"file {self._named(one)}"] = hashlib.sha256(content.encode()).hexdigest()
            for key in script_files.config_keys(content, one):
                functions.add_config(key)
            if names := script_files.unseen(content, one):
                self.unseen.setdefault(rule.name, set()).update(f"{name} in {one.name}" for name in names)
        return parts

    def _wrapper(self, rule: Any) -> Parts:
        """A local wrapper is its files; one from a repository is its tag, which names it for good."""
        wrapper, prefix = rule.wrapper, self.workflow.workflow_settings.wrapper_prefix
        parts: Parts = {"wrapper": self.plain(wrapper)}
        whole = wrapper if ":" in wrapper or prefix is None else prefix + wrapper
        if whole != wrapper:
            parts["wrapper prefix"] = self.plain(prefix)
        if not whole.startswith("file:"):
            if not PINNED.match(wrapper) and not re.search(r"/(v?\d+\.\d+\.\d+|[0-9a-f]{40})/", wrapper):
                said = f"the wrapper {wrapper}: a branch, whose content changes; name a version (v5.0.0/bio/...)"
                self.unseen.setdefault(rule.name, set()).add(said)
            return parts
        folder = Path(whole.removeprefix("file://").removeprefix("file:"))
        found = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return parts | {f"file {self._named(path)}": self.files.full(path) for path in found}

    def _environment(self, rule: Any, functions: FunctionCode) -> Parts:
        parts: Parts = {}
        if (environment := rule.conda_env) is not None and not (rule.wrapper and not callable(environment)):
            if callable(environment):
                functions.add("conda", environment)
            else:
                parts |= self._conda(environment, rule)
        if image := rule.container_img:
            if callable(image):
                functions.add("container", image)
            else:
                parts["container"] = self.plain(str(image))
                if Path(str(image)).is_file():
                    parts["container"] = self.files.full(Path(str(image)))
                elif ":" not in str(image).rpartition("/")[2] and "@" not in str(image):
                    said = f"the container {image}: has no tag, so that its content changes"
                    self.unseen.setdefault(rule.name, set()).add(said)
        if rule.env_modules:
            parts["envmodules"] = sorted(rule.env_modules.names)
        return parts

    def _conda(self, environment: Any, rule: Any) -> Parts:
        base = Path(str(getattr(rule.basedir, "path", rule.basedir) or self.workdir))
        for path in (base / str(environment), Path(str(environment))):
            if path.is_file():
                pinned = sorted(path.parent.glob(f"{path.stem}.*.pin.txt"))
                return {
                    f"file {self._named(one)}": hashlib.sha256(one.read_bytes()).hexdigest() for one in [path, *pinned]
                }
        return {"conda": self.plain(str(getattr(environment, "get_path_or_uri", lambda **_: environment)()))}

    def _named(self, path: Path) -> str:
        return self.plain.places.strip(str(path if "://" in str(path) else path.resolve()))


class _Fields:
    """Wildcards as a format string looks them up."""

    def __init__(self, **values: str) -> None:
        self.__dict__.update(values)


def _glob(pattern: str) -> list[Path]:
    import glob

    return [Path(path) for path in glob.glob(pattern, recursive=True)]  # noqa: PTH207 - Path has none of whole paths


def derives(value: Any) -> bool:
    """Whether a params function depends on more than wildcards: its value is not known before the job's inputs are."""
    if not callable(value):
        return False
    import inspect

    try:
        return bool(DERIVING & set(inspect.signature(value).parameters))
    except (TypeError, ValueError):
        return True
