"""A build by rules of thumb from a blank agent: iterations to each pass under P-strict, and the cases held out.

pip install 'sophron[xrd,agents]'; SOPHRON_XRD_DATA=... python bench/agent_build.py FOLDER [ITERATIONS]; the same
line goes on after a kill. It is a test of the machinery, and says nothing about models.
"""

import sys
import time
from pathlib import Path

from record import record

from sophron.agentbuild import build_loop, contract, rehearsal
from sophron.agentbuild.build_store import CHANGE, Place
from sophron.records.package_data import resource

ITERATIONS = 12


def line(build: build_loop.Build, verdict: dict) -> dict[str, object]:
    """One iteration: what was met, what was missed, what was changed before it."""
    change = build.records.document(verdict["iteration"], CHANGE)
    return {
        "iteration": verdict["iteration"],
        "tiers": verdict["tiers"],
        "met": verdict["met"],
        "wanted": verdict["wanted"],
        "p_strict": verdict["p_strict"],
        "missed": [f"{one['case']} {one['code']}" for one in verdict["misses"]],
        "change": change["rationale"],
        "rolled_back": change["refusal"],
    }


def figures(build: build_loop.Build, place: Place) -> dict[str, object]:
    """Scores, R factors, claims and weight fractions of each case, as an agent's reports state them."""
    found = {}
    for case, card in place.cards().items():
        run = place.run(case, build.contract.references[case])
        fit, phases = (run.report or {}).get("fit") or {}, (run.report or {}).get("phases", [])
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
    build = build_loop.begin(folder, found, most)
    begun = time.monotonic()
    result = build_loop.drive(build, rehearsal.Rehearsal(folder, found), lambda action: print(action, flush=True))
    verdicts = build.records.verdicts()
    passes = [one["iteration"] for one in verdicts if one["p_strict"]]
    record(
        "agent_build",
        {
            "contract": {"name": found.name, "version": found.version, "digest": found.digest},
            "handles": {part: dict(who) for part, who in found.handles.items()},
            "iterations": [line(build, one) for one in verdicts],
            "passes_in_iteration": passes,
            "before_the_last_pass": figures(build, build.records.iteration(passes[-1] - 1)) if passes else {},
            "last": figures(build, build.records.iteration(len(verdicts))),
            "held_out": figures(build, build.records.held_out),
            "result": dict(result),
            "wall_s_of_this_call": round(time.monotonic() - begun, 1),
        },
    )
    return 0 if result["saturated"] and all(result["held_out"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
