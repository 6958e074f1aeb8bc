"""The code digest: any byte of a rule, a schema, a module or the campaign's own workflow makes another one."""

import shutil

import pytest

from sophron.records import code


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A copy of the installed library, its digest freshly computed."""
    package = tmp_path / "sophron"
    package.mkdir()
    for folder in code.FOLDERS:
        shutil.copytree(code.PACKAGE / folder, package / folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "PACKAGE", package)
    return package


def digest():
    return code.library_digest.__wrapped__()


@pytest.mark.parametrize(
    "name",
    [
        "workflow/Snakefile",
        "workflow/rules/viscosity.smk",
        "schemas/viscosity/build.schema.yaml",
        "records/approvals.py",
        "campaign/criteria.py",
        "science/viscosity/templates/produce.in.j2",
        "sandbox/bubblewrap.py",
        "cli/stage.py",
    ],
)
def test_one_byte_of_the_library_makes_another_digest(library, name):
    before = digest()
    path = library / name
    content = path.read_bytes()
    path.write_bytes(content + b"#")
    assert digest() != before
    path.write_bytes(content)
    assert digest() == before


def test_a_new_a_removed_and_a_renamed_file_make_another_digest(library):
    before = digest()
    rules = library / "workflow" / "rules"
    (rules / "extra.smk").write_text("")
    assert digest() != before
    (rules / "extra.smk").unlink()
    (rules / "viscosity.smk").rename(rules / "other.smk")
    assert digest() != before
    (rules / "other.smk").unlink()
    assert digest() != before


def test_what_python_leaves_behind_does_not_count(library):
    before = digest()
    (library / "records" / "__pycache__").mkdir()
    (library / "records" / "__pycache__" / "code.cpython-311.pyc").write_bytes(b"x")
    assert digest() == before


def test_a_file_in_another_folder_of_the_same_name_is_another_one(library):
    (library / "science" / "viscosity" / "templates" / "own.j2").write_text("x")
    before = digest()
    target = library / "campaign" / "templates" / "own.j2"
    (library / "science" / "viscosity" / "templates" / "own.j2").rename(target)
    assert digest() != before


def test_the_installed_library_has_one_digest():
    assert code.library_digest() == digest()


def test_the_campaigns_own_workflow_and_agents_count_and_nothing_else_of_it(tmp_path):
    digests = [code.code_digest(tmp_path)]
    for name, text in [("Snakefile", "a"), ("Snakefile", "b"), ("agents/pitfalls/x.yaml", "a"),
                       ("agents/pitfalls/x.yaml", "b"), ("agents/failures.yaml", "")]:  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        digests.append(code.code_digest(tmp_path))
    assert len(set(digests)) == len(digests)
    (tmp_path / "campaign.yaml").write_text("x")
    (tmp_path / "results").mkdir()
    (tmp_path / "agents" / "debug.md").write_text("signed as the agent's own digest, not as code")
    assert code.code_digest(tmp_path) == digests[-1]
