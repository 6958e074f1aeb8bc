"""Packages: P-strict and a tag, the same bytes for the same content, nothing of the producer's and no keys inside."""

import json
import shutil

import pytest
import toy_build

from sophron.agentbuild.release import package, trail
from sophron.records.digests import file_digest
from sophron.records.errors import UserError
from sophron.records.typed_json import to_json


@pytest.fixture
def build(tmp_path):
    """A finished build of the toy agent."""
    return toy_build.make(tmp_path / "build")


def changed(build, change):
    data = toy_build.read(build)
    change(data)
    toy_build.write(build, data)
    return build


def test_a_release_says_what_it_is_made_of(build):
    made = package.release(build, "v1.0")
    manifest = json.loads((build / "releases" / "toy-sums-v1.0" / "package.json").read_text())
    assert manifest == to_json(made.manifest)
    assert manifest["contract"]["version"] == "1.2.0"
    assert manifest["proven_on"] == ["large", "small"]
    assert manifest["models"]["agent"] == {"backend": "heuristic"}
    assert manifest["inventory"] == ["abacus__add"]
    assert manifest["aud"] == package.load_agent(build / "entries" / "1" / "aud", {}).digest
    assert set(manifest["files"]) == {
        "aud/agent.md",
        "aud/recipe.yaml",
        "aud/schemas/adder.schema.yaml",
        "aud/helpers/checks.py",
        "tools.yaml",
        "endpoint.json",
    }


def test_equal_content_gives_equal_bytes(build, tmp_path):
    other = tmp_path / "elsewhere" / "copy"
    shutil.copytree(build, other)
    one, two = package.release(build, "v1.0"), package.release(other, "v1.0")
    assert one.digest == two.digest
    tars = [folder / "releases" / "toy-sums-v1.0.tar" for folder in (build, other)]
    assert tars[0].read_bytes() == tars[1].read_bytes()
    assert package.release(build, "v1.0").digest == one.digest  # again, and nothing is made
    (other / "entries" / "1" / "aud" / "helpers" / "checks.py").write_text("LARGEST = 11\n")
    judged = package.load_agent(other / "entries" / "1" / "aud", {}).digest
    changed(other, lambda data: data["entries"][-1]["iterations"][-1].update(aud=judged))
    assert package.release(other, "v1.1").digest != one.digest


def test_an_unpacked_archive_is_the_package(build, tmp_path):
    made = package.release(build, "v1.0")
    shutil.unpack_archive(build / "releases" / "toy-sums-v1.0.tar", tmp_path / "out")
    assert package.load(tmp_path / "out" / "toy-sums-v1.0").digest == made.digest


@pytest.mark.parametrize(
    ("score", "says"),
    [({"D1": 2, "T1": 2}, "large has D1 2 \\(least 3\\)"), ({"D1": 5}, "large has no T1"), ({}, "large has no scores")],
)
def test_without_p_strict_there_is_no_release(build, score, says):
    changed(build, lambda data: data["entries"][-1]["iterations"][-1]["cases"][0].update(scores=score))
    with pytest.raises(UserError, match=f"iteration 2 does not pass P-strict \\({says}"):
        package.release(build, "v1.0")
    assert not (build / "releases").exists()


def test_an_active_case_that_was_not_judged_misses(build):
    changed(build, lambda data: data["entries"][-1]["iterations"][-1]["active"].append("huge"))
    found = trail.load(build)
    assert trail.misses(found.contract, found.last) == ["huge has no scores"]


def test_only_the_agent_that_was_judged_is_released(build):
    (build / "entries" / "1" / "aud" / "recipe.yaml").write_text("factor: 2\n")
    with pytest.raises(UserError, match="is not the agent that iteration 2 judged"):
        package.release(build, "v1.0")


@pytest.mark.parametrize(
    "name", ["contract/rubric.yaml", "entries/1/iterations/2/diff", "entries/1/iterations/2/judge/small.json"]
)
def test_a_file_that_is_not_the_one_of_the_trail_is_found(build, name):
    (build / name).write_text("something else\n")
    with pytest.raises(UserError, match=f"{name}: is not the file that trail.json names"):
        package.release(build, "v1.0")


def test_a_tag_names_one_content(build):
    package.release(build, "v1.0")
    changed(build, lambda data: data["contract"]["authors"].append("robin"))
    with pytest.raises(UserError, match=r"the tag v1\.0 names another content already"):
        package.release(build, "v1.0")
    with pytest.raises(UserError, match="tag"):
        package.release(build, "latest")


def test_nothing_of_the_producer_is_inside(build):
    package.release(build, "v1.0")
    assert b"only the producer" not in (build / "releases" / "toy-sums-v1.0.tar").read_bytes()


def test_what_looks_like_a_key_is_not_packaged(build):
    (build / "entries" / "1" / "aud" / "helpers" / "checks.py").write_text(f'KEY = "sk-{"a1B2" * 8}"\n')
    judged = package.load_agent(build / "entries" / "1" / "aud", {}).digest
    changed(build, lambda data: data["entries"][-1]["iterations"][-1].update(aud=judged))
    with pytest.raises(UserError, match="holds what looks like a key"):
        package.release(build, "v1.0")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: (folder / "notes.txt").write_text("x"), "has no place in an agent"),
        (lambda folder: (folder / "helpers" / "out.py").symlink_to("/etc/passwd"), "is a link"),
        (lambda folder: (folder / "recipe.yaml").unlink(), "recipe.yaml: is missing"),
    ],
)
def test_what_cannot_be_part_of_an_agent_is_refused(build, make, says):
    make(build / "entries" / "1" / "aud")
    with pytest.raises(UserError, match=says):
        package.release(build, "v1.0")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "aud" / "recipe.yaml").write_text("factor: 9\n"), "is not what package.json names"),
        (lambda folder: (folder / "aud" / "extra.py").write_text("1"), "is no part of the package"),
        (lambda folder: (folder / "endpoint.json").unlink(), "endpoint.json: is missing"),
    ],
)
def test_a_package_that_was_changed_is_not_read(build, spoil, says):
    made = package.release(build, "v1.0")
    spoil(made.folder)
    with pytest.raises(UserError, match=says):
        package.load(made.folder)


def test_a_file_has_the_digest_of_its_bytes(build):
    made = package.release(build, "v1.0")
    assert all(file_digest(made.folder / name) == sha256 for name, sha256 in made.manifest.files.items())
