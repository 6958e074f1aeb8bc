"""Modules that recorded pipelines import by the names that these had before: the map, and imports through it.

Standard library only. A package whose modules were renamed takes its `__getattr__` from `of_package`.
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

HOST_GUEST, ESTIMATORS = "sophron.science.host_guest", "sophron.science.estimators"
_PARTS = {
    "preparation": "build=complex_builder geometry mol2 parametrise pdb programs=ambertools",
    "protocols": "analysis apr complex_diagnostics decoupling dimer_diagnostics dimer_stages experiment=apr_setup "
    "forces=restrained_system lambdas=lambda_schedule legs=decoupling_legs lj_dimer seeding",
    "sampling": "arrays=npz block=replica_exchange_block openmm_system platform potentials relax=equilibration samples",
    "systems": "data exact=exact_reference library_molecules library_system sampl_campaigns sampl_system tasks",
    "pipelines": "complex_pipeline dimer_pipeline drafts=reference_pipelines",
}
"""Package of today -> the modules of host_guest in it, `before=now` if the name itself changed."""
_SPLIT = {
    name.partition("=")[0]: f"{part}.{name.split('=')[-1]}" for part, all_ in _PARTS.items() for name in all_.split()
}
MODULES = {f"{HOST_GUEST}.{before}": f"{HOST_GUEST}.{now}" for before, now in _SPLIT.items()} | {
    f"{HOST_GUEST}.stage_file": f"{HOST_GUEST}.pipeline_api",
    f"{ESTIMATORS}.box_length": f"{ESTIMATORS}.finite_size",
    f"{ESTIMATORS}.corrections": f"{ESTIMATORS}.binding_corrections",
    f"{ESTIMATORS}.cycle": f"{ESTIMATORS}.thermodynamic_cycle",
    f"{ESTIMATORS}.decorrelate": f"{ESTIMATORS}.subsampling",
    f"{ESTIMATORS}.neighbours": f"{ESTIMATORS}.bar",
    f"{ESTIMATORS}.power": f"{ESTIMATORS}.statistical_power",
}
"""Module before -> now."""
SAMPLING = f"{HOST_GUEST}.sampling"
"""Was a module, is a package: as a package it has the names of the module, `window_sampling`, too."""


def now(module: str) -> str:
    """What a module is called now."""
    return MODULES.get(module, module)


def member_now(package: str, name: str) -> str:
    """What `name` of `package` is called now, if it is a module: the dotted name."""
    whole = f"{package}.{name}"
    return f"{SAMPLING}.window_sampling" if whole == SAMPLING else now(whole)


class _Finder:
    """Finds a module by the name that it had: what is loaded is the module itself, which keeps its own spec."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """A spec for a name of before; None for any other."""
        del path, target
        return ModuleSpec(name, _Loader()) if name in MODULES else None  # type: ignore[arg-type]


class _Loader:
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of today."""
        self.module = importlib.import_module(now(spec.name))
        self.own = self.module.__spec__
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """It was executed when it was imported; the import system gave it the spec of its former name."""
        module.__spec__ = self.own


def of_package(package: str) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package: its modules by the names that they had. Installs the finder for their imports."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)

    def attribute(name: str) -> ModuleType:
        module = now(f"{package}.{name}")
        if module == f"{package}.{name}":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(module)

    return attribute
