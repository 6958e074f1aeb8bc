"""Three hundred malformed specs: each is refused in one sentence with file and line, never with a traceback."""

import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from sophron.campaign.spec import spec
from sophron.records.digests import canonical_bytes
from sophron.records.errors import UserError

SMOKE = (Path(__file__).parent.parent / "data" / "smoke" / "campaign.yaml").read_bytes()
REFUSED = 300
MOST_TRIED = 2000
SEED = 2026
VALUES = [
    *(
        b"-1",
        b"0",
        b"1e400",
        b"1e300",
        b"9" * 30,
        b"1.5",
        b"~",
        b"true",
        b"no",
        b".nan",
        b"-.inf",
        b"[]",
        b"{}",
        b"[[1]]",
    ),
    *(
        b"''",
        b"'\xc3\xa9\xe2\x82\xac'",
        b"&x 1",
        b"*x",
        b"!!int 3",
        b"!x 3",
        b'"\\n"',
        b'"\\e[31m"',
        b'"\\u2028"',
        b"2026-11-21",
    ),
    *(
        b"{a: {b: {c: 1}}}",
        b"x" * 600,
        b"'1'",
        b"|\n  block",
        b"? x",
        b"@x",
        b"`x`",
        b"%x",
        b"__import__('os')",
        b"\xf0\x9f\x98\x80",
    ),
]
CHARACTERS = b":-#{}[],&*!|>'\"%@`?~ \t\n\r\\0x\xc3\xff\x00\x1b=<"


def delete_line(chance: random.Random, lines: list[bytes]) -> None:
    del lines[chance.randrange(len(lines))]


def double_line(chance: random.Random, lines: list[bytes]) -> None:
    at = chance.randrange(len(lines))
    lines.insert(at, lines[at])


def swap_lines(chance: random.Random, lines: list[bytes]) -> None:
    one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]


def indent(chance: random.Random, lines: list[bytes]) -> None:
    at = chance.randrange(len(lines))
    lines[at] = (
        chance.choice([b" ", b"   ", b"\t", b"        "]) + lines[at].lstrip()
        if lines[at][:1] == b" "
        else b"  " + lines[at]
    )


def other_value(chance: random.Random, lines: list[bytes]) -> None:
    """Another value after a random colon, in block or flow style."""
    text = b"\n".join(lines)
    at = chance.choice(list(re.finditer(rb": ([^,{}\[\]\n]+)", text)))
    lines[:] = (text[: at.start(1)] + chance.choice(VALUES) + text[at.end(1) :]).split(b"\n")


def other_key(chance: random.Random, lines: list[bytes]) -> None:
    text = b"\n".join(lines)
    at = chance.choice(list(re.finditer(rb"[a-z_]+(?=:)", text)))
    key = bytearray(at.group())
    key[chance.randrange(len(key))] = chance.choice(b"abcxyz_Q0 \xc3")
    lines[:] = (text[: at.start()] + bytes(key) + text[at.end() :]).split(b"\n")


def replace_bytes(chance: random.Random, lines: list[bytes]) -> None:
    text = bytearray(b"\n".join(lines))
    for _ in range(chance.randint(1, 4)):
        text[chance.randrange(len(text))] = chance.choice([chance.choice(CHARACTERS), chance.randrange(256)])
    lines[:] = bytes(text).split(b"\n")


def cut(chance: random.Random, lines: list[bytes]) -> None:
    text = b"\n".join(lines)
    lines[:] = text[: chance.randrange(len(text))].split(b"\n")


def break_expression(chance: random.Random, lines: list[bytes]) -> None:
    text = b"\n".join(lines)
    at = chance.choice(list(re.finditer(rb'expression: "([^"]*)"', text)))
    old = bytearray(at.group(1))
    spot = chance.randrange(len(old))
    old[spot : spot + 1] = chance.choice(
        [b"(", b"x", b"==", b"()", b".a", b" is ", b"1e999", b"**", b"import ", b"'", b"[0]", b"\xc3\xa9"]
    )
    lines[:] = (text[: at.start(1)] + bytes(old) + text[at.end(1) :]).split(b"\n")


MUTATIONS: list[Callable[[random.Random, list[bytes]], None]] = [
    *(delete_line, double_line, swap_lines, indent, other_value, other_value, other_value, other_key),
    *(replace_bytes, replace_bytes, cut, break_expression),
]


def specs() -> Iterator[tuple[str, bytes]]:
    """Mutated specs, the same ones every time: name of the mutation and text."""
    chance = random.Random(SEED)
    for number in range(MOST_TRIED):
        lines = SMOKE.split(b"\n")
        mutation = MUTATIONS[number % len(MUTATIONS)]
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            mutation(chance, lines)
        yield mutation.__name__, b"\n".join(lines)


def check_sentence(message: str, path: Path) -> None:
    assert re.match(re.escape(f"{path}:") + r"[1-9][0-9]*: ?\S", message), message
    assert message.isprintable(), message
    assert "Traceback" not in message
    assert len(message) - len(str(path)) < 500, message


def refused(path: Path) -> tuple[list[tuple[str, bytes, str]], int]:
    """The first 300 that are refused with their sentences, and how many were still valid."""
    found, valid = [], 0
    for name, text in specs():
        path.write_bytes(text)
        try:
            read = spec.load(path)
        except UserError as error:
            check_sentence(str(error), path)
            found.append((name, text, str(error)))
            if len(found) == REFUSED:
                break
        else:  # what is read can be signed and planned
            canonical_bytes(read.data)
            assert all(read.definition_digest(stage.name) for stage in read.stages)
            valid += 1
    return found, valid


def test_three_hundred_malformed_specs_are_refused_in_one_sentence_each(tmp_path, record_property):
    found, valid = refused(tmp_path / "campaign.yaml")
    assert len(found) == REFUSED
    assert {name for name, _, _ in found} == {mutation.__name__ for mutation in MUTATIONS}
    reasons = {re.sub(r"[0-9]+", "", message.rpartition(": ")[2]) for _, _, message in found}
    assert len(reasons) > 40  # many different faults, not one over and over
    record_property("still_valid", valid)


def test_the_command_line_refuses_them_with_exit_code_2_and_the_same_sentence(tmp_path):
    found, _ = refused(tmp_path / "campaign.yaml")
    by_mutation = {name: (text, message) for name, text, message in found}
    path = tmp_path / "campaign.yaml"
    for text, message in by_mutation.values():
        path.write_bytes(text)
        program = "import sys; from sophron.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", program, "review", str(tmp_path), "--no-probes"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        assert done.stderr == f"sophron review: {message}\n"
