"""List the rules of a host workflow as JSON: name -> whether a job of it does something.

Run as `python -m sophron.campaign.snakefile.list_rules ARGUMENT...`, the arguments as of `snakemake`, in the folder
where Snakemake runs: `snakemake --list-rules` mixes names with the lines of their docstrings.
"""

import json
import sys
from typing import Any

from snakemake import cli
from snakemake.workflow import Workflow

from sophron.campaign.snakefile.own_rules import is_ours


def list_rules(workflow: Any, only_targets: bool = False) -> None:  # noqa: FBT001, FBT002 - Snakemake's own call
    """Print the rules in the place of Snakemake's own list."""
    del only_targets
    rules = {rule.name: bool(rule.run_func) and not rule.norun for rule in workflow.rules if not is_ours(rule)}
    print("\n" + json.dumps(rules))


if __name__ == "__main__":
    Workflow.list_rules = list_rules
    cli.main([*sys.argv[1:], "--list-rules"])
