"""The identity of a step, the bisection of the signed list, and shell lines compared with real command lines."""

import hashlib
import shlex
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.records.digests import canonical_bytes, fits_shell_line, is_listed, step_identity, step_name

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)
LINE = "sophron stage build --gate {input.gate} --wildcard replica={wildcards.replica} --log {log} --digest {params.digest}"
CALL = "stage build --gate approvals/gate.json --wildcard replica=3 --log logs/3.log --digest ab12"


@settings(max_examples=100, deadline=None)
@given(TEXT, TEXT, TEXT, st.dictionaries(NAMES, TEXT, max_size=3))
def test_an_identity_is_the_digest_of_rfc_8785(rule, shell, digest, wildcards):
    wanted = hashlib.sha256(canonical_bytes([rule, shell, digest, wildcards])).hexdigest()
    assert step_identity(rule, shell, digest, wildcards) == wanted


@pytest.mark.parametrize(
    "other",
    [("r2", "s", "d", {"k": "v"}), ("r", "s ", "d", {"k": "v"}), ("r", "s", "e", {"k": "v"}), ("r", "s", "d", {"k": "w"}),
     ("r", "s", "d", {"l": "v"}), ("r", "s", "d", {}), ("rs", "", "d", {"k": "v"})],
)  # fmt: skip
def test_each_part_counts_in_an_identity(other):
    assert step_identity("r", "s", "d", {"k": "v"}) != step_identity(*other)


def test_the_order_of_wildcards_does_not_count_in_an_identity_and_their_values_name_the_step():
    assert step_identity("r", "s", "d", {"a": "1", "b": "2"}) == step_identity("r", "s", "d", {"b": "2", "a": "1"})
    assert step_name("shear", {"rate": "0.01", "replica": "3"}) == "shear-0.01-3"


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, 60)), st.lists(st.integers(0, 60), min_size=1))
def test_the_bisection_finds_exactly_what_is_in_the_list(tmp_path_factory, there, asked):
    listing = tmp_path_factory.getbasetemp() / "bisected.steps"
    known = {hashlib.sha256(str(number).encode()).hexdigest() for number in there}
    listing.write_text("".join(f"{one}\n" for one in sorted(known)))
    for number in asked:
        wanted = hashlib.sha256(str(number).encode()).hexdigest()
        assert is_listed(listing, wanted) is (wanted in known)


def test_a_part_of_an_identity_is_not_in_the_list(tmp_path):
    listing = tmp_path / "steps"
    listing.write_text("a" * 64 + "\n" + "b" * 64 + "\n")
    for wanted in ("", "a", "a" * 63, "a" * 63 + "\n", "\n" + "a" * 63, "a" * 65, "c" * 64):
        assert not is_listed(listing, wanted)


def test_a_formatted_shell_line_matches_its_template():
    assert fits_shell_line(LINE, shlex.split(CALL))
    assert fits_shell_line(LINE, shlex.split(CALL.replace("logs/3.log", "'logs of mine/3.log'")))
    assert fits_shell_line('sophron say "two words" {log}', ["say", "two words", "a\nb"])


def test_a_field_stands_for_no_further_words():
    assert not fits_shell_line(LINE, shlex.split(CALL.replace("logs/3.log", "logs/3.log --cores 9")))
    assert not fits_shell_line(LINE, shlex.split(CALL + " --digest ffff"))
    assert not fits_shell_line(
        "sophron verify {input} --digest {params.digest}", ["verify", "a", "b", "--digest", "ab"]
    )


@pytest.mark.parametrize(
    "call",
    [
        "",
        "stage build",
        CALL.replace("build", "relax"),
        CALL.replace("replica=", "rate="),
        CALL.replace("--gate", "--Gate"),
        CALL.replace("--log logs/3.log ", ""),
        "stage build --digest ab12 --gate approvals/gate.json --wildcard replica=3 --log logs/3.log",
        f"-x {CALL}",
        CALL.replace("stage ", "stage -x "),
    ],
)
def test_another_shell_line_does_not_match(call):
    assert not fits_shell_line(LINE, shlex.split(call))


def test_no_character_of_a_template_is_a_pattern():
    assert not fits_shell_line("sophron a.b (c) [d] {log}", ["axb", "(c)", "[d]", "l"])
    assert fits_shell_line("sophron a.b (c)* ^$ {log}", ["a.b", "(c)*", "^$", "l"]) is True


def test_calls_that_nearly_match_are_refused_at_once():
    begun = time.process_time()
    shell = (
        "sophron report " + " ".join(f"--part {{input.p{index}}}" for index in range(12)) + " --digest {params.digest}"
    )
    assert not fits_shell_line(shell, ["report"] + ["--part", "x"] * 2000 + ["--other", "ab"])
    assert not fits_shell_line("sophron say " + "{a}-" * 3 + "end", ["say", "-" * 200])
    assert time.process_time() - begun < 0.5
