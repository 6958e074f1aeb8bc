"""File system of a sandboxed program: turn a grant into bubblewrap arguments, or refuse it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sophron
from sophron.interfaces.sandbox import Grant
from sophron.records.errors import UserError

# Enough to start a dynamically linked program; nothing here is a secret or a configuration of this account.
_ETC = ("ld.so.cache", "alternatives", "localtime")
_ETC_NETWORK = ("resolv.conf", "hosts", "nsswitch.conf", "ssl", "ca-certificates", "pki")
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_KERNEL = tuple(map(Path, ("/proc", "/dev", "/sys", "/run/user")))
_SHARED = tuple(map(Path, ("/tmp", "/var", "/var/tmp", "/dev/shm", "/home", "/mnt", "/media", "/srv")))  # noqa: S108
"""Folders in which everybody's things lie, the sockets of agents and desktops among them."""
_DEVICES = ("nvidia*", "nvidia-caps/*", "dri/render*", "kfd")
"""Nodes below /dev that may be granted: those of accelerators."""
_SECRET = (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".config/gcloud", ".config/gh")
"""Below a home: where programs keep keys and tokens."""
_SECRET_SYSTEM = tuple(map(Path("/etc").joinpath, ("shadow", "gshadow", "ssh", "sudoers", "sudoers.d")))
_USR = Path("/usr")
_LOCAL = _USR / "local"
_SCRATCH_MB = 64
_NO_PLACE = ("boot", "dev", "etc", "proc", "run", "sys", "usr", "var")
"""Top folders that are the sandbox's own."""
_ACCOUNTS = tuple(map(Path, ("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf")))
"""Files of the sandbox's own that may stand there all the same: whose name programs run under, and `localhost`."""


@dataclass(frozen=True)
class Bind:
    """One granted path: `source` is free of symlinks and is what gets bound; `asked` is how the caller named it."""

    source: Path
    asked: Path
    writable: bool


def arguments(grant: Grant, *, sized_tmpfs: bool) -> list[str]:
    """Bubblewrap's mount arguments for `grant`, outermost first.

    sized_tmpfs: whether this bubblewrap can bound the size of /tmp and /dev/shm (its `--size`).
    Raises UserError for a path that does not exist or that would give away more than a folder of work.
    """
    bound = f"{(grant.memory_mb or _SCRATCH_MB) * 1_000_000}"
    size = ["--size", bound] if sized_tmpfs else []
    made = [*_system(network=grant.network), "--proc", "/proc", "--dev", "/dev"]
    for private in ("/dev/shm", "/tmp"):  # noqa: S108 - gone with the sandbox
        made += [*size, "--tmpfs", private]
    # /usr is there already; bound once more, it would bring /usr/local back.
    wanted = [bind for bind in granted(grant) if bind.source != _USR or bind.writable]
    binds = sorted(wanted, key=lambda bind: (len(bind.source.parts), bind.writable))
    mounted = [*((bind, bind.source) for bind in binds), *((bind, bind.asked) for bind in places(grant))]
    for bind, inside in sorted(mounted, key=lambda pair: (len(pair[1].parts), pair[0].writable)):
        made += ["--bind" if bind.writable else "--ro-bind", str(bind.source), str(inside)]
    empty = hidden(grant)
    for folder in empty:
        made += [*size, "--tmpfs", str(folder)]
    for link in _links(binds):
        made += ["--symlink", str(link.source), str(link.asked)]
    # Read-only: /proc because root's processes may change the kernel through it (sysctl) even without capabilities;
    # the others, the sandbox's own, so that a stray write fails instead of vanishing.
    for node in devices(grant):
        made += ["--dev-bind", str(node), str(node)]
    for own in ("/proc", "/dev", *([str(_LOCAL)] if _hides_local() else []), *map(str, empty), "/"):
        made += ["--remount-ro", own]
    return [*made, "--chdir", grant.start or str(grant.workdir.resolve(strict=True))]


def granted(grant: Grant) -> list[Bind]:
    """Return the paths of `grant`, resolved and checked, the writable one first; UserError if one is refused."""
    workdir = _checked(grant.workdir, writable=True)
    if not workdir.source.is_dir():
        raise UserError(f"{grant.workdir}: the sandbox needs a folder to work in; make it first")
    binds = [workdir]
    for path in grant.read_only:
        bind = _checked(path, writable=False)
        if bind.source == workdir.source:
            raise UserError(f"{path}: is granted as read-only and as the work folder; list it once")
        # What an earlier program planted in its work folder must not choose what the next one sees.
        inside = workdir.asked in bind.asked.parents or workdir.source in bind.asked.parents
        if inside and workdir.source not in bind.source.parents:
            raise UserError(f"{path}: is a symlink that leads out of the work folder; replace it by what it points to")
        binds.append(bind)
    return binds


def places(grant: Grant) -> list[Bind]:
    """Return the second names of `grant`, `asked` as they are inside; UserError for one that would grant anything new.

    What is writable may be a link that an earlier program planted: it counts by what it resolves to.
    """
    whole = granted(grant)
    return [_placed(Path(inside), path, whole) for inside, path in sorted(grant.places.items())]


def _placed(inside: Path, path: Path, whole: list[Bind]) -> Bind:
    top = inside.parts[1:2]
    kept = not top or (top[0] in (*_MERGED, *_NO_PLACE) and inside not in _ACCOUNTS)
    if not inside.is_absolute() or ".." in inside.parts or kept:
        raise UserError(f"{inside}: is not a place for files of a sandbox; name one such as /app")
    try:
        source = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise UserError(f"{path}: cannot be placed at {inside} because it does not exist; make it first") from None
    holders = [bind for bind in whole if _below(source, bind.source)]
    if not holders:
        raise UserError(f"{path}: is placed at {inside} and is not granted; grant it, or a folder above it")
    nearest = max(holders, key=lambda bind: len(bind.source.parts))
    return Bind(source, inside, nearest.writable)


def hidden(grant: Grant) -> list[Path]:
    """Return the folders of `grant` that stand empty: those that it would show otherwise, without symlinks."""
    there = [path.resolve() for path in grant.hidden if path.is_dir()]
    shown = [_USR, *(bind.source for bind in granted(grant))]
    return [path for path in dict.fromkeys(there) if any(_below(path, top) for top in shown)]


def devices(grant: Grant) -> list[Path]:
    """Return the device nodes of `grant` that are there; UserError for one that is not of an accelerator."""
    for node in grant.devices:
        if ".." in node.parts or not any(node.match(f"/dev/{pattern}") for pattern in _DEVICES):
            raise UserError(f"{node}: is no device of an accelerator; grant {', '.join(_DEVICES)} below /dev")
    return [node for node in grant.devices if node.is_char_device() and not node.is_symlink()]


def accelerators() -> tuple[Path, ...]:
    """Return the accelerators' device nodes of this machine, sorted; empty if it has none."""
    found = (node for pattern in _DEVICES for node in Path("/dev").glob(pattern))
    return tuple(sorted(node for node in found if node.is_char_device() and not node.is_symlink()))


def _checked(path: Path, *, writable: bool) -> Bind:
    asked = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow the symlink we want to see
    try:
        source = asked.resolve(strict=True)
    except (OSError, RuntimeError):
        raise UserError(f"{path}: cannot be granted to a sandbox because it does not exist; make it first") from None
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - Path.home raises for accounts without one
    kernel = any(_below(source, top) for top in _KERNEL) and Path("/dev/shm") not in source.parents  # noqa: S108
    if kernel or source in (Path("/"), Path("/etc"), Path("/run"), *_SHARED, home, *home.parents):
        raise UserError(f"{path}: is too much to grant to a sandbox; name the folders that the program needs")
    if any(_below(source, secret) or _below(secret, source) for secret in _secrets(home)):
        raise UserError(
            f"{path}: holds keys or what this account trusts, which no sandbox is given; name other folders"
        )
    return Bind(source, asked, writable)


def _secrets(home: Path) -> list[Path]:
    """Where keys lie, and what this user's own configuration remembers of signers."""
    configuration = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "sophron"
    return [path.resolve() for path in (*(home / name for name in _SECRET), *_SECRET_SYSTEM, configuration)]


def _links(binds: list[Bind]) -> Iterator[Bind]:
    """Binds whose asked name is a symlink (or lies below one) that the sandbox would not otherwise have."""
    for bind in binds:
        above = {*bind.asked.parents}
        shown = bind.asked.parts[1] in (*_MERGED, "usr") and _LOCAL not in above
        if bind.asked != bind.source and not shown and not any({o.source, o.asked} & above for o in binds):
            yield bind


def _below(path: Path, top: Path) -> bool:
    return path == top or top in path.parents


def _system(*, network: bool) -> list[str]:
    """System programs and libraries, read-only; /usr/local, where sites put everything else, stays empty."""
    made = ["--ro-bind", "/usr", "/usr"]
    if _hides_local():
        made += ["--tmpfs", str(_LOCAL)]
    for name in _MERGED:
        top = Path("/") / name
        if top.is_symlink():
            made += ["--symlink", os.readlink(top), str(top)]  # noqa: PTH115 - Path.readlink would drop "./"
        elif top.is_dir():
            made += ["--ro-bind", str(top), str(top)]
    for name in (*_ETC, *(_ETC_NETWORK if network else ())):
        made += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return made


def _hides_local() -> bool:
    return _LOCAL.is_dir() and not _LOCAL.is_symlink()


SELF = "sophron"
"""The word of a definition that stands for this installation of Sophron."""
SELF_COMMAND = (sys.executable, "-m", "sophron")
_PACKAGE = Path(sophron.__file__).resolve().parent
SELF_HIDDEN = (_PACKAGE / "contracts",)
"""What code that a model wrote must not find in this installation: the references that it will be judged by."""


def self_folders() -> list[Path]:
    """Return what it reads: the interpreter, its packages, this package, and the data that an editable one links to."""
    linked = [path.resolve() for path in _PACKAGE.iterdir() if path.is_symlink() and path not in SELF_HIDDEN]
    return list(dict.fromkeys([Path(sys.base_prefix), Path(sys.prefix), _PACKAGE.parent, *linked]))


def self_environment() -> dict[str, str]:
    """Return what the command needs to find itself, and to leave no caches and no threads that nobody asked for."""
    return {"PYTHONPATH": str(_PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
