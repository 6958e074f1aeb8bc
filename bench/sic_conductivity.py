"""The SiC campaign with its amended method (Mueller-Plathe in four boxes), run whole: conductivity by length.

The shipped plan with the stages that the pitfall many-body-heat-flux holds as its way out, signed with a key made here.
It is recorded with its verdicts, the last of which fails where no bulk value is given. Some 25 CPU minutes.

    python bench/sic_conductivity.py
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from kills import campaign, finish
from melt import result
from record import record

from sophron.records.files import resource


def spec() -> str:
    """The shipped campaign.yaml with the method changed as the pitfall says."""
    data = yaml.safe_load(resource("campaigns", "sic-conductivity", "campaign.yaml").read_text())
    change = yaml.safe_load(resource("workflow", "agents", "pitfalls", "many-body-heat-flux.yaml").read_text())
    for name in change["amendment"]["remove_stages"]:
        del data["stages"][name]
    data["stages"].update(change["amendment"]["add_stages"])
    data["method"]["name"] = change["amendment"]["method_name"]
    data["method"]["assumptions"] = [one for one in data["method"]["assumptions"] if one["id"] != "heat_flux"]
    return yaml.safe_dump(data, sort_keys=False)


def main() -> int:
    """Run and record; 1 where the last stage has no verdict."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(base / "config"), str(base / "state")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
        begun = time.monotonic()
        root = campaign(base / "sic", spec(), base / "key")
        _, said = finish(root, timeout_s=2 * 3600)
        judged = {path.parent.name: json.loads(path.read_text()) for path in root.glob("results/*/verdict.json")}
        if "extrapolate" not in judged:
            print(said, file=sys.stderr)
            kept = Path(tempfile.gettempdir()) / "sic-failed"
            shutil.copytree(root, kept, dirs_exist_ok=True)
            return 1
        found = {
            "wall_s": round(time.monotonic() - begun, 1),
            "extrapolate": result(root, "extrapolate"),
            "verdicts": {stage: one["verdict"] for stage, one in judged.items()},
            "failed": [one["id"] for one in judged["extrapolate"]["criteria"] if not one["passed"]],
        }
        record("sic_conductivity", found)
        print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
