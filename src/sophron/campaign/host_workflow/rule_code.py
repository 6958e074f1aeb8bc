"""Identity of a rule of the host: what is executed, whatever the job, as named parts that a refusal can name.

Not identity: threads, resources, retries, groups, priority, messages, logs and benchmarks. Those are mechanical.
"""

import hashlib
import re
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.campaign.host_workflow import script_files
from sophron.campaign.host_workflow.function_code import FunctionCode
from sophron.campaign.host_workflow.plain_values import Places, Plain

Parts = dict[str, object]
"""Name of a part, e.g. `shell`, `config.reads`, `script scripts/plot.py` -> its plain form or digest."""
OF_THE_JOB = frozenset(
    {"input", "output", "params", "wildcards", "threads", "resources", "log", "rule", "jobid", "attempt"}
)
"""What a shell line names of its job. All else comes from the Snakefile, and counts by value."""
WORD = re.compile(r"[\w./~@+-]+")
DERIVING = {"input", "output", "threads", "resources"}


class RuleCode:
    """The parts of each rule of one workflow, made once a rule."""

    def __init__(self, workflow: Any) -> None:
        """workflow: Snakemake's own object, after it was parsed."""
        main = Path(str(workflow.main_snakefile)).parent
        self.workflow, self.workdir = workflow, Path.cwd()
        self.folders = (main.resolve(), self.workdir.resolve())
        self.plain = Plain(Places.of(self.workdir, main))
        self._made: dict[tuple[str, bool], Parts] = {}

    def parts(self, rule: Any, *, params: bool = False) -> Parts:
        """Return what the rule consists of. params: with its params too, of a rule whose jobs nobody can list."""
        if (rule.name, params) not in self._made:
            self._made[rule.name, params] = self._parts(rule, params=params)
        return self._made[rule.name, params]

    def _parts(self, rule: Any, *, params: bool) -> Parts:
        scope = getattr(rule, "module_globals", None) or self.workflow.globals
        functions = FunctionCode(self.plain, self.folders, scope.get("config", {}))
        parts: Parts = {}
        if rule.shellcmd is not None:
            parts |= self._shell(rule.shellcmd, scope, functions)
        elif rule.is_run:
            functions.add("run", rule.run_func)
        for kind in ("script", "notebook"):
            if path := getattr(rule, kind):
                parts |= self._script(kind, path, rule, functions)
        if rule.wrapper:
            parts["wrapper"] = rule.wrapper
            parts |= self._wrapper(rule.wrapper)
        for name, value in rule.params._allitems():  # noqa: SLF001 - the names of params have no other way
            if derives(value) or (params and callable(value)):
                functions.add(f"params {name or ''}".strip(), value)
            elif params:
                parts[f"params {name or ''}".strip()] = self.plain(value)
        return parts | self._environment(rule) | functions.parts

    def _shell(self, text: str, scope: Mapping[str, Any], functions: FunctionCode) -> Parts:
        parts: Parts = {"shell": self.plain(" ".join(text.split(" ")))}
        fields = string.Formatter()
        for _, name, _, _ in fields.parse(text):
            first = re.split(r"[.\[]", name or "")[0]
            if not first or first in OF_THE_JOB or first not in scope:
                continue
            value, _ = fields.get_field(name or "", (), scope)
            parts[name or ""] = self.plain(value)
        for word in WORD.findall(text):
            path = Path(word)
            if path.suffix in script_files.CODE and path.is_file():
                parts |= self._files(path, path.read_text(errors="replace"), functions)
        return parts

    def _script(self, kind: str, path: Any, rule: Any, functions: FunctionCode) -> Parts:
        """The text is read as Snakemake does, through its source cache: that copy is what is executed."""
        from snakemake.sourcecache import infer_source_file

        if "{" in str(path):
            return {f"{kind} template": str(path)}  # which file it is depends on the job: `job_files`
        source = infer_source_file(str(path), infer_source_file(rule.basedir) if rule.basedir else None)
        with self.workflow.sourcecache.open(source) as stream:
            content = stream.read()
        text = content.decode(errors="replace") if isinstance(content, bytes) else content
        return {kind: self.plain(str(path))} | self._files(
            Path(source.get_path_or_uri(secret_free=True)), text, functions
        )

    def _files(self, path: Path, text: str, functions: FunctionCode) -> Parts:
        parts: Parts = {}
        for one, content in script_files.closure(path, text).items():
            parts[f"file {self._named(one)}"] = hashlib.sha256(content.encode()).hexdigest()
            for key in script_files.config_keys(content, one):
                functions.add_config(key)
        return parts

    def _wrapper(self, wrapper: str) -> Parts:
        """A local wrapper is its files; one from a repository is its tag, which names it for good."""
        if not wrapper.startswith("file:"):
            return {}
        folder = Path(wrapper.removeprefix("file://").removeprefix("file:"))
        found = sorted(path for path in folder.glob("*") if path.is_file())
        return {f"file {self._named(path)}": hashlib.sha256(path.read_bytes()).hexdigest() for path in found}

    def _environment(self, rule: Any) -> Parts:
        parts: Parts = {}
        if (environment := rule.conda_env) is not None and not rule.wrapper:
            parts |= self._conda(environment, rule)
        if rule.container_img:
            image = rule.container_img
            parts["container"] = "function" if callable(image) else self.plain(str(image))
        if rule.env_modules:
            parts["envmodules"] = sorted(rule.env_modules.names)
        return parts

    def _conda(self, environment: Any, rule: Any) -> Parts:
        if callable(environment):
            return {"conda": "function"}
        base = Path(str(getattr(rule.basedir, "path", rule.basedir) or self.workdir))
        for path in (base / str(environment), Path(str(environment))):
            if path.is_file():
                pinned = sorted(path.parent.glob(f"{path.stem}.*.pin.txt"))
                return {
                    f"file {self._named(one)}": hashlib.sha256(one.read_bytes()).hexdigest() for one in [path, *pinned]
                }
        return {"conda": self.plain(str(environment))}

    def _named(self, path: Path) -> str:
        return self.plain.places.strip(str(path.resolve()))


def derives(value: Any) -> bool:
    """Whether a params function depends on more than wildcards: its value is not known before the job's inputs are."""
    if not callable(value):
        return False
    import inspect

    try:
        return bool(DERIVING & set(inspect.signature(value).parameters))
    except (TypeError, ValueError):
        return True
