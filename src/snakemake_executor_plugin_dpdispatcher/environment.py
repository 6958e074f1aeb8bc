"""Select the variables of the driver that a job may see: no keys, nothing of a job that the driver itself runs in."""

import re
from collections.abc import Mapping

from sophron.records.secret_keys import is_secret

# sbatch inside a Slurm job would inherit that job's shape.
OUTER_JOB = re.compile(r"SLURM_(?!CONF$)|SLURMD_")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def withheld(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that a submitted job must not inherit, sorted."""
    return sorted(
        name
        for name, value in environment.items()
        if NAME.fullmatch(name) and (OUTER_JOB.match(name) or is_secret(name, value))
    )
