"""The SiC campaign with its amended method (Mueller-Plathe in four boxes), run whole: conductivity by length.

The shipped plan with the stages that the pitfall many-body-heat-flux holds as its way out, signed with a key made here.
Some 20 CPU minutes.

    python bench/sic_conductivity.py
"""

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
    """Run and record; 1 where the campaign does not end."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(base / "config"), str(base / "state")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
        begun = time.monotonic()
        root = campaign(base / "sic", spec(), base / "key")
        code, said = finish(root, timeout_s=2 * 3600)
        if code:
            print(said, file=sys.stderr)
            kept = Path(tempfile.gettempdir()) / "sic-failed"
            shutil.copytree(root, kept, dirs_exist_ok=True)
            return code
        found = result(root, "extrapolate")
        record("sic_conductivity", {"wall_s": round(time.monotonic() - begun, 1), "extrapolate": found})
        print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
