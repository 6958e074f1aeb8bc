"""A real Slurm of one node with two cores, for one test folder: own ports, own munge, found through SLURM_CONF alone."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
MISSING = [one for one in PROGRAMS if shutil.which(one, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]
READY_S = 20

CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.sock
CredType=cred/munge
SlurmctldPort={ctld}
SlurmdPort={d}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=1,sched_min_interval=0,batch_sched_delay=0,sched_interval=1
KillWait=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobcomp.log
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=8000 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES DefMemPerCPU=500 MaxTime=01:00:00 DefaultTime=00:10:00 State=UP
"""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(folder: Path) -> dict[str, str]:
    """Start it in `folder`; the environment that finds it."""
    for name in ("state", "spool", "log", "run"):
        (folder / name).mkdir(parents=True)
    keys = folder / "munge"
    keys.mkdir(mode=0o700)
    (keys / "munge.key").write_bytes(secrets.token_bytes(1024))
    (keys / "munge.key").chmod(0o600)
    host = socket.gethostname().partition(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=host, folder=folder, ctld=_free_port(), d=_free_port()).lstrip())
    found = {"SLURM_CONF": str(conf), "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    environment = {**os.environ, **found}
    munged = ["munged", "--force", f"--key-file={keys}/munge.key", f"--socket={folder}/run/munge.sock"]
    munged += [f"--pid-file={folder}/run/munged.pid", f"--log-file={folder}/log/munged.log", f"--seed-file={keys}/seed"]
    for command in (munged, ["slurmctld", "-f", str(conf)], ["slurmd", "-f", str(conf), "-N", host]):
        subprocess.run(command, env=environment, check=True, capture_output=True)
    deadline = time.monotonic() + READY_S
    while _states(environment) != "idle":
        if time.monotonic() > deadline:
            stop(folder)
            raise RuntimeError((folder / "log" / "slurmctld.log").read_text()[-2000:])
        time.sleep(0.1)
    return found


def _states(environment: dict[str, str]) -> str:
    command = ["sinfo", "-h", "-o", "%T"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()


def stop(folder: Path) -> None:
    """End its jobs and its daemons."""
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    for command in (["scancel", "--full", "-u", "root"], ["scontrol", "shutdown"]):
        subprocess.run(command, env=environment, capture_output=True, check=False, timeout=20)
    for name in ("slurmd", "slurmctld", "munged"):
        _end(folder / "run" / f"{name}.pid")


def _end(note: Path) -> None:
    if not note.is_file():
        return
    pid = int(note.read_text())
    for number in (15, 9):
        for _ in range(30):
            try:
                os.kill(pid, number if _ == 0 and (number == 9 or note.stem == "munged") else 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)
