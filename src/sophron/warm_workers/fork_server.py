"""The warm process of a local run: it has imported what steps import, and each step is a fork of it.

The driver starts it after the gate was checked. It has one thread and no key; it ends with the driver, and a step that
runs goes on then, as it would without it. A step gets a handler, the pilots' `server.run`, which watches over it for
the client (`fork_client`), so that a kill of this process hurts no step.

A step is refused, and then starts as if there were no server, if the sources of what is imported here are not those
that were checked, or if its client does not stand in this process's surroundings: a step must not get rights, limits
or a place by being forked from here.
"""

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

from sophron.records import approvals, entry_points, process_identity, secret_keys
from sophron.records.errors import UserError
from sophron.records.process_identity import stat_fields
from sophron.warm_workers import server
from sophron.warm_workers.fork_client import BEGINS, CHANGED, UNLIKE, VARIABLE, VERBS
from sophron.warm_workers.job_message import Order

MARGIN_NS = 50_000_000
"""A file's times come from a coarser clock than ours."""
WAITING = 128
OF_ALL = ("jsonschema", "rfc8785")
"""Modules that a step of any verb imports late."""
EARLY = "SOPHRON_FORK_SERVER_EARLY"
"""What a driver is told of the fork server that was started with it."""
PREFIX, OWNER_NAME = "sophron-steps-", "driver.json"
SERVERS: list[subprocess.Popen[bytes]] = []
"""Those of this process."""

# Driver side.


@dataclass(frozen=True)
class Purpose:
    """What a fork server is for: a campaign, what is imported beside the verbs' own, and what no fork can change."""

    root: str
    modules: Sequence[str]
    fixed: Mapping[str, str]

    @classmethod
    def of(cls, root: Path, modules: Sequence[str], environment: Mapping[str, str]) -> Self:
        """Return that of a server in this environment."""
        return cls(str(root), list(modules), _fixed(environment))


def start(root: Path, modules: Sequence[str]) -> None:
    """Start the fork server of this driver, if none was started with it, and tell its jobs where it is.

    Without one, they start as ever. root: the campaign, whose gate is checked again after the imports. modules:
    imported beside those of the verbs.
    """
    if os.environ.get(VARIABLE) == "off":
        return
    os.environ.pop(VARIABLE, None)
    path = _started_with_us(Purpose.of(root, modules, os.environ))
    with contextlib.suppress(OSError):
        os.environ[VARIABLE] = str(path or _start(root, modules))


def _start(root: Path, modules: Sequence[str]) -> Path:
    with _listening() as (listener, path):
        process = _spawn(listener, path, os.environ, Purpose.of(root, modules, os.environ))
        SERVERS.append(process)
        return path


@contextlib.contextmanager
def _listening() -> Iterator[tuple[socket.socket, Path]]:
    """Listen in a folder of our own; a server that gets the socket goes on when we close it."""
    with socket.socket(socket.AF_UNIX) as listener:
        _remove_left()
        path = Path(tempfile.mkdtemp(prefix=PREFIX), "socket")
        _note_owner(path, os.getpid())
        listener.bind(str(path))
        listener.listen(WAITING)
        yield listener, path


def _note_owner(path: Path, driver: int) -> None:
    path.with_name(OWNER_NAME).write_text(json.dumps(process_identity.identity(driver)))


def _spawn(
    listener: socket.socket,
    path: Path,
    environment: Mapping[str, str],
    purpose: Purpose,
    *,
    stdin: int = subprocess.PIPE,
    process_group: int | None = None,
) -> subprocess.Popen[bytes]:
    words = [str(listener.fileno()), str(path), str(time.time_ns() - MARGIN_NS), purpose.root, *purpose.modules]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, *words],
        stdin=stdin,  # closed when the driver ends, however it ends
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=process_group,
        pass_fds=[listener.fileno()],
        env={name: value for name, value in environment.items() if not secret_keys.is_secret(name, value)},
    )


@dataclass(frozen=True)
class Early:
    """A fork server for a driver that this process starts. environment, descriptors: what the driver is given.

    The driver leads a process group, which the server joins: a kill of the group reaches both.
    """

    environment: Mapping[str, str]
    descriptors: Sequence[int]
    begin: Callable[[int], None]
    """Starts the server, given the driver's process id, and leaves it to the driver."""


@contextlib.contextmanager
def early(root: Path, modules: Sequence[str], environment: Mapping[str, str]) -> Iterator[Early]:
    """Let a fork server import while Snakemake starts, which takes as long. environment: as jobs will have it.

    It serves only what it finds signed. If the driver does not want it, nothing is lost: it ends with the driver.
    """
    purpose = Purpose.of(root, modules, environment)
    with contextlib.ExitStack() as held:
        listener, path = held.enter_context(_listening())
        theirs, ours = os.pipe()
        for descriptor in (theirs, ours):
            held.callback(os.close, descriptor)

        def begin(driver: int) -> None:
            with held, contextlib.suppress(OSError, subprocess.SubprocessError):
                _note_owner(path, driver)
                _spawn(listener, path, environment, purpose, stdin=theirs, process_group=driver)

        about = {"path": str(path), "descriptor": ours} | asdict(purpose)
        yield Early({EARLY: json.dumps(about)}, [ours], begin)


def _started_with_us(purpose: Purpose | None) -> str | None:
    """Path of the server that was started with this driver, if it is what a new one would be; else it is ended."""
    about = json.loads(os.environ.pop(EARLY, "{}"))
    path, descriptor = Path(about.pop("path", "none")), about.pop("descriptor", -1)
    try:
        owner = json.loads(path.with_name(OWNER_NAME).read_text())
    except (OSError, ValueError):
        return None
    if owner != process_identity.identity():  # of a driver that started this one
        return None
    if purpose is not None and about == asdict(purpose):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - held open until this driver ends, however it ends
        return str(path)
    os.close(descriptor)
    return None


def decline() -> None:
    """End the server that was started with this driver: its jobs run elsewhere."""
    os.environ.pop(VARIABLE, None)
    _started_with_us(None)


def _remove_left() -> None:
    """Remove the folders of servers that were killed, whose drivers are dead."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, ValueError, KeyError):  # just being made or removed
            mine = folder.lstat().st_uid == os.getuid()
            if mine and process_identity.alive(json.loads((folder / OWNER_NAME).read_text())) is False:
                shutil.rmtree(folder)


# Server side.


def main(words: Sequence[str]) -> None:
    """Import, check, and fork a handler for each client until the driver is gone."""
    descriptor, path, began_ns, root, *modules = words
    step_signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # A Ctrl-C of the terminal is the steps' to handle. It is held back, not ignored, so that no step loses it that is
    # being forked just now.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    me = os.getpid()
    try:
        with socket.socket(fileno=int(descriptor)) as listener:
            os.set_inheritable(listener.fileno(), False)  # noqa: FBT003
            sources = _warm(modules, int(began_ns))
            if sources is None or len(os.listdir("/proc/self/task")) > 1 or not _is_approved(Path(root)):  # noqa: PTH208
                return
            _Server(listener, sources, {"signals": step_signals, "mask": mask}).serve()
    finally:
        if os.getpid() == me:  # not a fork that is ended before it knows what it is
            shutil.rmtree(Path(path).parent, ignore_errors=True)


def _warm(modules: Sequence[str], began_ns: int) -> dict[str, tuple[int, int, int]] | None:
    """Import what steps import; path of each source -> what its file was. None if one changed meanwhile."""
    for name in [*(f"sophron.cli.{verb}" for verb in VERBS), *modules]:
        for late in (*getattr(importlib.import_module(name), "FORKED", ()), *OF_ALL):
            with contextlib.suppress(ImportError):  # the step that needs it says so
                importlib.import_module(late)
    entry_points.names("sophron.kinds")  # the scan of all that is installed
    tops = {"sophron", *(name.partition(".")[0] for name in modules)}
    paths = [
        str(getattr(module, "__file__", None) or "") for name, module in [*sys.modules.items()] if _top(name) in tops
    ]
    sources = _sources(path for path in paths if path)
    gc.collect()
    gc.freeze()  # the forks share these pages as long as the collector does not touch them
    return None if any(changed_ns >= began_ns for _, _, changed_ns in sources.values()) else sources


def _top(name: str) -> str:
    return name.partition(".")[0]


def _sources(paths: Any) -> dict[str, tuple[int, int, int]]:
    """Return path -> device, inode, and when its content, name or rights last changed, which nobody can set."""
    found = {}
    for path in paths:
        about = os.stat(path)  # noqa: PTH116 - hundreds of files a step
        found[path] = (about.st_dev, about.st_ino, about.st_ctime_ns)
    return found


def _is_approved(root: Path) -> bool:
    """Whether the code as it is now, after the imports, is the signed one. In a fork: nothing read is kept."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            approvals.valid_approval(root)
            code = 0
        except (UserError, OSError, ValueError):
            pass
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class _Server:
    """The loop. step: signal handlers and mask that a step begins with."""

    def __init__(
        self, listener: socket.socket, sources: dict[str, tuple[int, int, int]], step: Mapping[str, Any]
    ) -> None:
        self._listener, self._sources, self._step = listener, sources, step

    def serve(self) -> None:
        """Fork a handler for each client; return when the driver closed its end of the pipe."""
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(0, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in poll.poll()]
            if 0 in ready:
                return
            connection, _ = self._listener.accept()
            with connection:
                if os.fork() == 0:
                    self._handle(connection)
            self._reap()

    @staticmethod
    def _reap() -> None:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return

    def _handle(self, connection: socket.socket) -> NoReturn:
        """Be the handler of one client to its end."""
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # its client then ends the step
            self._listener.close()
            order, alike = _receive(connection)
            word = UNLIKE if not alike else BEGINS if self._is_unchanged() else CHANGED
            connection.sendall(word + b"\n")
            if word == BEGINS:
                ended = server.run(order, connection, lambda order: self._start(order, connection))
                connection.sendall(f"{ended.text()}\n".encode())
        finally:
            os._exit(0)

    def _is_unchanged(self) -> bool:
        try:
            return _sources(self._sources) == self._sources
        except OSError:
            return False

    def _start(self, order: Order, connection: socket.socket) -> int:
        pid = os.fork()
        if pid == 0:
            connection.close()
            self._become(order)
        return pid

    def _become(self, order: Order) -> NoReturn:
        """Be the step to its end, as a new process would be."""
        code = 1
        try:
            os.environ.clear()
            os.environ.update(order.environment)
            time.tzset()
            sys.argv = list(order.argv)
            _open_streams()
            for number, handler in self._step["signals"].items():
                signal.signal(number, handler)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._step["mask"])
            code = importlib.import_module("sophron.cli").main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001 - nothing may return into the loop
            sys.excepthook(*sys.exc_info())
        finally:
            _leave(code)


def _open_streams() -> None:
    """Make the three streams anew, as the interpreter does at its start: they know what kind of file they are on."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        new = io.TextIOWrapper(
            open(number, "wb" if number else "rb", closefd=False),  # noqa: SIM115
            encoding=old.encoding,
            errors=old.errors,
            line_buffering=name == "stderr" or os.isatty(number),
            write_through=old.write_through,
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _leave(code: int) -> NoReturn:
    """End this process as the interpreter would end it."""
    try:
        threading._shutdown()  # type: ignore[attr-defined] # noqa: SLF001 - as multiprocessing ends its forks
        atexit._run_exitfuncs()  # noqa: SLF001
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _receive(connection: socket.socket) -> tuple[Order, bool]:
    """Read a client's order and take over its streams; whether it stands in the same surroundings as this process."""
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("r", encoding="utf-8") as lines:
        order = Order.read(lines.readline())
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, _, _ = struct.unpack("3i", credentials)
    alike = len(streams) == 3 and surroundings(pid) == surroundings(os.getpid())
    return order, alike and order.executable == sys.prefix and _fixed(order.environment) == _fixed(os.environ)


# What a process cannot change any more once it runs: the interpreter and the linker read it at their start.
FIXED = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC", "GLIBC")
# Rights, limits and place of a process. Umask and limits could be taken over; no shell line of ours sets one.
STATUS = ("Umask", "Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Cap", "Cpus_allowed", "Mems_allowed")
GROUP, SESSION, TERMINAL, NICE = 2, 3, 4, 16
"""Fields of `stat`, from the state on."""


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(FIXED)}


def surroundings(pid: int) -> dict[str, object]:
    """Return what decides what process `pid` may do, and where it stands: rights, limits, namespaces, group."""
    process = Path("/proc") / str(pid)
    stat = stat_fields(process)
    status = (process / "status").read_text().splitlines()
    links = [process / "exe", process / "root", *sorted((process / "ns").iterdir())]
    return {
        "status": [line for line in status if line.startswith(STATUS)],
        "stat": [stat[field] for field in (GROUP, SESSION, TERMINAL, NICE)],
        "files": [(process / name).read_text() for name in ("limits", "cgroup", "oom_score_adj")],
        "links": [str(link.readlink()) for link in links],
    }


if __name__ == "__main__":
    main(sys.argv[1:])
