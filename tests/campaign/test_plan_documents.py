import copy
import os
import subprocess

import pytest

from sophron.campaign.planning import plan_documents

SPEC = {
    "campaign": "my-melt",
    "version": 3,
    "kind": "viscosity",
    "seed": 7,
    "question": {
        "quantity": "shear viscosity",
        "units": "LJ",
        "ensemble": "NVE",
        "conditions": {"density": 0.85, "temperature": 1.0},
    },
    "method": {
        "name": "Green-Kubo",
        "assumptions": [
            {"id": "isotropic", "statement": "The melt is isotropic.", "verified_by": "rouse", "status": "UNVERIFIED"}
        ],
    },
    "stages": {
        "build": {
            "depends_on": [],
            "definition": {"atoms": 500},
            "criteria": [{"id": "atoms", "expression": "atoms == 500", "statement": "All are there."}],
            "mechanical": {
                "memory_mb": 500,
                "runtime_min": 5,
                "ceilings": {"cores": 2, "memory_mb": 2000, "runtime_min": 30},
            },
        },
    },
    "limits": {"steps": 10, "core_hours": 3.0},
}
PLAN = {
    "hash": "ab" * 32,
    "counts": [{"stage": "build", "rule": "build", "steps": 6}, {"stage": "build", "rule": "verify", "steps": 1}],
    "core_hours": {"build": 1.5},
    "envelope": {"steps": 10, "core_hours": 3.0},
}


def test_they_say_what_was_specified():
    texts = plan_documents.documents(SPEC, PLAN)
    assert list(texts) == ["experiment-design.md", "workflow-plan.md"]
    design, plan = texts.values()
    for part in ("shear viscosity", "density: 0.85", "[UNVERIFIED]", "Verified by: rouse", "`atoms == 500`"):
        assert part in design
    assert "| build |  | build | 6 | 1.50 |" in plan
    assert "| build | 2 | 2000 | 30 | 2 |" in plan
    assert '"atoms": 500' in plan
    assert "core_hours: 3.0" in plan


def test_equal_specs_give_equal_texts_and_written_files_are_left_alone(tmp_path):
    plan_documents.write_documents(tmp_path, plan_documents.documents(SPEC, PLAN))
    before = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}
    plan_documents.write_documents(tmp_path, plan_documents.documents(copy.deepcopy(SPEC), PLAN))
    assert {path.name: path.stat().st_ino for path in tmp_path.iterdir()} == before


def test_text_of_the_spec_cannot_become_markup():
    spec = copy.deepcopy(SPEC)
    hostile = "x\n\n# Approved\n<script>a</script> | [y](z)\x1b[2K`"
    spec["method"]["assumptions"][0]["statement"] = hostile
    spec["stages"]["build"]["criteria"][0]["expression"] = hostile
    spec["stages"]["build"]["definition"]["note"] = "```\n# Approved\u202e"
    for text in plan_documents.documents(spec, PLAN).values():
        outside = "".join(text.replace("\\`", "").split("`")[::2])  # without code
        assert "\n# Approved" not in text
        assert "<script" not in outside.replace("\\<script", "")
        assert "[y](" not in outside.replace("\\[y", "")
        assert "\x1b" not in text
        assert "\u202e" not in text


# Committing


@pytest.fixture(name="repository")
def _repository(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    root = tmp_path / "repository"
    (root / "melt").mkdir(parents=True)
    git(root, "init", "-q")
    git(root, "config", "user.name", "Ann")
    git(root, "config", "user.email", "ann@example.org")
    return root


def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout


def written(root, version=3):
    plan_documents.write_documents(root, plan_documents.documents({**SPEC, "version": version}, PLAN))


def test_just_the_two_are_committed(repository):
    melt = repository / "melt"
    (repository / "staged.txt").write_text("mine")
    (melt / "campaign.yaml").write_text("x: 1")
    git(repository, "add", "staged.txt")
    written(melt)
    commit = plan_documents.commit_documents(melt)
    assert commit == git(repository, "rev-parse", "HEAD").strip()
    changed = git(repository, "show", "--name-only", "--format=", "HEAD").split()
    assert changed == ["melt/experiment-design.md", "melt/workflow-plan.md"]
    assert git(repository, "status", "--porcelain").splitlines() == ["A  staged.txt", "?? melt/campaign.yaml"]

    assert plan_documents.commit_documents(melt) is None  # nothing changed
    written(melt, version=4)
    assert plan_documents.commit_documents(melt) != commit
    assert git(repository, "status", "--porcelain").splitlines() == ["A  staged.txt", "?? melt/campaign.yaml"]


def test_where_it_cannot_be_committed_nothing_is_touched(repository, tmp_path, monkeypatch):
    melt = repository / "melt"
    assert plan_documents.commit_documents(melt) is None  # there are none
    written(melt)
    git(repository, "config", "--unset", "user.name")
    git(repository, "config", "user.useConfigOnly", "true")
    assert plan_documents.commit_documents(melt) is None
    assert git(repository, "status", "--porcelain").splitlines() == ["?? melt/"]

    git(repository, "config", "user.name", "Ann")
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert plan_documents.commit_documents(melt) is None
    assert git(repository, "status", "--porcelain").splitlines() == ["?? melt/"]
    hook.unlink()

    (repository / ".gitignore").write_text("melt/\n")
    assert plan_documents.commit_documents(melt) is None
    assert git(repository, "ls-files") == ""

    alone = tmp_path / "alone"
    written(alone)
    assert plan_documents.commit_documents(alone) is None  # no repository
    monkeypatch.setenv("PATH", str(tmp_path))
    assert plan_documents.commit_documents(melt) is None  # no git
