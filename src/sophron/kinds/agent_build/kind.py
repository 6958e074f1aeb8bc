"""The campaign kind agent_build: samples, then a loop of candidates, runs, scorecards and changes up to a signed bound.

Rounds are iterations of a build, counted from 1; one more is kept for the cases that were held out.
"""

from collections.abc import Mapping, Sequence

from sophron.interfaces.kind import AgentRule, Definition, Kind, Part, Question, StageKind

SAMPLE = StageKind(
    name="sample",
    depends_on=(),
    run="sophron.kinds.agent_build.stages:sample",
    schema="agent_build/sample",
    wildcards=("case",),
    outputs={"sample": "sample.json", "task": "task.json"},
)
BUILD = StageKind(
    name="build",
    depends_on=("sample",),
    run="sophron.kinds.agent_build.stages:build",
    schema="agent_build/build",
    outputs={"agent": "agent.json", "history": "history.json"},
    parts=(
        Part(
            "candidate",
            "sophron.kinds.agent_build.stages:candidate",
            "agent_build/candidate",
            ("round",),
            outputs={"agent": "agent.json", "change": "change.json"},
            carried=("conclude", "optimize"),
        ),
        Part(
            "card",
            "sophron.kinds.agent_build.stages:card",
            "agent_build/card",
            ("round", "case"),
            outputs={"card": "card.json"},
            builds_on=("aud", "judge_screen", "judge_score"),
        ),
        Part(
            "conclude",
            "sophron.kinds.agent_build.stages:conclude",
            "agent_build/conclude",
            ("round",),
            outputs={"best": "best.json", "cards": "cards.json", "history": "history.json"},
            builds_on=("candidate", "card"),
            carried=("conclude",),
        ),
    ),
    agents=(
        AgentRule("aud", ("round", "case"), bounded=True, may_fail=True),
        AgentRule("judge_screen", ("round", "case"), bounded=True),
        AgentRule("judge_score", ("round", "case", "repeat"), bounded=True),
        AgentRule("optimize", ("round",), bounded=True),
    ),
    builds_on=("conclude",),
)


def ranges(definitions: Mapping[str, Definition]) -> Mapping[str, Sequence[str]]:
    """`round`: iterations and one more for what was held out; `case`, `repeat`: as the signed definition lists them."""
    about: Definition = definitions["build"]
    return {
        "round": [str(number) for number in range(1, about["iterations"] + 2)],
        "case": list(definitions["sample"]["cases"]),
        "repeat": [str(number) for number in range(1, about["repeats"] + 1)],
    }


def question(_definitions: Mapping[str, Definition]) -> Question:
    """Whether it was built: a yes or no without a unit."""
    asked = "whether an agent meets every threshold of the rubric on every active case in one round"
    return Question({asked: "none"}, {"tiers": "none", "held_out": "none"})


KIND = Kind(
    name="agent_build",
    about="Build an agent for a task that a rubric can judge, over cases of rising difficulty",
    rules="build.smk",
    stages=(SAMPLE, BUILD),
    ranges=ranges,
    question=question,
    planted_faults="agent_build/planted_faults.yaml",
)
