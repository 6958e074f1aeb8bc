"""What a campaign signs of a host workflow: each job's identity, the parts of each rule, source files, ceilings.

Made by the person's own command line as a forced dry run, twice with other hash seeds: what differs between the two
cannot be signed, because no job process would find it again.
"""

import base64
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sophron.campaign.planning.host_step import APART, PLAN_VARIABLE, WORKDIR, HostStep, mark
from sophron.campaign.planning.snakemake_error import cause
from sophron.campaign.spec import resource_requests
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.kind import StageKind
from sophron.records import approvals, documents, files, typed_json
from sophron.records.digests import file_digest
from sophron.records.errors import Refused, UserError

PROCESSES = (("0", "64"), ("1", "96"))
"""Hash seed and cores of the dry runs: what differs cannot be signed. Jobs that a pipe joins need a core each."""
MOST_NAMES = 5


@dataclass(frozen=True)
class HostPlan:
    """steps: by identity; rules: rule -> its named parts; sources: file that no rule makes -> what counts of it.

    ceilings: rule -> most that one try reserves; unplanned: rule without a job -> digest of code and params; patterns:
    the same rule -> its outputs with wildcards; behind: rules whose inputs a checkpoint decides; checkpoints: whether
    there is one; opaque: types of values that have no plain form; unseen: rule -> what nobody can sign of it; python:
    version whose bytecode counts; workdir: the workflow's, relative to the campaign's folder; apart: whether its
    Snakefiles name no rule of Sophron's; config_files: what it read, relative to `workdir`, the last one counts most;
    pipes: outputs that stream from one job to another, and are no files.
    """

    steps: tuple[HostStep, ...]
    rules: Mapping[str, Mapping[str, object]]
    sources: Mapping[str, str]
    ceilings: Mapping[str, Mapping[str, int]]
    unplanned: Mapping[str, str] = field(default_factory=dict)
    behind: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    checkpoints: bool = False
    unseen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    python: str = ""
    workdir: str = ".."
    apart: bool = False
    config_files: tuple[str, ...] = ()
    pipes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The file that is kept beside the approvals; its sha256 is signed."""
        return json.dumps(typed_json.to_json(self), sort_keys=True, separators=(",", ":")) + "\n"

    @property
    def digest(self) -> str:
        """Hex sha256 of that file."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def listed(self) -> set[str]:
        """Return what a job process looks up in the signed list: its step, its sources, what is behind a checkpoint."""
        sources = {mark("source", path) for path in self.sources}
        contents = {mark("source", *item) for item in self.sources.items()}
        behind = {mark("behind", rule) for rule in self.behind}
        rules = {mark("rule", rule) for rule in (*self.rules, *self.unplanned)} | (
            {mark(APART)} if self.apart else set()
        )
        return {step.identity for step in self.steps} | sources | contents | behind | rules

    @property
    def counts(self) -> dict[str, int]:
        """Return rule -> number of its jobs, 0 if no plan lists them."""
        found = {**dict.fromkeys(self.unplanned, 0), **Counter(step.rule for step in self.steps)}
        return dict(sorted(found.items()))

    def with_choices(self, spec: Spec) -> dict[str, dict[str, int]]:
        """Return rule -> most that one try may reserve: as planned, or as a signed choice of its stage gives it."""
        found = {rule: dict(amounts) for rule, amounts in self.ceilings.items()}
        for stage in spec.stages:
            most = resource_requests.most_chosen(spec.mechanical_block(stage.name))
            for rule in {*stage.host_rules} & {*found}:
                for key in {*most} & {*found[rule]}:
                    found[rule][key] = max(found[rule][key], most[key])
        return found

    def outputs(self, rules: Sequence[str]) -> list[str]:
        """Return the files that these rules make, sorted."""
        return sorted({path for step in self.steps if step.rule in rules for path in step.outputs})

    def requests(self, rules: Sequence[str]) -> list[str]:
        """Return files that are asked of these rules so that all their jobs run, sorted.

        These are their outputs, but for those that a rule without a job could make as well, since Snakemake would not
        choose, and for pipes, which have one reader.
        """
        from snakemake.io import regex_from_filepattern

        others = [re.compile(regex_from_filepattern(one)) for every in self.patterns.values() for one in every]
        found: set[str] = set()
        for step in [one for one in self.steps if one.rule in rules]:
            sure = [path for path in step.outputs if not any(one.match(path) for one in others)]
            found.update(sure or step.outputs)
        return sorted(found - {*self.pipes})

    def changes(self, new: "HostPlan") -> list[str]:
        """Return one line for each rule, source file and set of steps that is another one, and each raised ceiling."""
        lines = []
        for rule in sorted({*self.rules, *new.rules}):
            if rule not in self.rules or rule not in new.rules:
                lines.append(f"rule {rule}: {'added' if rule in new.rules else 'removed'}")
            elif parts := self.changed_parts(rule, new.rules[rule]):
                lines.append(f"rule {rule}: {', '.join(parts)}")
        bounded = {*self.unplanned, *new.unplanned}
        lines += [f"rule {one}: code" for one in sorted(bounded) if self.unplanned.get(one) != new.unplanned.get(one)]
        lines += [f"source {path}" for path in sorted(self._other_sources(new))]
        for rule in sorted({*self.rules} & {*new.rules}):
            if count := len(self.jobs_of(rule) ^ new.jobs_of(rule)):
                lines.append(f"rule {rule}: params, inputs or number of jobs ({count} steps)")
        return lines + [line for rule in sorted(new.ceilings) for line in self._higher_ceilings(rule, new)]

    def _higher_ceilings(self, rule: str, new: "HostPlan") -> Iterator[str]:
        """What a rule asks for that the gate would refuse; less than was signed is no change."""
        now = new.ceilings[rule]
        for key, signed_most in sorted(self.ceilings.get(rule, {}).items()):
            if key not in now or now[key] > signed_most:
                yield f"rule {rule}: {key} {signed_most} -> {now.get(key, 'no ceiling')}"

    def jobs_of(self, rule: str) -> set[str]:
        """Return what tells the jobs of a rule apart."""
        return {f"{step.name} {step.job}" for step in self.steps if step.rule == rule}

    def _other_sources(self, new: "HostPlan") -> set[str]:
        return {path for path, counts in self.sources.items() if path in new.sources and new.sources[path] != counts}

    def stale(self, new: "HostPlan", ran: Iterable[tuple[str, str, Sequence[str]]] = ()) -> set[str]:
        """Return the outputs that a new plan makes invalid: of steps of only one of both, and what builds on them.

        ran: (rule, output, inputs) of what Snakemake remembers to have made, for jobs that no plan lists.
        """
        kept = {step.identity for step in self.steps} & {step.identity for step in new.steps}
        found = {path for step in (*self.steps, *new.steps) if step.identity not in kept for path in step.made}
        stale = found | self._other_sources(new)
        other = {rule for rule in self.unplanned if self.unplanned[rule] != new.unplanned.get(rule)}
        remembered = [(set(inputs), [output], rule in other) for rule, output, inputs in ran]
        links = [(set(step.inputs), step.made, False) for step in (*self.steps, *new.steps)] + remembered
        grown = True
        while grown:
            more = {path for inputs, outputs, changed in links if changed or inputs & stale for path in outputs}
            grown = not more <= stale
            stale |= more
        return stale - {*self.sources}

    def changed_parts(self, rule: str, now: Mapping[str, object]) -> list[str]:
        """Return the names of the parts of a rule that are not the signed ones."""
        before = self.rules.get(rule, {})
        return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


def path_of(root: Path, digest: str) -> Path:
    """Where the plan with this digest is kept."""
    return root / approvals.FOLDER / approvals.PLANS / f"{digest}.host"


@cache
def signed(root: Path, digest: str) -> HostPlan:
    """Return the signed plan; Refused if it is missing or was changed."""
    path = path_of(root, digest)
    if file_digest(path, missing_ok=True) != digest:
        raise Refused(f"{path}: the signed plan of the workflow is missing or changed; sign again: sophron approve")
    return typed_json.load(path, HostPlan)


def in_force(root: Path) -> HostPlan | None:
    """Return the plan that the gate file speaks of, unchecked, for input functions; None before the first approval."""
    gate = approvals.gate_path(root)
    if not gate.is_file():
        return None
    record = approvals.parse(json.loads(gate.read_bytes())["record"], gate)
    return signed(root, record.host) if record.host else None


def remembered(workdir: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (rule, output, inputs) of each file that Snakemake keeps a record of, as a plan names them."""
    folder = workdir / ".snakemake" / "metadata"
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_file():
            record = documents.load_record(path)
            with contextlib.suppress(ValueError):
                name = base64.b64decode(
                    str(path.relative_to(folder)).replace("/@", "/").replace("/", ""), validate=True
                )
                inputs = (path.replace(str(workdir), WORKDIR) for path in record.get("input") or [])
                yield str(record.get("rule")), name.decode().replace(str(workdir), WORKDIR), list(inputs)


def files_read(root: Path, stage: StageKind, workdir: Path) -> dict[str, Path]:
    """Return the files of the host that a stage reads: path relative to `workdir`, where Snakemake runs -> where it is.

    Of a folder that a rule makes, the files inside; of rules behind a checkpoint, what Snakemake remembers they made.
    """
    plan = in_force(root) if stage.host_rules else None
    if plan is None:
        return {}
    made = plan.outputs(stage.host_rules)
    if unplanned := {*stage.host_rules} & {*plan.unplanned}:
        made += [output for rule, output, _ in remembered(workdir) if rule in unplanned]
    patterns = [re.compile(one) for one in stage.host_files]
    found: dict[str, Path] = {}
    for path in map(Path, made):
        folder = workdir / path
        names = [path / one.relative_to(folder) for one in sorted(folder.rglob("*"))] if folder.is_dir() else [path]
        found |= {str(name): workdir / name for name in names if any(one.fullmatch(str(name)) for one in patterns)}
    return found


def changes(root: Path, record: approvals.ApprovalRecord, plan: HostPlan | None) -> list[str]:
    """Return what of the host workflow is not as a record signed it, one line each."""
    return signed(root, record.host).changes(plan) if plan and record.host else []


def stale_outputs(root: Path, record: approvals.ApprovalRecord, plan: HostPlan) -> dict[str, Path]:
    """Return the outputs of the host that a new plan makes invalid: as a plan names them -> where they are."""
    before = signed(root, record.host)
    workdir = (root / before.workdir).resolve()
    found = before.stale(plan, remembered(workdir))
    return {path: Path(os.path.normpath(workdir / path.replace(WORKDIR, str(workdir)))) for path in found}


def stale_rules(root: Path, record: approvals.ApprovalRecord, plan: HostPlan | None) -> set[str]:
    """Return the rules of which a new plan makes an output invalid."""
    if plan is None or not record.host:
        return set()
    stale, before = stale_outputs(root, record, plan), signed(root, record.host)
    return {step.rule for step in before.steps if not stale.keys().isdisjoint(step.outputs)}


def store(root: Path, plan: HostPlan) -> None:
    """Put it where a check looks for it."""
    files.write_text(path_of(root, plan.digest), plan.text)


def dry_run(
    workdir: Path, snakefile: Path, arguments: Sequence[str], variables: Mapping[str, str], *, forced: bool
) -> dict[str, Any]:
    """Return what the guard wrote in a dry run: a `plan.DryRun` as JSON.

    UserError if it fails, or if two with other hash seeds differ.
    """
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(snakefile),
        "--dry-run",
        "--nolock",
        "--ignore-incomplete",
        "--quiet",
        "all",
    ]
    command += [*["--forceall"] * forced, "--workflow-profile", "none"]
    first, *others = (
        _guarded([*command, "--cores", cores, *arguments], workdir, variables, seed)
        for seed, cores in PROCESSES[: 1 + forced]
    )
    for other in others:
        if names := sorted(_differences(first["host"], other["host"])):
            raise UserError(
                f"{snakefile}: two plans of the same workflow differ ({', '.join(names[:MOST_NAMES])}); what changes "
                "from process to process cannot be signed: take times, random numbers and the number of cores out of it"
            )
        first["host"]["ceilings"] = _in_both(first["host"]["ceilings"], other["host"]["ceilings"])
    return first


def _in_both(one: Mapping[str, Mapping[str, int]], other: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Ceilings that do not depend on how many cores Snakemake was given."""
    return {
        rule: {key: value for key, value in amounts.items() if other[rule].get(key) == value}
        for rule, amounts in one.items()
    }


def _guarded(command: Sequence[str], workdir: Path, variables: Mapping[str, str], seed: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        environment = {key: value for key, value in os.environ.items() if key != "SNAKEMAKE_PROFILE"}
        environment |= {**variables, PLAN_VARIABLE: str(path), "PYTHONHASHSEED": seed}
        done = subprocess.run(
            command, cwd=workdir, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0 or not path.is_file():
            raise UserError(f"{command[4]}: the dry run failed: {_why(done)}")
        found: dict[str, Any] = json.loads(path.read_text())
        return found


def _why(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode == 0:
        return "no gate is on this workflow; put the lines at the end of its Snakefile: sophron adopt --write"
    return cause(done.stderr + done.stdout)


def _differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> set[str]:
    found = {
        name
        for key in ("rules", "sources", "unplanned")
        for name in {*first[key], *second[key]}
        if first[key].get(name) != second[key].get(name)
    }
    one, other = ({(step["rule"], step["job"]) for step in each["steps"]} for each in (first, second))
    return found | {f"params or inputs of {rule}" for rule, _ in one ^ other}
