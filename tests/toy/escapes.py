"""The escapes: scripts that try to get out of a sandbox, each with what it is given and how one sees that it worked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PRELUDE = """
import ctypes, json, mmap, os, resource, signal, socket, stat, struct, sys, time
W = json.loads(sys.argv[1])
C = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = C.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result
def worked():
    print("ESCAPED", flush=True)
def linger():
    # Who is to be caught waits to be caught: on a busy machine the watcher looks late. Pids are small inside.
    time.sleep(10 if os.getpid() < 100 else 1)
def got_it():
    open(os.path.join(W["work"], "got-it"), "w").close()
def reach(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(2)
        s.connect(tuple(address) if isinstance(address, list) else address)
        s.send(b"hello")
        time.sleep(0.1)
"""

LEAK, WORKED, CHANGED, VICTIM, SIGNAL, HIT, ALIVE, GOT = (
    "leak",
    "worked",
    "changed",
    "victim",
    "signal",
    "hit",
    "alive",
    "got",
)


@dataclass(frozen=True)
class Escape:
    """shows: the sign, looked for from outside, that it succeeded. limits: of the sandboxed run. control: None where
    the same script succeeds without a sandbox, else why that is not tried. root: the control wants root; maybe: this
    machine may refuse the control (a kernel without the feature, an account without the right), which is then said."""

    name: str
    script: str
    shows: str
    limits: Mapping[str, Any] = field(default_factory=dict)
    control: str | None = None
    root: bool = False
    maybe: bool = False


ALL: list[Escape] = []


def escape(
    shows: str,
    name: str,
    script: str,
    *,
    control: str | None = None,
    root: bool = False,
    maybe: bool = False,
    **limits: Any,
) -> None:
    ALL.append(Escape(name, script, shows, limits, control, root, maybe or root))


# Paths and links
escape(LEAK, "read by absolute path", "print(open(W['secret']).read())")
escape(LEAK, "read by dot-dot", "print(open(os.path.relpath(W['secret'], W['work'])).read())")
escape(LEAK, "read through a planted link", "os.symlink(W['secret'], 'l'); print(open('l').read())")
escape(LEAK, "read through a planted folder link", "os.symlink(W['root'], 'd'); print(open('d/secret').read())")
escape(LEAK, "read through a hard link", "os.link(W['secret'], 'h'); print(open('h').read())")
escape(LEAK, "read the key in home", "print(open(W['home'] + '/.ssh/id_ed25519').read())")
escape(LEAK, "list a neighbour's folder", "print(os.listdir(W['root']))")
escape(
    LEAK, "copy the secret into scratch", "import shutil; shutil.copy(W['secret'], 'copy'); print(open('copy').read())"
)
escape(
    LEAK,
    "read through an old descriptor of a folder",
    "os.chdir('/proc/self/fd'); [print(open(f'{n}{W[\"secret\"]}').read()) for n in os.listdir('.') if os.path.isdir(n)] or print(open(W['secret']).read())",
)
for way in ("self", "1", "thread-self", "{victim}", "{caller}"):
    escape(
        LEAK, f"/proc/{way}/root", f"print(open('/proc/{way}/root'.format(**W) + W['secret']).read())", maybe=way == "1"
    )
escape(LEAK, "/proc/<victim>/cwd", "print(open(f\"/proc/{W['victim']}/cwd/secret\").read())")
escape(LEAK, "/proc/<victim>/environ", "print(open(f\"/proc/{W['victim']}/environ\").read())")
escape(LEAK, "/proc/<victim>/cmdline", "print(open(f\"/proc/{W['victim']}/cmdline\").read())")
escape(LEAK, "/proc/<victim>/fd", "print(open(f\"/proc/{W['victim']}/fd/{W['descriptor']}\").read())")
escape(
    LEAK,
    "/proc/<victim>/mem",
    "m = open(f\"/proc/{W['victim']}/mem\", 'rb', 0); m.seek(W['address']); print(m.read(40))",
    maybe=True,
)
escape(
    LEAK,
    "every environ below /proc",
    "for p in os.listdir('/proc'):\n    try: p.isdigit() and p != str(os.getpid()) and print(open(f'/proc/{p}/environ').read())\n    except OSError: pass",
)
escape(
    LEAK,
    "process_vm_readv",
    "b = ctypes.create_string_buffer(64); V = ctypes.c_void_p * 2; C.process_vm_readv(W['victim'], V(ctypes.addressof(b), 40), 1, V(W['address'], 40), 1, 0); print(b.raw)",
    maybe=True,
)
escape(
    LEAK,
    "pidfd_getfd",
    "p = os.pidfd_open(W['victim']); print(os.pread(call(438, p, W['descriptor'], 0), 40, 0))",
    maybe=True,
)
escape(LEAK, "the key in the environment", "print(os.environ)")
escape(LEAK, "the key in /proc/self/environ", "print(open('/proc/self/environ').read())")
escape(
    LEAK,
    "the environment of the sandbox's first process",
    "print(open('/proc/1/environ').read())",
    control="outside, that is the machine's init",
)
escape(
    LEAK,
    "the account's key ring",
    "k = call(250, 10, -3, b'user', b'sophron-escape', 0); b = ctypes.create_string_buffer(64); call(250, 11, k, b, 64); print(b.raw)",
    maybe=True,
)
escape(
    LEAK,
    "a descriptor left open",
    "[print(os.pread(n, 100, 0)) for n in range(3, 64) if os.path.exists(f'/proc/self/fd/{n}')]",
    control="the caller leaves none open",
)

# Records of the campaign, which the sandbox shows read-only
escape(CHANGED, "write the gate", "open(W['gate'], 'w').write('mine')")
escape(CHANGED, "append an approval", "open(W['campaign'] + '/records/approvals.jsonl', 'a').write('mine')")
escape(CHANGED, "write mechanical.yaml", "open(W['campaign'] + '/mechanical.yaml', 'a').write('- mine')")
escape(CHANGED, "replace the gate by rename", "open('g', 'w').write('mine'); os.replace('g', W['gate'])")
escape(CHANGED, "remove a record", "os.unlink(W['campaign'] + '/records/events.jsonl')")
escape(CHANGED, "truncate a record", "os.truncate(W['campaign'] + '/records/events.jsonl', 0)")
escape(CHANGED, "make a file beside the gate", "open(W['campaign'] + '/new', 'w').close()")
escape(CHANGED, "write through a hard link to the gate", "os.link(W['gate'], 'h'); open('h', 'w').write('mine')")
escape(CHANGED, "write through a link to the gate", "os.symlink(W['gate'], 's'); open('s', 'w').write('mine')")
escape(
    CHANGED,
    "reopen a read-only descriptor for writing",
    "f = os.open(W['gate'], os.O_RDONLY); open(f'/proc/self/fd/{f}', 'w').write('mine')",
)
escape(CHANGED, "chmod, then write", "os.chmod(W['gate'], 0o777); open(W['gate'], 'w').write('mine')")
escape(
    CHANGED,
    "write through shared memory of the file",
    "f = os.open(W['gate'], os.O_RDWR); mmap.mmap(f, 4)[:4] = b'mine'",
)
escape(
    CHANGED,
    "remount the campaign writable",
    "C.mount(None, W['campaign'].encode(), None, 0x1020, None); open(W['gate'], 'w').write('mine')",
    control="it would change this machine's mounts",
)
escape(
    CHANGED,
    "unmount the campaign",
    "C.umount2(W['campaign'].encode(), 2); open(W['gate'], 'w').write('mine')",
    control="it would change this machine's mounts",
)
escape(
    CHANGED,
    "a new mount over the campaign",
    "r = C.mount(W['work'].encode(), W['campaign'].encode(), None, 0x1000, None); r or worked(); open(W['gate'], 'w').write('mine')",
    control="it would change this machine's mounts",
)

# Processes and signals
escape(VICTIM, "kill a process by pid", "os.kill(W['victim'], signal.SIGKILL)")
escape(VICTIM, "kill a process group", "os.killpg(W['victim'], signal.SIGKILL)")
escape(VICTIM, "stop a process", "os.kill(W['victim'], signal.SIGSTOP); time.sleep(0.1)")
escape(VICTIM, "pidfd_send_signal", "signal.pidfd_send_signal(os.pidfd_open(W['victim']), signal.SIGKILL)")
escape(VICTIM, "kill everything (-1)", "os.kill(-1, signal.SIGKILL)", control="it would end everything of this account")
escape(VICTIM, "renice", "os.setpriority(os.PRIO_PROCESS, W['victim'], 19)")
escape(VICTIM, "pin to one core", "os.sched_setaffinity(W['victim'], {max(os.sched_getaffinity(0))})")
escape(VICTIM, "change limits", "resource.prlimit(W['victim'], resource.RLIMIT_NOFILE, (5, 5))")
escape(WORKED, "ptrace", "C.ptrace(0x4206, W['victim'], None, None) == 0 and worked()", maybe=True)
escape(SIGNAL, "signal to the caller", "os.kill(W['caller'], signal.SIGUSR1); time.sleep(0.1)")
escape(SIGNAL, "signal to the parent", "os.kill(os.getppid(), signal.SIGUSR1); time.sleep(0.1)")
escape(
    SIGNAL,
    "signal to the caller's group",
    "os.kill(0, signal.SIGUSR1); time.sleep(0.1)",
    control="a sandbox or not, it has its own group",
)
DAEMON = "os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); "
escape(
    ALIVE,
    "a daemon that outlives the program",
    DAEMON + "os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(30)', W['mark']])",
)
escape(
    ALIVE,
    "a child that ignores every polite signal",
    "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]; os.fork() or (os.setsid(), os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(30)', W['mark']]))",
)
escape(
    ALIVE,
    "a daemon, when a limit ends the program",
    "os.fork() or (os.setsid(), os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(30)', W['mark']])); time.sleep(30)",
    wall_s=0.5,
)
escape(
    GOT,
    "stop or kill the sandbox's first process",
    "[os.kill(1, n) for n in (19, 9)]; time.sleep(2); got_it()",
    control="outside, that is the machine's init",
    wall_s=0.5,
)

# Network and sockets
escape(HIT, "TCP to this machine", "reach(2, 1, W['servers']['tcp'])")
escape(HIT, "TCP to a service on all addresses", "reach(2, 1, ['127.0.0.1', W['servers']['any'][1]])")
escape(HIT, "TCP over IPv6", "reach(10, 1, W['servers']['tcp6'])", maybe=True)
escape(HIT, "UDP", "reach(2, 2, W['servers']['udp'])")
escape(
    HIT,
    "a DNS query",
    "s = socket.socket(2, 2); s.sendto(b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\1a\\0\\0\\1\\0\\1', tuple(W['servers']['udp'])); time.sleep(0.1)",
)
escape(HIT, "D-Bus socket by path", "reach(1, 1, W['servers']['bus'])")
escape(HIT, "ssh-agent socket by path", "reach(1, 1, W['servers']['agent'])")
escape(HIT, "abstract socket", "reach(1, 1, '\\0' + W['servers']['abstract'])")
escape(HIT, "vsock to this machine", "reach(40, 1, [1, W['servers']['vsock'][1]])", maybe=True)
escape(WORKED, "a vsock socket at all", "socket.socket(40, 1); worked()", maybe=True)
escape(WORKED, "raw packets", "socket.socket(17, 3, 0); worked()", root=True)
escape(WORKED, "the kernel's crypto sockets", "socket.socket(38, 5, 0); worked()", maybe=True)
escape(WORKED, "the machine's network interfaces", "len(socket.if_nameindex()) > 1 and worked()", maybe=True)

# Privileges and the kernel
escape(WORKED, "a user namespace of its own", "call(272, 0x10000000); worked()", maybe=True)
escape(
    WORKED,
    "a user namespace by clone",
    "p = call(56, 0x10000011, 0, 0, 0, 0); p or os._exit(0); os.waitpid(p, 0); worked()",
    maybe=True,
)
escape(WORKED, "a mount namespace of its own", "call(272, 0x00020000); worked()", root=True)
escape(
    WORKED,
    "the namespaces of another process",
    "C.setns(os.open(f\"/proc/{W['victim']}/ns/mnt\", 0), 0) == 0 and worked()",
    root=True,
)
escape(WORKED, "chroot", "os.chroot('.'); worked()", root=True)
escape(WORKED, "pivot_root", "call(155, b'.', b'.'); worked()", control="it would change this machine's mounts")
escape(
    WORKED,
    "a mount",
    "C.mount(b'none', W['work'].encode(), b'tmpfs', 0, None) == 0 and worked()",
    control="it would change this machine's mounts",
)
escape(WORKED, "the new mount calls", "call(430, b'tmpfs', 0); worked()", root=True)
escape(WORKED, "a device node", "os.mknod('d', stat.S_IFBLK | 0o600, os.makedev(254, 0)); worked()", root=True)
escape(
    WORKED,
    "the machine's disks and memory",
    "import glob; [worked() for d in glob.glob('/dev/[vs]d*') + glob.glob('/dev/nvme*') + ['/dev/mem', '/dev/kmsg', '/dev/port'] if os.path.exists(d) and os.open(d, os.O_RDONLY)]",
    root=True,
)
escape(WORKED, "the terminal", "os.open('/dev/tty', os.O_RDWR); worked()", control="a test has none")
escape(
    WORKED,
    "TIOCSTI into a terminal",
    "import fcntl; [fcntl.ioctl(n, 0x5412, b'x') or worked() for n in (0, 1, 2)]",
    control="a test has none",
)
escape(WORKED, "gain by a setuid program", "'NoNewPrivs:\\t0' in open('/proc/self/status').read() and worked()")
escape(WORKED, "another user id", "os.setresuid(1, 1, 1); worked()", root=True)
for form, code in (
    ("chmod", "os.chmod('suid', 0o4755)"),
    ("fchmod", "os.fchmod(os.open('suid', 0), 0o4755)"),
    ("open", "os.close(os.open('suid2', os.O_CREAT | os.O_WRONLY, 0o4755))"),
    ("chmod of a folder's file", "os.chmod('suid', 0o2755, dir_fd=os.open('.', 0))"),
):
    escape(
        WORKED,
        f"a setuid file in scratch, by {form}",
        f"open('suid', 'w').close(); {code}; any(os.stat(n).st_mode & 0o6000 for n in os.listdir('.')) and worked()",
    )
escape(WORKED, "sysctl", "os.open('/proc/sys/vm/drop_caches', os.O_WRONLY); worked()", root=True)
escape(WORKED, "sysrq", "os.open('/proc/sysrq-trigger', os.O_WRONLY); worked()", root=True)
escape(WORKED, "the kernel's log", "C.klogctl(3, ctypes.create_string_buffer(4096), 4096) > 0 and worked()", root=True)
escape(WORKED, "the machine's name", "n = os.uname().nodename; socket.sethostname(n); worked()", root=True)
escape(
    WORKED,
    "the clock",
    "time.clock_settime(time.CLOCK_REALTIME, time.time()); worked()",
    control="it would set this machine's clock",
)
escape(WORKED, "/sys", "os.listdir('/sys/kernel') and worked()", maybe=True)
escape(
    WORKED,
    "a control group of its own",
    "os.mkdir('/sys/fs/cgroup/' + W['token']); worked(); os.rmdir('/sys/fs/cgroup/' + W['token'])",
    root=True,
)
escape(WORKED, "eBPF", "call(321, 0, struct.pack('IIII', 2, 4, 4, 1) + bytes(100), 72); worked()", root=True)
escape(WORKED, "io_uring", "call(425, 4, ctypes.create_string_buffer(200)); worked()", maybe=True)
escape(
    WORKED,
    "files by handle",
    "h = ctypes.create_string_buffer(struct.pack('II', 100, 0) + bytes(200)); m = ctypes.c_int(); C.name_to_handle_at(-100, b'.', h, ctypes.byref(m), 0); d = os.open('.', 0); C.open_by_handle_at(d, h, 0) >= 0 and worked()",
    root=True,
)
escape(WORKED, "higher limits", "resource.setrlimit(resource.RLIMIT_CPU, (999, 999)); worked()", root=True, cpu_s=5)

# Limits
HEAP = "b = [bytearray(20_000_000) for _ in range(20)]; got_it()"
escape(GOT, "memory: heap", HEAP, memory_mb=150)
escape(
    GOT,
    "memory: many children",
    "c = [os.fork() or (bytearray(80_000_000), time.sleep(1.5), os._exit(0)) for _ in range(6)]; time.sleep(1); got_it()",
    memory_mb=150,
)
escape(
    GOT,
    "memory: shared pages",
    "m = [mmap.mmap(-1, 50_000_000) for _ in range(1)]; c = [os.fork() or (lambda x: (x.write(bytes(50_000_000)), time.sleep(1.5), os._exit(0)))(mmap.mmap(-1, 50_000_000)) for _ in range(6)]; time.sleep(1); got_it()",
    memory_mb=180,
)
escape(
    GOT,
    "memory: nameless files",
    "f = os.memfd_create('x'); [os.write(f, bytes(10_000_000)) for _ in range(40)]; time.sleep(0.5); got_it()",
    memory_mb=150,
)
escape(
    GOT,
    "memory: System V segments",
    "ids = []\nfor _ in range(10):\n    i = C.shmget(0, 40_000_000, 0o1600); ids.append(i); C.shmat.restype = ctypes.c_void_p; a = C.shmat(i, None, 0); ctypes.memset(a, 1, 40_000_000); C.shmdt(ctypes.c_void_p(a)); time.sleep(0.05)\ntime.sleep(0.3); got_it(); [C.shmctl(i, 0, None) for i in ids]",
    memory_mb=150,
    maybe=True,
)
escape(
    GOT,
    "memory: /tmp",
    "import tempfile; f = tempfile.TemporaryFile(dir='/tmp'); [f.write(bytes(10_000_000)) for _ in range(30)]; f.flush(); got_it()",
    memory_mb=150,
)
escape(
    GOT,
    "memory: /dev/shm",
    "f = open('/dev/shm/' + W['token'], 'wb'); os.unlink(f.name); [f.write(bytes(10_000_000)) for _ in range(30)]; f.flush(); got_it()",
    memory_mb=150,
)
escape(
    GOT,
    "disk: one large file",
    "f = open('big', 'wb'); [f.write(bytes(1_000_000)) for _ in range(60)]; f.flush(); got_it()",
    file_mb=20,
)
escape(
    GOT,
    "disk: many files",
    "for n in range(60):\n    open(f'f{n}', 'wb').write(bytes(2_000_000)); time.sleep(0.02)\ngot_it()",
    disk_mb=20,
)
escape(
    GOT,
    "disk: deleted but open",
    "k = []\nfor n in range(60):\n    f = open('gone', 'wb', 0); os.unlink('gone'); f.write(bytes(2_000_000)); k.append(f); time.sleep(0.02)\ngot_it()",
    disk_mb=20,
)
escape(
    GOT,
    "disk: empty files without end",
    "for n in range(8_000):\n    open(f'e{n}', 'w').close()\n    n % 500 or time.sleep(0.02)\nlinger(); got_it()",
    disk_mb=20,
)
escape(
    GOT,
    "disk: output without end",
    "[os.write(1, bytes(1_000_000)) and time.sleep(0.02) for _ in range(60)]; linger(); got_it()",
    disk_mb=20,
)
escape(
    GOT,
    "disk: reserved and not written",
    "f = os.open('r', os.O_CREAT | os.O_RDWR); os.posix_fallocate(f, 0, 60_000_000); linger(); got_it()",
    disk_mb=20,
)
SPIN = "t = time.process_time()\nwhile time.process_time() - t < {}: pass\n"
escape(GOT, "CPU: one busy loop", SPIN.format(2.5) + "got_it()", cpu_s=1)
escape(
    GOT,
    "CPU: a busy loop that ignores the signal",
    "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n" + SPIN.format(2.8) + "got_it()",
    cpu_s=1,
)
escape(
    GOT,
    "CPU: shared among children",
    "for _ in range(4):\n    if not os.fork():\n        "
    + SPIN.format(0.7).replace("\n", "\n        ").rstrip()
    + "\n        os._exit(0)\n[os.wait() for _ in range(4)]; got_it()",
    cpu_s=1,
)
escape(GOT, "time: sleep past the wall", "time.sleep(1.5); got_it()", wall_s=0.4)
escape(
    GOT,
    "time: stop itself",
    "os.fork() or (time.sleep(1), os.kill(os.getppid(), signal.SIGCONT), os._exit(0)); os.kill(os.getpid(), signal.SIGSTOP); time.sleep(0.5); got_it()",
    wall_s=0.4,
)
escape(
    GOT,
    "fork bomb",
    "def bomb():\n    while True:\n        try: os.fork()\n        except OSError: time.sleep(0.01)\nos.fork() or bomb()\ntime.sleep(5); got_it()",
    control="it would take this machine's processes",
    processes=40,
)
escape(
    GOT,
    "many threads",
    "import threading; [threading.Thread(target=time.sleep, args=(9,), daemon=True).start() for _ in range(60)]; linger(); got_it()",
    processes=30,
)
