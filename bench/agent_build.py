"""A build by rules of thumb from a blank agent: iterations to each pass under P-strict, and the cases held out.

pip install 'sophron[xrd,agents]'; SOPHRON_XRD_DATA=... python bench/agent_build.py FOLDER [ITERATIONS]; the same
line goes on after a kill. It is a test of the machinery, and says nothing about models.
"""

import sys
import time
from pathlib import Path

from record import record

from sophron.agentbuild import contract
from sophron.agentbuild.iteration import Iteration
from sophron.campaign.spec import pitfalls
from sophron.kinds.agent_build import rehearsal, trail_source
from sophron.records.documents import load_json
from sophron.records.files import resource

ITERATIONS = 12


def line(entry: Iteration) -> dict[str, object]:
    """One iteration: what was met, what was missed, what was changed before it."""
    verdict, change = entry.verdict, entry.change
    return {
        "iteration": verdict.iteration,
        "tiers": verdict.tiers,
        "met": verdict.met,
        "wanted": verdict.wanted,
        "p_strict": verdict.p_strict,
        "missed": [f"{one.case} {one.code}" for one in verdict.misses],
        "change": change.rationale,
        "rolled_back": change.refusal,
    }


def figures(folder: Path, number: int) -> dict[str, object]:
    """Scores, R factors, claims and weight fractions of each case of a round, as an agent's reports state them."""
    found, loop = {}, folder / "results" / "build"
    for path in sorted(loop.glob(f"card/{number}/*/card.json")):
        card, case = load_json(path), path.parent.name
        report = load_json(loop / "try_case" / str(number) / case / "answer.json").get("answer", {})
        fit, phases = report.get("fit") or {}, report.get("phases", [])
        found[case] = {
            "passed": card["passed"],
            "scores": {one["code"]: one["score"] for one in card["dimensions"]},
            "rwp_percent": fit.get("rwp_percent"),
            "r_expected_percent": fit.get("r_expected_percent"),
            "claimed": [one["name"] for one in phases if one["claimed"]],
            "weight_fractions": {one["name"]: one["weight_fraction"] for one in phases if one["in_model"]},
        }
    return found


def main() -> int:
    folder = Path(sys.argv[1]).absolute()
    most = int(sys.argv[2]) if len(sys.argv) > 2 else ITERATIONS
    found = contract.load(resource("contracts", "rietveld-snr"))
    begun = time.monotonic()
    rehearsal.begin(found, most, folder, pitfalls.probes_of(folder))
    passed = rehearsal.run(folder)
    history, held_out = trail_source.rounds(folder)
    passes = [entry.verdict.iteration for entry in history if entry.verdict.p_strict]
    record(
        "agent_build",
        {
            "contract": {"name": found.name, "version": found.version, "digest": found.digest},
            "handles": {part: dict(who) for part, who in found.handles.items()},
            "iterations": [line(entry) for entry in history],
            "passes_in_iteration": passes,
            "before_the_last_pass": figures(folder, passes[-1] - 1) if passes else {},
            "last": figures(folder, len(history)),
            "held_out": figures(folder, len(history) + 1) if held_out else {},
            "result": load_json(folder / "results" / "build" / "outcome.json")["result"],
            "wall_s_of_this_call": round(time.monotonic() - begun, 1),
        },
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
