"""A host workflow in the crate of its campaign: Snakefile, scripts, sources and outputs, and what each rule made."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sophron.campaign.planning import host_plan
from sophron.campaign.planning.host_plan import HostPlan
from sophron.campaign.planning.host_step import WORKDIR
from sophron.campaign.planning.plan import host_workdir
from sophron.campaign.report.crate_graph import Graph, ref
from sophron.campaign.report.report import Report
from sophron.campaign.spec.spec import HostWorkflow
from sophron.records.digests import file_digest

WORKFLOW = "<workflow>"
"""Stands for the folder of the host's Snakefile, in names of files that a rule consists of."""
OF_FILE = "file "
"""Begins the name of such a part."""
LARGEST = 1 << 20
"""Bytes of a file above which the crate gives its size alone: a report does not read a workflow's data whole."""


def add_host(graph: Graph, report: Report) -> None:
    """Add the files of the workflow that a campaign gates, and one action a rule; nothing if it gates none."""
    host, digest = report.spec.host, report.chain[-1].record.host
    if host is None or not digest:
        return
    files = _Files(graph, report.root, host)
    snakefile = files.add(files.snakefile, "Snakefile of the workflow")
    plan = host_plan.signed(report.root, digest)
    versions = report.snakemake_versions or [""]
    snakemake = ref(graph.tool("snakemake", versions[-1]))
    outputs, inputs = _by_rule(plan, files.workdir)
    for path in plan.sources:
        files.add_all(path, "A source of the workflow")
    for rule, parts in plan.rules.items():
        for name in parts:
            files.add_all(name.removeprefix(OF_FILE) if name.startswith(OF_FILE) else "", f"Code of the rule {rule}")
    for rule, paths in outputs.items():
        made = [one for path in paths for one in files.add_all(path, f"An output of the rule {rule}")]
        code = [name.removeprefix(OF_FILE) for name in plan.rules.get(rule, {}) if name.startswith(OF_FILE)]
        used = [*snakefile, *(one for path in (*code, *inputs[rule]) for one in files.known(path))]
        graph.action(
            f"#rule-{rule}",
            "CreateAction",
            name=f"rule {rule} of the workflow",
            instrument=snakemake,
            prov__wasAssociatedWith=snakemake,
            object=[ref(one) for one in dict.fromkeys(used)],
            result=[ref(one) for one in made],
        )


def _by_rule(plan: HostPlan, workdir: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Outputs and inputs of each rule; of one behind a checkpoint, what Snakemake remembers."""
    outputs: dict[str, list[str]] = defaultdict(list)
    inputs: dict[str, list[str]] = defaultdict(list)
    for step in plan.steps:
        outputs[step.rule] += step.outputs
        inputs[step.rule] += step.inputs
    for rule, output, read in host_plan.remembered(workdir) if plan.unplanned else ():
        if rule in plan.unplanned:
            outputs[rule].append(output)
            inputs[rule] += read
    return outputs, inputs


@dataclass(frozen=True)
class _Files:
    """The workflow's files as a plan names them, and their entities."""

    graph: Graph
    root: Path
    host: HostWorkflow

    @property
    def workdir(self) -> Path:
        """Where Snakemake runs."""
        return host_workdir(self.root, self.host)

    @property
    def snakefile(self) -> Path:
        """The main one."""
        return (self.root / self.host.snakefile).resolve()

    def _paths(self, name: str) -> Iterator[Path]:
        """The files of that name; of a folder those in it; none if it is gone."""
        path = self.workdir / name.replace(WORKFLOW, str(self.snakefile.parent)).replace(WORKDIR, str(self.workdir))
        inner = sorted(path.rglob("*")) if name and path.is_dir() else [path]
        yield from (one for one in inner if one.is_file() and not one.name.startswith(".snakemake"))

    def known(self, name: str) -> Iterable[str]:
        """The @id of the files of that name that are in the crate."""
        return [one for one in map(self.graph.identifier, self._paths(name)) if one in self.graph.entities]

    def add_all(self, name: str, title: str) -> list[str]:
        """Add the files of that name; the @id of each."""
        return [one for path in self._paths(name) for one in self.add(path, title)]

    def add(self, path: Path, title: str) -> list[str]:
        """Add a file if it is there; its @id."""
        if not path.is_file():
            return []
        digest = file_digest(path) if path.stat().st_size <= LARGEST else ""
        return [self.graph.file(path, f"{title}: {path.name}", digest)]
