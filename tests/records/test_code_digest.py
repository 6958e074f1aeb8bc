"""What code is signed: any byte of a rule, a schema, a module, a plugin or the campaign's own workflow, in its part."""

from itertools import pairwise
from pathlib import Path

import pytest
import toy

from sophron.records.digests import (
    PARTS,
    PLUGINS,
    PROMPTS,
    changed_files,
    code_digests,
    first_names,
    read_code,
    read_library_files,
)

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A copy of the installed library and of its plugins."""
    return toy.copy_library(tmp_path, monkeypatch)


def digests():
    return code_digests(read_library_files())


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("workflow/Snakefile", "harness"),
        ("workflow/rules/gate.smk", "harness"),
        ("workflow/rules/viscosity.smk", "science"),
        ("workflow/rules/agents.smk", "agents"),
        ("workflow/agents/failures.yaml", "agents"),
        ("schemas/viscosity/build.schema.yaml", "science"),
        ("schemas/agents/debug.schema.yaml", "agents"),
        ("schemas/campaign.schema.yaml", "harness"),
        ("envs/md.yaml", "science"),
        ("envs/sophron.yaml", "harness"),
        ("config/models.yaml", "agents"),
        ("records/approvals.py", "harness"),
        ("campaign/spec/criteria.py", "harness"),
        ("science/viscosity/templates/produce.in.j2", "science"),
        ("sandbox/bubblewrap.py", "harness"),
        ("debate/panel/votes.py", "agents"),
        ("warm_workers/server.py", "harness"),
        ("cli/stage.py", "harness"),
        ("__init__.py", "harness"),
        ("../snakemake_executor_plugin_parsl/pool.py", "harness"),
        ("../snakemake_logger_plugin_sophron/__init__.py", "harness"),
    ],
)
def test_one_byte_of_a_file_makes_another_digest_of_its_part_and_is_named(library, name, part):
    before = read_library_files()
    path = library / name
    content = path.read_bytes()
    path.write_bytes(content + b"#")
    after = read_library_files()
    old, new = code_digests(before), code_digests(after)
    assert [one for one in PARTS if old[one] != new[one]] == [part]
    assert changed_files(before, after) == [name.removeprefix("../") if ".." in name else f"sophron/{name}"]
    path.write_bytes(content)
    assert digests() == old


def test_the_plugins_that_are_signed_are_those_that_we_ship():
    assert sorted(PLUGINS) == sorted(path.name for path in SOURCE.glob("snakemake_*_plugin_*"))


def test_a_new_a_removed_and_a_renamed_file_make_another_digest(library):
    before = digests()
    rules = library / "workflow" / "rules"
    (rules / "extra.smk").write_text("")
    assert digests() != before
    (rules / "extra.smk").unlink()
    (rules / "viscosity.smk").rename(rules / "other.smk")
    assert digests() != before
    (rules / "other.smk").unlink()
    assert digests() != before


def test_what_python_leaves_behind_does_not_count_but_what_it_would_load_does(library):
    before = digests()
    (library / "records" / "__pycache__").mkdir(exist_ok=True)
    (library / "records" / "__pycache__" / "code.cpython-311.pyc").write_bytes(b"x")
    assert digests() == before
    (library / "records" / "code.so").write_bytes(b"x")
    assert digests() != before


def test_a_file_in_another_folder_of_the_same_name_is_another_one(library):
    (library / "science" / "viscosity" / "templates" / "own.j2").write_text("x")
    before = digests()
    target = library / "science" / "conductivity" / "templates" / "own.j2"
    (library / "science" / "viscosity" / "templates" / "own.j2").rename(target)
    assert digests() != before


def test_prompts_are_listed_and_in_no_digest(library):
    before = read_library_files()
    (library / "workflow" / "agents" / "caveats.md").write_text("signed as the agent's own digest")
    after = read_library_files()
    assert code_digests(after) == code_digests(before)
    assert changed_files(before, after, [PROMPTS]) == ["sophron/workflow/agents/caveats.md"]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Snakefile", "science"),
        ("extra.smk", "science"),
        ("agents/pitfalls/x.yaml", "agents"),
        ("config/models.yaml", "agents"),
    ],
)
def test_a_campaigns_own_workflow_models_and_agents_count(tmp_path, name, part):
    states = [read_code(tmp_path, None, ["extra.smk"])]
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    for text in ("a", "b"):
        (tmp_path / name).write_text(text)
        states.append(read_code(tmp_path, None, ["extra.smk"]))
    for before, after in pairwise(states):
        assert changed_files(before, after, [part]) == [name]
        assert code_digests(before)[part] != code_digests(after)[part]


def test_nothing_else_of_a_campaign_counts(tmp_path):
    before = code_digests(read_code(tmp_path))
    for name in ("campaign.yaml", "results/x", "agents/debug.md", "unsigned.smk"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert code_digests(read_code(tmp_path)) == before


def test_a_sentence_names_three_files_at_most():
    assert first_names(["a"]) == "a"
    assert first_names(list("abcde")) == "a, b, c and 2 more"
