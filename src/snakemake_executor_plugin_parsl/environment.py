"""Select the variables of the driver that a block may see: those that find programs and schedulers, and no secret."""

import os
import re
import shlex
from collections.abc import Mapping

from sophron.records.secret_keys import WORDS

# Where programs, libraries and modules are, who and if one is, how text is written, and what the clients of the
# schedulers read. Everything else stays with the driver: keys and tokens have any name.
PASSED = re.compile(
    r"(?:PATH|PYTHONPATH|LD_LIBRARY_PATH|MANPATH|HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|TERM"
    r"|VIRTUAL_ENV|CONDA_(?:PREFIX|EXE|DEFAULT_ENV|SHLVL|PYTHON_EXE)|MODULEPATH|MODULESHOME|LOADEDMODULES|_LMFILES_"
    r"|LMOD_[A-Z]+|BASH_ENV|OMP_NUM_THREADS|XDG_(?:CACHE|DATA|CONFIG)_HOME|PARSL_[A-Z_]+"
    r"|SLURM_[A-Z0-9_]+|SBATCH_[A-Z_]+|PBS_[A-Z_]+|NCPUS|LSF_[A-Z_]+|LSB_[A-Z_]+|CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES"
    r"|SOPHRON_LMP|HOSTNAME|PWD|JOBNAME)"
)
# Of these, the scheduler's own secrets and what a driver that is itself a job must not hand on.
KEPT_BACK = re.compile(f".*({WORDS}).*")


def is_passed(name: str) -> bool:
    """Return whether a block may see the variable."""
    return bool(PASSED.fullmatch(name)) and not KEPT_BACK.fullmatch(name)


def passed() -> Mapping[str, str]:
    """Return the driver's variables that a block may see."""
    return {name: value for name, value in os.environ.items() if is_passed(name)}


def clean(command: str) -> str:
    """Return a shell command that sees the passed variables alone, from which a scheduler copies into a job."""
    words = [f"{name}={value}" for name, value in passed().items()]
    return shlex.join(["env", "-i", *words, "/bin/sh", "-c", command])


#: First lines of a block: whatever reached it, what is not passed goes before a worker begins. For Bash.
FORGET = f"""passed='^{PASSED.pattern.replace("(?:", "(")}$' kept_back='{KEPT_BACK.pattern}'
for name in $(compgen -e); do
    if ! [[ $name =~ $passed ]] || [[ $name =~ $kept_back ]]; then unset "$name"; fi
done
"""
