"""Strict YAML: JSON data only, no surprises of YAML 1.1, every fault one sentence with file and line."""

import math
import random

import pytest
import yaml

from sophron.records.digests import canonical_bytes
from sophron.records.errors import UserError
from sophron.records.strict_yaml import MAX_DEPTH, parse


def read(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return parse(raw, "spec.yaml")[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e6", 1_000_000),
        ("1e-6", 1e-6),
        ("2.0", 2),
        ("-0.0", 0),
        ("1.", 1),
        (".5", 0.5),
        ("+3", 3),
        ("007", 7),
        ("1e300", 1e300),
        ("no", "no"),
        ("off", "off"),
        ("Yes", "Yes"),
        ("True", "True"),
        ("NULL", "NULL"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("'1e6'", "1e6"),
        ('"true"', "true"),
        ("2026-11-21", "2026-11-21"),
        ("2026-11-21T22:13:37Z", "2026-11-21T22:13:37Z"),
        ("12:30:45", "12:30:45"),
        ("0x10", "0x10"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("1e", "1e"),
        ("=", "="),
        ("9007199254740991", 2**53 - 1),
    ],
)
def test_a_plain_scalar_is_what_json_would_call_it(text, value):
    found = read(f"a: {text}")["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3", 3, '"a" stands here twice'),
        ('a: 1\n"a": 3', 2, "stands here twice"),
        ("a:\n  x: 1\n  x: 1", 3, "stands here twice"),
        ("a: 1\nb: &x [1]", 2, "anchors and aliases"),
        ("b: &x 1\na: *x", 1, "anchors and aliases"),
        ("a: 1\nb: !!python/object:os.system x", 2, "tag"),
        ("a: !!str 1", 1, "tag"),
        ("a: !own 1", 1, "tag"),
        ("x: 1\n<<: {a: 1}", 2, "plain text"),
        ("? [a, b]\n: 1", 1, "plain text"),
        ("a: 1\nb: .nan", 2, "not a number that can be compared"),
        ("a: -.INF", 1, "not a number that can be compared"),
        ("a: 9007199254740992", 1, "2**53"),
        ("a: " + "9" * 400, 1, "too large"),
        ("a: 1e999", 1, "too large"),
        ("a:\n\t- 1", 2, "not valid YAML"),
        ("a: 1\n b: 2", 2, "not valid YAML"),
        ("a: [1, 2", 2, "not valid YAML"),
        ("a: 'x", 1, "not valid YAML"),
        ("a: 1\n---\nb: 2", 2, "not valid YAML"),
        ("a: 1\nb: \x07", 2, "which is no text"),
        (b"a: 1\nb: \xff\xfe", 2, "not UTF-8"),
        ("a: " + "[" * (MAX_DEPTH + 5), 1, "nested too deeply"),
        ("a:" + " {a:" * 100_000, 1, "nested too deeply"),
        ("", 1, "empty"),
        ("# only a comment\n", 1, "empty"),
        ("\x00" * 100, 1, "no text"),
        ("%YAML 9.1\n---\na: 1", 1, ""),
    ],
)
def test_what_is_not_strict_is_refused_with_its_line(text, line, words):
    with pytest.raises(UserError) as caught:
        read(text)
    message = str(caught.value)
    assert message.startswith(f"spec.yaml:{line}:"), message
    assert words in message
    assert "\n" not in message


def test_a_bomb_of_aliases_is_never_built():
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 200)]
    with pytest.raises(UserError, match="anchors"):
        read("\n".join(lines))


def test_line_ends_and_a_byte_order_mark_change_nothing():
    text = "a: 1\nb:\n  - x\n  - {c: |\n      two\n      lines\n    }\n".replace(
        "{c: |\n      two\n      lines\n    }", "c"
    )
    plain, lines = parse(text.encode(), "f")
    assert parse(text.replace("\n", "\r\n").encode(), "f") == (plain, lines)
    assert parse(b"\xef\xbb\xbf" + text.encode(), "f") == (plain, lines)


def test_every_key_has_its_line():
    _, lines = parse(b"# first\na:\n  b: [1,\n    2]\nc: {d: 1}\n", "f")
    assert lines == {(): 2, ("a",): 2, ("a", "b"): 3, ("a", "b", 0): 3, ("a", "b", 1): 4, ("c",): 5, ("c", "d"): 5}


def plain(value):
    """Whether `value` is JSON with finite, exact numbers and text keys."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(plain(item) for item in value)
    return value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def test_random_bytes_are_plain_data_or_one_sentence():
    chance = random.Random(7)
    pieces = [b"a", b":", b" ", b"\n", b"- ", b"{", b"}", b"[", b"]", b"'", b'"', b"&a", b"*a", b"!", b"|", b">", b"#", b"%",
              b"?", b"1e9", b"~", b"\t", b"\xc3\xa9", b"\xff", b"\x00", b"\r", b"\xe2\x80\xa8", b"\\", b"---", b"...", b","]  # fmt: skip
    messages, read_well = [], 0
    for _ in range(2000):
        raw = b"".join(chance.choices(pieces, k=chance.randint(1, 14)))
        try:
            data, _ = parse(raw, "f")
        except UserError as error:
            messages.append(str(error))
        else:
            assert plain(data), raw
            canonical_bytes(data)
            read_well += 1
    assert read_well > 100
    assert len(messages) > 100
    for message in messages:
        assert message.startswith("f:")
        assert len(message.splitlines()) == 1


def test_the_pure_python_reader_says_the_same(monkeypatch):
    text = b"a: 1e6\nb: [no, 2.0, '3', {c: ~}]\nd: |\n  1\n"
    with_libyaml = parse(text, "f")
    monkeypatch.setattr("sophron.records.strict_yaml.LOADER", yaml.SafeLoader)
    assert parse(text, "f") == with_libyaml
    with pytest.raises(UserError, match=r"f:2: .*nested too deeply"):
        parse(b"a:\n  " + b"[" * 80, "f")
