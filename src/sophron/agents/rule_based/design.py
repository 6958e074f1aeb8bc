"""Rule of thumb of the design agent: the four questions of Superscientist A.1, then an example filled in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sophron.agents.rule_based import design_draft, example_specs, request_parsing
from sophron.agents.rule_based.example_specs import Example, SpecDraft
from sophron.agents.rule_based.input_checks import given, mapping, objects, quoted, text, whole
from sophron.campaign.spec import scope_exclusions
from sophron.interfaces import UncheckedObject

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
        """The answers to one of the four questions."""
        return [answer for number, answer in self.answers if number == question and answer.strip()]


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Refuse what is out of scope, put the first question that the words do not answer, or draft campaign.yaml.

    Numbers come from the human's words with their units, or from the example where the human says so; what was not
    found is asked for. Everything that the draft takes over from the example, and every answer that the rule cannot
    use, stands in it as an UNVERIFIED assumption: the gate stays closed until a person has looked.
    """
    turns = objects(inputs.get("turns", []), "turns")
    known = example_specs.examples(mapping(given(inputs, "kinds"), "kinds"))
    answers = [(_question(turn), text(turn.get("answered") or "", "an answer")) for turn in turns]
    pitfalls = objects(inputs.get("pitfalls", []), "pitfalls")
    said = Dialogue(text(given(inputs, "request"), "request"), answers, known, pitfalls)
    refused = scope_exclusions.excluded(said.pieces)
    if refused:
        return _turn("refused", refused[0].sentence, refusal=refused[0])
    if said.example is None:
        return _ask(1, _unknown_quantity(known))
    values, problems = design_draft.conditions(said.example, said.pieces)
    if problems:
        return _ask(1, _understood(said.example) + " " + " ".join(problems))
    for question, missing in ((2, _method(said)), (3, _criteria(said)), (4, _assumptions(said))):
        if missing:
            return _ask(question, missing)
    draft = design_draft.drafted(said.example, values, said.pieces, said.answered(3), said.answered(4))
    found = design_draft.pitfalls_of(draft, pitfalls)
    design_draft.add_safeguards(draft, found, pitfalls)
    open_ = [one["id"] for one in draft["method"]["assumptions"] if one["status"] == "UNVERIFIED"]
    omitted = [one["statement"] for one in draft["method"]["assumptions"] if one["id"] == design_draft.OMITTED]
    settle = f"To be resolved before it can be signed: {', '.join(open_)}."
    drafted = " ".join([f"Drafted from the example {said.example.name}.", *omitted, settle])
    return _turn("draft", drafted, draft=draft, pitfalls=found)


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
    shown = {"status": status, "question": question, "text": words, "draft": draft}
    return shown | {"pitfalls": list(pitfalls), "refusal": refused}


def _ask(question: int, words: str) -> UncheckedObject:
    return _turn("ask", f"{QUESTIONS[question]} {words}", question=question)


def _unknown_quantity(known: Sequence[Example]) -> str:
    kinds = sorted({example.kind.replace("_", " ") for example in known})
    return f"This installation knows {', '.join(kinds) or 'no kind of campaign'}; name one of these."


def _understood(example: Example) -> str:
    question = mapping(example.spec.get("question", {}), "question of an example")
    about = f"{question.get('quantity')}, in {question.get('units')}; nearest example {example.name}"
    return quoted(f"Understood: {example.kind.replace('_', ' ')} ({about}).", 400)


def _method(said: Dialogue) -> str | None:
    """What to ask about the method; None where an installed one was named or agreed to."""
    example = said.example
    if example is None or example_specs.methods(said.words) & example.methods:
        return None
    if any(
        request_parsing.CONSENT.fullmatch(one) or request_parsing.AS_EXAMPLE.search(one) for one in said.answered(2)
    ):
        return None
    named = sorted(example_specs.methods(said.words))
    lacking = f"No example here uses {', '.join(named)}. " if named else ""
    method = quoted(str(mapping(example.spec.get("method", {}), "method").get("name", "")), 200)
    return f"{lacking}The example {example.name} uses: {method}. Agree (yes), or name another."


def _criteria(said: Dialogue) -> str | None:
    if said.answered(3) or request_parsing.relative_error(said.words) is not None or said.example is None:
        return None
    listed = [
        f"{name}: {one['expression']} ({one['statement']})"
        for name, block in design_draft.whole_stages(said.example.spec).items()
        for one in objects(block["criteria"], "criteria")
    ]
    return (
        "Each must be a number that can be checked. Proposed: " + "; ".join(listed) + ". Agree (yes), or change them."
    )


def _assumptions(said: Dialogue) -> str | None:
    if said.answered(4) or said.example is None:
        return None
    stated = objects(mapping(said.example.spec.get("method", {}), "method").get("assumptions", []), "assumptions")
    listed = [f"{one.get('id')}: {one.get('statement')} (verified by {one.get('verified_by')})" for one in stated]
    risks = [f"{one['id']} ({one['safeguard']})" for one in design_draft.pitfalls_of(said.example.spec, said.pitfalls)]
    return (
        f"Proposed: {'; '.join(listed) or 'none'}. Known pitfalls and their safeguards: {'; '.join(risks) or 'none'}. "
        "What cannot be checked now stays UNVERIFIED. Agree (yes), add others, or name what you have checked yourself "
        "(verified: id, id)."
    )
