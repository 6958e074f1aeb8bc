"""`sophron build`: from the records of a finished build to a package, its crate, a retune, and a token."""

import toy_build
import yaml

from sophron.cli import main


def build(*words) -> int:
    return main(["build", *map(str, words)])


def test_from_a_build_to_a_second_release(tmp_path, capsys):
    source = toy_build.source(tmp_path / "one")
    where = ("--build", source.build, "--contract", source.contract, "--records", source.records)
    assert build("trail", tmp_path / "agent", *where) == 0
    assert build("release", tmp_path / "agent", "--tag", "v1.0") == 0
    releases = tmp_path / "agent" / "releases"
    assert (releases / "toy-sums-v1.0-trail" / "ro-crate-metadata.json").is_file()
    assert "digest" in capsys.readouterr().out
    models = toy_build.MODELS | {"agent": {"backend": "anthropic", "model": "claude-opus"}}
    toy_build.source(tmp_path / "two", models=models)
    again = [str(word).replace(str(tmp_path / "one"), str(tmp_path / "two")) for word in where]
    assert build("retune", tmp_path / "agent", "--model", "claude-opus", *again) == 0
    assert build("release", tmp_path / "agent", "--tag", "v2.0") == 0
    packages = [yaml.safe_load((releases / f"toy-sums-{tag}" / "package.json").read_text()) for tag in ("v1.0", "v2.0")]
    assert [one["models"]["agent"].get("model") for one in packages] == [None, "claude-opus"]
    assert packages[0]["endpoint"] == packages[1]["endpoint"]


def test_what_failed_is_not_released_and_one_sentence_says_so(tmp_path, capsys):
    source = toy_build.source(tmp_path / "one", course=({"small": {"D1": 1, "T1": 3}},))
    build("trail", tmp_path / "agent", "--build", source.build, "--contract", source.contract)
    assert build("release", tmp_path / "agent", "--tag", "v1.0") == 2
    said = capsys.readouterr().err
    assert "does not pass P-strict (small has D1 1 (least 3)); go on with the build" in said
    assert said.count("\n") == 1


def test_a_token_is_printed_once(tmp_path, capsys):
    assert build("token", "alice", "--tokens", tmp_path / "tenants.yaml") == 0
    token = capsys.readouterr().out.strip()
    assert len(token) >= 43
    assert token not in (tmp_path / "tenants.yaml").read_text()
