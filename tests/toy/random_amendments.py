"""Random amendments of the arithmetic campaign, and what each must repeat: nothing more, nothing less.

The expectation is worked out here from the stage graph as it is drawn below, without Sophron's own closure.
"""

import json
import shutil
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import yaml
from hypothesis import strategies as st
from toy import Campaign, forked_steps

from sophron.campaign.approval import amendment_draft
from sophron.records.errors import UserError

PARENTS = {"a": "", "b": "a", "c": "b", "d": "c", "e": "a", "f": "ce", "g": "ce"}
SHAPES = [frozenset(), frozenset("e"), frozenset("ef"), frozenset("eg"), frozenset("efg")]
"""The optional stages that a campaign may have together."""
PARAMETERS = {
    "a": {"first": st.integers(-5, 5), "terms": st.integers(1, 6)},
    "b": {"factor": st.sampled_from([0.5, 1, 2, 3.25])},
    "c": {"weight": st.sampled_from([0.25, 0.5, 1]), "replicas": st.integers(1, 4)},
    "d": {"offset": st.integers(0, 9)},
    "e": {"power": st.integers(0, 3)},
    "f": {"scale": st.floats(-3, 3, allow_nan=False)},
    "g": {"scale": st.floats(-3, 3, allow_nan=False)},
}
FAILING = "files_missing > 0"
PASSING = "files_missing == 0"


def _definition(stage: str):
    keys = sorted(PARAMETERS[stage])
    return st.sampled_from(keys).flatmap(
        lambda key: PARAMETERS[stage][key].map(lambda value: (f"stages.{stage}.definition.{key}", value))
    )


STAGE = st.sampled_from(sorted(PARENTS))
DEFINITION = STAGE.flatmap(_definition)
SEED = st.integers(0, 20).map(lambda value: ("seed", value))
STATEMENT = st.tuples(STAGE, st.integers(0, 5)).map(
    lambda pair: (f"stages.{pair[0]}.criteria.files.statement", f"Said in way {pair[1]}.")
)
EXPRESSION = st.tuples(STAGE, st.integers(0, 5)).map(
    lambda pair: (f"stages.{pair[0]}.criteria.files.expression", f"{PASSING} and smallest_file_bytes > -{pair[1]}")
)
TIGHT = STAGE.map(lambda stage: (f"stages.{stage}.criteria.files.expression", FAILING))
MECHANICAL = st.tuples(STAGE, st.sampled_from(["memory_mb", "runtime_min", "retries"]), st.integers(1, 4)).map(
    lambda drawn: (
        f"stages.{drawn[0]}.mechanical.{drawn[1]}",
        drawn[2] * {"memory_mb": 100, "runtime_min": 2, "retries": 1}[drawn[1]],
    )
)
CHANGE = st.one_of(DEFINITION, DEFINITION, DEFINITION, SEED, STATEMENT, EXPRESSION, TIGHT, MECHANICAL)


@dataclass(frozen=True)
class Round:
    """One amendment: its settings, or a withdrawal of the last version; and whether Snakemake runs after it.

    shape: the optional stages that the campaign has then; None leaves them. apart: whether each change is drafted on
    its own, on top of the draft that waits; before: changes that are drafted earlier, and that settings may take back.
    """

    settings: dict
    withdraw: bool
    run: bool
    shape: frozenset | None = None
    apart: bool = False
    before: dict = field(default_factory=dict)


ROUND = st.builds(
    Round,
    settings=st.lists(CHANGE, min_size=1, max_size=3).map(dict),
    withdraw=st.sampled_from([False, False, False, True]),
    run=st.sampled_from([True, True, False]),
    shape=st.sampled_from([None, None, None, *SHAPES]),
    apart=st.booleans(),
    before=st.lists(CHANGE, max_size=2).map(dict),
)
ROUNDS = st.lists(ROUND, min_size=1, max_size=2).map(lambda rounds: [*rounds[:-1], replace(rounds[-1], run=True)])


@dataclass(frozen=True)
class Part:
    """One call of `sophron amend`: stages to remove, settings, and the settings of the whole spec after it."""

    removed: tuple
    written: tuple
    after: dict


def present(settings: dict) -> list[str]:
    """The stages of a spec with these settings, parents before their children."""
    return [stage for stage in PARENTS if f"stages.{stage}.criteria.files.expression" in settings]


def parts(one: Round, model: "Model") -> list[Part]:
    """The calls that draft a round."""
    after, found = dict(model.settings), []
    if one.shape is not None and one.shape != set(present(after)) & set("efg"):
        found.append(_reshaped(one.shape, after, model))
        after = found[0].after
    changes = [*(one.before.items() if one.apart else ()), *one.settings.items()]
    for key, value in changes:
        if key in after:
            after = after | {key: value}
            found.append(Part((), tuple(_written({key: value})), after))
    if one.apart or len(found) < 2:
        return found
    return [Part(found[0].removed, tuple(words for part in found for words in part.written), after)]


def _reshaped(shape: frozenset, settings: dict, model: "Model") -> Part:
    """Remove and add stages; one of `f` and `g` that comes in the place of the other is the other, renamed."""
    old = set(present(settings)) & set("efg")
    after = {key: value for key, value in settings.items() if key.split(".")[1:2] not in [[one] for one in old - shape]}
    written = []
    for stage in sorted(shape - old):
        renamed = {"f": "g", "g": "f"}.get(stage)
        settings_of = settings if renamed in old - shape else model.blank
        twin = next(name for name in (renamed, stage) if name in present(settings_of))
        source = {key: value for key, value in settings_of.items() if key.startswith(f"stages.{twin}.")}
        added = {key.replace(f"stages.{twin}.", f"stages.{stage}."): value for key, value in source.items()}
        after |= added
        written.append(f"stages.{stage}={json.dumps(_block(stage, added))}")
    return Part(tuple(f"stages.{stage}" for stage in sorted(old - shape)), tuple(written), after)


def _block(stage: str, settings: dict) -> dict:
    """The block of a stage in campaign.yaml."""
    own = {tuple(key.split(".")[2:]): value for key, value in settings.items()}
    ceilings = {"cores": 2, "memory_mb": 600, "runtime_min": 10}
    return {
        "depends_on": list(PARENTS[stage]),
        "definition": {keys[1]: value for keys, value in own.items() if keys[0] == "definition"},
        "criteria": [{"id": "files"} | {keys[2]: value for keys, value in own.items() if keys[0] == "criteria"}],
        "mechanical": {keys[1]: value for keys, value in own.items() if keys[0] == "mechanical"}
        | {"choices": {"threads": [1, 2]}, "ceilings": ceilings},
    }


@dataclass
class Model:
    """What must be so.

    done: finished steps; verified: stage -> what its last verdict looked at; open: stages that are not accepted;
    reported: whether a report is there; blank: the settings before any amendment.
    """

    settings: dict
    versions: list = field(default_factory=list)
    done: set = field(default_factory=set)
    verified: dict = field(default_factory=dict)
    open: set = field(default_factory=set)
    reported: bool = True
    blank: dict = field(default_factory=dict)

    def copy(self) -> "Model":
        """A model that changes on its own."""
        return deepcopy(self)

    def steps(self, stage: str) -> set[str]:
        """Names of the stage's steps as the spec is now."""
        count = self.settings["stages.c.definition.replicas"]
        return {f"b-{replica}" for replica in range(count)} if stage == "b" else {stage}

    def judged(self, stage: str) -> tuple:
        """What a verdict of the stage would look at."""
        prefix = f"stages.{stage}.criteria."
        criteria = tuple(sorted((key, value) for key, value in self.settings.items() if key.startswith(prefix)))
        return (*criteria, *sorted(self.steps(stage)))

    @property
    def stages(self) -> list[str]:
        """The stages that the campaign has now, parents before their children."""
        return present(self.settings)

    def amend(self, settings: dict) -> set[str]:
        """Take the settings of a whole spec over; the stages that it invalidates, with all that builds on them."""
        old, new = set(self.stages), set(present(settings))
        changed = {key for key, value in settings.items() if key in self.settings and self.settings[key] != value}
        judged = {stage: self.judged(stage) for stage in old}
        self.versions.append(dict(self.settings))
        self.settings = settings
        # Their verdicts are moved aside: a withdrawal before any run does not bring them back.
        self.verified = {
            stage: looked
            for stage, looked in self.verified.items()
            if stage in new and judged.get(stage) == self.judged(stage)
        }
        closure = {stage for stage in old if any(key.startswith(f"stages.{stage}.def") for key in changed)}
        closure = old if "seed" in changed else closure | (old - new)
        for stage, parents in PARENTS.items():  # parents stand before their children
            if stage in old and closure & set(parents):
                closure.add(stage)
        self.reported &= not closure & {step[0] for step in self.done}
        self.done = {step for step in self.done if step[0] not in closure}
        self.verified = {stage: looked for stage, looked in self.verified.items() if stage not in closure}
        self.open = (self.open | closure | (new - old)) & new
        return closure

    def compute(self) -> set[str]:
        """Compute steps that must run now."""
        return {step for stage in self.stages for step in self.steps(stage)} - self.done

    def verify(self) -> set[str]:
        """Stages whose verdict must be repeated now."""
        ran = {step[0] for step in self.compute()}
        return {stage for stage in self.stages if stage in ran or self.verified.get(stage) != self.judged(stage)}

    def failing(self) -> set[str]:
        """Stages with the criterion that nothing meets."""
        return {stage for stage in self.stages if self.settings[f"stages.{stage}.criteria.files.expression"] == FAILING}

    def run(self) -> set[str]:
        """Run with --keep-going: what it computes, all that waits for no acceptance that fails now."""
        judged, pending = self.verify() | self.open, {step[0] for step in self.compute()}
        held: set[str] = set()
        stuck: set[str] = set()
        for stage in self.stages:
            if stuck & set(PARENTS[stage]):
                held.add(stage)
            if stage in judged and (stage in self.failing() or stage in held & pending):
                stuck.add(stage)
        computed = {step for step in self.compute() if step[0] not in held}
        self.done |= computed
        for stage in judged:
            if self.steps(stage) <= self.done:
                self.verified[stage] = self.judged(stage)
                (self.open.add if stage in self.failing() else self.open.discard)(stage)
        self.reported |= not self.failing()
        return computed


def baseline(campaign: Campaign) -> Model:
    """Give the campaign criteria that hold for all parameters, sign it and run it; the model of what it is then."""
    spec = yaml.safe_load(campaign.spec.read_text())
    settings = {"seed": spec["seed"]}
    for stage, block in spec["stages"].items():
        block["criteria"] = [{"id": "files", "expression": PASSING, "statement": "Its file is there."}]
        settings |= {f"stages.{stage}.definition.{key}": value for key, value in block["definition"].items()}
        settings |= {
            f"stages.{stage}.criteria.files.{key}": block["criteria"][0][key] for key in ("expression", "statement")
        }
        settings |= {
            f"stages.{stage}.mechanical.{key}": block["mechanical"][key]
            for key in ("memory_mb", "runtime_min", "retries")
        }
    campaign.spec.write_text(yaml.safe_dump(spec, sort_keys=False))
    campaign.sign()
    campaign.complete()
    model = Model(settings, blank=settings)
    model.done = model.compute()
    model.verified = {stage: model.judged(stage) for stage in model.stages}
    return model


def duplicate(campaign: Campaign, folder: Path) -> Campaign:
    """The campaign with all that has run, somewhere else."""
    shutil.copytree(campaign.root, folder / campaign.root.name, symlinks=True)
    return Campaign(folder / campaign.root.name, campaign.key)


def check(campaign: Campaign, model: Model, rounds: list[Round]) -> list[str]:
    """Sign each amendment, compare what a dry run shows and what then runs with the model; what was signed."""
    signed: list[str] = []
    for one in rounds:
        withdraw = one.withdraw and bool(model.versions)
        if withdraw:
            _withdraw(campaign, model, len(signed) + 1, signed)
        else:
            _draft_and_sign(campaign, model, parts(one, model), signed)
        if one.run:  # after an amendment that changes nothing too: an earlier one may still wait for its run
            _run(campaign, model)
    if model.failing():
        loosened = {f"stages.{stage}.criteria.files.expression": PASSING for stage in model.failing()}
        _draft_and_sign(campaign, model, [Part((), tuple(_written(loosened)), model.settings | loosened)], signed)
        _run(campaign, model)
    assert campaign.shown() == set()
    return signed


def _withdraw(campaign: Campaign, model: Model, version: int, signed: list[str]) -> None:
    target = model.versions[-1]
    if target == model.settings:
        with pytest.raises(UserError, match="changes nothing"):
            amendment_draft.draft_amendment(campaign.root, "because", withdraw=version)
        return
    _sign(campaign, model, target, amendment_draft.draft_amendment(campaign.root, "because", withdraw=version))
    signed.append("withdrawal")


def _draft_and_sign(campaign: Campaign, model: Model, drafts: list[Part], signed: list[str]) -> None:
    """Draft part after part, each on top of the one that waits, and sign what waits then."""
    pending, drafted, added = model.settings, None, 0
    for part in drafts:
        said = None
        if part.after == pending:
            said = "changes nothing" if drafted is None else "holds all of this already"
        elif part.after == model.settings:
            said = "to forget the draft that waits"
        if said is None:
            added += drafted is not None
            pending = part.after
            drafted = amendment_draft.draft_amendment(campaign.root, "because", part.written, removed=part.removed)
            continue
        with pytest.raises(UserError, match=said):
            amendment_draft.draft_amendment(campaign.root, "because", part.written, removed=part.removed)
        if part.after == model.settings and drafted is not None:  # what waits was taken back, so a person forgets it
            amendment_draft.drop_draft(campaign.root)
            pending, drafted, added = model.settings, None, 0
    if drafted is not None:
        what = _what(model.settings, pending) + ["added to a waiting draft"] * bool(added)
        _sign(campaign, model, pending, drafted)
        signed.append("+".join(what))


def _sign(campaign: Campaign, model: Model, settings: dict, drafted: amendment_draft.Draft) -> None:
    old = set(model.stages)
    closure = model.amend(settings)
    campaign.sign()
    assert set(drafted.invalidated_stages) == closure
    assert closure <= old
    _compare_shown(campaign, model)


def _what(old: dict, new: dict) -> list[str]:
    """What an amendment changes, for the count."""
    gone, come = set(present(old)) - set(present(new)), set(present(new)) - set(present(old))
    renamed = bool(gone & set("fg")) and bool(come & set("fg"))
    found = {_part(key) for key in {*old, *new} if key in old and key in new and old[key] != new[key]}
    return sorted(
        found | ({"renamed stage"} if renamed else {*["removed stage"] * bool(gone), *["added stage"] * bool(come)})
    )


def _part(key: str) -> str:
    return key if key == "seed" else key.split(".")[2]


def _written(settings: dict) -> list[str]:
    return [f"{key}={json.dumps(value)}" for key, value in settings.items()]


def _compare_shown(campaign: Campaign, model: Model) -> None:
    verify = model.verify()
    wanted = model.compute() | {f"verify-{stage}" for stage in verify}
    wanted |= {f"accept-{stage}" for stage in verify | model.open}
    wanted |= {"caveats", "report"} if wanted or not model.reported else set()
    shown = campaign.shown()
    assert shown == wanted, f"shown only: {sorted(shown - wanted)}, wanted only: {sorted(wanted - shown)}"


def _run(campaign: Campaign, model: Model) -> None:
    before = campaign.tries()
    with forked_steps(campaign.root):
        done = campaign.snakemake("--keep-going")
    assert (done.returncode == 0) == (not model.failing()), done.stdout
    begun = {step: number - before.get(step, 0) for step, number in campaign.tries().items()}
    assert {step: number for step, number in begun.items() if number} == dict.fromkeys(model.run(), 1), done.stdout
