"""The machine where jobs run: its files and its scheduler, reached from two threads of the driver."""

import contextlib
import logging
import os
import re
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError

from snakemake_executor_plugin_dpdispatcher.resource_requests import KNOWN
from sophron.records.secret_keys import is_secret

SUBMITS = re.compile(r"\b(sbatch|qsub|bsub|nohup)\b")


@dataclass(frozen=True)
class Configuration:
    """Sections `machine` and `resources` of a machine file. where: the file, for messages."""

    machine: Mapping[str, Any]
    resources: Mapping[str, Any]
    where: str


def configuration(path: str | None, batch_type: str | None, folder: Path) -> Configuration:
    """Read the machine file, or describe a queue of this machine. folder: where its files belong.

    Raise WorkflowError if the file cannot be read or used.
    """
    if path is None:
        machine: dict[str, Any] = {"batch_type": batch_type or "Shell"}
        return Configuration(_with_roots(machine, folder), {}, "--dpdispatcher-batch-type")
    import yaml

    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise WorkflowError(f"{path}: cannot be read ({error}); correct --dpdispatcher-machine") from error
    if not isinstance(document, dict) or not isinstance(document.get("machine"), dict):
        raise WorkflowError(f"{path}: has no section `machine`; write one as DPDispatcher's documentation shows")
    if batch_type is not None:
        raise WorkflowError(f"{path}: states machine.batch_type; leave --dpdispatcher-batch-type away")
    return Configuration(_with_roots(document["machine"], folder), document.get("resources") or {}, path)


def _with_roots(machine: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    roots = {"local_root": str(folder), "remote_root": str(folder), "context_type": "LocalContext"}
    return roots | {key: value for key, value in machine.items() if value is not None}


def load(name: str) -> Any:
    """Return a module of dpdispatcher, which would log into the working directory and onto the terminal."""
    import importlib

    logger = logging.getLogger("dpdispatcher")
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        module = importlib.import_module(f"dpdispatcher.{name}" if name else "dpdispatcher")
    finally:
        logging.disable(level)
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    logger.addHandler(logging.NullHandler())
    return module


class Site:
    """A machine of dpdispatcher. One thread at a time: hold `lock` around what belongs together."""

    def __init__(self, given: Configuration) -> None:
        self.given = given
        self.lock = threading.RLock()
        classes = load("machine").Machine.subclasses_dict
        kind = classes.get(str(given.machine["batch_type"]))
        if kind is None or kind.__name__ not in KNOWN:
            wanted = given.machine["batch_type"]
            raise WorkflowError(f"{given.where}: batch_type {wanted!r} is not supported; use one of {', '.join(KNOWN)}")
        self.batch_type: str = kind.__name__
        self.machine = self._made()
        self.context = self.machine.context
        self.is_local = type(self.context).__name__ in ("LocalContext", "LazyLocalContext")
        self._roots: dict[str, tuple[str, str]] = {}

    def _made(self) -> Any:
        try:
            return load("machine").Machine.load_from_dict(dict(self.given.machine))
        except Exception as error:  # dpdispatcher and its contexts raise what they like
            reason = " ".join(str(error).split())
            raise WorkflowError(f"{self.given.where}: machine: {reason}; correct this section") from error

    def about(self) -> dict[str, object]:
        """Return what tells this machine from others, without its secrets."""
        profile = self.given.machine.get("remote_profile") or {}
        public = {key: profile[key] for key in ("hostname", "port", "username") if key in profile}
        return {"batch_type": self.batch_type, "context_type": type(self.context).__name__, **public}

    def bind(self, submission: Any, root: str | None) -> str:
        """Point the one connection at the folder of `submission`; the folder. root: where it is known already."""
        name = submission.submission_hash or ""
        if root is not None:
            self._roots.setdefault(name, (self.context.temp_local_root, root))
        if name not in self._roots:
            if not self.is_local:
                self.context.remote_root = None  # else SSHContext renames the last submission's folder
            submission.bind_machine(self.machine)
            name = submission.submission_hash
            self._roots[name] = (self.context.local_root, self.context.remote_root)
        self.context.submission = submission
        self.context.local_root, self.context.remote_root = self._roots[name]
        return str(self.context.remote_root)

    def call(self, command: str) -> tuple[int, str, str]:
        """Run a shell command in the bound folder; its exit code, stdout and stderr."""
        code, _, out, err = self.context.block_call(command)
        return code, _text(out), _text(err)

    def submit(self, job: Any) -> None:
        """Submit one scheduler job, once: a repeated call finds the receipt of the first and submits nothing."""
        with self._receipts(job):
            job.submit_job()
        if not job.job_id:
            raise RuntimeError("the queue takes no more jobs at present")

    @contextlib.contextmanager
    def _receipts(self, job: Any) -> Iterator[None]:
        """Let the submit command of `job` run under a lock, without keys, and leave its answer as a receipt."""
        call: Callable[[str], Any] = self.context.block_call
        hidden = withheld(os.environ) if self.is_local else []

        def once(command: str) -> Any:
            if not (SUBMITS.search(command) and job.script_file_name in command):
                return call(command)
            clean = f"unset {' '.join(hidden)}; {command}" if hidden else command
            inner = _once(clean, f"{self.context.remote_root}/{job.job_hash}.receipt", self._known(job))
            # The lock is the shell's, not this process's: a killed driver's submission is waited for, not repeated.
            lock = shlex.quote(f"{self.context.remote_root}/{job.job_hash}.lock")
            return call(f"flock -o {lock} sh -c {shlex.quote(inner)}")

        self.context.block_call = once
        try:
            yield
        finally:
            del self.context.block_call

    def _known(self, job: Any) -> str:
        """A command that prints the id of a job whose submission gave no receipt, if the scheduler can tell."""
        if not self.batch_type.startswith("Slurm"):
            return ":"
        return f"squeue --me -h -t all -o %F -n {shlex.quote(job.script_file_name)} | head -n 1"


def _once(command: str, receipt: str, known: str) -> str:
    done, begun = shlex.quote(receipt), shlex.quote(receipt + ".begun")
    return (
        f"if [ -s {done} ]; then cat {done}; exit 0; fi\n"
        f"if [ -e {begun} ] && [ ! -s {begun} ]; then {known} > {begun}; fi\n"
        f"if [ ! -s {begun} ]; then ( {command} ) > {begun} || exit $?; fi\n"
        f"mv {begun} {done} && cat {done}\n"
    )


def _text(stream: Any) -> str:
    data = stream.read()
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)


# sbatch inside a Slurm job would inherit that job's shape.
OUTER_JOB = re.compile(r"SLURM_(?!CONF$)|SLURMD_")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def withheld(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that a submitted job must not inherit, sorted.

    Keys, and what belongs to a job that the driver itself runs in.
    """
    return sorted(
        name
        for name, value in environment.items()
        if NAME.fullmatch(name) and (OUTER_JOB.match(name) or is_secret(name, value))
    )
