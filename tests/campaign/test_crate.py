"""The RO-Crate: read by the crate library of others, complete, and true to the files beside it."""

import json
import shutil
from base64 import b64encode
from types import SimpleNamespace
from urllib.parse import unquote

import finished_campaign
import pytest
from rocrate.rocrate import ROCrate

from sophron.campaign.planning import host_plan
from sophron.campaign.planning.host_step import HostStep
from sophron.campaign.report import crate, crate_host
from sophron.campaign.report.crate_graph import Graph
from sophron.campaign.report.report import Answer
from sophron.campaign.spec.spec import HostWorkflow, load
from sophron.records.digests import file_digest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The results of a finished campaign, moved away from it: the crate stands on its own."""
    with pytest.MonkeyPatch.context() as patch:
        campaign = finished_campaign.make(tmp_path_factory.mktemp("campaign"), patch)
        assert finished_campaign.report(campaign) == 0
        target = tmp_path_factory.mktemp("elsewhere") / "crate"
        shutil.copytree(campaign.root / "results", target)
        yield target


def graph(folder) -> dict[str, dict]:
    entities = json.loads((folder / "ro-crate-metadata.json").read_text())["@graph"]
    assert len({entity["@id"] for entity in entities}) == len(entities)
    return {entity["@id"]: entity for entity in entities}


def references(value):
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            yield value["@id"]
        else:
            for inner in value.values():
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_the_crate_library_reads_it(folder):
    crate = ROCrate(folder)
    assert crate.name == "arithmetic-toy, version 2"
    assert crate.metadata["conformsTo"] == "https://w3id.org/ro/crate/1.1"
    assert crate.root_dataset["conformsTo"].id == "https://w3id.org/ro/wfrun/process/0.5"
    parts = {entity.id for entity in crate.root_dataset["hasPart"]}
    assert {
        "signed/campaign.yaml",
        "signed/approval.json",
        "report.html",
        "b/0/outcome.json",
        "b/0/numbers.txt",
        "b/verdict.json",
    } <= parts
    step = crate.dereference("#step-b-1")
    assert step.type == ["CreateAction", "prov:Activity"]
    assert {entity.id for entity in step["object"]} == {"signed/campaign.yaml", "a/outcome.json"}
    assert {entity.id for entity in step["result"]} == {"b/1/outcome.json", "b/1/numbers.txt"}
    assert {(tool["name"], tool["softwareVersion"]) for tool in step["instrument"]} == {
        ("sophron", "0.1.0"),
        ("arithmetic", "0"),
    }
    approval = [action for action in crate.root_dataset["mentions"] if action.type[0] == "AuthorizeAction"][-1]
    assert approval["agent"]["name"] == "alex"
    assert approval["object"].id == "signed/campaign.yaml"


def test_every_file_is_there_with_its_digest_and_size(folder):
    files = [entity for entity in graph(folder).values() if "File" in entity["@type"]]
    assert len(files) == 7 * 2 + 6 + 3
    for entity in files:
        path = folder / unquote(entity["@id"])
        assert path.is_file(), entity["@id"]
        assert entity["sha256"] == file_digest(path)
        assert entity["contentSize"] == str(path.stat().st_size)


def test_every_reference_leads_somewhere(folder):
    entities = graph(folder)
    outside = {
        name for entity in entities.values() for name in references(list(entity.values())) if name not in entities
    }
    assert all(name.startswith("https://w3id.org/ro/") for name in outside), outside


def test_each_finished_step_is_an_action_with_its_relations(folder):
    entities = graph(folder)
    steps = [name for name in entities if name.startswith("#step-")]
    assert sorted(steps) == [f"#step-{name}" for name in ("a", "b-0", "b-1", "c", "d", "e", "f")]
    for name in steps:
        step = entities[name]
        assert step["prov:used"] == step["object"]
        assert step["startTime"] <= step["endTime"]
        assert step["actionStatus"] == "http://schema.org/CompletedActionStatus"
        assert "seed" in step["description"]
        assert len(step["result"]) == 2
        for made in step["result"]:
            assert entities[made["@id"]]["prov:wasGeneratedBy"] == {"@id": name}


def test_what_was_amended_is_told_with_who_and_why(folder):
    approvals = [entity for entity in graph(folder).values() if "AuthorizeAction" in entity["@type"]]
    assert [entity["name"] for entity in approvals] == ["approval of version 1", "approval of version 2"]
    assert approvals[1]["description"].startswith("because; ")
    assert "stages.c.definition.weight: 0.5 -> 0.49" in approvals[1]["description"]


def test_the_spec_beside_it_is_the_one_that_was_signed(folder):
    record = json.loads(json.loads((folder / "signed" / "approval.json").read_text())["record"])
    assert load(folder / "signed" / "campaign.yaml").digest == record["spec"]


def test_the_answer_is_a_number_with_its_unit(folder, tmp_path):
    spec = load(folder / "signed" / "campaign.yaml")
    step = SimpleNamespace(step="rank-0")
    answer = Answer(step, "conductivity", "At 300 K.", 12.4, 3.0, None, None, units="W/(m K)")
    made = Graph(folder)
    measured = crate._measured(made, SimpleNamespace(answers=[answer], spec=spec))
    (tmp_path / "ro-crate-metadata.json").write_text(json.dumps(made.document(measured, "None.")))
    found = ROCrate(tmp_path).root_dataset["variableMeasured"]
    assert (found.type, found["value"], found["unitText"]) == ("PropertyValue", 12.4, "W/(m K)")


def test_the_files_of_a_host_workflow_are_in_it_with_what_each_rule_read_and_made(tmp_path):
    root = tmp_path / "campaign"
    for name in ("Snakefile", "scripts/x.py", "data/a.txt", "out/a.txt", "out/parts/1.txt", "out/done/1.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    steps = (
        HostStep("count", "c", "j", {"s": "a"}, ("data/a.txt",), ("out/a.txt", "out/gone.txt")),
        HostStep("split", "c", "j", {}, ("out/a.txt",), ("out/parts",)),
    )
    script = f"file {crate_host.WORKFLOW}/scripts/x.py"
    rules = {"count": {"shell": "cat", script: "d"}, "split": {"shell": "split"}}
    plan = host_plan.HostPlan(steps, rules, {"data/a.txt": "d"}, {}, unplanned={"part": "d"})
    host_plan.store(root, plan)
    record = tmp_path / ".snakemake/metadata" / b64encode(b"out/done/1.txt").decode()
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"rule": "part", "input": ["out/parts/1.txt"]}))
    spec = SimpleNamespace(host=HostWorkflow("../Snakefile", directory=".."))
    chain = [SimpleNamespace(record=SimpleNamespace(host=plan.digest))]
    made = Graph(root / "results")
    crate_host.add_host(made, SimpleNamespace(root=root, spec=spec, chain=chain, snakemake_versions=["9.1"]))
    (root / "results").mkdir()
    (root / "results/ro-crate-metadata.json").write_text(json.dumps(made.document({}, "None.")))
    read = ROCrate(root / "results")

    def named(entities) -> set[str]:
        entities = entities if isinstance(entities, list) else [entities]
        return {one.id.removeprefix(f"{tmp_path.as_uri()}/") for one in entities}

    files = {"Snakefile", "scripts/x.py", "data/a.txt", "out/a.txt", "out/parts/1.txt", "out/done/1.txt"}
    assert named(read.root_dataset["hasPart"]) == files
    used = {rule: named(read.dereference(f"#rule-{rule}")["object"]) for rule in ("count", "split", "part")}
    assert used == {
        "count": {"Snakefile", "scripts/x.py", "data/a.txt"},
        "split": {"Snakefile", "out/a.txt"},
        "part": {"Snakefile", "out/parts/1.txt"},
    }
    results = {rule: named(read.dereference(f"#rule-{rule}")["result"]) for rule in used}
    assert results == {"count": {"out/a.txt"}, "split": {"out/parts/1.txt"}, "part": {"out/done/1.txt"}}
    entity = read.dereference((tmp_path / "out/a.txt").as_uri())
    assert entity["sha256"] == file_digest(tmp_path / "out/a.txt")
