"""What a finished melt campaign says: Green-Kubo viscosity, its error, SLLOD at zero rate, and whether they agree.

cp -R campaigns/kg-melt-viscosity melt; sophron review; sophron approve; snakemake --profile local
python bench/melt.py melt
"""

import argparse
import json
import sys
from pathlib import Path

from demo import wall
from record import record

MOST_RELATIVE_ERROR = 0.06
LARGEST_DIFFERENCE = 0.3
"""As the campaign signs it."""


def result(root: Path, stage: str) -> dict[str, object]:
    """The typed result of a stage that is one step."""
    return json.loads((root / "results" / stage / "outcome.json").read_text())["result"]


def main() -> int:
    """Read, print and record; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", type=Path)
    args = parser.parse_args()
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
