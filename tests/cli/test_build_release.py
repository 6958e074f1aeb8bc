"""`sophron build`: from the records of a finished rehearsal to a package and its crate, and a token."""

import toy_build

from sophron.cli import main


def build(*words) -> int:
    return main(["build", *map(str, words)])


def test_from_a_rehearsal_to_a_release(tmp_path, capsys):
    source = toy_build.source(tmp_path / "one")
    assert build("trail", tmp_path / "agent", "--build", source.build) == 2
    assert "--build wants --contract" in capsys.readouterr().err
    assert build("trail", tmp_path / "agent", "--build", source.build, "--contract", source.contract) == 0
    assert build("release", tmp_path / "agent", "--tag", "v1.0") == 0
    releases = tmp_path / "agent" / "releases"
    assert (releases / "toy-sums-v1.0-trail" / "ro-crate-metadata.json").is_file()
    assert "digest" in capsys.readouterr().out


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
