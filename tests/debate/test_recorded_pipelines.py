"""Pipelines that were recorded when our modules had other names: they pass Layer-1, import, and run as they stand."""

import ast
import importlib
import sys

import pytest
import toy

from sophron.agents.tools import literature
from sophron.debate.pipelines.pipeline import Pipeline
from sophron.debate.pipelines.static_check import import_policy, layer1, stage_source
from sophron.records import old_names

from . import dimers

FOLDER = toy.DATA / "before_renames" / "pipelines"
NOTES = literature.load()
pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")


def recorded(name):
    return (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", ["lj_dimer", "apr", "replica_exchange", "double_decoupling"])
def test_a_recorded_pipeline_passes_layer1(name):
    assert layer1.verify(recorded(name), ["cb7"], NOTES).faults == ()


@pytest.mark.parametrize("name", ["lj_dimer", "apr", "replica_exchange", "double_decoupling"])
def test_what_a_recorded_pipeline_takes_of_ours_is_there(name):
    for source in Pipeline.parse(recorded(name)).files.values():
        tree = ast.parse(source)
        names = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("sophron."):
                exec(ast.unparse(node), names)
        used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
        for node in used:
            if node.value.id in names:
                assert hasattr(names[node.value.id], node.attr), ast.unparse(node)


def test_a_recorded_pipeline_of_the_dimer_runs(tmp_path):
    made = Pipeline.parse(recorded("lj_dimer"))
    assert dimers.stage(made, 1, tmp_path)[1].result.status == "completed"
    assert dimers.stage(made, 2, tmp_path, earlier=["stage_01"])[1].result.status == "completed"
    window = dimers.stage(made, 3, tmp_path, window=0, earlier=["stage_01", "stage_02"])[1]
    assert window.result.status == "completed"


def test_a_former_name_is_the_module_itself():
    before = importlib.import_module("sophron.science.host_guest.stage_file")
    assert before is sys.modules["sophron.science.host_guest.stage_file_api"]
    assert before.__spec__.name == "sophron.science.host_guest.stage_file_api"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("sophron.science.host_guest.nothing")


@pytest.mark.parametrize(
    ("line", "now"),
    [
        ("from sophron.science.host_guest.pipeline_api import reporting as found", "stage_file_api"),
        ("from sophron.science.host_guest.sampling.platform import platform as found", "sampling.openmm_system"),
        ("from sophron.science.host_guest.sampling.potentials import LennardJones as found", "protocols.lj_dimer"),
        ("from sophron.science.host_guest.protocols.dimer_stages import residual as found", "protocols.lj_dimer"),
        (
            "from sophron.science.host_guest.preparation.parametrise import parametrise as found",
            "preparation.ambertools",
        ),
    ],
)
def test_a_module_that_was_merged_into_another_is_found_by_code_and_by_layer1(line, now):
    names = {}
    exec(line, names)
    assert names["found"].__module__ == f"sophron.science.host_guest.{now}"
    (found,) = stage_source.imported(ast.parse(line).body[0])
    assert found.module == f"sophron.science.host_guest.{now}"
    assert import_policy.importable(found.module, found.name) is None


def test_a_former_name_opens_no_module_that_pipelines_may_not_have():
    refused = [before for before in old_names.MODULES if import_policy.importable(old_names.module_now(before), "")]
    parts = {old_names.module_now(before).split(".")[3] for before in refused}
    assert parts == {"systems", "pipelines"}
    source = recorded("lj_dimer").replace("dimer_stages, lj_dimer", "dimer_stages, exact, lj_dimer")
    assert "exact answers" in " ".join(fault.sentence for fault in layer1.verify(source, ["cb7"], NOTES).faults)
