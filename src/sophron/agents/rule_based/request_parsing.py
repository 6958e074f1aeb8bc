"""Read what a person requests, and find what of it a draft leaves out. Numbers are read, never guessed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sophron.agents.rule_based.example_specs import METHODS, Example
from sophron.agents.rule_based.input_checks import quoted, strings

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# Greek letters are what people write.
UNIT = (
    r"kelvin|K|°C|g\s*/\s*cm\^?3|g\s*cm\^?-3|kg\s*/\s*m\^?3|angstroms?|Å|nm|GPa|MPa|bar|atm|ps|fs|"
    r"sigma\^?-?3?|σ|epsilon|ε|tau|LJ|beads?|monomers?|%"  # noqa: RUF001
)
REDUCED = re.compile(r"sigma\S*|σ|epsilon|ε|tau|LJ|beads?|monomers?", re.IGNORECASE)  # noqa: RUF001
# The unit that a condition's name ends in; a name without such an ending is in the units of the example.
ENDINGS = {"_k": "K", "_a": "Å", "_nm": "nm", "_ps": "ps", "_gpa": "GPa", "_bar": "bar"}
METAL = {"temperature": "K", "lattice_constant": "Å", "cutoff": "Å", "length": "Å", "pressure": "bar"}
ALIKE = {"kelvin": "K", "angstrom": "Å", "angstroms": "Å"}
# Other words for a condition. Single letters count only as they are written here.
WORDS = {
    "density": r"(?i:number density|density)|(?:rho|ρ)\*?",  # noqa: RUF001
    "temperature": r"(?i:temperature)|T\*?",
    "chain_length": r"(?i:chain length|length of (?:the )?chains)|N",
    "cutoff": r"(?i:cut-?\s?off(?: radius| distance)?)|r_?c(?:ut)?",
}
# Phrases that state a condition without naming it: pattern, the value if none stands in the phrase, the unit.
PHRASES: dict[str, Sequence[tuple[str, float | None, str]]] = {
    "chain_length": (
        (rf"\bchains? of (?:length )?({NUMBER})\b", None, ""),
        (rf"\b({NUMBER})[- ]?(?:bead|mer|monomer)s?\b(?:[- ]long)? (?:\w+ )?(?:chains?|melt|polymers?)", None, ""),
        (r"\b(?:single beads|monatomic|atomic liquid|(?:Lennard-Jones|LJ) (?:liquid|fluid|atoms))\b", 1, ""),
    ),
    "cutoff": ((r"\bWCA\b|\bpurely repulsive\b|\bcut (?:off )?at the minimum\b", 2 ** (1 / 6), ""),),
    "temperature": ((rf"\b(?:at|to) ({NUMBER})\s*(?:K|kelvin)\b", None, "K"),),
}
ERROR = re.compile(
    rf"(?:error|uncertainty|precision|accuracy|within|better than|under|below)[^.;\n]{{0,40}}?({NUMBER})"
    r"\s*(?:%|per ?cent)|"
    rf"({NUMBER})\s*(?:%|per ?cent)[^.;\n]{{0,20}}?(?:error|uncertainty|precision|accuracy)",
    re.IGNORECASE,
)
AS_EXAMPLE = re.compile(
    r"\b(?:as|like) (?:in )?(?:the )?(?:example|template|proposed|shown)\b|\bdefaults?\b", re.IGNORECASE
)
CONSENT = re.compile(r"\s*(?:yes|ok|okay|agreed|fine|good|accepted|none|no others?)\b.{0,30}", re.IGNORECASE)
VERIFIED = re.compile(r"\bverified\b\s*[:=]?\s*([a-z0-9_, -]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Stated:
    """A condition as somebody stated it. unit: empty if none was given."""

    value: float
    unit: str
    quote: str


def condition(name: str, pieces: Sequence[str]) -> list[Stated]:
    """Return the latest piece's values of a condition: nothing, one value, or several that contradict.

    name: as in `question.conditions`; a unit at its end (`_k`) is not looked for in the text. pieces: oldest first.
    """
    for piece in reversed(pieces):
        stated = list({(one.value, one.unit): one for one in in_piece(name, piece)}.values())
        if stated:
            return stated
    return []


def unit_of(name: str, *, reduced: bool) -> str:
    """Return the unit of a condition: what its name ends in, else that of LAMMPS's `metal` units; empty if it has none.

    reduced: whether the example is in reduced (LJ) units, which nobody writes.
    """
    ending = next((unit for ending, unit in ENDINGS.items() if name.endswith(ending)), "")
    return ending or ("" if reduced else METAL.get(name, ""))


def fits(name: str, stated: Stated, *, reduced: bool) -> bool:
    """Return whether a value was stated in the unit of its condition, or in none if it has none."""
    wanted, unit = unit_of(name, reduced=reduced), ALIKE.get(stated.unit.lower(), stated.unit)
    return unit == wanted if wanted else not unit or bool(REDUCED.fullmatch(unit))


def relative_error(text: str) -> float | None:
    """Return a wanted relative error as a fraction, from words such as `within 5 %`."""
    match = ERROR.search(text)
    share = float(match[1] or match[2]) / 100 if match else 0.0
    return share if 0 < share < 1 else None


def in_piece(name: str, piece: str) -> list[Stated]:
    """Return what one piece says of a condition."""
    plain = next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), name)
    words = WORDS.get(plain) or rf"(?i:{re.escape(plain).replace('_', '[ _-]')})"
    link = r"\s*(?:of|is|=|:|at|to|equals|≈|,)?\s*(?:about\s+)?"
    pattern = rf"(?<![\w*])(?:{words})(?![\w*]){link}({NUMBER})(?![\w.]*\d)\s*({UNIT})?(?![\w])"
    stated = [Stated(float(one[1]), one[2] or "", quoted(one[0], 80)) for one in re.finditer(pattern, piece)]
    for phrase, value, unit in PHRASES.get(plain, ()):
        for one in re.finditer(phrase, piece, re.IGNORECASE):
            number = value if value is not None else float(one[1])
            stated.append(Stated(number, unit, quoted(one[0], 80)))
    return stated


_COUNTS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|single|double|twice|half"
_NUMBER = rf"(?<![\w.]){NUMBER}(?:,\d{{3}})*(?:\^[-+]?\d+)?(?![\w]*\.\d)|\b(?:{_COUNTS})\b"
_WORD = r"[^\W\d_][\w*/+-]*"
_STATED = re.compile(
    rf"(?:{_WORD}[ =:]{{1,3}}){{0,3}}(?P<number>{_NUMBER})(?:[ -]*(?:{_WORD}|%|°C)){{0,2}}", re.IGNORECASE
)
_COMMON_TEXT = """
    a about above according after again all along also an and any are as at available average be because been before
    below best better between both but by calculate calculated calculation can case cases check compute computed
    computer could cut did do does done down due during each either else end enough estimate every few find first fix
    fluid follow for from full get give given good had has have here high how however i if in instead into is it its
    just keep kind know large last least less let like likely liquid little long longer low made make many may mean
    means measure measured might more most much must my near need needed never no none not now number obtain of off
    okay on once only or other others our out over own per please possible proposed provide pure purely put quantity
    quite rather reach really request result results run runs same say second see set shall short should show shown
    simple simulate simulated simulation since small so some standard start state step such suit sure system take tell
    than that the their them then there these they thing third this those through time to together too true try under
    until up upon us use used using value values very via want wanted was way we well were what when where whether
    which while lennard jones who whole why will wish with within without work would yes yet you your
    """
"""Words that say nothing about a campaign, the Lennard-Jones potential among them: every example here has it."""
_COMMON = frozenset(_COMMON_TEXT.split())
_EDGES = frozenset(
    ["a", "an", "and", "at", "but", "by", "for", "from", "in", "is", "of", "or", "the", "to", "use", "with"]
)
_PLACES = re.compile(r"langevin|nos[eé]|hoover|berendsen|andersen|thermostat\w*|barostat\w*|nv[et]|np[th]|gpu\w*|mpi")
"""Words that matter wherever they are said: an example that has them elsewhere does not settle where."""


def stated(example: Example, conditions: Iterable[str], pieces: Sequence[str], *, error_used: bool) -> list[str]:
    """Return numbers and words of `pieces` (oldest first) that are not in the draft made from `example`.

    conditions: names of those that the draft has from the words or the example. error_used: a criterion took over the
    wanted relative error. Each is quoted; the order is that of the words.
    """
    text = ERROR.sub(" ; ", "\n".join(pieces), count=1) if error_used else "\n".join(pieces)
    rest = [_without(piece, list(conditions)) for piece in text.split("\n")]
    numbers = [quoted(one, 80) for piece in rest for one in _numbers(piece)]
    known, settled = _words(example.spec), _words({key: example.spec.get(key) for key in ("kind", "question")})
    settled |= _words({"name": example.name, "method": example.spec.get("method", {}), "all": METHODS})
    words = [
        word
        for piece in rest
        for word in re.findall(r"[^\W\d_]{3,}", piece)
        if not _is_known(word.lower(), settled if _PLACES.fullmatch(word.lower()) else known | settled)
    ]
    spoken = {part.lower() for one in numbers for part in one.split()}
    return list(dict.fromkeys([*numbers, *(word for word in words if word.lower() not in spoken)]))


def _without(piece: str, conditions: Sequence[str]) -> str:
    """Return a piece without what was read from it."""
    for name in conditions:
        for one in in_piece(name, piece):
            piece = piece.replace(one.quote, " ; ")
    for pattern in (VERIFIED, AS_EXAMPLE):
        piece = pattern.sub(" ; ", piece)
    return " ".join(piece.split())


def _numbers(piece: str) -> Iterator[str]:
    """Yield each number with the words around it: `time step of 0.004`, `500 atoms`."""
    for one in _STATED.finditer(piece):
        number = one["number"]
        following = piece[one.end("number") : one.end()].strip(" -").split(" ")[0].lower()
        if number[0].isalpha() and (not following or following in _COMMON):
            continue  # "the first one", "one of these"
        words = one[0].strip().split()
        while words[-1].lower() in _EDGES:
            words.pop()
        while words[0].lower() in _EDGES:
            words.pop(0)
        yield " ".join(words)


def _words(data: Any) -> set[str]:
    """Return words in the texts and keys of plain data."""
    return {word for one in (*strings(data), *_keys(data)) for word in re.findall(r"[^\W\d_]{3,}", one.lower())}


def _keys(data: Any) -> Iterator[str]:
    if isinstance(data, Mapping):
        yield from data
    for part in data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ():
        yield from _keys(part)


def _is_known(word: str, known: set[str]) -> bool:
    """Return whether a word or its singular is among those."""
    return word in _COMMON or word in known or word.removesuffix("s") in known or f"{word}s" in known
