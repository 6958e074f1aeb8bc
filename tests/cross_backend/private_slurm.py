"""A real Slurm of one node for one test folder: own ports, own keys, found through SLURM_CONF alone."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch")
CONFIGURATION = """\
ClusterName=t{token}
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmctldPort={control}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=1,sched_min_interval=0,batch_sched_delay=0,sched_interval=1
KillWait=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=8000 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES DefMemPerCPU=500 MaxTime=01:00:00 DefaultTime=00:10:00 State=UP
"""


def missing() -> str | None:
    """Why there can be no Slurm here; None where there can."""
    path = os.environ["PATH"] + ":/usr/sbin"
    absent = [name for name in NEEDED if shutil.which(name, path=path) is None]
    if absent:
        return f"{', '.join(absent)} not found; install slurm-wlm and munge"
    return None if os.geteuid() == 0 else "a Slurm of one's own needs root"


def start(folder: Path) -> dict[str, str]:
    """Start it in `folder`; the environment to add. TimeoutError where the node does not come up."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    host = socket.gethostname().split(".")[0]
    control, daemon = _free_ports()
    configuration = folder / "slurm.conf"
    token = secrets.token_hex(3)
    configuration.write_text(
        CONFIGURATION.format(folder=folder, host=host, control=control, daemon=daemon, token=token)
    )
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o600)
    environment = {"SLURM_CONF": str(configuration), "PATH": f"{_starters(folder)}{os.pathsep}{os.environ['PATH']}"}
    files = {"key-file": "munge.key", "socket": "munge.sock", "pid-file": "munged.pid", "log-file": "munged.log"}
    files["seed-file"] = "munge.seed"
    _run(environment, "munged", "--force", *(f"--{option}={folder / name}" for option, name in files.items()))
    _run(environment, "slurmctld", "-f", str(configuration))
    _run(environment, "slurmd", "-f", str(configuration), "-N", host)
    for _ in range(150):
        state = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        if state.stdout.strip() == "idle":
            return environment
        time.sleep(0.2)
    stop(folder)
    raise TimeoutError(f"no idle node after 30 s: {state.stdout}{state.stderr}")


def stop(folder: Path) -> None:
    """End its jobs, which would outlive it, and its daemons, by their own ids."""
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    subprocess.run(["scancel", "--user", "root"], env=environment, capture_output=True, check=False, timeout=20)
    for name in ("slurmd", "slurmctld", "munged"):
        note = folder / f"{name}.pid"
        if note.is_file() and note.read_text().strip():
            pid = int(note.read_text())
            for signal in (15,) * 25 + (9,):
                try:
                    os.kill(pid, signal)
                except ProcessLookupError:
                    break
                time.sleep(0.2)


def _starters(folder: Path) -> Path:
    """A folder with an `srun` that knows this Slurm: the job step of Snakemake's plugin drops SLURM_CONF before it."""
    srun = folder / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
    srun.chmod(0o755)
    return srun.parent


def _run(environment: dict[str, str], program: str, *arguments: str) -> None:
    found = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    subprocess.run([str(found), *arguments], env={**os.environ, **environment}, check=True)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
