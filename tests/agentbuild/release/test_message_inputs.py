"""Parts of a message as inputs: which is which, and what is refused."""

from dataclasses import replace

import pytest

from sophron.agentbuild.release import message_inputs
from sophron.agentbuild.release.message_inputs import AskedInput, MessageError, Part

TEXT = ("text/plain", "chemical/x-cif")
ASKED = {
    "pattern": AskedInput("text", False, TEXT),
    "phase": AskedInput("text", False, TEXT),
    "plot": AskedInput("image", True, ("image/png",)),
    "conditions": AskedInput("json", True, ("application/json",)),
}
PATTERN, PHASE = Part("", "pattern.xy", "text/plain", b"10 5\n"), Part("phase", "x.cif", "chemical/x-cif", b"data_\n")


def test_parts_are_told_apart_by_role_and_by_file_name():
    given = {one.role: one for one in message_inputs.read([PATTERN, PHASE], ASKED)}
    assert given["pattern"].files == {"pattern.txt": b"10 5\n"}
    assert given["phase"].files == {"phase.cif": b"data_\n"}  # a name of ours, whatever the caller called it


def test_the_only_one_that_is_needed_takes_a_part_without_a_name():
    asked = ASKED | {"phase": replace(ASKED["phase"], optional=True)}
    (given,) = message_inputs.read([Part("", "", "", b"10 5\n")], asked)
    assert given.role == "pattern"


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (Part("", "", "text/plain", b"?"), "does not say which input it is"),
        (Part("plot", "", "", b"\x89PNG"), "what kind of picture"),
        (Part("conditions", "", "", b'{"t": NaN}'), "is no JSON"),
        (Part("conditions", "", "", b"[" * 100_000), "is no JSON"),
        (Part("conditions", "", "", b" " * 1_000_001), "larger than it may be"),
        (Part("plot", "", "image/png", b" " * 16_000_001), "larger than it may be"),
        (Part("p\x1b[2J", "", "", b""), r"no input \"p\\x1b\[2J\""),
    ],
)
def test_what_cannot_be_an_input_is_refused(part, says):
    with pytest.raises(MessageError, match=says):
        message_inputs.read([PATTERN, PHASE, part], ASKED)


def test_a_text_is_utf_8():
    with pytest.raises(MessageError, match="the input pattern is no text in UTF-8"):
        message_inputs.read([Part("pattern", "", "", b"\xff\xfe"), PHASE], ASKED)


def test_a_message_has_an_end():
    with pytest.raises(MessageError, match="has 33 parts"):
        message_inputs.read([PATTERN] * 33, ASKED)
    large = [Part("plot", "", "image/png", b" " * 12_000_000)] * 3
    with pytest.raises(MessageError, match="more than 32 MB"):
        message_inputs.read([PATTERN, PHASE, *large], ASKED)


@pytest.mark.parametrize("name", ["..", ".hidden", "a/b", "a\\b", "x" * 101, "", "a b"])
def test_files_of_a_folder_have_plain_names(name):
    asked = {"sample": AskedInput("folder", False, TEXT)}
    with pytest.raises(MessageError, match="is no file name"):
        message_inputs.read([Part("sample", name, "", b"")], asked)
