"""What a sandboxed program must not reach: secrets, a victim process, servers, records; and whether it did."""

import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from sophron.interfaces.sandbox import Grant

PYTHON = str(Path(sys.executable).resolve())
PYTHON_FILES = sorted({Path(sys.base_prefix), Path(sys.prefix)})

# The victim holds the token in its environment, on its command line, in its memory and in an open, nameless file.
_VICTIM = """
import ctypes, os, sys, time
held = ctypes.create_string_buffer(sys.argv[1].encode())
descriptor = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
os.write(descriptor, sys.argv[1].encode())
os.unlink(sys.argv[2])
ctypes.CDLL(None).prctl(0x59616d61, -1, 0, 0, 0)  # let any process trace it
print(ctypes.addressof(held), descriptor, flush=True)
time.sleep(600)
"""
_KEYCTL_ADD = {"x86_64": 248, "aarch64": 217}


class World:
    """Made once for all escapes; `close` ends what it started. token: a word that exists nowhere else."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.token = f"token-{secrets.token_hex(8)}"
        self.stack = ExitStack()
        self.signals = 0
        self.mark = ""
        self.hits: list[str] = []
        self.campaign = self.root / "campaign"
        self.records = self._records()
        (self.root / "home" / ".ssh").mkdir(parents=True)
        for path in (
            self.root / "secret",
            self.root / "home" / ".ssh" / "id_ed25519",
            self.root / f"named-{self.token}",
        ):
            path.write_text(self.token)
        self.before = signal.signal(signal.SIGUSR1, self._signalled)
        self.stack.callback(signal.signal, signal.SIGUSR1, self.before)
        os.environ["SOPHRON_ESCAPE_KEY"] = self.token
        self.stack.callback(os.environ.pop, "SOPHRON_ESCAPE_KEY")
        number = _KEYCTL_ADD.get(os.uname().machine)
        if number:
            ctypes.CDLL(None).syscall(number, b"user", b"sophron-escape", self.token.encode(), len(self.token), -3)
        self.servers = self._servers()
        self._start_victim()
        self.stack.callback(lambda: self.victim.kill() or self.victim.wait())

    def close(self) -> None:
        self.stack.close()

    def _records(self) -> dict[Path, bytes]:
        names = ("gate.json", "campaign.yaml", "mechanical.yaml", "records/approvals.jsonl", "records/events.jsonl")
        for name in names:
            path = self.campaign / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"as it was: {name}\n")
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def restore(self) -> None:
        """Undo what a control did."""
        for path, data in self.records.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for path in self.campaign.iterdir():
            if path.is_file() and path not in self.records:
                path.unlink()
        if self.victim.poll() is not None:
            self._start_victim()
        else:
            os.sched_setaffinity(self.victim.pid, self.cores)

    def untouched(self) -> bool:
        """Whether every record is there and as it was, and nothing is beside them."""
        now = {
            path: path.read_bytes()
            for path in self.campaign.rglob("*")
            if path.is_file() and "scratch" not in path.parts
        }
        return now == {path: data for path, data in self.records.items() if self.campaign in path.parents}

    def _start_victim(self) -> None:
        self.victim = subprocess.Popen(
            [PYTHON, "-I", "-S", "-c", _VICTIM, self.token, str(self.root / "nameless")],
            env={"VICTIM_KEY": self.token},
            cwd=self.root,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.address, self.descriptor = map(int, self.victim.stdout.readline().split())
        self.cores = os.sched_getaffinity(self.victim.pid)
        self.state = self.victim_state()

    def victim_state(self) -> tuple:
        """Everything about the victim that a stranger might have changed."""
        pid = self.victim.pid
        if self.victim.poll() is not None:
            return ("dead",)
        status = Path(f"/proc/{pid}/status").read_text()
        stopped = "\nState:\tT" in status or "\nState:\tt" in status
        limits = Path(f"/proc/{pid}/limits").read_text()
        return (os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), limits, stopped)

    def _signalled(self, *_: object) -> None:
        self.signals += 1

    def _servers(self) -> dict[str, object]:
        """Listeners by name; whatever arrives at one is a hit of that name."""
        made: dict[str, object] = {}
        for name, family, kind, address in (
            ("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("any", socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)),
            ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("bus", socket.AF_UNIX, socket.SOCK_STREAM, str(self.root / "bus")),
            ("agent", socket.AF_UNIX, socket.SOCK_STREAM, str(self.root / "agent")),
            ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.token}"),
            ("vsock", getattr(socket, "AF_VSOCK", -1), socket.SOCK_STREAM, (0xFFFFFFFF, 0xFFFFFFFF)),
        ):
            try:
                listener = self.stack.enter_context(socket.socket(family, kind))
                listener.bind(address)
                if kind == socket.SOCK_STREAM:
                    listener.listen()
            except OSError:  # this machine has no such family
                continue
            made[name] = listener.getsockname()
            threading.Thread(target=self._serve, args=(name, listener), daemon=True).start()
        made["abstract"] = self.token
        return made

    def _serve(self, name: str, listener: socket.socket) -> None:
        while True:
            try:
                if listener.type == socket.SOCK_STREAM:
                    connection, _ = listener.accept()
                    connection.close()
                else:
                    listener.recv(100)
            except OSError:
                return
            self.hits.append(name)

    def facts(self, work: Path) -> dict[str, object]:
        """What an attacker who had been told everything would know (as JSON on the script's command line)."""
        return {
            "root": str(self.root),
            "secret": str(self.root / "secret"),
            "home": str(self.root / "home"),
            "campaign": str(self.campaign),
            "gate": str(self.campaign / "gate.json"),
            "work": str(work),
            "token": self.token,
            "mark": self.mark,
            "caller": os.getpid(),
            "victim": self.victim.pid,
            "address": self.address,
            "descriptor": self.descriptor,
            "servers": {name: list(at) if isinstance(at, tuple) else at for name, at in self.servers.items()},
        }

    def outlived(self, within_s: float = 0.3) -> bool:
        """Whether a process with `mark` on its command line goes on living; it is then ended."""
        deadline = time.monotonic() + within_s
        while running := [pid for pid in self._pids() if self._marked(pid)]:
            if time.monotonic() > deadline:
                for pid in running:
                    os.kill(pid, signal.SIGKILL)
                return True
            time.sleep(0.02)
        return False

    @staticmethod
    def _pids() -> list[int]:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names only

    def _marked(self, pid: int) -> bool:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return self.mark.encode() in words

    def grant(self, work: Path, **limits: object) -> Grant:
        """The campaign read-only, Python, and the work folder: what a step of a campaign gets, or a bit more."""
        return Grant(work, read_only=[self.campaign, *PYTHON_FILES], **{"wall_s": 20, **limits})
