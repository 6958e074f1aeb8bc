"""Environment modules (Environment Modules or Lmod): what `module load` would change, taken over by this process."""

import os
import subprocess
from collections.abc import Sequence

from sophron.interfaces.kind import EnvironmentFailure

# A login shell knows `module` wherever a site has it; the names are arguments and never part of the script.
SCRIPT = 'command -v module >/dev/null || { echo "there is no command module here" >&2; exit 1; }; \
module load "$@" >&2 && env -0'


def load(names: Sequence[str]) -> None:
    """Load modules into this process's environment, for the engines that it starts. EnvironmentFailure if one fails."""
    if not names:
        return
    command = ["bash", "-l", "-c", SCRIPT, "bash", *names]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = " ".join(done.stderr.split())
    # Older versions of Environment Modules report an error and exit with 0.
    if done.returncode != 0 or "ERROR" in done.stderr or "Unable to locate" in done.stderr:
        raise EnvironmentFailure(f"the environment modules {', '.join(names)} could not be loaded ({said[:300]})")
    changed = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if "=" in entry)
    os.environ.update(
        {key: value for key, value in changed.items() if not key.startswith(("BASH_FUNC_", "_", "SHLVL"))}
    )
