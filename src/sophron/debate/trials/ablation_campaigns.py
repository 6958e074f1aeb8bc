"""The ladder of methods: one campaign a method from a given one, and what they came to, in the form of table 1."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Self

from sophron.agents.gateway import ledger
from sophron.agents.gateway.ledger import Amount, Book, zero_amount
from sophron.campaign.execution import outcome_store
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.debate.trials.methods import METHODS
from sophron.debate.trials.scores import Interval, Scores
from sophron.debate.trials.trial_loop import Failure, Trial, TrialsResult, runnable
from sophron.records import old_names
from sophron.records.digests import step_name
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json

HEADER = (
    "method",
    "runnable",
    "trials",
    "refused unrun",
    "crashes",
    "refusals",
    "clean",
    "calls",
    "tokens",
    "dollars",
)
SCORES_HEADER = ("method", "guests", "n", "R2", "rho", "tau", "MAE")
NONE = "-"


def make(root: Path, into: Path) -> list[Path]:
    """A campaign folder for each method below `into`, alike but for the method; each is signed and run by itself.

    UserError where `root` is no campaign with trials, or where one of the folders is there already.
    """
    data = dict(_with_trials(root).data)
    made = []
    for method, about in METHODS.items():
        folder = into / f"{data['campaign']}-{method}".replace("_", "-")
        if folder.exists():
            raise UserError(f"{folder}: is there already; name another folder")
        draft = copy.deepcopy(data) | {"version": 1}
        draft["stages"]["trials"]["definition"]["method"] = method
        if not about.panel:
            draft["stages"].pop("discussion", None)
            draft["stages"]["trials"]["depends_on"] = [
                name for name in draft["stages"]["trials"]["depends_on"] if name != "discussion"
            ]
        folder.mkdir(parents=True)
        campaign_folder.from_draft(folder, draft)
        made.append(folder)
    return made


def _with_trials(root: Path) -> Spec:
    spec = load(root / SPEC_NAME)
    if "trials" not in spec.data["stages"]:
        raise UserError(f"{root / SPEC_NAME}: has no stage trials; name a campaign of the kind host_guest")
    return spec


@dataclass(frozen=True)
class Rung:
    """What one campaign of the ladder came to. trials: in their order; result: of its stage `trials`; wanted: N.

    spent: what all agents cost up to the end of each trial (calls, tokens, dollars), the discussion counted to the
    first; rules of thumb cost nothing and are not in the ledger.
    """

    method: str
    trials: Sequence[Trial]
    result: TrialsResult
    wanted: int
    spent: Sequence[Amount]

    @classmethod
    def read(cls, root: Path) -> Self:
        """From a campaign folder; UserError where its trials have not ended."""
        return cls.of(root, _with_trials(root))

    @classmethod
    def of(cls, root: Path, spec: Spec) -> Self:
        """The same where the spec is known."""
        result = from_json(TrialsResult, outcome_store.finished(root, spec, "trials", {}).outcome.result)
        closed = outcome_store.of_loop(root, spec, "close", {})[-1].outcome.result
        made = [from_json(Trial, each) for each in closed["trials"]]
        definition = spec.definition("trials")
        return cls(definition["method"], made, result, definition["successes"], _spent(root, spec, len(made)))

    @property
    def spent_in(self) -> list[Amount]:
        """What each trial cost by itself, the discussion counted to the first."""
        before = [zero_amount(), *self.spent]
        pairs = zip(before, self.spent, strict=False)
        return [{kind: round(after[kind] - one[kind], 9) for kind in after} for one, after in pairs]

    @property
    def failures(self) -> dict[Failure, int]:
        """How its trials ended."""
        kinds = [trial.failure for trial in self.trials]
        return {kind: kinds.count(kind) for kind in Failure}

    @property
    def score_rows(self) -> list[list[str]]:
        """Scores of the deployed pipeline on training and held-out guests, in the order of `SCORES_HEADER`."""
        named = (("training", self.result.training), ("held-out", self.result.held_out))
        return [[self.method, name, *_scores(scores)] for name, scores in named]

    @property
    def row(self) -> list[str]:
        """In the order of `HEADER`."""
        count, spent = self.failures, self.spent[-1]
        return [
            self.method,
            runnable(self.trials, self.wanted),
            str(len(self.trials)),
            *(str(count[kind]) for kind in Failure),
            *(f"{spent['calls']:.0f}", f"{spent['tokens']:.0f}", f"{spent['dollars']:.2f}"),
        ]


def _scores(scores: Scores | None) -> list[str]:
    """How many guests have a number, and each score with its interval."""
    if scores is None:
        return [NONE] * 5
    values = (
        (scores.r2, scores.r2_interval),
        (scores.spearman, scores.spearman_interval),
        (scores.kendall, scores.kendall_interval),
        (scores.mae_kcal_per_mol, scores.mae_interval_kcal_per_mol),
    )
    return [f"{scores.guests} of {scores.guests + scores.unanswered}", *(_with_interval(*each) for each in values)]


def _with_interval(value: float | None, interval: Interval | None) -> str:
    ends = "" if interval is None else " ({:.2f} to {:.2f})".format(*interval)
    return NONE if value is None else f"{value:.2f}{ends}"


def _spent(root: Path, spec: Spec, trials: int) -> list[Amount]:
    path = root / ledger.FILE
    sums = Book(path, "step").sums().by if path.is_file() else {}
    by = {old_names.step_now(step): amount for step, amount in sums.items()}
    rounds = [zero_amount() for _ in range(trials)]
    for rule in spec.agent_rules:
        for wildcards in spec.steps(rule):
            number = int(wildcards.get("trial", 0))
            for kind, value in by.get(step_name(rule, wildcards), {}).items() if number < trials else ():
                rounds[number][kind] += value
    return list(accumulate(rounds, lambda before, own: {kind: before[kind] + own[kind] for kind in own}))


def rungs(roots: Sequence[Path]) -> list[Rung]:
    """What each campaign came to, in the order of the ladder."""
    order = list(METHODS)
    return sorted((Rung.read(root) for root in roots), key=lambda each: order.index(each.method))
