"""A real Slurm of one node for tests: own folder, ports, munge socket and configuration; nothing of it is global."""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.sock
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
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
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=8000
PartitionName=debug Nodes={host} Default=YES DefMemPerCPU=500 MaxTime=01:00:00 DefaultTime=00:10:00 State=UP
"""


def missing() -> str | None:
    """Why no Slurm can be started here; None where one can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian: slurm-wlm munge)"
    return None if os.geteuid() == 0 else "starts as root only"


def start(folder: Path) -> dict[str, str]:
    """Start one in `folder`; the environment in which it is found. RuntimeError where it does not come up."""
    for name in ("state", "spool", "log", "run"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "munge").mkdir(mode=0o700, exist_ok=True)
    key = folder / "munge" / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o600)
    host = socket.gethostname().partition(".")[0]
    controller, daemon = _free_ports(2)
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(folder=folder, host=host, controller=controller, daemon=daemon))
    env = {"SLURM_CONF": str(conf)}
    run, log, seed = folder / "run", folder / "log", folder / "munge" / "seed"
    munge = ["munged", "--force", f"--key-file={key}", f"--socket={run}/munge.sock", f"--pid-file={run}/munged.pid"]
    _do([*munge, f"--log-file={log}/munged.log", f"--seed-file={seed}"], env)
    _do(["slurmctld", "-f", str(conf)], env)
    _do(["slurmd", "-f", str(conf), "-N", host], env)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        told = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], env=os.environ | env, capture_output=True, text=True, check=False
        )
        if told.stdout.strip() == "idle":
            return env
        time.sleep(0.2)
    raise RuntimeError(f"Slurm in {folder} does not come up: {told.stdout}{told.stderr}")


def stop(folder: Path) -> None:
    """End the one in `folder` with its jobs."""
    env = {"SLURM_CONF": str(folder / "slurm.conf")}
    for line in (["scancel", "-u", "root"], ["scontrol", "shutdown"]):
        subprocess.run(line, env=os.environ | env, capture_output=True, check=False, timeout=20)
    for name in ("slurmd", "slurmctld", "munged"):
        with contextlib.suppress(OSError, ValueError):
            _end(int((folder / "run" / f"{name}.pid").read_text()), asked=name != "munged")


def _end(pid: int, *, asked: bool) -> None:
    if not asked:
        os.kill(pid, signal.SIGTERM)
    for _ in range(50):
        os.kill(pid, 0)  # OSError once it is gone
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)


def _do(line: list[str], env: dict[str, str]) -> None:
    done = subprocess.run(line, env=os.environ | env, capture_output=True, text=True, check=False, timeout=20)
    if done.returncode != 0:
        raise RuntimeError(f"{line[0]}: {done.stdout}{done.stderr}")


def _free_ports(count: int) -> list[int]:
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports
