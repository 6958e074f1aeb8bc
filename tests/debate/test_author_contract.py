"""What the author is told is what the code does: names, keys, rules, functions and the example."""

import importlib
import inspect
import re

import numpy as np
import pytest
import yaml

from sophron.agents.tools import literature
from sophron.debate.pipelines import author_contract, measured_diagnostics, pipeline
from sophron.debate.pipelines.static_check import layer1
from sophron.debate.pipelines.static_check.import_policy import LIBRARIES, importable, own_names
from sophron.debate.trials import stage_sandbox
from sophron.records.errors import UserError
from sophron.records.files import read_text, resource
from sophron.science.estimators.restraints import STANDARD_VOLUME, rt
from sophron.science.host_guest.protocols.lj_dimer import WALL
from sophron.science.host_guest.sampling import observables
from sophron.science.host_guest.systems import systems

from . import dimers

TOLD = {form: author_contract.contract(form) for form in author_contract.FORMS}
PROMPT = read_text(resource("workflow", "agents", "pipeline-author.md"))


@pytest.mark.parametrize("form", author_contract.FORMS)
def test_variables_that_are_told_are_those_that_a_stage_has_and_no_others(form, tmp_path):
    rules = [line for line in TOLD[form].splitlines() if line.startswith("- `SOPHRON_")]
    told = {re.match(r"- `(\w+)`", line)[1] for line in rules}
    work = stage_sandbox.Work(dimers.pipeline(), pipeline.PRODUCTION, {}, tmp_path, 1, 0.1, window=0)
    assert told == {name for name in stage_sandbox.variables(work) if name.startswith("SOPHRON_")}
    assert set(re.findall(r"SOPHRON_[A-Z_]+\b", TOLD[form] + PROMPT)) <= told | {"SOPHRON_"}
    before_modules = TOLD[form].partition("## Modules of sophron")[0]
    assert not re.search(r"`(WINDOW|NS_PER_WINDOW|SEED|PLATFORM)`", before_modules + PROMPT)


@pytest.mark.parametrize("name", author_contract.SCHEMAS.values())
def test_both_schemas_are_told_whole(name):
    text = read_text(resource("schemas", "debate") / f"{name}.schema.yaml")
    assert all(text.strip() in told for told in TOLD.values())
    assert yaml.safe_load(text)["type"] == "object"


def test_the_bound_state_that_is_told_is_that_of_the_references(tmp_path):
    told = f"beyond bound_within_a, a wall of {WALL.k:g} (r - bound_within_a)^2 kcal/mol"
    assert all(told in " ".join(text.split()) for text in TOLD.values())
    settings = {"sigma_a": 3.4, "temperature_k": 300.0, "epsilon_kcal_per_mol": {"x": 0.0}}
    r = np.linspace(0.0, 12.0, 100_001)
    reached = 4 * np.pi * np.trapezoid(r**2 * np.exp(-WALL.k * np.maximum(r - WALL.start, 0) ** 2 / rt(300.0)), r)
    found = systems.find("dimers").references(settings, tmp_path)["x"]
    assert found == pytest.approx(-rt(300.0) * np.log(reached / STANDARD_VOLUME), abs=1e-3)


def test_keys_that_the_prompt_names_are_keys():
    schemas = "".join(
        read_text(resource("schemas", "debate") / f"{each}.schema.yaml") for each in author_contract.SCHEMAS.values()
    )
    names = set(re.findall(r"`task\.(\w+)`", PROMPT + TOLD["particles"]))
    gathered = inspect.getsource(importlib.import_module("sophron.kinds.host_guest.agent_inputs")._task)
    assert names
    assert all(f'"{name}"' in gathered for name in names)
    assert {"delta_g_kcal_per_mol", "bound_within_a"} <= {
        each for each in re.findall(r"`(\w+)`", PROMPT) if each in schemas
    }
    tools = re.findall(r"(?m)^tools: \[(.*)\]$", PROMPT)[0].split(", ")
    assert all(f"`{tool}`" in PROMPT for tool in tools)


@pytest.mark.parametrize("form", author_contract.FORMS)
def test_rules_that_are_enforced_are_told(form):
    assert all(f"- {rule}" in TOLD[form] for _, _, rule in layer1.CHECKS)
    assert all(note.doi in TOLD[form] for note in literature.load())


@pytest.mark.parametrize("form", author_contract.FORMS)
def test_modules_that_are_told_are_those_that_may_be_imported(form):
    told = re.findall(r"(?m)^### (sophron[\w.]+)$", TOLD[form])
    assert set(told) == {
        name for name in own_names() if inspect.getmodulename(f"{name}.py") and not name.endswith("__init__")
    }
    assert all(importable(name, "") is None for name in told)
    block = TOLD[form].partition("### sophron")[2].partition("\n## A complete")[0]
    functions = re.findall(r"(?m)^def (\w+)\(", block)
    assert {"reporting", "statistical_inefficiency", "residual"} <= set(functions)
    named = [name for line in re.findall(r"(?m)^Has (.*); see", block) for name in line.split(", ")]
    assert len({*functions, *named}) > 100
    assert ("seed_windows" in functions) == (form == "molecules")  # of the other form names are enough


def test_what_is_told_of_particles_is_not_about_molecules():
    assert len(TOLD["particles"]) < 0.7 * len(TOLD["molecules"])


def test_functions_that_are_told_are_there():
    for block in TOLD["molecules"].partition("\n## A complete")[0].split("\n### ")[1:]:
        module = importlib.import_module(block.partition("\n")[0])
        for name in re.findall(r"(?m)^(?:def|class) (\w+)\(", block):
            assert hasattr(module, name), f"{module.__name__}.{name}"


def test_libraries_that_are_told_are_installed_and_permitted():
    block = TOLD["particles"].partition("## Libraries")[2].partition("\n## ")[0]
    told = re.findall(r"(?m)^- (\w+) \S+$", block)
    assert set(told) <= LIBRARIES
    assert {"numpy", "scipy"} <= set(told)


@pytest.mark.parametrize("form", author_contract.FORMS)
def test_the_example_passes_the_rules_that_it_illustrates(form):
    assert layer1.verify(author_contract.example(form), [], literature.load()).faults == ()
    assert author_contract.example(form).strip() in TOLD[form]


def test_arrays_that_are_told_are_those_that_are_read():
    told = set(re.findall(r"(?m)^- `(\w+)`, shape", TOLD["particles"]))
    assert told == set(observables.ARRAYS)
    assert {array for each in measured_diagnostics.QUANTITIES.values() for array in each.arrays} <= told
    schema = yaml.safe_load(read_text(resource("schemas", "host_guest") / "trials.schema.yaml"))
    enumerated = schema["$defs"]["definition"]["properties"]["measured"]["items"]["enum"]
    assert set(enumerated) == set(measured_diagnostics.QUANTITIES)


def test_a_reference_is_a_permitted_module_or_a_schema():
    assert "def reporting" in author_contract.reference("sophron.science.host_guest.stage_file_api")
    assert "wall_time_seconds" in author_contract.reference("stage_NN_result.json")
    with pytest.raises(UserError, match="nothing may be read"):
        author_contract.reference("sophron.science.host_guest.systems.exact_reference")
