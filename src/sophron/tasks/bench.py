"""A job: the tasks of a collection, each attempted by each agent and verified, and the table of what came of it.

Words are Harbor's: a job has tasks, agents and attempts. Snakemake runs it, so that what a kill left is gone on with.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sophron.records.errors import UserError, shown
from sophron.records.files import FileLock, LockHeldError, load_json, resource, write_json, write_text
from sophron.records.typed_json import load, to_json
from sophron.tasks import attempts, environment, harbor_folder, python_environment
from sophron.tasks.attempts import ENVIRONMENT_RECORD, RESULT, Agent, RebuiltEnvironment, task_digest
from sophron.tasks.harbor_folder import SETTINGS
from sophron.tasks.scifi_markdown import TOP

JOB, RESULTS, TABLE, STORE, LOG = "job.json", "results.json", "table.md", "environments", "snakemake.log"
SNAKEFILE = ("workflow", "tasks.smk")
CONFIDENCE_Z = 1.959964
"""Standard normal quantile of a two-sided 95 % interval."""
MOST_NOTE = 160


@dataclass(frozen=True)
class JobTask:
    """A task of a job. folder: absolute; digest: of its files; refused: why it cannot be read, empty if it can."""

    folder: str
    digest: str = ""
    refused: str = ""
    cpus: int = 1


@dataclass(frozen=True)
class Job:
    """What a job runs. tasks: by name, which is that of a folder of the job; python: in place of each task's."""

    tasks: Mapping[str, JobTask]
    agents: tuple[Agent, ...]
    attempts: int = 1
    python: str = ""

    @property
    def readable(self) -> list[str]:
        """Return the names of the tasks that can be read."""
        return [name for name, task in self.tasks.items() if not task.refused]

    @property
    def rounds(self) -> list[str]:
        """Return the numbers of the attempts, from 1."""
        return [str(number) for number in range(1, self.attempts + 1)]


def folders_of(collection: Path) -> dict[str, Path]:
    """Return the task folders below `collection`, or itself, by name; UserError if there is none."""
    if harbor_folder.is_folder_of_task(collection):
        return {collection.resolve().name: collection}
    found = sorted(path.parent for path in collection.rglob(SETTINGS))
    if not found and (collection.suffix == ".md" or (collection / TOP).is_file()):
        raise UserError(
            f"{collection}: a task in Markdown has no solution to run; let a model work at it with --agent, or judge "
            "work that is there: sophron task judge"
        )
    if not found:
        raise UserError(f"{collection}: holds no task; name a folder with {SETTINGS}, or one above such folders")
    return {"__".join(folder.relative_to(collection).parts): folder for folder in found}


def job_of(collection: Path, agents: Sequence[Agent], attempts: int = 1, python: str = "") -> Job:
    """Return the job of a collection; what cannot be read is refused by name, and does not end it."""
    tasks = {name: _task(folder) for name, folder in folders_of(collection).items()}
    return Job(tasks, tuple(dict.fromkeys(agents)), attempts, python)


def _task(folder: Path) -> JobTask:
    try:
        task = harbor_folder.read(folder)
    except UserError as refusal:
        return JobTask(str(folder.absolute()), refused=str(refusal))
    return JobTask(str(folder.absolute()), task_digest(task), cpus=max(math.ceil(task.cpus or 1), 1))


def why_not(folder: Path) -> str:
    """Return why a task cannot run on this machine, a sentence; empty if nothing is known against it.

    Whether pip finds its requirements is seen only when its environment is rebuilt.
    """
    try:
        recipe = attempts.read_recipe(harbor_folder.read(folder))
    except UserError as refusal:
        return str(refusal)
    if missing := environment.missing_packages(recipe):
        return f"wants the Debian packages {', '.join(missing)}"
    if python_environment.interpreter(recipe.python) is None:
        return f"wants Python {recipe.python}, which is not on this machine"
    return ""


def run(job: Job, place: Path, cores: int) -> None:
    """Run a job below `place`, or go on with it. UserError if it runs there already, or a step of it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    try:
        with FileLock(place / f".{JOB}.lock", blocking=False) as lock, (place / LOG).open("ab") as log:
            write_json(place / JOB, to_json(job))
            # Snakemake holds the lock too: if this process alone is killed, no second one begins beside it.
            held = [lock.fileno()]
            environment = {**os.environ, "PATH": path}
            ran = subprocess.run(_command(place, cores), check=False, env=environment, stderr=log, pass_fds=held)
    except LockHeldError:
        raise UserError(f"{place}: this job runs already; wait for it, or name another --jobs-dir") from None
    if ran.returncode:
        raise UserError(f"{place / LOG}: the job did not come to its end; its last lines say why")


def _command(place: Path, cores: int) -> list[str]:
    files = ["--snakefile", str(resource(*SNAKEFILE)), "--directory", str(place)]
    # The lock above is this job's own: Snakemake's would outlive a kill.
    plain = ["--profile", "none", "--workflow-profile", "none", "--executor", "local", "--nolock"]
    # The table is made anew each time, so that what is missing below it is too.
    plain += ["--rerun-incomplete", "--keep-going", "--quiet", "--forcerun", "table"]
    return [sys.executable, "-P", "-m", "snakemake", *files, *plain, "--cores", str(cores)]


def read_job(place: Path) -> Job:
    """Return the job below `place`."""
    return load(place / JOB, Job)


def tabulate_results(place: Path) -> None:
    """Write `results.json` and `table.md` of a job, from what its attempts left."""
    rows = list(rows_of(place))
    write_json(place / RESULTS, {"rows": rows, "totals": totals(rows)})
    write_text(place / TABLE, table(rows))


def rows_of(place: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each task and agent of a job."""
    job = read_job(place)
    for name, task in job.tasks.items():
        for agent in job.agents:
            refused = task.refused or load(place / name / ENVIRONMENT_RECORD, RebuiltEnvironment).refused
            done = [] if refused else [load_json(place / name / agent / number / RESULT) for number in job.rounds]
            yield _row(name, agent, refused, done)


def _row(name: str, agent: str, refused: str, done: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rewards = [result["reward"] for result in done]
    return {
        "task": name,
        "agent": agent,
        "refused": refused,
        "attempts": len(done),
        "passed": sum(result["passed"] for result in done),
        "rewards": rewards,
        "wall_time_s": sum(result["wall_time_s"] + result["work_wall_time_s"] for result in done),
        "stubs": sorted({call.split()[0] for result in done for call in (*result["stubs"], *result["work_stubs"])}),
        "faults": sorted({result["fault"] for result in done if result["fault"]}),
    }


def totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return agent -> tasks, attempts, passed ones, and the 95 % interval of the share that passed."""
    found: dict[str, dict[str, Any]] = {}
    for agent in dict.fromkeys(row["agent"] for row in rows):
        own = [row for row in rows if row["agent"] == agent and not row["refused"]]
        attempts, passed = sum(row["attempts"] for row in own), sum(row["passed"] for row in own)
        interval = wilson(passed, attempts)
        found[agent] = {"tasks": len(own), "attempts": attempts, "passed": passed, "interval": interval}
    return found


def wilson(passed: int, attempts: int) -> list[float] | None:
    """Return the 95 % interval of Wilson for a share; None without attempts."""
    if not attempts:
        return None
    share, z2 = passed / attempts, CONFIDENCE_Z**2
    middle = (share + z2 / (2 * attempts)) / (1 + z2 / attempts)
    half = CONFIDENCE_Z * math.sqrt(share * (1 - share) / attempts + z2 / (4 * attempts**2)) / (1 + z2 / attempts)
    return [max(middle - half, 0.0), min(middle + half, 1.0)]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows and totals as Markdown."""
    lines = ["| task | agent | passed | reward | seconds | notes |", "|---|---|---|---|---|---|"]
    for row in rows:
        passed = f"{row['passed']}/{row['attempts']}" if not row["refused"] else "refused"
        rewards = ", ".join("none" if reward is None else f"{reward:g}" for reward in row["rewards"])
        cells = [row["task"], row["agent"], passed, rewards, f"{row['wall_time_s']:.1f}", _note(row)]
        lines.append(f"| {' | '.join(cells)} |")
    for agent, sums in totals(rows).items():
        low, high = sums["interval"] or (0.0, 1.0)
        lines.append(
            f"\n{agent}: {sums['passed']} of {sums['attempts']} attempts at {sums['tasks']} tasks passed "
            f"(95 % interval {low:.2f} to {high:.2f})"
        )
    return "\n".join(lines) + "\n"


def _note(row: Mapping[str, Any]) -> str:
    stubs = [f"stand-ins: {', '.join(row['stubs'])}"] if row["stubs"] else []
    said = "; ".join([*([row["refused"]] if row["refused"] else []), *row["faults"], *stubs])
    return shown(said, MOST_NOTE).replace("|", "/")


def unsound(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each task whose own solution fails, or that nobody's work passes."""
    said = []
    for row in rows:
        if row["agent"] == "oracle" and row["passed"] < row["attempts"]:
            said.append(f"{row['task']}: its own solution passed {row['passed']} of {row['attempts']} attempts")
        if row["agent"] == "nop" and row["passed"]:
            said.append(f"{row['task']}: passes although nobody worked")
    return said
