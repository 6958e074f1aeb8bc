"""A dry run in a process of its own: prints the steps of Sophron's rules as one JSON line.

Run as `python -m sophron.campaign.dry_run SNAKEFILE [--forced]` in the working directory of the workflow. Snakemake's
API is used because the identity needs the unformatted shell line, which no log record carries.
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


def steps(snakefile: Path, *, forced: bool) -> list[dict[str, Any]]:
    """The jobs of Sophron's rules that would run (all of them where forced), in no particular order."""
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
        graph = workflow._workflow.dag  # noqa: SLF001 - no public way to a rule's unformatted shell line
        return [_step(job, graph.reason(job)) for job in graph.needrun_jobs() if _is_ours(job)]


def _is_ours(job: Any) -> bool:
    shell = job.rule.shellcmd
    return isinstance(shell, str) and (shell.startswith("sophron ") or "digest" in dict(job.params.items()))


def _step(job: Any, reason: Any) -> dict[str, Any]:
    name = job.rule.name
    shell = job.rule.shellcmd
    words = shell.split()
    # A host may import rules under other names (`as sophron_*`); the verb in the shell line is the rule's own.
    own = words[2] if len(words) > 2 and words[1] == "stage" else words[1] if len(words) > 1 else name
    return {
        "rule": own,
        "shell": shell,
        "digest": str(dict(job.params.items()).get("digest", "")),
        "wildcards": dict(job.wildcards_dict),
        "gated": any(str(path).endswith("approvals/gate.json") for path in job.input),
        "outcomes": sum(str(path).endswith("/outcome.json") for path in job.input),
        "reason": " ".join(str(reason).split()),
    }


def main() -> int:
    """Print the steps; everything else that is printed goes to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        found = steps(Path(sys.argv[1]).absolute(), forced="--forced" in sys.argv[2:])
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
