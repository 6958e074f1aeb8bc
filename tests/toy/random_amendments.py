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
from toy import Campaign

from sophron.records.errors import UserError

PARENTS = {"a": "", "b": "a", "c": "b", "d": "c", "e": "a", "f": "ce"}
PARAMETERS = {
    "a": {"first": st.integers(-5, 5), "terms": st.integers(1, 6)},
    "b": {"factor": st.sampled_from([0.5, 1, 2, 3.25])},
    "c": {"weight": st.sampled_from([0.25, 0.5, 1]), "replicas": st.integers(1, 4)},
    "d": {"offset": st.integers(0, 9)},
    "e": {"power": st.integers(0, 3)},
    "f": {"scale": st.floats(-3, 3, allow_nan=False)},
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
    """One amendment: its settings, or a withdrawal of the last version; and whether Snakemake runs after it."""

    settings: dict
    withdraw: bool
    run: bool


ROUND = st.builds(
    Round,
    settings=st.lists(CHANGE, min_size=1, max_size=3).map(dict),
    withdraw=st.sampled_from([False, False, False, True]),
    run=st.sampled_from([True, True, False]),
)
ROUNDS = st.lists(ROUND, min_size=1, max_size=2).map(lambda rounds: [*rounds[:-1], replace(rounds[-1], run=True)])


@dataclass
class Model:
    """What must be so.

    done: finished steps; verified: stage -> what its last verdict looked at; open: stages that are not accepted.
    """

    settings: dict
    versions: list = field(default_factory=list)
    done: set = field(default_factory=set)
    verified: dict = field(default_factory=dict)
    open: set = field(default_factory=set)

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

    def amend(self, settings: dict) -> set[str]:
        """Take settings over; the stages that they invalidate, with all that builds on them."""
        changed = {key for key, value in settings.items() if self.settings[key] != value}
        judged = {stage: self.judged(stage) for stage in PARENTS}
        self.versions.append(dict(self.settings))
        self.settings = self.settings | settings
        # Their verdicts are moved aside: a withdrawal before any run does not bring them back.
        self.verified = {
            stage: looked for stage, looked in self.verified.items() if judged[stage] == self.judged(stage)
        }
        closure = {stage for stage in PARENTS if any(key.startswith(f"stages.{stage}.def") for key in changed)}
        closure = set(PARENTS) if "seed" in changed else closure
        for stage, parents in PARENTS.items():  # parents stand before their children
            if closure & set(parents):
                closure.add(stage)
        self.done = {step for step in self.done if step[0] not in closure}
        self.verified = {stage: looked for stage, looked in self.verified.items() if stage not in closure}
        self.open |= closure
        return closure

    def compute(self) -> set[str]:
        """Compute steps that must run now."""
        return {step for stage in PARENTS for step in self.steps(stage)} - self.done

    def verify(self) -> set[str]:
        """Stages whose verdict must be repeated now."""
        ran = {step[0] for step in self.compute()}
        return {stage for stage in PARENTS if stage in ran or self.verified.get(stage) != self.judged(stage)}

    def failing(self) -> set[str]:
        """Stages with the criterion that nothing meets."""
        return {stage for stage in PARENTS if self.settings[f"stages.{stage}.criteria.files.expression"] == FAILING}

    def run(self) -> set[str]:
        """Run with --keep-going: what it computes, all that waits for no acceptance that fails now."""
        judged, pending = self.verify() | self.open, {step[0] for step in self.compute()}
        held: set[str] = set()
        stuck: set[str] = set()
        for stage, parents in PARENTS.items():
            if stuck & set(parents):
                held.add(stage)
            if stage in judged and (stage in self.failing() or stage in held & pending):
                stuck.add(stage)
        computed = {step for step in self.compute() if step[0] not in held}
        self.done |= computed
        for stage in judged:
            if self.steps(stage) <= self.done:
                self.verified[stage] = self.judged(stage)
                (self.open.add if stage in self.failing() else self.open.discard)(stage)
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
    model = Model(settings)
    model.done = model.compute()
    model.verified = {stage: model.judged(stage) for stage in PARENTS}
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
        settings = model.versions[-1] if withdraw else one.settings
        changed = {key: value for key, value in settings.items() if model.settings[key] != value}
        if not changed:
            with pytest.raises(UserError, match="changes nothing"):
                campaign.amend(*_written(settings))
        else:
            closure = model.amend(settings)
            version = len(signed) + 1
            drafted = campaign.amend(withdraw=version) if withdraw else campaign.amend(*_written(settings))
            signed.append("withdrawal" if withdraw else "+".join(sorted({_part(key) for key in changed})))
            assert set(drafted.invalidated_stages) == closure
            _compare_shown(campaign, model)
        if one.run:  # after an amendment that changes nothing too: an earlier one may still wait for its run
            _run(campaign, model)
    if model.failing():
        loosened = {f"stages.{stage}.criteria.files.expression": PASSING for stage in model.failing()}
        assert model.amend(loosened) == set()
        assert campaign.amend(*_written(loosened)).invalidated_stages == []
        signed.append("criteria")
        _compare_shown(campaign, model)
        _run(campaign, model)
    assert campaign.shown() == set()
    return signed


def _part(key: str) -> str:
    return key if key == "seed" else key.split(".")[2]


def _written(settings: dict) -> list[str]:
    return [f"{key}={json.dumps(value)}" for key, value in settings.items()]


def _compare_shown(campaign: Campaign, model: Model) -> None:
    verify = model.verify()
    wanted = model.compute() | {f"verify-{stage}" for stage in verify}
    wanted |= {f"accept-{stage}" for stage in verify | model.open}
    wanted |= {"caveats", "report"} if wanted else set()
    shown = campaign.shown()
    assert shown == wanted, f"shown only: {sorted(shown - wanted)}, wanted only: {sorted(wanted - shown)}"


def _run(campaign: Campaign, model: Model) -> None:
    before = campaign.tries()
    done = campaign.snakemake("--keep-going")
    assert (done.returncode == 0) == (not model.failing()), done.stdout
    begun = {step: number - before.get(step, 0) for step, number in campaign.tries().items()}
    assert {step: number for step, number in begun.items() if number} == dict.fromkeys(model.run(), 1), done.stdout
