"""A real Slurm for tests, of one node or of several that are all this machine: own folder, own ports, own munge socket; no systemd, no cgroups, no accounting.

    settings = start(folder)    # or start(folder, nodes=2); environment to add
    stop(folder)

`python private_slurm.py start|stop FOLDER` does the same by hand.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
MISSING = [
    program for program in (*DAEMONS, "sbatch") if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None
]
REASON = "needs root" if os.getuid() else f"not installed: {', '.join(MISSING)} (Debian: slurm-wlm, munge)"
AVAILABLE = not MISSING and os.getuid() == 0
CPUS = 2
MEMORY_MB = 6000
DEAD_AFTER_S = 30
CONFIGURATION = """\
ClusterName=sophrontest
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.sock,cred_expire=30
CredType=cred/munge
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdTimeout={dead_after}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=0,batch_sched_delay=0,sched_interval=1
MinJobAge=300
InactiveLimit=0
KillWait=2
OverTimeLimit=0
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobcomp.log
MaxArraySize=1001
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=500 MaxTime=01:00:00 DefaultTime=00:10:00 State=UP
"""
NODE = """\
NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory} State=UNKNOWN
"""


def start(folder: Path, nodes: int = 1) -> dict[str, str]:
    """Start a Slurm that keeps everything in `folder`; environment variables for those who use it.

    RuntimeError with the end of the daemons' logs where it does not come up.
    """
    folder = folder.absolute()
    for name in ("state", "spool", "log", "run", "bin"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    host = socket.gethostname().partition(".")[0]
    port, *node_ports = _free_ports(1 + nodes)
    values = {"host": host, "cpus": CPUS, "memory": MEMORY_MB}
    text = CONFIGURATION.format(folder=folder, host=host, port=port, dead_after=DEAD_AFTER_S)
    for number, node_port in enumerate(node_ports):
        text = NODE.format(name=f"node{number}", port=node_port, **values) + text
    (folder / "slurm.conf").write_text(text)
    _start_munge(folder)
    settings = _settings(folder)
    _daemon(folder, "slurmctld")
    for node in _nodes(folder):
        _daemon(folder, "slurmd", "-N", node)
    _wait_until_idle(folder)
    return settings


def stop(folder: Path) -> None:
    """End the jobs and the daemons of the Slurm in `folder`."""
    folder = folder.absolute()
    if (folder / "slurm.conf").exists():
        subprocess.run([folder / "bin" / "scancel", "--user=root"], capture_output=True, timeout=20, check=False)
        deadline = time.monotonic() + 5
        while jobs(folder) and time.monotonic() < deadline:
            time.sleep(0.2)
    for daemon in (*(f"slurmd.{node}" for node in _nodes(folder)), "slurmctld", "munged"):
        _end(folder, daemon)


def jobs(folder: Path, *states: str) -> list[str]:
    """Ids of the jobs in the given states (all that wait or run, where none is given)."""
    command = [folder / "bin" / "squeue", "--noheader", "--format=%i"]
    command += [f"--states={','.join(states)}"] if states else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.split()


def kill_node(folder: Path) -> None:
    """Let the node of a Slurm of one die: slurmd and the job steps on it, with kill -9."""
    (node,) = _nodes(folder)
    pids = [_pid(folder, f"slurmd.{node}"), *_steppers(folder)]
    for pid in pids:
        if pid is None:
            continue
        for child in [pid, *_descendants(pid)]:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    (folder / "run" / f"slurmd.{node}.pid").unlink(missing_ok=True)


def revive_node(folder: Path) -> None:
    """Let the node come back."""
    _daemon(folder, "slurmd", "-N", *_nodes(folder))


def completed(folder: Path) -> list[dict[str, str]]:
    """What Slurm says of the jobs that have ended, oldest first: JobId, JobState, SubmitTime, ..."""
    log = folder / "log" / "jobcomp.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]


def _nodes(folder: Path) -> list[str]:
    """Names of the nodes, as the configuration has them; none if there is no configuration yet."""
    path = folder / "slurm.conf"
    return sorted(re.findall(r"^NodeName=(\S+)", path.read_text(), re.MULTILINE)) if path.is_file() else []


def _free_ports(count: int) -> list[int]:
    opened = [socket.socket() for _ in range(count)]
    for one in opened:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in opened]
    for one in opened:
        one.close()
    return ports


def _start_munge(folder: Path) -> None:
    private = folder / "munge"
    private.mkdir(mode=0o700, exist_ok=True)
    key = private / "munge.key"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
    run, log = folder / "run", folder / "log"
    files = {"key-file": key, "socket": run / "munge.sock", "pid-file": run / "munged.pid"}
    files |= {"log-file": log / "munged.log", "seed-file": private / "seed"}
    words = [f"--{name}={path}" for name, path in files.items()]
    subprocess.run([_program("munged"), "--force", *words], check=True, capture_output=True, env=_clean())


def _settings(folder: Path) -> dict[str, str]:
    """The commands in `bin` know their Slurm by themselves: job steps drop every SLURM_* variable."""
    configuration = folder / "slurm.conf"
    for command in COMMANDS:
        path = folder / "bin" / command
        path.write_text(f'#!/bin/sh\nSLURM_CONF={configuration} exec {_program(command)} "$@"\n')
        path.chmod(0o755)
    return {"SLURM_CONF": str(configuration), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


def _program(name: str) -> str:
    found = shutil.which(name, path=f"/usr/bin:/usr/sbin:{os.environ['PATH']}")
    assert found is not None, name
    return found


def _clean() -> dict[str, str]:
    """An environment for daemons: jobs inherit nothing from the tests by them."""
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


def _daemon(folder: Path, name: str, *words: str) -> None:
    configuration = folder / "slurm.conf"
    done = subprocess.run(
        [_program(name), *words, "-f", configuration], capture_output=True, text=True, check=False,
        env=_clean() | {"SLURM_CONF": str(configuration)},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{name} does not start: {done.stderr}")


def _wait_until_idle(folder: Path, patience_s: float = 60) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        done = subprocess.run([folder / "bin" / "sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False)
        if done.stdout.strip() == "idle":
            return
        time.sleep(0.1)
    tails = "\n".join(path.read_text()[-1500:] for path in (folder / "log").glob("*.log"))
    raise RuntimeError(f"Slurm does not come up; its logs end in:\n{tails}")


def _pid(folder: Path, daemon: str) -> int | None:
    try:
        return int((folder / "run" / f"{daemon}.pid").read_text())
    except (OSError, ValueError):
        return None


def _processes() -> Iterator[tuple[int, int, list[str]]]:
    """(pid, parent, words) of every process."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        yield int(path.name), parent, words


def _steppers(folder: Path) -> list[int]:
    """slurmstepd processes of this Slurm: their log file or configuration lies in its folder."""
    found = []
    for pid, _, words in _processes():
        if words and words[0].startswith("slurmstepd"):
            try:
                names = {str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir()}
            except OSError:
                continue
            if any(name.startswith(str(folder)) for name in names):
                found.append(pid)
    return found


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for child, parent, _ in _processes():
        children.setdefault(parent, []).append(child)
    found, waiting = [], [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def _end(folder: Path, daemon: str) -> None:
    pid = _pid(folder, daemon)
    if pid is None or daemon.partition(".")[0] not in _name(pid):
        return
    for number, patience_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 2.0)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + patience_s
        while _name(pid) and time.monotonic() < deadline:
            time.sleep(0.05)


def _name(pid: int) -> str:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return "" if status.rpartition(")")[2].split()[0] == "Z" else status[status.index("(") : status.rindex(")")]


@contextmanager
def running(folder: Path, nodes: int = 1) -> Iterator[dict[str, str]]:
    """`start` and, whatever happens, `stop`."""
    try:
        yield start(folder, nodes)
    finally:
        stop(folder)


if __name__ == "__main__":
    if sys.argv[1] == "start":
        print("\n".join(f"export {name}={value}" for name, value in start(Path(sys.argv[2])).items()))
    else:
        stop(Path(sys.argv[2]))
