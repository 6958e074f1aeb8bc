"""Find numbers and words of a person that the rule-based design agent did not put into its draft."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sophron.agents.rule_based import request_parsing
from sophron.agents.rule_based.example_specs import METHODS, Example
from sophron.agents.rule_based.input_checks import quoted, strings

_COUNTS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|single|double|twice|half"
_NUMBER = rf"(?<![\w.]){request_parsing.NUMBER}(?:,\d{{3}})*(?:\^[-+]?\d+)?(?![\w]*\.\d)|\b(?:{_COUNTS})\b"
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
    text = request_parsing.ERROR.sub(" ; ", "\n".join(pieces), count=1) if error_used else "\n".join(pieces)
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
    """A piece without what was read from it."""
    for name in conditions:
        for one in request_parsing.in_piece(name, piece):
            piece = piece.replace(one.quote, " ; ")
    for pattern in (request_parsing.VERIFIED, request_parsing.AS_EXAMPLE):
        piece = pattern.sub(" ; ", piece)
    return " ".join(piece.split())


def _numbers(piece: str) -> Iterator[str]:
    """Each number with the words around it: `time step of 0.004`, `500 atoms`."""
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
    """Words in the texts and keys of plain data."""
    return {word for one in (*strings(data), *_keys(data)) for word in re.findall(r"[^\W\d_]{3,}", one.lower())}


def _keys(data: Any) -> Iterator[str]:
    if isinstance(data, Mapping):
        yield from data
    for part in data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ():
        yield from _keys(part)


def _is_known(word: str, known: set[str]) -> bool:
    """Whether a word or its singular is among those."""
    return word in _COMMON or word in known or word.removesuffix("s") in known or f"{word}s" in known
