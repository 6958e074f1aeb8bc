"""The smallest SAMPL4 campaign, one training guest of CB7, from its tasks to its report by rules of thumb.

What must hold: Snakemake ends, within fifteen minutes on two idle cores, and nothing that the loop says of a guest is a
prediction: implicit solvent and 20 ps a window predict nothing, and the analysis has to say so.

    pip install 'sophron[chem]'; python bench/cb7_smoke.py DATA [--protocol NAME]

DATA: the folder with `sampl4_cb7`; NAME: with what the author begins, attach_pull_release where it is left out. Of the
other protocols the time is recorded and not judged.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from kills import campaign, finish, sophron
from record import record

from sophron.records.files import resource

LIMIT_S = 900.0
TIMEOUT_S = 3600.0


def outcomes(root: Path, step: str) -> list[dict]:
    """Results of a step of the loop, in order of their paths."""
    paths = sorted((root / "results" / "trials" / step).rglob("outcome.json"))
    return [json.loads(path.read_text())["result"] for path in paths]


def answers(root: Path) -> list[dict]:
    """What each analysis came to: a number, or why there is none."""
    paths = sorted((root / "results" / "trials" / "analyse").rglob("executed.json"))
    said = [json.loads(path.read_text())["result"] for path in paths]
    return [{key: one[key] for key in ("status", "delta_g_kcal_per_mol", "failure")} for one in said]


def main() -> int:
    """Run, record; 1 where something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--protocol", choices=("replica_exchange", "double_decoupling"))
    args = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="sophron-cb7-smoke-"))
    os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(base / "config"), str(base / "state")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
    spec = yaml.safe_load((resource("campaigns", "sampl4-cb7-smoke") / "campaign.yaml").read_text())
    for stage in ("tasks", "references"):
        spec["stages"][stage]["definition"]["settings"]["data"] = str(args.data.absolute())
    if args.protocol:
        spec["stages"]["trials"]["definition"]["protocol"] = args.protocol
    root = campaign(base / "smoke", yaml.safe_dump(spec, sort_keys=False), base / "key")
    begun = time.monotonic()
    code, said = finish(root, TIMEOUT_S)
    wall_s = round(time.monotonic() - begun, 1)
    found = {
        "exit_code": code,
        "wall_s": wall_s,
        "limit_s": LIMIT_S,
        "trials": [one["failure"] for one in outcomes(root, "close")],
        "focus": [one["critique"]["focus"] for one in outcomes(root, "review")],
        "analyses": answers(root),
        "answer": sophron("answer", cwd=root).splitlines()[0] if code == 0 else None,
        "steps": len(list((root / "records").glob("*/published.json"))),
        "said": said[-1000:] if code else "",
    }
    print(json.dumps(found, indent=2), root)
    record(f"cb7_smoke_{args.protocol}" if args.protocol else "cb7_smoke", found)
    silent = all(one["delta_g_kcal_per_mol"] is None for one in found["analyses"])
    late = wall_s > LIMIT_S and not args.protocol
    return int(code != 0 or late or not silent)


if __name__ == "__main__":
    sys.exit(main())
