"""What tests of whole campaigns share: a campaign folder with its own keys, signing, Snakemake, and what ran."""

import contextlib
import functools
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import warm_snakemake

from sophron import cli
from sophron.campaign.approval import amendment_draft, approve
from sophron.campaign.execution import campaign_lock
from sophron.campaign.planning import plan
from sophron.campaign.snakefile import dry_run
from sophron.campaign.spec import spec
from sophron.records import digests, entry_points, events
from sophron.records.digests import SHELL_FIELD
from sophron.records.typed_json import to_json
from sophron.warm_workers import fork_server

HERE = Path(__file__).parent
DATA = HERE.parent / "data"
BASICS = ["-c", "2", "--rerun-incomplete", "--nolock", "--nocolor"]


@dataclass(frozen=True)
class Campaign:
    """A campaign folder and the private key that its person signs with."""

    root: Path
    key: Path

    @property
    def spec(self) -> Path:
        """Where campaign.yaml is."""
        return self.root / "campaign.yaml"

    @property
    def gate(self) -> Path:
        """The gate file."""
        return self.root / "approvals" / "gate.json"

    def edit(self, old: str, new: str) -> None:
        """Replace text in campaign.yaml that must be there."""
        text = self.spec.read_text()
        assert old in text, old
        self.spec.write_text(text.replace(old, new, 1))

    def sign(self, key: Path | None = None, approver: str | None = "alex") -> dict:
        """Propose and sign; the record."""
        with campaign_lock.signing(self.root):
            signed = approve.sign(approve.propose(self.root, probe=lambda _: []), key or self.key, approver)
            return dict(to_json(signed))

    def amend(self, *settings: str, withdraw: int | None = None) -> amendment_draft.Draft:
        """Draft and sign an amendment; the draft."""
        drafted = amendment_draft.draft_amendment(self.root, "because", settings, withdraw)
        self.sign()
        return drafted

    def shown(self) -> set[str]:
        """Names of the steps that `snakemake -n` shows now."""
        return {step.name for step in _dry_run_here(self.root, self.root / "Snakefile", forced=False).steps}

    def run_here(self, *names: str) -> int:
        """Run steps in this process, each as its rule's shell line would; the exit code of the last one."""
        return self.run_planned(self.planned(*names), *names)

    def planned(self, *names: str) -> dict[str, list[str]]:
        """Words of the shell lines of these steps, as a forced dry run has them."""
        steps = _dry_run_here(self.root, self.root / "Snakefile", forced=True).steps
        return {step.name: _words(step) for step in steps if step.name in names}

    def run_planned(self, steps: dict[str, list[str]], *names: str) -> int:
        """Run some of these steps in this process; the exit code of the last one."""
        code, before = 0, (Path.cwd(), sys.argv)
        os.chdir(self.root)
        try:
            for name in names:
                sys.argv = ["sophron", *steps[name]]
                code = cli.main()
        finally:
            os.chdir(before[0])
            sys.argv = before[1]
        return code

    def finish_here(self) -> None:
        """Run everything in this process, in the order of the stages."""
        replicas = spec.load(self.spec).definition("c")["replicas"]
        for stage, names in {**{key: [key] for key in "abcdef"}, "b": [f"b-{one}" for one in range(replicas)]}.items():
            assert self.run_here(*names, f"verify-{stage}", f"accept-{stage}") == 0

    def snakemake(self, *arguments: str, snakefile: str = "Snakefile") -> subprocess.CompletedProcess:
        """Run Snakemake here; output and errors together in `stdout`."""
        return warm_snakemake.run(["-s", snakefile, *BASICS, *arguments], self.root)

    def complete(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run Snakemake here; it must end well. Its steps are forks of one process, as in a user's local run."""
        with forked_steps(self.root):
            done = self.snakemake(*arguments)
        assert done.returncode == 0, done.stdout
        return done

    def drive(self, **settings) -> tuple[int, str]:
        """Run the loop of `sophron run` here; how it ended, and what it said.

        Its Snakemakes are forks of a warm one, and their steps of one process, as in a user's local run.
        """
        from sophron.agents.supervisor import snakemake_process, supervisor

        said: list[str] = []
        chosen = supervisor.Settings(**{"options": BASICS} | settings)
        with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as held:
            start = functools.partial(
                _start_warm, steps=functools.cache(lambda: held.enter_context(forked_steps(self.root)))
            )
            popen = SimpleNamespace(Popen=start, TimeoutExpired=subprocess.TimeoutExpired)
            patch.setattr(snakemake_process, "subprocess", popen)
            ending = supervisor.Loop(self.root, chosen, said.append).run()
        return ending, "\n".join(said)

    def tries(self) -> dict[str, int]:
        """Step -> number of tries that were begun."""
        counted: dict[str, int] = {}
        for path in (self.root / "records").glob("*/*/try.json"):
            counted[path.parts[-3]] = counted.get(path.parts[-3], 0) + 1
        return counted

    def events(self, *names: str) -> list[dict]:
        """Events with these names, in their order."""
        return [event for event in events.read(self.root)[0] if event["event"] in names]

    def results(self) -> dict[str, str]:
        """Path of each result -> its text."""
        folder = self.root / "results"
        files = (path for path in folder.rglob("*") if path.is_file() and path.suffix in (".json", ".txt"))
        return {str(path.relative_to(folder)): path.read_text() for path in files}

    def verdicts(self) -> dict[str, str]:
        """Stage -> pass or fail."""
        paths = (self.root / "results").glob("*/verdict.json")
        return {path.parent.name: json.loads(path.read_text())["verdict"] for path in paths}


def _start_warm(command: list[str], *, cwd, env, pass_fds=(), process_group, steps):
    """Start what the supervisor starts: Snakemake as a fork, or as it is if it has a fork server beside it.

    The fork stays in the group of this process, since a step is forked only from where its driver stands.
    """
    if pass_fds:
        return subprocess.Popen(command, cwd=cwd, env=env, pass_fds=pass_fds, process_group=process_group)
    assert command[1:4] == ["-P", "-m", "snakemake"]
    return warm_snakemake.Process(command[4:], cwd, env | steps(), f"/proc/{os.getpid()}/fd/1")


@contextlib.contextmanager
def forked_steps(root: Path):
    """Start the fork server that a driver's `onstart` would start; most Snakefiles of tests have no `onstart`."""
    begun = len(fork_server.SERVERS)
    fork_server.start(root, [entry_points.module("sophron.kinds", spec.load(root / "campaign.yaml").data["kind"])])
    try:
        yield {fork_server.VARIABLE: os.environ[fork_server.VARIABLE]}
    finally:
        for server in fork_server.SERVERS[begun:]:
            os.environ.pop(fork_server.VARIABLE)
            server.stdin.close()
            server.wait()
        del fork_server.SERVERS[begun:]


def _words(step: plan.PlannedStep) -> list[str]:
    """The words of a step's shell line, as Snakemake would format them."""
    folder = "/".join(["results", step.stage, *(value for key, value in step.wildcards.items() if key != "stage")])
    fields = {
        "input.gate": "approvals/gate.json",
        "output.outcome": f"{folder}/outcome.json",
        "input.verdict": f"{folder}/verdict.json",
        "output.verdict": f"{folder}/verdict.json",
        "output.accepted": f"{folder}/accepted.json",
        "output.passed": f"{folder}/passed",
        "output.answer": "results/caveats.json",
        "log": f"logs/{step.name}.log",
        "threads": "1",
        "resources.mem_mb": "200",
        "resources.runtime": "5",
        "params.digest": step.digest,
    } | {f"wildcards.{key}": value for key, value in step.wildcards.items()}
    return [SHELL_FIELD.sub(lambda found: fields[found[0][1:-1]], word) for word in shlex.split(step.shell)[1:]]


def plan_here(monkeypatch) -> None:
    """Let plans be made by a dry run in this process: the same one, without a Python's start each time."""
    monkeypatch.setattr(plan, "dry_run", _dry_run_here)


def plan_once(monkeypatch) -> None:
    """Let one dry run each of the spec and of the draft do for copies of a campaign, whose rules and specs stay."""
    known: dict[tuple[bool, str], tuple[Path, plan.DryRun]] = {}
    whole = plan.dry_run

    def look(root: Path, snakefile: Path, *, forced: bool, drafted: str = "") -> plan.DryRun:
        if (forced, drafted) not in known:
            known[forced, drafted] = root, whole(root, snakefile, forced=forced, drafted=drafted)
        first, made = known[forced, drafted]
        return replace(made, files=[path.replace(f"{first}{os.sep}", f"{root}{os.sep}") for path in made.files])

    monkeypatch.setattr(plan, "dry_run", look)


def _dry_run_here(root: Path, snakefile: Path, *, forced: bool, drafted: str = "") -> plan.DryRun:
    before = Path.cwd()
    os.chdir(plan.workdir(root, snakefile))
    if drafted:
        os.environ[spec.DRAFT_VARIABLE] = drafted
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return dry_run.shown(snakefile, forced=forced)
    finally:
        os.chdir(before)
        os.environ.pop(spec.DRAFT_VARIABLE, None)


def copy_library(folder: Path, monkeypatch) -> Path:
    """A copy of the library and its plugins, whose files are those that are compared from now on."""
    for plugin in digests.PLUGINS:
        shutil.copytree(digests.PACKAGE.parent / plugin, folder / plugin, ignore=shutil.ignore_patterns("__pycache__"))

    def left_out(path, names):
        top = Path(path) == digests.PACKAGE
        return [name for name in names if name == "__pycache__" or (top and name in digests.OUTSIDE)]

    shutil.copytree(digests.PACKAGE, folder / "sophron", ignore=left_out)
    monkeypatch.setattr(digests, "PACKAGE", folder / "sophron")
    monkeypatch.setattr(digests, "library_files", digests.read_library_files)
    return folder / "sophron"


def make_key(path: Path) -> Path:
    """A new key without a passphrase."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)
    return path


def campaign(folder: Path, monkeypatch, name: str = "arithmetic") -> Campaign:
    """A fresh campaign in `folder`; its processes see the arithmetic kind and a configuration of their own."""
    root = folder / name
    shutil.copytree(DATA / name, root)
    for variable, value in settings(folder).items():
        monkeypatch.setenv(variable, value)
    return Campaign(root, make_key(folder / "key"))


def settings(folder: Path) -> dict[str, str]:
    """Environment variables of a test campaign's processes."""
    path = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")}
    return {"PYTHONPATH": os.pathsep.join(path), "PATH": programs, **own}
