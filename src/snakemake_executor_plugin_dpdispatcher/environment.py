"""What of the driver's environment a job may see: no keys, nothing of a job that the driver itself runs in."""

import re
from collections.abc import Mapping

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|^SSH_AUTH_SOCK$|^SSH_AGENT_PID$", re.IGNORECASE)
# How keys of well-known services begin, whatever the variable is called.
SECRET_VALUE = re.compile(r"sk-|gh[opsur]_|github_pat_|AKIA|ASIA|AIza|hf_|xox|eyJ|-----BEGIN [A-Z ]*PRIVATE KEY")
# sbatch inside a Slurm job would inherit that job's shape.
OUTER_JOB = re.compile(r"SLURM_(?!CONF$)|SLURMD_")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a key, by its name or by the shape of its value."""
    return bool(SECRET_NAME.search(name) or SECRET_VALUE.match(value))


def withheld(environment: Mapping[str, str]) -> list[str]:
    """Names of the variables that a submitted job must not inherit, sorted."""
    return sorted(
        name
        for name, value in environment.items()
        if NAME.fullmatch(name) and (OUTER_JOB.match(name) or is_secret(name, value))
    )
