"""Documents: every fault is one sentence with file, line, key and remedy, whatever the document holds."""

import pytest

from sophron.records import documents
from sophron.records.errors import UserError
from sophron.records.strict_yaml import parse

OVERLAY = "- {stage: build, key: threads, value: 2, by: kim, timestamp: '2026-11-21T22:13:37+00:00', reason: faster}\n"
PLACE = """\
$schema: https://json-schema.org/draft/2020-12/schema
$defs:
  place:
    type: object
    additionalProperties: false
    required: [name, height]
    properties:
      name: {type: string, pattern: "^[a-z]+$"}
      height: {type: number, exclusiveMinimum: 0, maximum: 9000}
      people: {type: integer, minimum: 0}
      colour: {enum: [red, green]}
      lists: {type: array, minItems: 1, items: {type: integer}}
      either: {anyOf: [{type: integer}, {type: object, required: [deep], properties: {deep: {type: integer}}}]}
"""


def place(tmp_path, text):
    (tmp_path / "place.schema.yaml").write_text(PLACE)
    path = tmp_path / "place.yaml"
    path.write_text(text)
    documents.validate(documents.load_yaml(path), str(tmp_path / "place"), "place")


def fault(tmp_path, text):
    with pytest.raises(UserError) as caught:
        place(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/place.yaml:"), message
    assert len(message.splitlines()) == 1, message
    assert message.isprintable(), message
    return message.removeprefix(f"{tmp_path}/place.yaml:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nheigth: 2", '2: heigth: unknown key; did you mean "height"?'),
        ("name: a\nheight: 2\nzzzz: 1", "3: zzzz: unknown key; known are name, height, people, colour, lists, either"),
        ("# here\nname: a", '2: the key "height" is missing; add it'),
        ("name: a\nheight: high", '2: height: "high" is not of type number; correct the value'),
        ("name: a\nheight: 0", "2: height: 0 must be above 0; correct the value"),
        ("name: a\nheight: 9001", "2: height: 9001 is above the largest allowed value 9000; correct the value"),
        ("height: 1\nname: A", '2: name: "A" does not have the form ^[a-z]+$; correct the value'),
        ("name: a\nheight: 1\npeople: 1.5", "3: people: 1.5 is not of type integer; correct the value"),
        ("name: a\nheight: 1\npeople: true", "3: people: true is not of type integer; correct the value"),
        ("name: a\nheight: 1\npeople: 1e300", "3: people: 1e+300 is not of type integer; correct the value"),
        ("name: a\nheight: 1\ncolour: blue", '3: colour: "blue" is not one of red, green; correct the value'),
        ("name: a\nheight: 1\nlists: []", "3: lists: has fewer than 1 entries; correct the value"),
        ("name: a\nheight: 1\nlists:\n- 1\n- x", '5: lists[1]: "x" is not of type integer; correct the value'),
        ("name: a\nheight: 1\neither: {deep: x}", '3: either.deep: "x" is not of type integer; correct the value'),
        ("name: x\nheight: no\npeople: no", '2: height: "no" is not of type number; correct the value'),
        ("[1]", "1: [1] is not of type object; correct the value"),
    ],
)
def test_a_fault_names_its_line_its_key_and_the_remedy(tmp_path, text, message):
    assert fault(tmp_path, text).removeprefix(" ") == message


@pytest.mark.parametrize(
    "text",
    [
        'name: "a\\n"\nheight: 1',
        'name: a\nheight: 1\n"two\\nlines": 1',
        'name: a\nheight: 1\n"\\e[31mred": 1',
        'name: a\nheight: "\\e[2J"',
        'name: a\nheight: 1\n"x\\u202ey": 1',
        'name: a\nheight: 1\n"\\u2028": 1',
        "name: a\nheight: 1\nlists: [" + "x" * 3000 + "]",
        'name: a\nheight: 1\n"two\\nlines": 1\n"two\\nlines": 1',
        "name: a\nheight: 1\n" + "k" * 3000 + ": 1",
    ],
)
def test_no_text_of_a_stranger_breaks_the_line_or_paints_the_terminal(tmp_path, text):
    assert len(fault(tmp_path, text)) < 400


def test_a_valid_document_passes_and_whole_numbers_are_integers_however_written(tmp_path):
    place(tmp_path, "name: a\nheight: 1e3\npeople: 2.0\ncolour: red\nlists: [1e3]\neither: {deep: 1}\n")


def test_the_overlays_of_a_campaign_are_such_a_document(tmp_path):
    path = tmp_path / "mechanical.yaml"
    path.write_text(OVERLAY)
    documents.validate(documents.load_yaml(path), "mechanical")
    path.write_text(OVERLAY + OVERLAY.replace("threads", "seed"))
    with pytest.raises(UserError, match=r'mechanical.yaml:2: \[1\].key: "seed" is not one of ranks, threads'):
        documents.validate(documents.load_yaml(path), "mechanical")


def test_a_part_is_checked_at_its_place(tmp_path):
    (tmp_path / "place.schema.yaml").write_text(PLACE)
    data, lines = parse(b"land:\n  - name: a\n    height: 1\n  - name: b\n    height: x\n", "f")
    document = documents.Document(data, tmp_path / "land.yaml", lines)
    documents.validate(document, str(tmp_path / "place"), "place", ["land", 0])
    with pytest.raises(UserError, match=r"land.yaml:5: land\[1\].height"):
        documents.validate(document, str(tmp_path / "place"), "place", ["land", 1])


@pytest.mark.parametrize("text", ["", "{", '{"a": NaN}', '{"a": Infinity}', "[" * 100_000, '{"a": 1} x'])
def test_what_is_no_json_is_one_sentence(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        documents.load_json(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    (tmp_path / "big.yaml").write_bytes(b"a" * (documents.MAX_BYTES + 1))
    for path, words in [
        (tmp_path / "none.yaml", "no such file"),
        (tmp_path, "is a folder"),
        (tmp_path / "big.yaml", "larger than 4 MB"),
    ]:
        with pytest.raises(UserError, match=words) as caught:
            documents.load_yaml(path)
        assert str(path) in str(caught.value)
