"""Names that changed: records, answers, approvals and pipelines of before are read through these maps.

Who renames a rule, an agent, its schema or a module that pipelines import adds it here. Standard library only.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

GENERATION = 2
"""Counts the times that what is signed was renamed; an approval that does not name it is of the first."""
AGENTS = {
    "explain": "verify",
    "caveats": "report",
    "refinement": "refine",
    "judge-score": "score",
    "judge-screen": "screen",
    "pipeline-author": "pipeline-writer",
}
ANSWERS = {
    "explain": "verify",
    "caveats": "report",
    "optimize": "optimization",
    "judge-score": "scoring",
    "judge-screen": "screening",
    "pipeline-author": "pipeline",
    "pipeline-critic": "pipeline",
    "pipeline-engineer": "engineer",
}
"""Schemas of answers, which before were not called as their agents."""
EXPERTS = ("force_field", "sampling", "analysis")
STEMS = ("design", "pre", "single", "post")
STEPS = {
    "amend": "propose",
    "checkpoint_management": "restart_files",
    "aud": "try_case",
    "judge_screen": "screen_case",
    "judge_score": "score_case",
    "optimize": "improve",
    "pipeline_author": "write",
    "pipeline_critic": "criticise",
    "pipeline_engineer": "engineer",
    **{f"vote_{stem}-{expert}": f"{stem}_{expert}" for stem in STEMS for expert in EXPERTS},
}
"""Rules of agents, and how the names of their steps begin: before, each expert had separate rules."""
_GATE, _EXPERT = " --gate {input.gate}", " --wildcard expert={wildcards.expert}"


def agent_now(name: str) -> str:
    """Return what the agent `name` is called now."""
    return next((now for now, before in AGENTS.items() if before == name), name)


def answer_now(schema: str, agent: str) -> str:
    """Return what the schema `schema` of the answers of `agent` is called now."""
    if ANSWERS.get(agent) == schema:
        return agent
    return next((now for now, before in ANSWERS.items() if before == schema), schema)


def steps(step: str) -> Iterator[str]:
    """Yield the other names of a step: what it was called before, or is called now."""
    for now, before in STEPS.items():
        for one, other in ((now, before), (before, now)):
            if step == one or step.startswith(f"{one}-"):
                yield other + step[len(one) :]


def step_now(step: str) -> str:
    """Return what the step `step` is called now."""
    for now, before in STEPS.items():
        if step == before or step.startswith(f"{before}-"):
            return now + step[len(before) :]
    return step


def rules(rule: str) -> list[str]:
    """Return the names of an agent's rule: now, and before."""
    return [rule, *(before for now, before in STEPS.items() if now.partition("-")[0] == rule)]


def agents_now(signed: Mapping[str, str | Mapping[str, str]]) -> dict[str, str | dict[str, str]]:
    """Return the signed digests of agents by rule, in the form of now.

    signed: as an approval of any generation has them.
    """
    found: dict[str, str | dict[str, str]] = {}
    for before, digest in signed.items():
        rule, _, expert = step_now(before).partition("-")
        known = found.setdefault(rule, {})
        if not expert or not isinstance(known, dict) or not isinstance(digest, str):
            found[rule] = digest if isinstance(digest, str) else dict(digest)
        else:
            known[f"expert={expert}"] = digest
    return found


def shell_now(line: str) -> str:
    """Return what the shell line of an agent's rule is now."""
    for now, before in STEPS.items():
        rule, _, expert = now.partition("-")
        told = line.removeprefix(f"sophron agent run {before}{_GATE}")
        if told != line:
            return f"sophron agent run {rule}{_GATE}{_EXPERT if expert else ''}{told}"
    return line


def shell_before(line: str, expert: str = "") -> str:
    """Return what the shell line of an agent's rule was. expert: whose, if it is the line of a vote."""
    for now, before in STEPS.items():
        rule, _, of = now.partition("-")
        told = line.removeprefix(f"sophron agent run {rule}{_GATE}{_EXPERT if of else ''}")
        if told != line and of == expert:
            return f"sophron agent run {before}{_GATE}{told}"
    return line


HOST_GUEST, ESTIMATORS = "sophron.science.host_guest", "sophron.science.estimators"
_PARTS = {
    "preparation": "build=complex_builder geometry mol2 parametrise=ambertools pdb programs=ambertools",
    "protocols": "analysis apr complex_diagnostics decoupling dimer_diagnostics dimer_stages=lj_dimer "
    "experiment=apr_setup forces=restrained_system lambdas=lambda_schedule legs=decoupling_legs lj_dimer "
    "potentials=lj_dimer seeding",
    "sampling": "arrays=npz block=replica_exchange_block openmm_system platform=openmm_system "
    "relax=equilibration samples",
    "systems": "data exact=exact_reference library_molecules=library_system library_system sampl_system tasks",
    "pipelines": "complex_pipeline=reference_pipelines dimer_pipeline=reference_pipelines drafts=reference_pipelines",
}
"""Package of today -> the modules of host_guest in it, `before=now` if the name itself changed."""
_SPLIT = {
    name.partition("=")[0]: f"{part}.{name.split('=')[-1]}" for part, all_ in _PARTS.items() for name in all_.split()
}
MODULES = {f"{HOST_GUEST}.{before}": f"{HOST_GUEST}.{now}" for before, now in _SPLIT.items()} | {
    "sophron.records.atomic": "sophron.records.files",
    f"{HOST_GUEST}.stage_file": f"{HOST_GUEST}.stage_file_api",
    f"{HOST_GUEST}.pipeline_api": f"{HOST_GUEST}.stage_file_api",
    f"{HOST_GUEST}.preparation.parametrise": f"{HOST_GUEST}.preparation.ambertools",
    f"{HOST_GUEST}.protocols.dimer_stages": f"{HOST_GUEST}.protocols.lj_dimer",
    f"{HOST_GUEST}.sampling.platform": f"{HOST_GUEST}.sampling.openmm_system",
    f"{HOST_GUEST}.sampling.potentials": f"{HOST_GUEST}.protocols.lj_dimer",
    f"{ESTIMATORS}.box_length": f"{ESTIMATORS}.finite_size",
    f"{ESTIMATORS}.corrections": f"{ESTIMATORS}.binding_corrections",
    f"{ESTIMATORS}.cycle": f"{ESTIMATORS}.thermodynamic_cycle",
    f"{ESTIMATORS}.decorrelate": f"{ESTIMATORS}.correlated_series",
    f"{ESTIMATORS}.subsampling": f"{ESTIMATORS}.correlated_series",
    f"{ESTIMATORS}.heat_current": f"{ESTIMATORS}.green_kubo",
    f"{ESTIMATORS}.neighbours": f"{ESTIMATORS}.bar",
    f"{ESTIMATORS}.power": f"{ESTIMATORS}.statistical_power",
}
"""Module before -> now."""
SAMPLING = f"{HOST_GUEST}.sampling"
"""Was a module, is a package: as a package it has the names of the module, `window_sampling`, too."""


def module_now(module: str) -> str:
    """Return what a module is called now."""
    return MODULES.get(module, module)


def member_now(package: str, name: str) -> str:
    """Return the dotted name that `name` of `package` has now, if it is a module."""
    whole = f"{package}.{name}"
    return f"{SAMPLING}.window_sampling" if whole == SAMPLING else module_now(whole)


class _Finder:
    """Finds a module by the name that it had: what is loaded is the module itself, which keeps its own spec."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return a spec for a former name; None for any other."""
        del path, target
        return ModuleSpec(name, _Loader()) if name in MODULES else None  # type: ignore[arg-type]


class _Loader:
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of today."""
        self.module = importlib.import_module(module_now(spec.name))
        self.own = self.module.__spec__
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Restore its spec, which the import system replaced; it was executed when it was imported by its name."""
        module.__spec__ = self.own


def former_modules(package: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package that gives its modules by their former names, and let imports find them."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)

    def attribute(name: str) -> ModuleType:
        module = module_now(f"{package}.{name}")
        if module == f"{package}.{name}":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(module)

    return attribute
