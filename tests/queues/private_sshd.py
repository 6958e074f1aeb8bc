"""A real sshd on loopback for tests: own port, host key and user key; a stranger cannot log in by it."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

CONF = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
PidFile {folder}/sshd.pid
AuthorizedKeysFile {folder}/user_key.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
UsePAM no
StrictModes no
Subsystem sftp internal-sftp
SetEnv {environment}
"""


def missing() -> str | None:
    """Why no sshd can be started here; None where one can."""
    if shutil.which("sshd") is None:
        return "not installed: sshd (Debian: openssh-server)"
    return None if os.geteuid() == 0 else "starts as root only"


def start(folder: Path, environment: dict[str, str]) -> dict[str, object]:
    """Start one whose sessions have `environment`; a `remote_profile` of dpdispatcher that reaches it."""
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host_key", "user_key"):
        line = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(line, check=True)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    words = " ".join(f'"{name}={value}"' for name, value in environment.items())
    conf = folder / "sshd_config"
    conf.write_text(CONF.format(port=port, folder=folder, environment=words))
    program = str(shutil.which("sshd"))
    subprocess.run([program, "-f", str(conf), "-E", str(folder / "sshd.log")], check=True)
    for _ in range(50):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    key = str(folder / "user_key")
    return {"hostname": "127.0.0.1", "username": getpass.getuser(), "port": port, "key_filename": key}


def stop(folder: Path) -> None:
    """End the one in `folder`."""
    os.kill(int((folder / "sshd.pid").read_text()), signal.SIGTERM)
