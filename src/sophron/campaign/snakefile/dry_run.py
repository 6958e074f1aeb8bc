"""A dry run in a process of its own: prints the steps of Sophron's rules as one line of JSON.

Run as `python -m sophron.campaign.snakefile.dry_run SNAKEFILE [--forced]` in the working directory of the workflow:
prints a `DryRun`, whose rules are those of stages and agents, planned or not. Snakemake's API is used because the
identity needs the unformatted shell line, which no log record carries.
"""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from snakemake.api import SnakemakeApi
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    ExecutionSettings,
    OutputSettings,
    Quietness,
    ResourceSettings,
    SchedulingSettings,
    WorkflowSettings,
)

from sophron.campaign.planning.plan import DryRun, PlannedStep
from sophron.campaign.snakefile.own_rules import around_shell_lines, is_ours
from sophron.records import import_path
from sophron.records.typed_json import to_json

AGENT_VERB = "sophron agent run "
VERBS = (AGENT_VERB, "sophron stage ")


def shown(snakefile: Path, *, forced: bool) -> DryRun:
    """Return the jobs of Sophron's rules that would run (all of them if forced), and those rules."""
    output = OutputSettings(dryrun=True, quiet={Quietness.RULES, Quietness.PROGRESS})
    with SnakemakeApi(output) as api:
        workflow = api.workflow(
            ResourceSettings(cores=1),
            config_settings=ConfigSettings(),
            workflow_settings=WorkflowSettings(),
            snakefile=snakefile,
            workdir=Path.cwd(),
        )
        dag = workflow.dag(DAGSettings(forceall=forced))
        dag.execute_workflow(
            executor="dryrun",
            execution_settings=ExecutionSettings(lock=False),
            scheduling_settings=SchedulingSettings(),
        )
        return of_graph(workflow._workflow.dag)  # noqa: SLF001 - no public way to a rule's unformatted shell line


def of_graph(graph: Any) -> DryRun:
    """Return what Snakemake's own graph, which was built, shows of Sophron's rules."""
    found = [_step(job, graph.reason(job)) for job in graph.needrun_jobs() if job.rule.shellcmd and is_ours(job.rule)]
    ours = [rule for rule in graph.workflow.rules if str(rule.shellcmd or "").startswith(VERBS)]
    rules = {_own(rule.shellcmd, rule.params): rule.shellcmd for rule in ours}
    return DryRun(found, rules, _files(graph.workflow), around_shell_lines())


def _files(workflow: Any) -> list[str]:
    """Rule files that were included, and modules that were imported from the workflow's folder."""
    included = [source.get_path_or_uri(secret_free=True) for source in workflow.included]
    folder = Path(included[0]).parent
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return included + [path for path in modules if path and folder in Path(path).parents]


def _own(shell: str, params: Any) -> str:
    """A rule's own name, from the verb in its shell line: a host may import rules under others (`as sophron_*`).

    Of a stage that a campaign names itself, and of the rules of its loop, its param `stage`.
    """
    words = shell.split()
    place = 3 if shell.startswith(AGENT_VERB) else 2
    if shell.startswith(VERBS) and len(words) > place:
        return str(dict(params.items()).get("stage", words[place]))
    return words[1] if len(words) > 1 else ""


def _step(job: Any, reason: Any) -> PlannedStep:
    shell = job.rule.shellcmd
    return PlannedStep(
        rule=_own(shell, job.params) or job.rule.name,
        shell=shell,
        digest=str(dict(job.params.items()).get("digest", "")),
        wildcards=dict(job.wildcards_dict),
        gated=any(str(path).endswith("approvals/gate.json") for path in job.input),
        outcomes=sum(str(path).endswith("/outcome.json") for path in job.input),
        reason=" ".join(str(reason).split()),
    )


def main() -> int:
    """Print the steps; everything else that is printed goes to standard error."""
    snakefile = Path(sys.argv[1]).absolute()
    import_path.put_last(str(snakefile.parent))
    with contextlib.redirect_stdout(sys.stderr):
        found = shown(snakefile, forced="--forced" in sys.argv[2:])
    print(json.dumps(to_json(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
