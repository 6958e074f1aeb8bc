"""Opens the campaign of a host workflow while its Snakefile is parsed: the gate, and the rules that the host imports.

A process that executes jobs of the host's own rules alone gets the gate without the rules, which would cost each job
more than the check.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.campaign.host_workflow import guard
from sophron.campaign.host_workflow.host_gate import HostGate
from sophron.campaign.snakefile.own_rules import one_sentence
from sophron.records import OVERLAYS_NAME, SPEC_NAME, approvals, strict_yaml
from sophron.records.digests import file_digest
from sophron.records.errors import UserError

if TYPE_CHECKING:
    from sophron.campaign.snakefile.snakefile_api import RuleView

ALLOWED = "--allowed-rules"
OF_IMPORT = 2
"""Level of Snakemake's pathvars up to which they were given for this module; above come Snakefiles and defaults."""


def open_host(folder: str, workflow: Any) -> "RuleView | None":
    """Open the campaign for the host's Snakefile; None if this process needs no rule of Sophron's.

    Of a campaign that says which workflow it gates (`workflow:`), all rules are guarded; else Sophron's alone, which
    check their approval themselves.
    """
    with one_sentence():
        first = _is_first(workflow, folder)
        place = _from_here(folder, workflow)
        if (gate := _gate_of_job(place, workflow)) is not None:
            if first:
                guard.attach(workflow, gate)
            return None
    return _open_whole(place, workflow, first=first)


def _open_whole(place: str, workflow: Any, *, first: bool) -> "RuleView":
    from sophron.campaign.snakefile.snakefile_api import open_campaign
    from sophron.campaign.spec import resource_requests

    campaign = open_campaign(place, workflow)
    if not first:
        return campaign
    results = _results(campaign.folder, workflow)
    chosen = {
        rule: resource_requests.chosen_amounts(campaign.root, stage, campaign.spec.mechanical_block(stage))
        for stage in campaign.host_stages
        for rule in campaign.spec.stage(stage).host_rules
    }
    gate = _gate(campaign.root, campaign.spec.data, results, [f"{results}/report.html"], chosen=chosen)
    guard.attach(workflow, gate, rules=campaign.spec.host is not None)
    return campaign


def _gate_of_job(place: str, workflow: Any) -> HostGate | None:
    """The gate of a process that executes jobs of the host's rules alone, as the signed spec has it.

    None for any other, and wherever more of the spec counts than these keys: then all of it is read.
    """
    rules, root = _allowed(workflow), Path(place).absolute()
    if not rules or not approvals.gate_path(root).is_file():
        return None
    approval = approvals.in_force(root)
    if file_digest(root / SPEC_NAME) != approval.record.spec_file or (root / OVERLAYS_NAME).exists():
        return None
    spec, _ = strict_yaml.parse((root / SPEC_NAME).read_bytes(), SPEC_NAME)
    gate = _gate(root, spec, _results(Path(place), workflow), approval=approval)
    return gate if gate.are_apart(rules) else None


def _gate(root: Path, spec: Mapping[str, Any], results: str, last: Sequence[str] = (), **known: Any) -> HostGate:
    """Return the gate of a spec as campaign.yaml has it. results: folder; last, known: as of `HostGate`."""
    held: dict[str, list[str]] = {}
    for stage, block in spec["stages"].items():
        for rule in block["definition"].get("holds", ()):
            held.setdefault(rule, []).append(f"{results}/{stage}/accepted.json")
    limit, also = spec.get("limits", {}).get("core_hours"), spec.get("workflow", {}).get("also", ())
    return HostGate(root, held, last, also, limit=limit, **known)


def _allowed(workflow: Any) -> list[str]:
    """Rules that this process may execute, of which its command line alone knows while the Snakefile is parsed.

    None in a driver, and if the host imports some rules of Sophron by name.
    """
    if workflow.is_main_process or workflow.modifier.rule_whitelist is not None or ALLOWED not in sys.argv:
        return []
    behind = sys.argv[sys.argv.index(ALLOWED) + 1 :]
    return list(takewhile(lambda word: not word.startswith("-"), behind))


def _results(folder: Path, workflow: Any) -> str:
    """Where the results go: beside campaign.yaml, if the host's import of the module does not say another place."""
    given = workflow.pathvars
    return str(given.items["results"] if given.level["results"] <= OF_IMPORT else folder / "results")


def _from_here(folder: str, workflow: Any) -> str:
    """The campaign's folder as seen from where Snakemake runs, which `workdir:` or --directory may have moved."""
    bases = [Path.cwd(), Path(workflow.workdir_init), Path(str(workflow.main_snakefile)).absolute().parent]
    found = next((base / folder for base in bases if (base / folder / SPEC_NAME).is_file()), Path(folder))
    return folder if found == bases[0] / folder else os.path.relpath(found)


_GUARDED = "_sophron_guards"


def _is_first(workflow: Any, folder: str) -> bool:
    """Whether this `use rule` is the host's first, which guards for all; UserError if it is of another campaign."""
    before = getattr(workflow, _GUARDED, None)
    if before not in (None, folder):
        raise UserError(
            f"{workflow.main_snakefile}: is gated by the campaign {before} and by {folder}; one campaign gates a "
            "workflow: remove the lines of the other"
        )
    setattr(workflow, _GUARDED, folder)
    return before is None
