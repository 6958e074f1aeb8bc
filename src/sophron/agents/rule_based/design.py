"""Rule of thumb of the design agent: the four questions of Superscientist A.1, then an example filled in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sophron.agents.rule_based import example_specs, request_parsing
from sophron.agents.rule_based.example_specs import Example, SpecDraft
from sophron.agents.rule_based.input_checks import (
    given,
    listed,
    mapping,
    number,
    objects,
    quoted,
    stages_of,
    text,
    texts,
    whole,
)
from sophron.campaign.scaffold import kind_catalogue
from sophron.campaign.spec import scope_exclusions
from sophron.campaign.spec.pitfalls import Condition
from sophron.interfaces import UncheckedObject

MOST_QUOTE = 400
MOST_OMITTED = 40
OMITTED = "said-but-not-used"
CLOSING = {"close", "stop", "quit"}
TESTS = ("present", "equals", "at_least", "mentions")
"""Of a condition under which a pitfall applies."""


def conditions(example: Example, pieces: Sequence[str]) -> tuple[dict[str, float], list[str]]:
    """Return the example's numeric conditions as the pieces state them, and a sentence for each that is in doubt."""
    values, problems = {}, []
    agreed = any(request_parsing.AS_EXAMPLE.search(piece) for piece in pieces)
    for name, value_shown in example.conditions.items():
        default = number(value_shown)
        if default is None:
            continue
        stated = request_parsing.condition(name, pieces)
        if not stated and agreed:
            values[name] = default
        elif not stated:
            problems.append(f"What is the {_spoken(name, example)}? (The example has {default:g}.)")
        elif len(stated) > 1:
            values_said = " and ".join(f'"{one.quote}"' for one in stated)
            problems.append(f"The {_spoken(name, example)} is stated as {values_said}; which is it?")
        elif not request_parsing.fits(name, stated[0], reduced=example.reduced):
            unit = (
                request_parsing.unit_of(name, reduced=example.reduced) or "the units of the question, which are reduced"
            )
            problems.append(f'"{stated[0].quote}" is not in {unit}; give the {_spoken(name, example)} so.')
        elif bound := example_specs.outside(example, name, stated[0].value):
            problems.append(f'"{stated[0].quote}": the {_spoken(name, example)} must be {bound}; which is it?')
        else:
            values[name] = stated[0].value
    return values, problems


def _spoken(name: str, example: Example) -> str:
    unit = request_parsing.unit_of(name, reduced=example.reduced)
    return f"{name.replace('_', ' ')} in {unit}" if unit else name.replace("_", " ")


def whole_stages(spec: UncheckedObject) -> dict[str, UncheckedObject]:
    """Return the stages of an example, each with definition and criteria. ValueError if it is not a whole spec."""
    blocks = stages_of(spec)
    for name, block in blocks.items():
        mapping(block.get("definition"), f"definition of {name}")
        for one in objects(block.get("criteria"), f"criteria of {name}"):
            text(one.get("expression"), f"the expression of a criterion of {name}")
            text(one.get("statement"), f"the statement of a criterion of {name}")
    return blocks


def spec_draft(
    example: Example,
    values: Mapping[str, float],
    pieces: Sequence[str],
    on_criteria: Sequence[str],
    on_assumptions: Sequence[str],
) -> SpecDraft:
    """Return the example filled in, with its own assumptions and those that only a person can settle.

    pieces: all that the person said, oldest first; what of it is not in the draft is listed in an assumption.
    """
    words = "\n".join(pieces)
    whole_stages(example.spec)
    mapping(example.spec.get("question"), "question of an example")
    method = mapping(example.spec.get("method"), "method of an example")
    objects(method.get("assumptions"), "assumptions of an example")
    spec = example_specs.filled(example, values, words)
    changed = [name for name, value in values.items() if value != example.conditions.get(name)]
    for one in spec["method"]["assumptions"]:
        _doubted(one, [(name, example.conditions[name], values[name]) for name in changed])
    spec["method"]["assumptions"] += _about_example(example, values, changed)
    share = request_parsing.relative_error(words)
    used = share is not None and example_specs.with_error(spec, share)
    whole = []
    for number_, answers in ((3, on_criteria), (4, on_assumptions)):
        for index, reply in enumerate(answers, start=1):
            plain = request_parsing.CONSENT.fullmatch(reply) or request_parsing.VERIFIED.match(reply.strip())
            if not plain and not (number_ == 3 and used):
                spec["method"]["assumptions"].append(_as_said(number_, index, reply))
                whole.append(reply)
    read = [piece for piece in pieces if piece not in whole or len(piece) > MOST_QUOTE]
    spec["method"]["assumptions"] += _omitted(request_parsing.stated(example, values, read, error_used=used))
    _verified(spec, " ".join(on_assumptions))
    return spec


def _doubted(assumption: dict[str, str], changed: Sequence[tuple[str, Any, float]]) -> None:
    """Mark assumptions that speak of the example's own number as not verified for another one."""
    statement = f"{assumption.get('statement')} {assumption.get('verified_by')}"
    spoken = {float(number) for number in re.findall(request_parsing.NUMBER, statement)}
    stale = [f"{name.replace('_', ' ')} {old:g}, not {new:g}" for name, old, new in changed if old in spoken]
    if stale:
        assumption["status"] = "UNVERIFIED"
        assumption["verified_by"] = f"you: the example says it for {', '.join(stale)}"


def _omitted(omissions: Sequence[str]) -> list[dict[str, str]]:
    """Return what was said and is not in the draft, where there is any, for a person to settle."""
    if not omissions:
        return []
    listed = ", ".join(f'"{one}"' for one in omissions[:MOST_OMITTED])
    more = f" and {len(omissions) - MOST_OMITTED} more" if len(omissions) > MOST_OMITTED else ""
    statement = (
        f"The question is answered without these words of the request, which the draft does not hold: {listed}{more}."
    )
    return [_assumption(OMITTED, statement, "you: put what you want of them into the spec; a rule of thumb did not")]


def _about_example(example: Example, values: Mapping[str, float], changed: Sequence[str]) -> list[dict[str, str]]:
    other = f"; {', '.join(changed)} differ from it" if changed else ""
    return [
        _assumption(
            "values-from-example",
            f"All numbers but the conditions ({', '.join(values)}), such as system size, time step, lengths of runs "
            f"and replicas, are those of the example {example.name}, whatever was said of them, and suit this "
            f"question{other}.",
            "you; the review probes them",
        ),
        _assumption(
            "machine",
            "The machine has the engine and gives each stage the cores, memory and time of its ceilings.",
            "you: limits of the queue, how the engine was built",
        ),
    ]


def _as_said(question: int, index: int, words: str) -> dict[str, str]:
    statement = f"The spec holds what was answered to question {question}: {quoted(words, MOST_QUOTE)}"
    return _assumption(f"answer-{question}-{index}", statement, "you: compare the answer with the spec")


def _assumption(name: str, statement: str, verified_by: str) -> dict[str, str]:
    return {"id": name, "statement": statement, "verified_by": verified_by, "status": "UNVERIFIED"}


def _verified(spec: SpecDraft, words: str) -> None:
    """Take as verified what a person names after the word `verified`, by id; nothing else."""
    ids = {
        word
        for match in request_parsing.VERIFIED.finditer(words)
        for word in match[1].lower().replace(",", " ").split()
    }
    for one in spec["method"]["assumptions"]:
        if one.get("id") in ids and one.get("status") == "UNVERIFIED":
            one["status"] = "verified"
            one["verified_by"] = f"{one['verified_by']}; said so in the dialogue"


def pitfalls_of(spec: UncheckedObject, catalogue: Sequence[UncheckedObject]) -> list[dict[str, str]]:
    """Return the entries of the catalogue that the spec could fall into: id, why, safeguard."""
    parts = (("id", "id"), ("why", "why"), ("safeguard", "safeguard"))
    return [
        {
            key: quoted(text(one.get(source), f"the {source} of a pitfall"), 1000) or "not stated"
            for key, source in parts
        }
        for one in catalogue
        if _applies(one, spec)
    ]


def add_safeguards(
    spec: SpecDraft, pitfalls: Sequence[Mapping[str, str]], catalogue: Sequence[UncheckedObject]
) -> None:
    """Add an assumption for each pitfall: the review probes it before anything is signed; its safeguard is beside it.

    One that brings an amendment would change the method: it is UNVERIFIED until a person has seen what the probe says.
    """
    ids = {one.get("id") for one in spec["method"]["assumptions"]}
    grave = {one.get("id") for one in catalogue if one.get("amendment")}
    for pitfall in pitfalls:
        if pitfall["id"] not in ids:
            spec["method"]["assumptions"].append(
                {
                    "id": pitfall["id"],
                    "statement": f"The review, before this is signed, does not find the pitfall {pitfall['id']}.",
                    "verified_by": f"probe {pitfall['id']} of the review; safeguard: {pitfall['safeguard']}",
                    "status": "UNVERIFIED" if pitfall["id"] in grave else "verified",
                }
            )


def _applies(pitfall: UncheckedObject, spec: UncheckedObject) -> bool:
    """Return what `Pitfall.applies` says, for an entry as it stands in its YAML file. ValueError if it is none."""
    demands = mapping(pitfall.get("applies_to") or {}, "applies_to of a pitfall")
    kinds = listed(demands.get("kinds", []), "kinds of a pitfall")
    stage_names = texts(demands.get("stages", []), "stages of a pitfall")
    stages = stages_of(spec)
    return (
        (not kinds or spec.get("kind") in kinds)
        and all(name in stages for name in stage_names)
        and all(_condition(entry).holds(spec) for entry in objects(demands.get("when", []), "when of a pitfall"))
    )


def _condition(entry: UncheckedObject) -> Condition:
    test = next((name for name in TESTS if name in entry), None)
    if test is None:
        raise ValueError("a condition of a pitfall has no test")
    wanted, key = entry[test], entry.get("key")
    if test == "mentions":
        wanted = texts(wanted, "mentions of a pitfall")
    if test == "at_least" and (isinstance(wanted, bool) or not isinstance(wanted, int | float)):
        raise ValueError("at_least of a pitfall is no number")
    if key is not None and not isinstance(key, str):
        raise ValueError("the key of a condition is no text")
    return Condition(test, wanted, key)


QUESTIONS = {
    1: "What physical quantity is to be computed, with its units, ensemble and conditions?",
    2: "What method computes it?",
    3: "What are the success criteria of each stage?",
    4: "Which assumptions must hold for the method to apply, and how is each verified?",
}


@dataclass(frozen=True)
class Dialogue:
    """What was said so far. answers: (question, answer), oldest first."""

    request: str
    answers: Sequence[tuple[int, str]]
    known: Sequence[Example]
    pitfalls: Sequence[UncheckedObject]

    @property
    def pieces(self) -> list[str]:
        """All that the human said, oldest first."""
        return [self.request, *(answer for _, answer in self.answers)]

    @property
    def words(self) -> str:
        """The same as one text."""
        return "\n".join(self.pieces)

    @cached_property
    def example(self) -> Example | None:
        """The example that is nearest to what was said."""
        lengths = request_parsing.condition("chain_length", self.pieces)
        return example_specs.nearest(self.known, self.words, lengths[0].value if len(lengths) == 1 else None)

    def answered(self, question: int) -> list[str]:
        """Return the answers to one of the four questions."""
        return [answer for number, answer in self.answers if number == question and answer.strip()]


def answer(
    inputs: UncheckedObject,
    kinds: UncheckedObject | None = None,
    catalogue: Sequence[UncheckedObject] | None = None,
) -> UncheckedObject:
    """Refuse what is out of scope, put the first question that the words do not answer, or draft campaign.yaml.

    Numbers come from the human's words with their units, or from the example where the human says so; what was not
    found is asked for. Everything that the draft takes over from the example, and every answer that the rule cannot
    use, stands in it as an UNVERIFIED assumption: the gate stays closed until a person has looked.
    kinds, catalogue: what there is to start from, and the pitfalls; what is installed, if they are not given.
    """
    turns = objects(inputs.get("turns", []), "turns")
    known = example_specs.examples(_installed_kinds() if kinds is None else kinds)
    answers = [(_question(turn), text(turn.get("answered") or "", "an answer")) for turn in turns]
    pitfalls = _installed_pitfalls() if catalogue is None else catalogue
    dialogue = Dialogue(text(given(inputs, "request"), "request"), answers, known, pitfalls)
    if answers and answers[-1][1].strip().lower() in CLOSING:
        return _turn("closed", "Closed as you said; nothing is drafted.")
    refused = scope_exclusions.excluded(dialogue.pieces)
    if refused:
        return _turn("refused", refused[0].sentence, refusal=refused[0])
    if dialogue.example is None:
        return _ask(1, _unknown_quantity(known))
    values, problems = conditions(dialogue.example, dialogue.pieces)
    if problems:
        return _ask(1, _understood(dialogue.example) + " " + " ".join(problems))
    for question, missing in ((2, _method(dialogue)), (3, _criteria(dialogue)), (4, _assumptions(dialogue))):
        if missing:
            return _ask(question, missing)
    draft = spec_draft(dialogue.example, values, dialogue.pieces, dialogue.answered(3), dialogue.answered(4))
    hits = pitfalls_of(draft, pitfalls)
    add_safeguards(draft, hits, pitfalls)
    open_ = [one["id"] for one in draft["method"]["assumptions"] if one["status"] == "UNVERIFIED"]
    omitted = [one["statement"] for one in draft["method"]["assumptions"] if one["id"] == OMITTED]
    settle = f"To be resolved before it can be signed: {', '.join(open_)}."
    summary = " ".join([f"Drafted from the example {dialogue.example.name}.", *omitted, settle])
    return _turn("draft", summary, draft=draft, pitfalls=hits)


@cache
def _installed_kinds() -> UncheckedObject:
    return kind_catalogue.kinds()


@cache
def _installed_pitfalls() -> Sequence[UncheckedObject]:
    return kind_catalogue.pitfalls(Path())


def _question(turn: UncheckedObject) -> int:
    number = whole(turn.get("question"), "the question of a turn")
    if number not in QUESTIONS:
        raise ValueError(f"there is no question {number}; there are four")
    return number


def _turn(
    status: str,
    words: str,
    *,
    question: int | None = None,
    draft: SpecDraft | None = None,
    pitfalls: Sequence[Mapping[str, str]] = (),
    refusal: scope_exclusions.Finding | None = None,
) -> UncheckedObject:
    refused = refusal and {"exclusion": refusal.exclusion.id, "reason": refusal.sentence}
    turn = {"status": status, "question": question, "text": words, "draft": draft}
    return turn | {"pitfalls": list(pitfalls), "refusal": refused, "nearest": None, "suspicious_text": []}


def _ask(question: int, words: str) -> UncheckedObject:
    return _turn("ask", f"{QUESTIONS[question]} {words}", question=question)


def _unknown_quantity(known: Sequence[Example]) -> str:
    kinds = sorted({example.kind.replace("_", " ") for example in known})
    return f"This installation knows {', '.join(kinds) or 'no kind of campaign'}; name one of these."


def _understood(example: Example) -> str:
    question = mapping(example.spec.get("question", {}), "question of an example")
    about = f"{question.get('quantity')}, in {question.get('units')}; nearest example {example.name}"
    return quoted(f"Understood: {example.kind.replace('_', ' ')} ({about}).", 400)


def _method(dialogue: Dialogue) -> str | None:
    """Return what to ask about the method; None if an installed one was named or agreed to."""
    example = dialogue.example
    if example is None or example_specs.methods(dialogue.words) & example.methods:
        return None
    if any(
        request_parsing.CONSENT.fullmatch(one) or request_parsing.AS_EXAMPLE.search(one) for one in dialogue.answered(2)
    ):
        return None
    names = sorted(example_specs.methods(dialogue.words))
    lacking = f"No example here uses {', '.join(names)}. " if names else ""
    method = quoted(str(mapping(example.spec.get("method", {}), "method").get("name", "")), 200)
    return f"{lacking}The example {example.name} uses: {method}. Agree (yes), or name another."


def _criteria(dialogue: Dialogue) -> str | None:
    if dialogue.answered(3) or request_parsing.relative_error(dialogue.words) is not None or dialogue.example is None:
        return None
    listed = [
        f"{name}: {one['expression']} ({one['statement']})"
        for name, block in whole_stages(dialogue.example.spec).items()
        for one in objects(block["criteria"], "criteria")
    ]
    return (
        "Each must be a number that can be checked. Proposed: " + "; ".join(listed) + ". Agree (yes), or change them."
    )


def _assumptions(dialogue: Dialogue) -> str | None:
    if dialogue.answered(4) or dialogue.example is None:
        return None
    stated = objects(mapping(dialogue.example.spec.get("method", {}), "method").get("assumptions", []), "assumptions")
    listed = [f"{one.get('id')}: {one.get('statement')} (verified by {one.get('verified_by')})" for one in stated]
    risks = [f"{one['id']} ({one['safeguard']})" for one in pitfalls_of(dialogue.example.spec, dialogue.pitfalls)]
    return (
        f"Proposed: {'; '.join(listed) or 'none'}. Known pitfalls and their safeguards: {'; '.join(risks) or 'none'}. "
        "What cannot be checked now stays UNVERIFIED. Agree (yes), add others, or name what you have checked yourself "
        "(verified: id, id)."
    )
