"""What rule files ask of a campaign: digests, paths and resources. Rules stay thin; this is their only window."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sophron.campaign.approval import approval_journal
from sophron.campaign.execution.outcome_store import Outcome
from sophron.campaign.planning import campaign_agents, host_plan
from sophron.campaign.planning.host_step import PLAN_VARIABLE
from sophron.campaign.snakefile import own_rules
from sophron.campaign.snakefile.own_rules import one_sentence
from sophron.campaign.spec.resource_requests import Mechanical, overlaid
from sophron.campaign.spec.spec import SPEC_NAME, Spec, is_planned, load, spec_file
from sophron.interfaces import JsonObject
from sophron.records import digests, typed_json
from sophron.records.approvals import gate_path
from sophron.records.errors import Refused

RESULTS = "<results>"


@dataclass(frozen=True)
class RuleView:
    """A campaign as its rules see it. folder: as the host wrote it; root: the same, absolute.

    in_job: whether this process is the part of Snakemake that runs inside one job of a queue.
    """

    folder: Path
    root: Path
    spec: Spec
    in_job: bool = False

    @classmethod
    def open(cls, folder: str, *, in_job: bool = False) -> Self:
        """Read the campaign in `folder`; a signed amendment that a kill left half applied is finished first."""
        root = Path(folder).absolute()
        approval_journal.finish(root)
        return cls(Path(folder), root, load(spec_file(root)), in_job)

    @property
    def gate(self) -> str:
        """Path of the gate file, relative where the host gave a relative folder."""
        return str(gate_path(self.folder))

    @property
    def rules(self) -> str:
        """Path of the kind's rule module: ours lie in `rules/`, another distribution's kind gives a whole path."""
        return str(Path("rules") / self.spec.kind.rules)

    @property
    def rule_files(self) -> list[str]:
        """Rule modules for a host: the kind's, and the one that judges the host's rules if it is another."""
        judging = ["rules/workflow.smk"] if self.host_stages else []
        return list(dict.fromkeys([self.rules, *judging]))

    @property
    def stages(self) -> list[str]:
        """Names of the stages."""
        return [stage.name for stage in self.spec.stages]

    @property
    def host_stages(self) -> list[str]:
        """Names of the stages that judge rules of a host workflow."""
        return [stage.name for stage in self.spec.stages if stage.host_rules]

    def has(self, name: str) -> bool:
        """Whether this campaign has an optional stage, or a part or agent rule that others of its kind go without."""
        return name in self.stages or name in self.spec.parts or name in self.spec.agent_rules

    def _paths(self, stage: str, name: str) -> list[str]:
        return ["/".join([RESULTS, stage, *wildcards.values(), name]) for wildcards in self.spec.steps(stage)]

    def outcomes(self, stage: str) -> list[str]:
        """Outcome files of all steps of a stage."""
        return self._paths(stage, "outcome.json")

    def below(self, stage: str) -> list[str]:
        """Names of the stages that a stage depends on."""
        return list(self.spec.stage(stage).depends_on)

    def outcomes_before(self, stage: str) -> list[str]:
        """Outcome files of the stages that a stage depends on."""
        return [path for name in self.spec.stage(stage).depends_on for path in self.outcomes(name)]

    def host_files(self, stage: str) -> Callable[[Any], list[str]]:
        """Input function: files of the host that a stage waits for, as in the plan in force; none before an approval.

        None while a plan is made, or an amendment would plan again what only the signed plan still lists. A function,
        since no process of a host's job has any use for the plan.
        """

        def made(_: Any) -> list[str]:
            plan = None if _is_planned_anew(self.root) else host_plan.in_force(self.root)
            return plan.requests(self.spec.stage(stage).host_rules) if plan else []

        return made

    def place(self, name: str) -> str:
        """Folder of a host's campaign for results or logs, relative to where Snakemake runs."""
        return str(self.folder / name)

    def outcomes_of(self, wildcards: Any) -> list[str]:
        """`outcomes` as an input function over the wildcard `stage`."""
        return self.outcomes(wildcards.stage)

    def files(self, stage: str, output: str) -> list[str]:
        """One output file of all steps of a stage."""
        return self._paths(stage, self.spec.stage(stage).outputs[output])

    def before(self, stage: str, wildcard: str) -> Callable[[Any], list[str]]:
        """Input function: the outcome of `stage` for the value before this one's; nothing unless it is `sequential`."""
        values = self.values(wildcard)
        sequential = bool(self.spec.definition(stage)["sequential"])

        def outcome(wildcards: Any) -> list[str]:
            place = values.index(getattr(wildcards, wildcard))
            return [f"{RESULTS}/{stage}/{values[place - 1]}/outcome.json"] if sequential and place else []

        return outcome

    def values(self, wildcard: str) -> list[str]:
        """What a wildcard may be."""
        return list(self.spec.ranges[wildcard])

    def result(self, outcome: str) -> JsonObject:
        """The typed result in an outcome file, for input functions behind a checkpoint; empty where it failed."""
        return typed_json.load(Path(outcome), Outcome).result

    def definition_digest(self, stage: str) -> str:
        """Digest that stands in the param of a compute rule."""
        return self.spec.definition_digest(stage)

    def definition_digest_of(self, wildcards: Any) -> str:
        """`definition_digest` as a params function."""
        return self.spec.definition_digest(wildcards.stage)

    def criteria_digest_of(self, wildcards: Any) -> str:
        """Digest in the param of a verify rule: how the stage is judged."""
        return self.spec.criteria_digest(wildcards.stage)

    @property
    def report_digest(self) -> str:
        """Digest in the param of the report rule."""
        return self.spec.report_digest()

    def agent_digest(self, rule: str) -> str | Callable[[Any], str]:
        """Digest in the param of an agent rule: what its agent is; a params function if a wildcard names the agent."""
        own = campaign_agents.digests_of(self.root, self.spec, rule)
        return own if isinstance(own, str) else lambda wildcards: digests.signed_digest(own, dict(wildcards.items()))

    @property
    def spec_file(self) -> str:
        """Path of the spec. Only the plan agent has it as an input: no compute rule may."""
        return str(self.folder / SPEC_NAME)

    def design(self, name: str) -> str:
        """Path of a file of the Specify dialogue."""
        return str(self.folder / "design" / name)

    @property
    def failure(self) -> str:
        """Path, with wildcards, of what `sophron run` notes of a failure for the agents that look at it."""
        return str(self.folder / "records" / "failures" / "{stage}-{attempt}.json")

    @property
    def remembered(self) -> str:
        """Path, with wildcards, of the snapshot of what was remembered when a failure was noted."""
        return str(self.folder / "records" / "failures" / "{stage}-{attempt}.memory" / "snapshot.json")

    def mechanical(self, stage: str) -> Mechanical:
        """The mechanical block in force, overlays included; of a draft, whose signature may end some, as it stands."""
        if is_planned():
            return self.spec.mechanical(stage)
        return overlaid(self.spec.mechanical_block(stage), stage, self.root)

    def cores(self, stage: str) -> int:
        """Cores that a step reserves."""
        return self.mechanical(stage).cores

    def retries(self, stage: str) -> int:
        """Further tries of a step that ended without an outcome.

        None inside a job: Snakemake would repeat the step there too, in a job that was given what the first try needs.
        """
        return 0 if self.in_job else self.mechanical(stage).retries

    def resources(self, stage: str) -> dict[str, Any]:
        """Return the whole `resources` of a compute rule: memory, wall time, and what only a queue needs to know."""
        return {"mem_mb": self.memory(stage), "runtime": self.runtime(stage), **self.requests(stage)}

    @staticmethod
    def agent_resources(memory_mb: int = 1000, runtime_min: int = 30) -> dict[str, int]:
        """Return the whole `resources` of an agent rule; `snakemake --resources llm_calls=2` runs two at a time."""
        return {"mem_mb": memory_mb, "runtime": runtime_min, "llm_calls": 1}

    def requests(self, stage: str) -> dict[str, int | str]:
        """What only a queue needs to know of a step: MPI ranks with their threads, several nodes, GPUs.

        In the words of the Slurm plugin, which the scripts of the other profiles read too.
        """
        mechanical = self.mechanical(stage)
        found: dict[str, int | str] = {"gpu": mechanical.gpus} if mechanical.gpus else {}
        if mechanical.ranks > 1:
            found |= {"mpi": "mpiexec", "tasks": mechanical.ranks, "cpus_per_task": mechanical.threads}
        if mechanical.nodes > 1:
            found["nodes"] = mechanical.nodes
        return found

    def memory(self, stage: str) -> Callable[..., int] | int:
        """MB of a step: a resource function where a further try gets more, up to the signed ceiling; else a number."""
        return self._growing(stage, self.mechanical(stage).memory_at)

    def runtime(self, stage: str) -> Callable[..., int] | int:
        """Minutes of a step: a resource function where a further try gets more; else a number."""
        return self._growing(stage, self.mechanical(stage).runtime_at)

    def _growing(self, stage: str, amount_at: Callable[[int], int]) -> Callable[..., int] | int:
        # Snakemake calls a function once a job, which a dry run of thousands of guests notices.
        if amount_at(1 + self.mechanical(stage).retries) == amount_at(1):
            return amount_at(1)
        return lambda wildcards, attempt: amount_at(attempt)  # noqa: ARG005 - names are Snakemake's


_workflows: dict[Path, Any] = {}


def open_campaign(folder: str, workflow: Any) -> RuleView:
    """`RuleView.open` for a Snakefile: what a user got wrong is one sentence and exit code 2, not a stack."""
    _workflows[Path(folder).absolute()] = workflow
    with one_sentence():
        digests.library_files()  # as it is before any rule file of it is parsed; `check_library` compares
        opened = RuleView.open(folder, in_job=workflow.remote_exec)
        if (rules := Path(opened.spec.kind.rules)).is_absolute():
            own_rules.add_folder(rules.parent)
        return opened


def check_library() -> None:
    """What stands last in the Snakefile: no rule file may have been another one while it was parsed."""
    with one_sentence():
        names = digests.changed_files(digests.library_files(), digests.read_library_files())
        if names:
            raise Refused(
                f"{digests.first_names(names)}: changed while the workflow was read; look at it: sophron review"
            )


def workflow_of(root: Path) -> Any:
    """Snakemake's own object of the workflow that opened the campaign at `root`; None where none did."""
    return _workflows.get(root)


def _is_planned_anew(root: Path) -> bool:
    """Whether this process makes a plan to be signed, and does not ask what would run under the one in force."""
    return PLAN_VARIABLE in os.environ and bool(workflow_of(root).dag_settings.forceall)


def only_opened() -> Path | None:
    """The campaign that this process's workflow opened; None if it opened none, or several."""
    return next(iter(_workflows)) if len(_workflows) == 1 else None
