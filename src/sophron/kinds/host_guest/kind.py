"""The host_guest kind: binding free energies by pipelines that an author designs, a panel argues over and trials try.

Read by every verb at start-up, so it imports nothing heavy; what runs a stage is named, not imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sophron.debate.trials.methods import EXPERTS, METHODS, TURNS
from sophron.interfaces.kind import AgentRule, Definition, Kind, Part, Question, StageKind
from sophron.records.errors import UserError

_GUEST, _WINDOW = ("trial", "guest"), ("trial", "guest", "window")
LEFT = {"left": "left.tar"}
EXECUTED = {**LEFT, "executed": "executed.json"}
_PIPELINE = {"pipeline": "pipeline.txt"}


def most_trials(trials: Definition) -> int:
    """Return how many trials there can be: N times M, and those that may fail for their form alone."""
    return int(trials["successes"] * trials["failures"] + trials.get("form_failures", 0))


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Values of the wildcards. `training` and `held_out` are none: rules ask for them as lists."""
    trials, settings = definitions["trials"], definitions["tasks"]
    training, held_out = list(trials["training"]), list(trials["held_out"])
    return {
        "guest": list(settings["guests"]),
        "trial": [str(number) for number in range(most_trials(trials))],
        "window": [str(number) for number in range(trials["most_windows"])],
        "attempt": [str(number) for number in range(trials["attempts"] + 1)],
        "fix": [str(number) for number in range(max(1, trials["attempts"]))],
        "turn": list(TURNS),
        "training": training,
        "held_out": held_out,
        "expert": list(EXPERTS),
    }


def conditions(definitions: Mapping[str, Definition]) -> dict[str, str | None]:
    """Conditions of bound guests, and whatever else the settings of the system say."""
    free = dict.fromkeys(("library", "benchmark", "solvent", *definitions["tasks"]["settings"]))
    return {**free, "temperature_k": "K", "ph": "none", "sigma_a": "angstrom"}


def question(definitions: Mapping[str, Definition]) -> Question:
    """How far predictions are from what was measured."""
    asked = "mean absolute error of the standard binding free energies of held-out guests"
    return Question({asked: "kcal/mol (1 mol/l)"}, conditions(definitions))


def left_out(definitions: Mapping[str, Definition]) -> list[str]:
    """What the method has no use for: rules of the Engineer, of the critic, of the panel and what weighs its votes."""
    method = METHODS[definitions["trials"]["method"]]
    if "discussion" in definitions and not method.panel:
        name = definitions["trials"]["method"]
        raise UserError(
            f"campaign.yaml: stages.discussion: the method {name} has no panel; remove this stage and its name from "
            "depends_on of trials"
        )
    without = {
        "pipeline_engineer": method.engineer,
        "pipeline_critic": method.critic,
        **dict.fromkeys((*(asked.rule for asked in (*_PRE, *_POST)), "screen", "review"), method.panel),
        **dict.fromkeys((*(asked.rule for asked in _SINGLE), "examine"), method.each_guest),
    }
    return [name for name, has in without.items() if not has]


def _votes(stem: str, *wildcards: str, bounded: bool) -> tuple[AgentRule, ...]:
    return (AgentRule(f"vote_{stem}", ("expert", *wildcards, "turn"), bounded=bounded, asks="{expert}"),)


def _part(
    name: str,
    wildcards: tuple[str, ...],
    builds_on: tuple[str, ...],
    *,
    run: str,
    schema: str = "",
    outputs: Mapping[str, str] | None = None,
    carried: tuple[str, ...] = (),
    engine: str = "",
    rederivable: bool = False,
) -> Part:
    return Part(
        name,
        f"sophron.debate.trials.{run}",
        f"host_guest/{schema or name}",
        wildcards,
        outputs=outputs or {},
        builds_on=builds_on,
        carried=carried,
        engine=engine,
        rederivable=rederivable,
    )


def _execution(name: str, wildcards: tuple[str, ...], *before: str) -> Part:
    """The step of a stage file: it reuses the previous trial's result if nothing it depends on changed."""
    return _part(
        name,
        wildcards,
        ("tasks", "rehearse", *before),
        run="execute_stage_file:execute",
        schema="executed",
        outputs=EXECUTED,
        carried=(name,),
        engine="openmm",
    )


_PRE, _POST = _votes("pre", "trial", bounded=True), _votes("post", "trial", bounded=True)
_SINGLE = _votes("single", *_GUEST, bounded=True)

TRIALS = StageKind(
    "trials",
    depends_on=("tasks", "references", "discussion"),
    partial=True,
    run="sophron.debate.trials.panel_stages:trials",
    schema="host_guest/trials",
    outputs={**_PIPELINE, "reputation": "reputation.json", "trials_plot": "trials.svg"},
    rederivable=True,
    parts=(
        _part(
            "layer1",
            ("trial",),
            ("tasks", "pipeline_author", "pipeline_critic"),
            run="trial_setup:looked_at",
            outputs=_PIPELINE,
        ),
        _part(
            "rehearse",
            ("trial", "attempt"),
            ("tasks", "layer1", "pipeline_engineer"),
            run="trial_setup:rehearse",
            outputs=_PIPELINE,
        ),
        _part(
            "screen",
            ("trial",),
            tuple(asked.rule for asked in _PRE),
            run="panel_stages:screen",
            rederivable=True,
            schema="critique",
            carried=("close",),
        ),
        _execution("prepare", _GUEST),
        _execution("equilibrate", _GUEST, "prepare"),
        _execution("produce", _WINDOW, "prepare", "equilibrate"),
        _execution("analyse", _GUEST, "prepare", "equilibrate", "produce"),
        _part(
            "benchmark",
            ("trial",),
            ("references", "prepare", "equilibrate", "produce", "analyse"),
            run="panel_stages:benchmark",
            rederivable=True,
        ),
        _part(
            "examine",
            _GUEST,
            tuple(asked.rule for asked in _SINGLE),
            run="panel_stages:examine",
            rederivable=True,
            schema="critique",
            carried=("close",),
        ),
        _part(
            "review",
            ("trial",),
            tuple(asked.rule for asked in _POST),
            run="panel_stages:review",
            rederivable=True,
            schema="critique",
            carried=("close",),
        ),
        _part(
            "close",
            ("trial",),
            ("rehearse", "screen", "benchmark", "review"),
            run="panel_stages:close",
            rederivable=True,
            carried=("close",),
        ),
    ),
    agents=(
        AgentRule("pipeline_author", ("trial",), bounded=True),
        AgentRule("pipeline_critic", ("trial",), bounded=True),
        AgentRule("pipeline_engineer", ("trial", "fix"), bounded=True),
        *_PRE,
        *_SINGLE,
        *_POST,
    ),
    builds_on=("close", "rehearse", "analyse"),
)

_DESIGN = _votes("design", bounded=False)

KIND = Kind(
    name="host_guest",
    about="Binding free energies of host-guest complexes (OpenMM) by pipelines that agents write and "
    "argue over; known benchmarks or a model of two particles",
    rules="host_guest.smk",
    stages=(
        StageKind(
            "tasks",
            depends_on=(),
            run="sophron.debate.trials.trial_setup:tasks",
            schema="host_guest/tasks",
            wildcards=("guest",),
            outputs=LEFT,
        ),
        StageKind(
            "references",
            depends_on=(),
            run="sophron.debate.trials.trial_setup:references",
            schema="host_guest/references",
            outputs={"references": "references.json"},
            rederivable=True,
        ),
        StageKind(
            "discussion",
            depends_on=("tasks",),
            run="sophron.debate.trials.panel_stages:discussion",
            schema="host_guest/discussion",
            agents=_DESIGN,
            builds_on=tuple(asked.rule for asked in _DESIGN),
            rederivable=True,
            optional=True,
        ),
        TRIALS,
    ),
    ranges=ranges,
    left_out=left_out,
    question=question,
    planted_faults="host_guest/planted_faults.yaml",
    report="sophron.kinds.host_guest.report_sections:sections",
)
