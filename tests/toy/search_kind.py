"""A campaign kind with a loop: rounds of guesses at a square root, each round advised by an agent.

How many guesses a round makes is known only when the round before it was weighed; the last guess of a round may be told
to fail.
"""

from pathlib import Path

from sophron.campaign.report.report import Report
from sophron.campaign.report.report_sections import Section, Table
from sophron.interfaces.kind import AgentRule, EngineFailure, Kind, Part, StageKind, StepContext, StepResult

HERE = Path(__file__).parent

SEARCH = StageKind(
    name="search",
    depends_on=(),
    run="search_kind:search",
    schema=str(HERE / "schemas" / "search"),
    parts=(
        Part("guess", "search_kind:guess", str(HERE / "schemas" / "guess"), ("round", "item"), builds_on=("advise",)),
        Part(
            "weigh",
            "search_kind:weigh",
            str(HERE / "schemas" / "weigh"),
            ("round",),
            builds_on=("guess",),
            carried=("weigh",),
        ),
    ),
    agents=(AgentRule("advise", ("round",), bounded=True, asks="checkpoint-management"),),
    builds_on=("weigh",),
)


def ranges(definitions):
    """`round` counts rounds, `item` the guesses of one."""
    search = definitions["search"]
    return {
        "round": [str(number) for number in range(search["rounds"])],
        "item": [str(number) for number in range(search["most_guesses"])],
    }


def sections(report: Report) -> list[Section]:
    """What the kind adds to its report."""
    (stage,) = report.stages
    rows = [[number, str(ran["guess"].steps)] for number, ran in stage.loop.ran.items()]
    return [Section("Guesses", tables=[Table("Guesses of each round.", ("round", "guesses"), rows)])]


KIND = Kind(
    name="search", rules=str(HERE / "search.smk"), stages=(SEARCH,), ranges=ranges, report="search_kind:sections"
)


def advise(root, spec, wildcards):
    """What the agent of a round is told: nothing of use, for it must only be asked."""
    return {"restarts": [], "policy": {"keep": 1 + int(wildcards["round"])}}


def guess(ctx: StepContext) -> StepResult:
    """A number between 0 and `square`, from the step's seed; the agent of the round was asked before."""
    (advice,) = ctx.upstream["advise"]
    if ctx.definition["breaks"] == int(ctx.wildcards["item"]):
        raise EngineFailure("this guess is told to fail")
    return StepResult({"value": ctx.seed % (ctx.definition["square"] * 1000) / 1000, "advised": bool(advice.result)})


def weigh(ctx: StepContext) -> StepResult:
    """The best guess so far; whether it is near enough; how many guesses the next round makes."""
    guesses = [step.result["value"] for step in ctx.upstream["guess"] if step.failed is None]
    guesses += [step.result["best"] for step in ctx.previous.get("weigh", [])]
    square = ctx.definition["square"]
    best = min(guesses, key=lambda value: abs(value**2 - square))
    failed = sum(step.failed is not None for step in ctx.upstream["guess"])
    enough = abs(best**2 - square) < ctx.definition["tolerance"]
    more = min(len(ctx.upstream["guess"]) + 1, ctx.definition["most_guesses"])
    return StepResult({"best": best, "enough": enough, "next": more, "failed": failed})


def search(ctx: StepContext) -> StepResult:
    """The best guess of the last round."""
    weighed = ctx.upstream["weigh"]
    return StepResult({"root": weighed[-1].result["best"], "rounds": len(weighed)})
