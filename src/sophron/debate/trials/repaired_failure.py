"""A failure that was mended, read from the records of a campaign (MDForge, figure 3d).

What the diagnostics of a trial showed, which stage the panel named, what the author then changed in the file of that
stage, and how the next trial ended.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.campaign.spec.spec import Spec
from sophron.debate.panel.votes import Critique, Label
from sophron.debate.pipelines.pipeline import PRODUCTION, STAGES, Pipeline, StageFile
from sophron.debate.trials.stage_sandbox import StageResult
from sophron.debate.trials.trial_loop import Failure, Trial, ready
from sophron.records import documents
from sophron.records.typed_json import from_json

NONE = (
    "No trial was mended: none whose failure the panel traced to one stage was followed by an edit of its "
    "file and a trial that came through."
)


@dataclass(frozen=True)
class Analysed:
    """A trial by the diagnostics of its analyses.

    overlaps: training guest -> overlap of each window that the analysis used with the next, from 0 to 0.5; without a
    guest whose analysis wrote none. broken: flags that were false -> guests of which.
    """

    trial: Trial
    overlaps: Mapping[str, Sequence[float]]
    broken: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Mended:
    """A trial that failed and the one after it. critique: of the panel after the first; edit: unified diff, by lines.

    file: of the stage that the panel named; edit: of all that differs, the number of windows included.
    """

    before: Analysed
    after: Analysed
    critique: Critique
    file: str
    edit: Sequence[str]

    @property
    def changed(self) -> int:
        """Lines that were taken out or put in, whichever are more."""
        signs = [line[0] for line in self.edit if line[:1] in "+-" and line[:3] not in ("---", "+++")]
        return max(signs.count("+"), signs.count("-"))

    @property
    def sentence(self) -> str:
        """The whole way in one sentence."""
        first, then = self.before.trial, self.after.trial
        flags = "; ".join(f"{name} = false for {', '.join(guests)}" for name, guests in self.before.broken.items())
        lines = "1 line" if self.changed == 1 else f"{self.changed} lines"
        return (
            f"Trial {first.number} ended as {first.failure.value}{f' ({flags})' if flags else ''}; the panel said "
            f"{self.critique.label} and named the stage {self.critique.focus}; the author changed {lines}; "
            f"trial {then.number} ended as {then.failure.value}."
        )


def find(root: Path, spec: Spec, trials: Sequence[Trial]) -> Mended | None:
    """The first refusal that was mended, else the first trial that the panel failed and then passed; None without one.

    A trial is mended where the panel named one stage, the file of that stage (or the number of its windows) differs in
    the next trial, and that one gives a number that was refused before, or is passed by the panel that failed it.
    """
    if "review" in spec.left_out:
        return None
    pairs = list(pairwise(trials))
    refused = [pair for pair in pairs if _has_number_again(*pair)]
    passed = [pair for pair in pairs if pair not in refused and _is_passed(*pair)]
    return next(_mended(root, spec, [*refused, *passed]), None)


def _has_number_again(before: Trial, after: Trial) -> bool:
    without = {name for name, guest in before.guests.items() if guest.delta_g_kcal_per_mol is None}
    has = {name for name, guest in after.guests.items() if guest.delta_g_kcal_per_mol is not None}
    return before.failure is Failure.REFUSAL and bool(without & has)


def _is_passed(before: Trial, after: Trial) -> bool:
    return before.label is Label.FAIL and after.label is Label.PASS


def _mended(root: Path, spec: Spec, pairs: Sequence[tuple[Trial, Trial]]) -> Iterator[Mended]:
    for before, after in pairs:
        made = outcome_store.of_loop(root, spec, "review", {"trial": str(before.number)})
        critique = from_json(Critique, made[0].outcome.result["critique"]) if made else None
        stage = next((each for each in STAGES if critique and each.focus == critique.focus), None)
        first, then = (Pipeline.parse(ready(root, spec, {"trial": str(each.number)})) for each in (before, after))
        if critique and stage and _differs(first, then, stage):
            found, mended = _analysed(root, spec, before), _analysed(root, spec, after)
            yield Mended(found, mended, critique, stage.file, _edit(first, then))


def _differs(first: Pipeline, then: Pipeline, stage: StageFile) -> bool:
    windows = stage is PRODUCTION and first.windows != then.windows
    return windows or first.files[stage.file] != then.files[stage.file]


def _edit(first: Pipeline, then: Pipeline) -> list[str]:
    """Unified diff of everything that runs, with one line of context: the entry of production, then the files."""
    entry, later = ({f"entry of {PRODUCTION.file}": f"windows={each.windows}"} for each in (first, then))
    found: list[str] = []
    for before, after in ((entry, later), (first.files, then.files)):
        for name in before:
            old, new = before[name].splitlines(), after[name].splitlines()
            found += difflib.unified_diff(old, new, f"{name}, before", f"{name}, after", n=1, lineterm="")
    return found


def _analysed(root: Path, spec: Spec, trial: Trial) -> Analysed:
    overlaps: dict[str, Sequence[float]] = {}
    broken: dict[str, list[str]] = {}
    for one in outcome_store.of_loop(root, spec, "analyse", {"trial": str(trial.number)}):
        guest, document = one.wildcards["guest"], documents.load_json(one.files["executed"])
        if guest not in trial.guests or document is None:
            continue
        result = from_json(StageResult, document["result"])
        if isinstance(found := result.diagnostics.get("overlaps"), list) and found:
            overlaps[guest] = found
        for name, held in result.convergence_flags.items():
            if not held:
                broken.setdefault(name, []).append(guest)
    return Analysed(trial, overlaps, broken)
