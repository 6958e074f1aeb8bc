"""Parse a person's request: conditions with their units, a wanted error, consent. Numbers are read, never guessed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sophron.agents.rule_based.input_checks import quoted

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
    found = ERROR.search(text)
    share = float(found[1] or found[2]) / 100 if found else 0.0
    return share if 0 < share < 1 else None


def in_piece(name: str, piece: str) -> list[Stated]:
    """Return what one piece says of a condition."""
    plain = next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), name)
    words = WORDS.get(plain) or rf"(?i:{re.escape(plain).replace('_', '[ _-]')})"
    link = r"\s*(?:of|is|=|:|at|to|equals|≈|,)?\s*(?:about\s+)?"
    named = rf"(?<![\w*])(?:{words})(?![\w*]){link}({NUMBER})(?![\w.]*\d)\s*({UNIT})?(?![\w])"
    stated = [Stated(float(one[1]), one[2] or "", quoted(one[0], 80)) for one in re.finditer(named, piece)]
    for phrase, value, unit in PHRASES.get(plain, ()):
        for one in re.finditer(phrase, piece, re.IGNORECASE):
            number = value if value is not None else float(one[1])
            stated.append(Stated(number, unit, quoted(one[0], 80)))
    return stated
