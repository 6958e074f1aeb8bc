"""Bind the sentences of an expectation to programs, by a grammar and never by a model.

A sentence is a row of clauses; each must be of a known form. One clause that is not makes the whole sentence
UNVERIFIED: a part that passes must not stand for the rest.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sophron.records.typed_json import left_out

CheckName = Literal[
    "exists", "absent", "size", "files", "image", "pixels", "json", "keys", "value", "range", "columns", "rows",
    "lines", "shape", "contains", "equals", "same", "prints", "succeeds", "passes", "ran", "unchanged",
]  # fmt: skip


@dataclass(frozen=True)
class Check:
    """What one program checks.

    file: relative to the work folder, with `*` for all that match; names: keys, columns or arrays, files that may
    change, or the file that is the `same`; key: of a value in `file`. least, most: bounds, which `open_least` and
    `open_most` leave out; shape: of an array, or width and height of an image; text: to be contained or printed, or
    JSON of a value; command: a line for a shell.
    """

    check: CheckName
    file: str = left_out("")
    names: tuple[str, ...] = left_out(())
    key: str = left_out("")
    least: float | None = left_out(None)
    most: float | None = left_out(None)
    open_least: bool = left_out(default=False)
    open_most: bool = left_out(default=False)
    shape: tuple[int, ...] = left_out(())
    text: str = left_out("")
    command: str = left_out("")


@dataclass(frozen=True)
class Expectation:
    """A sentence of an expectation. line: in its file; checks: none if it is UNVERIFIED; why: the clause at fault."""

    text: str
    line: int
    checks: tuple[Check, ...]
    why: str = ""


@dataclass(frozen=True)
class _Subject:
    """What a clause is about. files: those that it names, or else the clause before; before: all of the sentence.

    named: whether the clause names its files.
    """

    files: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    named: bool = False

    def next(self, files: tuple[str, ...]) -> _Subject:
        return _Subject(files, (*self.before, *files), named=True) if files else replace(self, named=False)

    def of(self, *endings: str) -> tuple[str, ...]:
        """The files of the clause; if it names none, rather the last of the sentence that has such an ending."""
        if self.named or any(file.endswith(endings) for file in self.files):
            return self.files
        fitting = [file for file in self.before if file.endswith(endings)]
        return (fitting[-1],) if fitting else self.files


_Make = Callable[[re.Match[str], _Subject], Iterator[Check]]
BYTES = {"b": 1, "byte": 1, "bytes": 1, "kb": 1024, "kib": 1024, "mb": 1024**2, "mib": 1024**2, "gb": 1024**3}
"""Units of sizes, always the larger meaning: more than 1 KB is more than 1024 bytes."""
_JSON, _TABLES, _IMAGES = (".json",), (".csv", ".tsv"), (".png", ".jpg", ".jpeg")
_ENDINGS = (
    "json|jsonl|csv|tsv|txt|md|log|out|err|dat|png|jpe?g|pdf|svg|gif|py|sh|r|gp|npy|npz|h5|hdf5|root|pkl|pt|yaml|yml|"
    "toml|xml|html|tex|v|sv|c|cc|cpp|h|hh|mk|ipynb|parquet|xyz|pdb|cif|lammps|data|in|cfg|ini|gz|zip|tar"
)
"""Endings by which a name without backticks is a file wherever it stands."""

TEST_PROGRAM = re.compile(r"`(tests/[\w][\w./-]*\.py)`")
"""A test program of the task, as a sentence names it."""

_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)(?:\.\d+)?(?:[eE][-+]?\d+)?"
_COUNT = rf"(?:{_NUMBER}[kM]?|no|one|two|three|four|five|six)"
_WORDS = {"no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_BARE = r"[\w][\w./-]*\.[A-Za-z]\w*|[\w][\w.-]*/(?:[\w.-]+/)*|(?:Makefile|Dockerfile|LICENSE|README)\b"
_TICKED = r"(?!\.\./)\.?[\w][\w./ *-]*"
_KIND_OF_FILE = r"(?:the |an? )?(?:(?:file|image|plot|figure|table|folder|directory|script|report) )?"
_FILE = rf"{_KIND_OF_FILE}(?:`{_TICKED}`|{_BARE})"
_ONE_FILE = re.compile(rf"`({_TICKED})`|({_BARE})")
_JOINT = r"(?:, ?and |, ?| and | ?\+ )"
_FILES = rf"(?P<files>{_FILE}(?:{_JOINT}{_FILE})*)"
_OF_FILES = rf"(?:(?:{_FILES}|it|they) )?(?:both |each |all )?"
_HAS = r"(?:(?:has|have|having|with|contains?|containing|holds?|reports?) )?"
_NAME = rf"(?:`[^`]+`|\"[^\"]+\"|(?![\w./-]+\.(?:{_ENDINGS})\b)(?:[\w][\w.-]*[\w]|\w))"
_SHAPE = r"\( ?\d+(?:, ?\d+)* ?,? ?\)"
_SHAPED = rf"{_NAME}(?: {_SHAPE})?"
_NAMES = rf"(?P<names>{_SHAPED}(?:(?:,? and |, ?){_SHAPED})*)"
_COMMAND = r"(?:running |the command |command )?`(?P<command>[^`]+)`"
_TEST = r"`tests/(?P<test>[\w][\w./-]*\.py)`"
_PLAIN_TEXT = r"(?!(?:JSON|CSV|TSV|YAML|XML|HTML|PNG|HDF5)\b)(?-i:[A-Z]{2,}\b(?:: ?\w+)?)|[-+]?\d+(?:\.\d+)?"
_TEXT = rf"(?:\"[^\"]+\"|`[^`]+`|{_PLAIN_TEXT})"
_TEXTS = rf"(?P<texts>{_TEXT}(?:(?:,? and |, ?){_TEXT})*)"
_OF_TEXT = r"(?:(?:the )?(?:texts?|words?|lines?|strings?|phrases?) )?"
_KEY = r"(?:the )?(?:value of )?(?P<key>`[^`]+`|[A-Za-z_][\w.]*(?:/\w+)?)"
_WHERE = rf"(?: (?:in|of|from) (?P<place>{_FILE}))?"
_END = r"(?=\s*(?:[;,.](?:\s|$)|\)|\band\b|$))"
_END_OF_FILE = r"(?=\s*(?:[;,.](?:\s|$)|[()]|\+ |\b(?:and|with|which|that|containing|having)\b|$))"
_SEPARATOR = re.compile(
    r"\s*(?:(?:each|in size)\b\s*)?(?:[;,.()+]\s*)*(?:\b(?:and|which|that|also|then)\b)?\s*(?:\()?\s*"
)
_BE = r"(?:is |are |was |were )?"
_CHANGED = r"(?:changed|modified|edited|touched)"
_SIGNS = {"∈": " in ", "≥": ">=", "≤": "<=", "≈": " about ", "\u2013": "-", "\u2212": "-", "\u00d7": "x", "\u00a0": " "}
_MODAL = (
    (re.compile(r"\b(?:must|should|shall|has to|have to) be\b"), "is"),
    (re.compile(r"\b(?:must|should|shall) not be\b"), "is not"),
    (re.compile(r"\b(?:must|should|shall) not exist\b"), "does not exist"),
    (re.compile(r"\b(?:must|should|shall|has to|have to) (?!not)"), ""),
    (re.compile(r" ?\(if (?:needed|necessary)\)"), ""),
)
_QUOTED = re.compile(r"(`[^`]*`|\"[^\"]*\")")

_OPEN_LEAST = (
    ">",
    "above",
    "is above",
    "greater than",
    "is greater than",
    "more than",
    "larger than",
    "exceeds",
    "over",
)
_LEAST = (">=", "at least", "is at least", "not less than", "no less than")
_OPEN_MOST = ("<", "below", "is below", "less than", "is less than", "smaller than", "under", "fewer than")
_MOST = ("<=", "at most", "is at most", "not more than", "no more than", "up to")
_EQUAL = ("==", "=", "equals", "is equal to", "is exactly", "exactly", "is")
_COMPARED = "|".join(
    re.escape(word) for word in sorted((*_OPEN_LEAST, *_LEAST, *_OPEN_MOST, *_MOST, *_EQUAL), key=len, reverse=True)
)


def bind(text: str, line: int, files: tuple[str, ...] = ()) -> Expectation:
    """Return a sentence with the checks that it comes to; none if a clause of it is of no known form.

    files: those that the sentence is about if it names none, as of a list item above it.
    """
    plain = _normal(text)
    checks: list[Check] = []
    subject, place = _Subject().next(files), 0
    while place < len(plain):
        found = _longest(plain, place)
        if found is None:
            return Expectation(text, line, (), _clause(plain, place))
        match, make = found
        about = match.groupdict()
        subject = subject.next(_files(about.get("place") or about.get("files") or ""))
        made = list(make(match, subject))
        if any(one.file == "" and one.check in _ABOUT_FILES for one in made) or (not made and make is not _subject):
            return Expectation(text, line, (), f"{_clause(plain, place)}: of which file?")
        checks += made
        after = _SEPARATOR.match(plain, match.end())
        place = after.end() if after else match.end()
    return Expectation(text, line, tuple(checks), "" if checks else plain[:80])


def _clause(text: str, place: int) -> str:
    """The clause that begins at `place`, cut to 80 characters."""
    begin = re.compile(r"(?:(?:with|which|that|each)\b|[ (])*").match(text, place)
    return re.split(r"[;.](?=\s|$)", text[begin.end() if begin else place :])[0][:80].rstrip() or text[place:][:80]


def heading_files(text: str) -> tuple[str, ...]:
    """Return the files that a list item names for the items below it, `fit.json:`; none if it says anything else."""
    match = re.fullmatch(rf"{_FILES}(?: (?:exists?|has|have|contains?))?(?: with)?:", _normal(text), re.IGNORECASE)
    return _files(match["files"]) if match else ()


def _normal(text: str) -> str:
    """A sentence with one spelling of signs and modal verbs; what stands in quotes stays as it is."""
    straight = text.replace("“", '"').replace("”", '"').replace("\u00a0", " ")
    parts = _QUOTED.split(straight)
    for number in range(0, len(parts), 2):
        for sign, instead in _SIGNS.items():
            parts[number] = parts[number].replace(sign, instead)
        for verb, instead in _MODAL:
            parts[number] = verb.sub(instead, parts[number])
        parts[number] = re.sub(r"\s+", " ", parts[number])
    return "".join(parts).strip()


def _longest(text: str, place: int) -> tuple[re.Match[str], _Make] | None:
    """The form that matches most of the text from `place` on."""
    found = [(match, make) for form, make in _FORMS if (match := form.match(text, place)) and match.end() > place]
    return max(found, key=lambda pair: pair[0].end(), default=None)


def _files(text: str) -> tuple[str, ...]:
    return tuple((one[1] or one[2]).strip().removeprefix("./") for one in _ONE_FILE.finditer(text))


def _number(text: str) -> float:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    scale = {"k": 1e3, "M": 1e6}.get(text[-1], 1.0)
    return float(text.rstrip("kM").replace("_", "").replace(",", "")) * scale


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in ('"', "`") else text


def _texts(match: re.Match[str]) -> list[str]:
    return [_unquoted(one) for one in re.findall(_TEXT, match["texts"], re.IGNORECASE)]


def _shaped_names(names: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each name of a list, and the shape that may stand behind it."""
    listed = re.sub(r"(?<![`\"\w]),? and (?![`\"\w]*[`\"]$)|,? and ", ", ", names)
    for name, shape in re.findall(rf"({_NAME})(?: ({_SHAPE}))?", listed):
        yield _unquoted(name), tuple(int(one) for one in re.findall(r"\d+", shape))


def _exists(_: re.Match[str], subject: _Subject) -> Iterator[Check]:
    yield from (Check("exists", file) for file in subject.files)


def _absent(_: re.Match[str], subject: _Subject) -> Iterator[Check]:
    yield from (Check("absent", file) for file in subject.files)


def _named(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    named = list(_shaped_names(match["names"]))
    what = match["what"].lower()
    if what.startswith("column"):
        yield from (Check("columns", file, names=tuple(name for name, _ in named)) for file in subject.of(*_TABLES))
        return
    for file in subject.of(*_JSON, ".h5", ".hdf5", ".npz", ".npy"):
        yield Check("keys", file, names=tuple(name for name, _ in named))
        yield from (Check("shape", file, key=name, shape=shape) for name, shape in named if shape)


def _valid(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    kind = match["kind"].lower()
    for file in subject.of(*(_JSON if kind == "json" else _TABLES if kind in ("csv", "table") else _IMAGES)):
        if kind == "json":
            yield Check("json", file)
        elif kind in ("csv", "table"):
            yield Check("rows", file, least=1)
        else:
            yield Check("image", file, text="" if kind in ("image", "plot", "picture") else kind.replace("jpg", "jpeg"))


def _not_blank(_: re.Match[str], subject: _Subject) -> Iterator[Check]:
    yield from (Check("image", file) for file in subject.of(*_IMAGES))


def _not_empty(_: re.Match[str], subject: _Subject) -> Iterator[Check]:
    yield from (Check("size", file, least=0, open_least=True) for file in subject.files)


def _size(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    number = _number(match["number"]) * BYTES[match["unit"].lower()]
    yield from (_bounded(Check("size", file), match["compared"], number) for file in subject.files)


def _pixels(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    shape = (int(match["width"]), int(match["height"]))
    exact = (match["compared"] or "exactly").lower() in _EQUAL
    yield from (Check("pixels", file, shape=shape, text="exactly" if exact else "") for file in subject.of(*_IMAGES))


def _key(match: re.Match[str]) -> str:
    return match["key"].strip("`")


def _range(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    about = match.groupdict()
    for file in subject.of(*_JSON):
        yield Check(
            "range",
            file,
            key=_key(match),
            least=_number(match["low"]),
            most=_number(match["high"]),
            open_least=about.get("left") == "(",
            open_most=about.get("right") == ")",
        )


def _about(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    """A value with its tolerance; the bounds are the decimal numbers that a person would write."""
    middle, away = _number(match["middle"]), abs(_number(match["away"]))
    least, most = (float(f"{value:.12g}") for value in (middle - away, middle + away))
    yield from (Check("range", file, key=_key(match), least=least, most=most) for file in subject.of(*_JSON))


def _compare(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    number = _number(match["number"])
    yield from (
        _bounded(Check("range", file, key=_key(match)), match["compared"], number) for file in subject.of(*_JSON)
    )


def _value(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    word = match["value"]
    text = word.lower() if word.lower() in ("true", "false", "null") else f'"{_unquoted(word)}"'
    yield from (Check("value", file, key=_key(match), text=text) for file in subject.of(*_JSON))


def _bounded(check: Check, compared: str, number: float) -> Check:
    """A check with the bounds that a comparison sets."""
    word = compared.lower()
    if word in (*_OPEN_LEAST, *_LEAST):
        return replace(check, least=number, open_least=word in _OPEN_LEAST)
    if word in (*_OPEN_MOST, *_MOST):
        return replace(check, most=number, open_most=word in _OPEN_MOST)
    return replace(check, least=number, most=number)


def _counted(check: CheckName, *endings: str) -> _Make:
    def made(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
        kind = match.groupdict().get("kind")
        for file in subject.of(*endings):
            name = f"{file.rstrip('/')}/{f'*.{kind.lower()}' if kind else '*'}" if check == "files" else file
            yield _bounded(Check(check, name), match["compared"] or "exactly", _number(match["number"]))

    return made


def _array(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    shape = tuple(int(one) for one in re.findall(r"\d+", match["shape"]))
    key = match.groupdict().get("key") or ""
    yield from (Check("shape", file, key=key.strip("`"), shape=shape) for file in subject.files)


def _contains(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    yield from (Check("contains", file, text=text) for file in subject.files for text in _texts(match))


def _equals(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    yield from (Check("equals", file, text=_unquoted(match["content"])) for file in subject.files)


def _same(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    yield from (Check("same", file, names=_files(match["other"])) for file in subject.files)


def _prints(match: re.Match[str], _: _Subject) -> Iterator[Check]:
    yield from (Check("prints", command=match["command"], text=text) for text in _texts(match))


def _succeeds(match: re.Match[str], _: _Subject) -> Iterator[Check]:
    yield Check("succeeds", command=match["command"])


def _tested(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    """A test program of the task, which gets the name of each file that the sentence is about."""
    yield from (_test(match["test"], file) for file in subject.files)


def _work_tested(match: re.Match[str], _: _Subject) -> Iterator[Check]:
    yield _test(match["test"])


def _test(name: str, *files: str) -> Check:
    """A program below /tests; one of pytest by its name, since it would do nothing as a script."""
    program = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"] if _is_pytest(name) else []
    return Check("succeeds", command=f"{shlex.join(['python3', *program, f'/tests/{name}', *files])} 2>&1")


def _is_pytest(name: str) -> bool:
    return name.rpartition("/")[2].startswith("test_")


def _passes(_: re.Match[str], subject: _Subject) -> Iterator[Check]:
    for file in subject.files:
        own = file.startswith("tests/") and file.endswith(".py")
        yield _test(file.removeprefix("tests/")) if own else Check("passes", file)


def _ran(match: re.Match[str], _: _Subject) -> Iterator[Check]:
    yield Check("ran", command=match["command"])


def _only(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    yield Check("unchanged", _folder(match), names=subject.files)


def _no_other(match: re.Match[str], subject: _Subject) -> Iterator[Check]:
    if subject.before:
        yield Check("unchanged", _folder(match), names=subject.before)


def _folder(match: re.Match[str]) -> str:
    return (match.groupdict().get("under") or "").strip("`").removeprefix("./")


def _subject(_: re.Match[str], __: _Subject) -> Iterator[Check]:
    yield from ()


def _untouched(_: re.Match[str], subject: _Subject) -> Iterator[Check]:
    yield from (Check("unchanged", file) for file in subject.files)


_ABOUT_FILES = frozenset(
    {"exists", "absent", "size", "files", "image", "pixels", "json", "keys", "value", "range", "columns", "rows"}
    | {"lines", "shape", "contains", "equals", "same", "passes"}
)


def _form(pattern: str, make: _Make, end: str = _END) -> tuple[re.Pattern[str], _Make]:
    return re.compile(pattern + end, re.IGNORECASE), make


_UNDER = r"(?: (?:under|below|in) (?P<under>`[^`]+`|[\w./-]+))?"
_RANGED = rf"(?:{_FILES} (?:has|have|with|reports) )?{_KEY}"
_ENDED = r"(?:exits? |ends? |returns? )(?:with )?(?:(?:an? )?(?:exit )?(?:code|status) )?(?:of )?(?:0|zero)"
_FORMS: Sequence[tuple[re.Pattern[str], _Make]] = (
    (re.compile(rf"{_FILES}:(?=\s)", re.IGNORECASE), _subject),
    _form(
        rf"{_OF_FILES}(?:exists?|(?:is|are|was|were) (?:there|present|created|written|saved|produced|generated))",
        _exists,
        _END_OF_FILE,
    ),
    _form(rf"(?P<files>(?:`{_TICKED}`|[\w][\w./-]*\.(?:{_ENDINGS})\b)(?:{_JOINT}{_FILE})*)", _exists, _END_OF_FILE),
    _form(rf"{_OF_FILES}(?:does not exist|do not exist|(?:is|are) (?:absent|not there|not present))", _absent),
    _form(rf"no {_FILES} (?:exists?|(?:is|are) (?:there|left|present))", _absent),
    _form(rf"{_OF_FILES}{_BE}(?:not empty|non-?empty)", _not_empty, _END_OF_FILE),
    _form(
        rf"{_OF_FILES}{_HAS}(?:the |an? )?(?P<what>keys?|fields?|columns?|datasets?|arrays?):? {_NAMES}",
        _named,
    ),
    _form(
        rf"{_OF_FILES}{_BE}(?:an? )?(?:valid|readable) (?P<kind>PNG|JPE?G|JSON|CSV|image|picture|plot|table)"
        r"(?: image| file| document)?s?",
        _valid,
        _END_OF_FILE,
    ),
    _form(rf"{_OF_FILES}{_BE}(?:not blank|non-?blank)", _not_blank, _END_OF_FILE),
    _form(
        rf"{_OF_FILES}{_BE}{_HAS}(?P<compared>{_COMPARED}) ?(?P<number>{_NUMBER}) ?(?P<unit>{'|'.join(BYTES)})"
        r"(?: in size| large| each)?",
        _size,
        _END_OF_FILE,
    ),
    _form(
        rf"{_OF_FILES}{_BE}{_HAS}(?:(?P<compared>{_COMPARED}) )?(?P<width>\d+) ?x ?(?P<height>\d+)(?: ?(?:pixels|px))?",
        _pixels,
    ),
    _form(
        rf"{_RANGED} (?:is )?(?:in|within) (?:the (?:range|interval) )?(?P<left>[\[(]) ?(?P<low>{_NUMBER}), ?"
        rf"(?P<high>{_NUMBER}) ?(?P<right>[\])]){_WHERE}",
        _range,
    ),
    _form(rf"{_RANGED} (?:is )?between (?P<low>{_NUMBER}) and (?P<high>{_NUMBER}){_WHERE}", _range),
    _form(rf"{_RANGED} ?(?:==?|is|equals) (?P<middle>{_NUMBER}) ?(?:±|\+/-|\+-) ?(?P<away>{_NUMBER}){_WHERE}", _about),
    _form(rf"{_RANGED} (?:is )?within (?:±)?(?P<away>{_NUMBER}) of (?P<middle>{_NUMBER}){_WHERE}", _about),
    _form(rf"{_RANGED} ?(?P<compared>{_COMPARED}) ?(?P<number>{_NUMBER}){_WHERE}", _compare),
    _form(
        rf"{_RANGED} ?(?:==?|is|equals|is equal to|equal to|set to) (?P<value>\"[^\"]+\"|true|false|null){_WHERE}",
        _value,
    ),
    _form(
        rf"{_OF_FILES}{_HAS}(?:(?P<compared>{_COMPARED}) ?)?(?P<number>{_COUNT}) (?:data )?"
        r"(?:rows?|lines of data|entries|records)",
        _counted("rows", *_TABLES),
    ),
    _form(rf"{_OF_FILES}{_HAS}(?:(?P<compared>{_COMPARED}) ?)?(?P<number>{_COUNT}) lines?", _counted("lines")),
    _form(
        rf"{_OF_FILES}{_HAS}(?:(?P<compared>{_COMPARED}) ?)?(?P<number>{_COUNT}) (?:\.?(?P<kind>{_ENDINGS}) )?files?",
        _counted("files"),
    ),
    _form(rf"{_OF_FILES}{_HAS}(?:an? array of |the |an array with )?shape (?P<shape>{_SHAPE})", _array),
    _form(rf"(?P<key>`[^`]+`|\w+) has (?:the )?shape (?P<shape>{_SHAPE}){_WHERE}", _array),
    _form(rf"{_OF_FILES}(?:contains?|containing|includes?|mentions?|ha(?:s|ve)) {_OF_TEXT}{_TEXTS}", _contains),
    _form(
        rf"{_OF_FILES}{_BE}{_HAS}(?:exactly|only|(?:the )?(?:contents?|text)) {_OF_TEXT}"
        r"(?P<content>\"[^\"]+\"|`[^`]+`)",
        _equals,
    ),
    _form(rf"{_OF_FILES}{_BE}(?:identical to|the same as|equal to) (?P<other>{_FILE})", _same),
    _form(rf"{_COMMAND} (?:prints?|outputs?|shows?) {_OF_TEXT}{_TEXTS}", _prints),
    _form(rf"(?:the )?output of {_COMMAND} (?:contains?|includes?|is) {_OF_TEXT}{_TEXTS}", _prints),
    _form(rf"{_COMMAND} (?:succeeds?|pass(?:es)?|works|runs without errors?|runs successfully|{_ENDED})", _succeeds),
    _form(rf"(?:the )?(?:tests? |test file |tests in |test script )?{_FILES} pass(?:es)?", _passes),
    _form(rf"{_COMMAND} (?:(?:was|is|has been) (?:run|used|executed|called)|ran)", _ran),
    _form(rf"only {_FILES} (?:is |are |was |were |has been |have been )?{_CHANGED}{_UNDER}", _only),
    _form(
        rf"(?:no|none of the) (?:file|other file)s? (?:other than|except|but) {_FILES} {_BE}{_CHANGED}{_UNDER}", _only
    ),
    _form(
        rf"(?:nothing else|no other (?:(?P<under>`[^`]+`|[\w.-]+/[\w./-]*) )?files?) {_BE}{_CHANGED}",
        _no_other,
    ),
    _form(
        rf"{_OF_FILES}(?:(?:is|are|was|were|has|have) )?(?:unchanged|untouched|unmodified|not (?:been )?{_CHANGED})",
        _untouched,
    ),
    _form(rf"{_FILES} pass(?:es)? (?:the test )?{_TEST}", _tested),
    _form(rf"(?:it|the work) passes (?:the test )?{_TEST}", _work_tested),
)
"""A form of a clause, and what makes its checks. The longest match counts."""

_PROPOSALS: Mapping[str, str] = {
    r"of which file": "KEY in [LOW, HIGH] in FILE.json",
    r"%": "KEY > 0.9 in FILE.json (a fraction, not per cent)",
    r"\.\./|(?:^|\s)/\w": "FILE exists (a path below the work folder)",
    r"\b(?:block of code)\b": "`COMMAND` succeeds",
    r"\bprint|\boutput|\bshows?\b": '`COMMAND` prints "TEXT"',
    r"\bno longer|\bimplement|\bcorrect|\breproduc|\bverif|\btests?\b": "`COMMAND` succeeds",
    r"\b(?:ran|run|used|executed|via|submitted)\b": "`COMMAND` was run",
    r"\bmodif|\bchang|\bedit|\btouch": "Only `FILE` is modified",
    r"\bcolumns?\b|\brows?\b|\btable\b": "FILE.csv has columns A, B and at least 10 rows",
    r"\bcontain|\bmention|\bsummar|\breport|\bsays?\b|\binclud|\bexplain": 'FILE contains "TEXT"',
    r"\bplot|\bfigure|\bimage|\bpng\b|\blooks?\b|\bdistribution\b": "FILE.png is a valid PNG and is larger than 5 KB",
    r"\bkeys?\b|\bfields?\b|\bwith (?:the )?\w+$": "FILE.json exists with keys A, B",
    r"\d|\baccura|\bconverge|\bwithin\b|\bclose\b|\bagree": "KEY in [LOW, HIGH] in FILE.json",
}
"""What a clause speaks of -> a form that would bind."""


def proposal(why: str) -> str:
    """Return a form that would bind a clause of no known form, with the file that it names if that is of its kind."""
    form = next((form for word, form in _PROPOSALS.items() if re.search(word, why, re.IGNORECASE)), "FILE exists")
    place = re.search(r"FILE(\.\w+)?", form)
    files = [] if place is None or ".." in why else [name for name in _files(why) if name.endswith(place[1] or "")]
    return form.replace(place[0], files[0]) if place and files else form
