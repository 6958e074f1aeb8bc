"""What a finished melt campaign says: Green-Kubo viscosity, its error, SLLOD at zero rate, and whether they agree.

cp -R campaigns/kg-melt-viscosity melt; sophron review; sophron approve; snakemake --profile local
python bench/melt.py melt
python bench/melt.py --recorded     # the recorded rates, judged by the extrapolation and the test of today
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from demo import wall
from record import RESULTS, record

from sophron.records.files import write_text
from sophron.science.estimators.statistical_power import Agreement, compare_two
from sophron.science.estimators.statistics import Estimated
from sophron.science.estimators.zero_shear import extrapolate

MOST_RELATIVE_ERROR = 0.06
LARGEST_DIFFERENCE = 0.3
"""As the campaign signs it."""


def result(root: Path, stage: str) -> dict[str, object]:
    """The typed result of a stage that is one step."""
    return json.loads((root / "results" / stage / "outcome.json").read_text())["result"]


def judge_record() -> None:
    """Add what today's code says of the recorded rates to the record."""
    path = RESULTS / "melt.json"
    document = json.loads(path.read_text())
    green_kubo, rates = document["result"]["green_kubo"], document["result"]["cross_check"]["rates"]
    names = ("rate", "viscosity", "viscosity_error")
    zero = extrapolate(*([one[name] for one in rates] for name in names))
    other = (green_kubo[name] for name in ("viscosity", "viscosity_standard_error", "degrees_of_freedom"))
    test = compare_two(Estimated(zero.viscosity, zero.error), Estimated(*other))
    agreement = test.agreement(LARGEST_DIFFERENCE) if zero.reliable else Agreement.CANNOT_TELL
    document["result"]["judged_again"] = {"extrapolation": asdict(zero), **asdict(test), "agreement": agreement}
    write_text(path, json.dumps(document, indent=2) + "\n")
    print(json.dumps(document["result"]["judged_again"], indent=2))


def main() -> int:
    """Read, print and record; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", type=Path, nargs="?")
    parser.add_argument("--recorded", action="store_true", help="judge the recorded rates again")
    args = parser.parse_args()
    if args.recorded:
        judge_record()
        return 0
    if not args.campaign:
        parser.error("a campaign is needed, or --recorded")
    verdicts = {
        path.parent.name: json.loads(path.read_text())["verdict"]
        for path in args.campaign.glob("results/*/verdict.json")
    }
    found = {stage: result(args.campaign, stage) for stage in ("green_kubo", "cross_check", "rouse")}
    finished = (args.campaign / "results" / "report.html").is_file()
    took = {"wall_s": round(wall(args.campaign)[1] - wall(args.campaign)[0], 1)} if finished else {}
    record("melt", {"verdicts": verdicts, **took, **found})
    print(json.dumps(found, indent=2))
    small = found["green_kubo"]["viscosity_relative_error"] < MOST_RELATIVE_ERROR
    return 0 if small and found["cross_check"]["agreement"] == "agree" else 1


if __name__ == "__main__":
    sys.exit(main())
