"""What the rules of thumb of a panel share: reading a benchmark, and turning findings into a vote."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from sophron.agents.rule_based.input_checks import count, given, mapping, number, objects, quoted, text
from sophron.agents.rule_based.reference_diff import restored
from sophron.interfaces import UncheckedObject

KNOWS_LITTLE = 0.3
"""Confidence before anything was measured."""
MEASURED = 0.8
SWAYED = 0.2
"""What a vote loses in confidence where another expert names a high concern that it does not share."""


@dataclass(frozen=True)
class Finding:
    """A concern. suspect: the file that it blames, where one does."""

    severity: str
    focus: str
    text: str
    suspect: str | None = None


@dataclass(frozen=True)
class Stage:
    """The result of one stage of one guest, or of nothing."""

    result: UncheckedObject = field(default_factory=dict)

    @property
    def diagnostics(self) -> UncheckedObject:
        """What was measured."""
        return mapping(self.result.get("diagnostics") or {}, "diagnostics")

    @property
    def flags(self) -> UncheckedObject:
        """Checks that were made."""
        return mapping(self.result.get("convergence_flags") or {}, "convergence_flags")

    @property
    def terms(self) -> Mapping[str, float | None]:
        """Terms of the free energy, in kcal/mol."""
        found = mapping(self.result.get("energy_components") or {}, "energy_components")
        return {name: number(value) for name, value in found.items()}

    @property
    def delta_g(self) -> float | None:
        """Free energy in kcal/mol."""
        return number(self.result.get("delta_g_kcal_per_mol"))

    @property
    def failure(self) -> str:
        """Kind of its failure or refusal, nothing without one."""
        return str(mapping(self.result.get("failure") or {}, "failure").get("kind", ""))

    def number(self, name: str) -> float | None:
        """A diagnostic, where it is a number."""
        return number(self.diagnostics.get(name))


def stages(guest: UncheckedObject) -> list[Stage]:
    """Preparation, equilibration, production (its first window) and analysis of a guest; empty where not there."""
    results = mapping(guest.get("stages", {}), "stages of a guest")
    return [Stage(mapping(results.get(str(number), {}), f"stage {number}")) for number in (1, 2, 3, 4)]


Rule = Callable[[UncheckedObject, int], Iterator[Finding]]
"""Findings of one guest, given how many windows the pipeline has."""


def vote(inputs: UncheckedObject, design: str, rule: Rule) -> UncheckedObject:
    """The vote of one expert. design: what it recommends while there is nothing to judge."""
    mode = text(given(inputs, "mode"), "mode").strip()
    results = mapping(inputs.get("results") or {}, "results")
    if not results.get("guests"):
        said = f"A rule of thumb judges no {'plan' if mode == 'design' else 'code'}: it only looks at measured fields."
        return {
            "label": "uncertain",
            "confidence": KNOWS_LITTLE,
            "strategic_insight": f"Take {design}.",
            "concerns": [],
            "reasoning": said,
            "edit": None,
        }
    guests, windows = mapping(results["guests"], "guests"), count(results.get("windows"))
    if windows is None:
        raise ValueError("the results do not say how many windows there are")
    found = {name: list(rule(mapping(each, "a guest"), windows)) for name, each in guests.items()}
    findings = list(dict.fromkeys(finding for each in found.values() for finding in each))
    gravest = [finding for finding in findings if finding.severity == "high"]
    answered = [name for name, each in guests.items() if stages(mapping(each, "a guest"))[3].delta_g is not None]
    if gravest:
        label, insight = "fail", gravest[0].text
    elif len(answered) < len(guests):
        label, insight = "uncertain", f"{len(guests) - len(answered)} of {len(guests)} guests have no number."
    else:
        label, insight = "pass", "All guests have a number, and no field that this rule knows is out of its bounds."
    confidence = MEASURED - (SWAYED if label == "pass" and _others_object(inputs) else 0.0)
    edit = next((made for finding in gravest if (made := _edit(finding, str(inputs.get("pipeline", ""))))), None)
    affected = quoted(", ".join(sorted(name for name, each in found.items() if each))) or "none"
    reasoning = f"Looked at the diagnostics of {len(guests)} guests; findings for {affected}."
    return {
        "label": label,
        "confidence": round(confidence, 2),
        "strategic_insight": insight,
        "concerns": _said(findings),
        "reasoning": reasoning,
        "edit": edit,
    }


def _said(findings: list[Finding]) -> list[dict[str, str]]:
    return [{"severity": each.severity, "focus": each.focus, "text": each.text} for each in findings]


def _others_object(inputs: UncheckedObject) -> bool:
    votes = [mapping(each, "a vote") for each in mapping(inputs.get("votes") or {}, "votes").values()]
    concerns = [one for each in votes for one in objects(each.get("concerns") or [], "concerns")]
    return any(concern.get("severity") == "high" for concern in concerns)


def _edit(finding: Finding, pipeline: str) -> dict[str, str] | None:
    """Where the suspect is one of our reference files but for one place: that place as we had it."""
    return restored(finding.suspect, pipeline) if finding.suspect else None
