"""The ladder of methods: one campaign a method from a given one, and what they came to, in the form of table 1."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sophron.agents import ledger
from sophron.agents.sums import Book
from sophron.campaign import new, results
from sophron.campaign.spec import SPEC_NAME, load
from sophron.debate.ablation import METHODS
from sophron.debate.trials import Trial, runnable
from sophron.records.errors import UserError

HEADER = (
    "method",
    "runnable",
    "train R2",
    "train rho",
    "train tau",
    "held-out R2",
    "held-out rho",
    "held-out tau",
    "trials",
    "crashes",
    "refusals",
    "clean",
    "calls",
    "tokens",
    "dollars",
)
NONE = "-"


def make(root: Path, into: Path) -> list[Path]:
    """A campaign folder for each method below `into`, alike but for the method; each is signed and run by itself.

    UserError where `root` is no campaign with trials, or where one of the folders is there already.
    """
    data = _with_trials(root)
    made = []
    for method, about in METHODS.items():
        folder = into / f"{data['campaign']}-{method}".replace("_", "-")
        if folder.exists():
            raise UserError(f"{folder}: is there already; name another folder")
        draft: dict[str, Any] = copy.deepcopy(dict(data)) | {"version": 1}
        draft["stages"]["trials"]["definition"]["method"] = method
        if not about.panel:
            draft["stages"].pop("discussion", None)
            draft["stages"]["trials"]["depends_on"] = [
                name for name in draft["stages"]["trials"]["depends_on"] if name != "discussion"
            ]
        folder.mkdir(parents=True)
        new.from_draft(folder, draft)
        made.append(folder)
    return made


def _with_trials(root: Path) -> Mapping[str, Any]:
    spec = load(root / SPEC_NAME)
    if "trials" not in spec.data["stages"]:
        raise UserError(f"{root / SPEC_NAME}: has no stage trials; name a campaign of the kind host_guest")
    return spec.data


def row(root: Path) -> list[str]:
    """What one finished campaign came to, in the order of `HEADER`. UserError where its trials have not ended."""
    _with_trials(root)
    spec = load(root / SPEC_NAME)
    whole = results.finished(root, spec, "trials", {}).outcome["result"]
    closed = results.of_loop(root, spec, "close", {})[-1].outcome["result"]
    made = [Trial.read(each) for each in closed["trials"]]
    definition = spec.definition("trials")
    failures = whole["failures"]
    return [
        definition["method"],
        runnable(made, definition["successes"]),
        *_scores(whole["training"]),
        *_scores(whole["held_out"]),
        str(whole["trials"]),
        str(failures.get("mid_pipeline_crash", 0) + failures.get("layer1", 0)),
        str(failures.get("analysis_refusal", 0)),
        str(failures.get("clean", 0)),
        *_spent(root),
    ]


def _scores(scores: Mapping[str, float | None] | None) -> list[str]:
    values = [None if scores is None else scores[key] for key in ("r2", "spearman", "kendall")]
    return [NONE if value is None else f"{value:.2f}" for value in values]


def _spent(root: Path) -> list[str]:
    """Calls, tokens and dollars of all agents; rules of thumb cost nothing and are not in the ledger."""
    path = root / ledger.FILE
    if not path.is_file():
        return ["0", "0", "0.00"]
    total = Book(path, "step").sums().total
    return [f"{total['calls']:.0f}", f"{total['tokens']:.0f}", f"{total['dollars']:.2f}"]


def table(roots: Sequence[Path]) -> list[list[str]]:
    """A row for each campaign, in the order of the ladder."""
    order = list(METHODS)
    return sorted((row(root) for root in roots), key=lambda each: order.index(each[0]))
