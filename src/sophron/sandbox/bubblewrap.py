"""The bubblewrap backend: Linux namespaces through `bwrap`, as root or as an ordinary user."""

import shutil
import signal
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sophron.interfaces.sandbox import Ended, Grant, SandboxBackend
from sophron.records.errors import UserError
from sophron.sandbox import bwrap_launch, limit_monitor, mounts

_INSTALL = "the program bwrap is not on PATH; install bubblewrap (so called in Debian, Fedora and conda-forge)"
_ALLOW = (
    "have unprivileged user namespaces allowed on this machine (sysctl user.max_user_namespaces above 0, and on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns 0 or an AppArmor profile for bwrap)"
)
_FORBIDDEN = ("namespace", "uid map", "RTM_NEWADDR")
"""Words of bwrap if the kernel or its security module keeps user namespaces from it."""
_NAMESPACES = ("user", "pid", "ipc", "uts", "cgroup-try")
_SIGNALLED = 128


class Bubblewrap(SandboxBackend):
    """Nothing of this account inside but the grant: no network, no home, no environment, a private /tmp and /proc.

    Visible beside the grant are, read-only, /usr without /usr/local, the /lib and /bin folders, and from /etc the
    linker's cache, `alternatives` and `localtime`. /tmp and /dev/shm live in memory and hold at most `memory_mb` each
    (64 MB if none is given). The environment is `grant.env` and PWD. Limits hold for the whole process tree,
    looked at every 50 ms (disk: every 200 ms or less often, if the work folder is large); on top of that the kernel
    bounds each process (address space, CPU seconds, file size) and, if it can, the number of processes
    (`kernel_limits`), and refuses the calls in `seccomp`. With `network` the program
    reaches whatever this machine reaches, its local services too. A socket or FIFO in a granted folder can be
    talked to, although the folder is read-only: grant folders of data.
    Everything inside ends with the program, with a passed limit, and with the process that called `run`, however that
    one ended. Needs Linux 5.3 or later.
    """

    name = "bubblewrap"

    def missing(self) -> str | None:
        """Return one sentence that says what this machine lacks, found by starting a sandbox, or None if it works."""
        if shutil.which("bwrap") is None:
            return _INSTALL
        with TemporaryDirectory(prefix="sophron-") as folder:
            (workdir := Path(folder) / "work").mkdir()
            try:
                ended = self.run(
                    ["/bin/true"], Grant(workdir), stdout=Path(folder) / "stdout", stderr=Path(folder) / "stderr"
                )
            except UserError as failure:
                return str(failure)
        return None if ended.returncode == 0 else f"/bin/true in a sandbox ended with {ended.returncode}; check bwrap"

    def run(self, command: Sequence[str], grant: Grant, *, stdout: Path, stderr: Path) -> Ended:
        """Run `command` inside and wait; returncode is negative for a signal (-9 if a limit ended it).

        Ended.limit is the field of Grant that was passed. A program that handles a refused allocation or a refused
        write itself ends in its own way, with `limit` None; one that is not there ends with 127. Raises UserError
        if the sandbox cannot be made.
        """
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise UserError(_INSTALL)
        arguments = _arguments(bwrap, grant)
        with (
            bwrap_launch.written(stdout) as out,
            bwrap_launch.written(stderr) as err,
            bwrap_launch.started(bwrap, arguments, command, grant, (out, err)) as (monitor, inside),
        ):
            limit = None if inside is None else limit_monitor.until_end(inside, monitor.pid, grant, (stdout, stderr))
        if inside is None:
            raise UserError(f"the sandbox could not be made: {_reason(stderr)}")
        return _ended(monitor.returncode, limit)


def _arguments(bwrap: str, grant: Grant) -> list[str]:
    known = _help(bwrap)
    made = [f"--unshare-{name}" for name in _NAMESPACES]
    made += [] if grant.network else ["--unshare-net"]
    made += ["--disable-userns"] if "--disable-userns" in known else []
    made += ["--cap-drop", "ALL", "--hostname", "sandbox", "--new-session", "--die-with-parent"]
    for name, value in grant.env.items():
        made += ["--setenv", name, value]
    return made + mounts.arguments(grant, sized_tmpfs="--size " in known)


@cache
def _help(bwrap: str) -> str:
    """What this bwrap knows: older ones lack some options that only harden."""
    return subprocess.run([bwrap, "--help"], check=False, capture_output=True, text=True).stdout


def _ended(returncode: int, limit: str | None) -> Ended:
    """Undo bwrap's 128 + signal, and name the limit behind the kernel's own signals."""
    if limit is not None:
        return Ended(-signal.SIGKILL, limit)
    number = returncode - _SIGNALLED
    if number not in {*signal.valid_signals()}:
        return Ended(returncode)
    return Ended(-number, {signal.SIGXCPU: "cpu_s", signal.SIGXFSZ: "file_mb"}.get(signal.Signals(number)))


def _reason(stderr: Path) -> str:
    """Last line of what bwrap said, with a remedy where it is a known one."""
    lines = stderr.read_text(errors="replace").splitlines()
    said = lines[-1].strip() if lines else "bwrap gave no reason"
    return f"{said}; {_ALLOW}" if any(sign in said for sign in _FORBIDDEN) else said
