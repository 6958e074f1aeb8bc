"""What the gate costs a step behind a plan of 10,000.

Two differences of wall time: `bare`, a Python that does nothing but call `require_approved`, less one that passes (it
pays for the import of json, pathlib and subprocess, which every step needs anyway); and `step`, a Python that has
imported what `sophron stage` imports and calls it, less one that has imported the same and does not.

Run as: python bench/require_approved.py --rounds 20
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from kills import campaign
from large_campaign import REPLICAS, spec, steps
from record import record

from sophron.campaign.spec.spec import load
from sophron.records.digests import SHELL_FIELD

MOST_MS = 50
IMPORTS = "from pathlib import Path; import sophron.cli.stage; import sophron.campaign.execution.run_step"
CALL = """\
from pathlib import Path
from sophron.records.approvals import Claim, require_approved
require_approved(Claim("produce", {digest!r}, "produce", {{"replica": "7"}}, {argv!r}, 1, 500, 5), Path({root!r}))
"""


def call(root: Path) -> str:
    """The program that asks for one step of production."""
    signed = json.loads(json.loads((root / "approvals" / "gate.json").read_bytes())["record"])
    argv = [SHELL_FIELD.sub("1", word) for word in shlex.split(signed["rules"]["produce"])[1:]]
    digest = load(root / "campaign.yaml").definition_digest("produce")
    return CALL.format(digest=digest, argv=argv, root=str(root))


def taken(code: str) -> tuple[float, float]:
    """Wall and CPU milliseconds of a fresh Python, its own child processes included."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    wall, cpu = time.perf_counter(), sum(os.times()[2:4])
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return 1000 * (time.perf_counter() - wall), 1000 * (sum(os.times()[2:4]) - cpu)


def summary(times: list[tuple[float, float]]) -> dict[str, float]:
    """Median, least and nine-tenths of the wall times, mean of the CPU times (the clock counts them in 10 ms)."""
    wall = [one[0] for one in times]
    cpu = sum(one[1] for one in times) / len(times)
    return {
        "median_ms": round(median(wall), 1),
        "least_ms": round(min(wall), 1),
        "p90_ms": round(quantiles(wall, n=10)[-1], 1),
        "cpu_ms": round(cpu, 1),
    }


def main() -> int:
    """Measure, write the record; 1 where the gate costs a step over MOST_MS."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = str(Path(folder) / "config")
        key = Path(folder) / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        root = campaign(Path(folder) / "campaign", spec(REPLICAS), key)
        code = call(root)
        ways = {"bare": code, "pass": "pass", "step": f"{IMPORTS}\n{code}", "step_pass": IMPORTS}
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for code in ways.values():
            taken(code)
        for _ in range(args.rounds):
            for name, code in ways.items():
                times[name].append(taken(code))
    result = {name: summary(one) for name, one in times.items()}
    added = {
        way: {key: round(result[way][key] - result[without][key], 1) for key in result[way]}
        for way, without in (("bare", "pass"), ("step", "step_pass"))
    }
    about = {"rounds": args.rounds, "steps": steps(REPLICAS), "load_average": round(os.getloadavg()[0], 1)}
    record("require_approved", {**about, **result, "added": added, "target_ms": MOST_MS})
    return int(added["step"]["median_ms"] > MOST_MS)


if __name__ == "__main__":
    sys.exit(main())
