"""The bubblewrap backend, with real bwrap: what is not granted is not there, and limits end what passes them."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from sophron.interfaces.sandbox import Ended, Grant
from sophron.records.entry_points import load
from sophron.records.errors import UserError
from sophron.sandbox import kernel_limits
from sophron.sandbox.bubblewrap import Bubblewrap

# Asked of bwrap itself: were it asked of the backend, a broken backend would skip its own tests.
ALLOWED = (
    shutil.which("bwrap")
    and not subprocess.run(
        ["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"], check=False, capture_output=True
    ).returncode
)
pytestmark = pytest.mark.skipif(not ALLOWED, reason="no bwrap, or no user namespaces")
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def run(work, script, *, shell="/bin/sh", **limits):
    """Run a shell script in `work`; how it ended, what it printed, what it complained about."""
    out, err = work.parent / "stdout", work.parent / "stderr"
    ended = Bubblewrap().run([shell, "-c", script], Grant(work, **limits), stdout=out, stderr=err)
    return ended, out.read_text(), err.read_text()


def still_running(mark):
    """Whether a process of this machine has `mark` on its command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    return True
            except OSError:
                continue
    return False


def gone(mark, within_s=5.0):
    deadline = time.monotonic() + within_s
    while still_running(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_it_is_found_by_name():
    assert load("sophron.sandboxes", "bubblewrap") is Bubblewrap


def test_nothing_is_missing_here():
    assert Bubblewrap().missing() is None


def test_returncode_and_streams(work):
    assert run(work, "echo out; echo err >&2; exit 7") == (Ended(7), "out\n", "err\n")
    assert run(work, "kill -TERM $$")[0] == Ended(-15)


def test_work_folder_is_current_and_writable(work):
    ended, out, _ = run(work, "pwd; echo kept > result")
    assert (ended, out) == (Ended(0), f"{work}\n")
    assert (work / "result").read_text() == "kept\n"


def test_writes_outside_are_refused(work):
    beside = work.parent / "beside"
    beside.mkdir()
    granted = work.parent / "granted"
    granted.mkdir()
    (granted / "file").write_text("as it was")
    targets = [
        "/new",
        "/usr/new",
        "/usr/local/new",
        "/dev/new",
        "/etc/new",
        "/etc/passwd",
        f"{granted}/file",
        f"{granted}/new",
    ]
    targets += [f"{beside}/new", f"{Path.home()}/new", "/proc/sys/kernel/hostname", "/proc/self/oom_score_adj"]
    script = "\n".join(f"(echo x > {target}) 2>/dev/null && echo {target}" for target in targets)
    assert run(work, script, read_only=[granted])[1] == ""
    run(work, f"mkdir {beside}; echo x > {beside}/new; echo x > {work.parent}/new")
    assert (granted / "file").read_text() == "as it was"
    assert not list(beside.iterdir())
    assert not (work.parent / "new").exists()


def test_tmp_is_private(work):
    name = f"/tmp/{work.parent.name}-private"
    assert run(work, f"echo x > {name} && cat {name}")[1] == "x\n"
    assert not Path(name).exists()


def test_nothing_of_the_account_can_be_read(work):
    other = work.parent / "other-campaign"
    other.mkdir()
    (other / "campaign.yaml").write_text("secret")
    paths = [
        "/root",
        "/home",
        "/etc/shadow",
        "/etc/passwd",
        "/etc/ssh",
        "/var",
        "/opt",
        "/srv",
        "/run",
        "/sys",
        "/boot",
    ]
    paths += [str(other / "campaign.yaml"), str(Path.home()), str(SOURCE), "/usr/local/bin/*", "/proc/kcore"]
    script = "\n".join(
        f"head -c 1 {path} 2>/dev/null && echo {path}; ls {path} >/dev/null 2>&1 && echo {path}" for path in paths
    )
    assert [line for line in run(work, script)[1].splitlines() if line != "/proc/kcore"] == []


def test_symlinks_lead_nowhere(work):
    secret = work.parent / "secret"
    secret.write_text("secret")
    (work / "link").symlink_to(secret)
    (work / "up").symlink_to("../secret")
    ended, out, err = run(work, "cat link up ../secret")
    assert (ended.returncode, out) == (1, "")
    assert "secret" in err


def test_a_planted_symlink_does_not_choose_what_the_next_run_sees(work):
    secret = work.parent / "secret"
    secret.write_text("secret")
    run(work, f"ln -s {secret} input")
    with pytest.raises(UserError, match="leads out of the work folder"):
        run(work, "cat input", read_only=[work / "input"])


def test_a_granted_symlink_shows_its_target_and_nothing_beside_it(work):
    real = work.parent / "real"
    real.mkdir()
    (real / "data").write_text("data")
    (real / "beside").write_text("beside")
    link = work.parent / "link"
    link.symlink_to(real / "data")
    _, out, _ = run(work, f"cat {link}; ls {real}; echo x > {link}", read_only=[link])
    assert out == "datadata\n"
    assert (real / "data").read_text() == "data"


def test_a_path_below_a_symlink_is_found_under_both_names(work):
    real = work.parent / "real"
    (real / "sub").mkdir(parents=True)
    (real / "sub" / "data").write_text("data")
    (work.parent / "link").symlink_to(real)
    asked = work.parent / "link" / "sub"
    _, out, _ = run(work, f"cat {asked}/data {real}/sub/data; ls {real}", read_only=[asked, asked / "data"])
    assert out == "datadatasub\n"


@pytest.mark.skipif(not Path("/usr/local/bin").is_dir(), reason="there is no /usr/local/bin")
def test_what_sites_install_is_hidden_unless_granted(work):
    assert run(work, "ls /usr/local")[1] == ""
    assert run(work, "ls /usr/local", read_only=[Path("/usr/local/bin")])[1] == "bin\n"


def test_usr_may_be_granted_and_still_hides_usr_local(work):
    assert run(work, "ls /usr/local; ls -d /usr/lib", read_only=[Path("/usr")])[1] == "/usr/lib\n"


def test_a_part_of_the_work_folder_can_be_read_only(work):
    (work / "input").mkdir()
    (work / "input" / "in.lmp").write_text("run 0")
    _, out, err = run(work, "cat input/in.lmp; echo x > input/in.lmp; echo y > result", read_only=[work / "input"])
    assert out == "run 0"
    assert "Read-only" in err
    assert (work / "result").is_file()


def test_a_hidden_part_of_a_granted_folder_stands_empty(work, tmp_path):
    answers = tmp_path / "data" / "answers"
    answers.mkdir(parents=True)
    (answers / "one").write_text("42")
    (answers.parent / "question").write_text("6 x 7?")
    script = f"cat {answers.parent}/question; ls {answers}; echo x > {answers}/two"
    _, out, err = run(work, script, read_only=[answers.parent], hidden=[answers, tmp_path / "absent"])
    assert out == "6 x 7?"
    assert "Read-only" in err
    assert (answers / "one").read_text() == "42"


def test_a_work_folder_inside_a_read_only_one_is_writable(work):
    (work / "scratch").mkdir()
    (work / "input").write_text("in")
    _, out, err = run(work / "scratch", "cat ../input; echo x > result; echo x > ../input", read_only=[work])
    assert out == "in"
    assert "Read-only" in err
    assert (work / "scratch" / "result").is_file()


@pytest.mark.parametrize("path", ["/", "/etc", "/proc", "/sys/fs", "/dev", "/run/user/0", "~", "nowhere"])
def test_too_much_is_refused(work, path):
    with pytest.raises(UserError):
        run(work, "true", read_only=[Path(path).expanduser()])


def test_no_environment_but_the_grant(work, monkeypatch):
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    monkeypatch.setenv("SECRET_KEY", "k")
    _, out, _ = run(
        work, "env", env={"OMP_NUM_THREADS": "1"}, shell="/bin/dash" if Path("/bin/dash").exists() else "/bin/sh"
    )
    assert sorted(out.split()) == ["OMP_NUM_THREADS=1", f"PWD={work}"]


def test_the_environment_is_not_on_a_command_line_outside(work):
    out = work.parent / "seen"
    with subprocess.Popen(
        [sys.executable, "-c", _DRIVER, str(work), "sleep 1"],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "VALUE": "zyx-987"},
    ):
        time.sleep(0.5)
        assert not still_running("zyx-987")
    assert not out.exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash opens the connection")
def test_network_only_when_granted(work):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        assert run(work, script, shell="/bin/bash")[1] == ""
        assert run(work, script, shell="/bin/bash", network=True)[1] == "reached\n"
    assert run(work, "cat /proc/net/dev | tail -n +3 | cut -d: -f1")[1].split() == ["lo"]


def test_other_processes_cannot_be_seen_or_reached(work):
    with subprocess.Popen(["sleep", "30"]) as outside:
        _, out, _ = run(work, f"ls /proc | grep -c '^[0-9]'; kill {outside.pid} 2>/dev/null && echo reached")
        assert outside.poll() is None
        outside.kill()
    assert int(out) < 6


def test_no_capabilities_and_no_file_descriptors(work):
    _, out, _ = run(work, "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status | cut -f2; ls /proc/self/fd")
    lines = out.split()
    assert lines[:3] == ["0" * 16] * 3
    assert lines[3:] == ["0", "1", "2", "3"]  # 3 is ls reading the folder


def test_wall_time(work):
    started = time.monotonic()
    assert run(work, "sleep 60", wall_s=0.3)[0] == Ended(-9, "wall_s")
    assert time.monotonic() - started < 5


def test_cpu_time_of_one_process(work):
    assert run(work, "while :; do :; done", cpu_s=1)[0].limit == "cpu_s"


def test_cpu_time_of_a_tree(work):
    started = time.process_time(), time.monotonic()
    ended, _, _ = run(work, "for i in 1 2 3 4; do (while :; do :; done) & done; wait", cpu_s=1)
    assert ended == Ended(-9, "cpu_s")
    assert time.monotonic() - started[1] < 10


def test_address_space_of_one_process(work):
    code = "print('made', len(bytearray(400_000_000)))"
    grants = {"read_only": sorted({Path(sys.base_prefix), Path(sys.prefix)}), "memory_mb": 300}
    out, err = work.parent / "out", work.parent / "err"
    command = [str(Path(sys.executable).resolve()), "-I", "-S", "-c", code]
    ended = Bubblewrap().run(command, Grant(work, **grants), stdout=out, stderr=err)
    assert ended.returncode != 0
    assert "MemoryError" in err.read_text()
    grants["memory_mb"] = 1000
    assert Bubblewrap().run(command, Grant(work, **grants), stdout=out, stderr=err) == Ended(0)


def test_memory_of_a_tree(work):
    hold = "dd if=/dev/zero of=/dev/null bs=60000000"  # copies for ever through a buffer of 60 MB
    ended, _, _ = run(work, f"for i in 1 2 3 4; do {hold} & done; wait", memory_mb=150, wall_s=20)
    assert ended == Ended(-9, "memory_mb")


def test_private_tmp_is_bounded(work):
    _, out, _ = run(work, "head -c 200000000 /dev/zero > /tmp/x; wc -c < /tmp/x", memory_mb=50)
    assert int(out) < 51_000_000


def test_file_size(work):
    assert run(work, "exec head -c 20000000 /dev/zero > big", file_mb=5)[0] == Ended(-25, "file_mb")
    assert (work / "big").stat().st_size == 5_000_000


def test_number_of_processes(work):
    many = (
        "for i in 1 2 3 4 5 6; do (sleep 60 & sleep 60 & sleep 60 & sleep 60 & sleep 60 & sleep 60 & wait) & done; wait"
    )
    assert run(work, many, processes=30, wall_s=30)[0] == Ended(-9, "processes")
    assert run(work, "sleep 0.3 & sleep 0.3 & wait", processes=30)[0] == Ended(0)


# A fork bomb with a bound of its own, should the sandbox have none: says how many processes there were at once.
_BOMB = """
import os, time
made = 0
try:
    for made in range(300):
        if not os.fork():
            time.sleep(60)
            os._exit(0)
except OSError as error:
    print(made, error.errno, flush=True)
"""
_BOMBED = """
import sys
from pathlib import Path
from sophron.sandbox import limit_monitor
limit_monitor._PERIOD_S = 60.0  # nobody looks: what holds is the kernel's
from sophron.interfaces.sandbox import Grant
from sophron.sandbox.bubblewrap import Bubblewrap
work = Path(sys.argv[1])
grant = Grant(work, read_only=[Path(one) for one in sys.argv[4:]], processes=40, wall_s=20)
command = [sys.argv[3], "-I", "-S", "-c", sys.argv[2]]
ended = Bubblewrap().run(command, grant, stdout=work.parent / "stdout", stderr=work.parent / "stderr")
print(ended.returncode, (work.parent / "stdout").read_text())
"""


def test_a_fork_bomb_is_bounded_by_the_kernel_for_an_ordinary_user(nobody):
    if kernel_limits._kernel() < kernel_limits._COUNTS_NAMESPACES:
        pytest.skip("this kernel counts the processes of an account, not those of a sandbox")
    work, python = nobody
    work.parent.chmod(0o777)
    done = python(_BOMBED, work, _BOMB, "/usr/bin/python3")
    assert done.stdout == "0 78 11\n\n", done.stderr


def test_a_fork_bomb_of_root_is_bounded_by_the_kernel(work):
    if os.geteuid() != 0:
        pytest.skip("root has another bound than everybody else")
    if not any(os.access(parent, os.W_OK) for parent in kernel_limits._parents()):
        pytest.skip("no control group can be made here: the number is only looked at")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    python = str(Path(sys.executable).resolve())
    granted = sorted({sys.base_prefix, sys.prefix})
    command = [sys.executable, "-c", _BOMBED, str(work), _BOMB, python, *granted]
    bombed = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said, errors = bombed.communicate()
    assert said == "0 78 11\n\n", errors
    own = f"sophron-{bombed.pid}-*"  # other tests may have groups at work
    assert not [group for parent in kernel_limits._parents() for group in parent.glob(own)]


def test_groups_of_both_versions_are_found(tmp_path, monkeypatch):
    first, second = tmp_path / "pids", tmp_path / "unified"
    for group, controllers in (("user.slice", "cpu pids"), ("user.slice/session", "")):
        (second / group).mkdir(parents=True)
        (second / group / "cgroup.subtree_control").write_text(controllers + "\n")
    (tmp_path / "cgroup").write_text("8:pids:/docker/1/inner\n0::/user.slice/session\n")
    (tmp_path / "mountinfo").write_text(
        f"30 23 0:28 /docker/1 {first} rw,relatime - cgroup cgroup rw,pids\n"
        f"31 23 0:29 / {second} rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
        "32 23 0:30 / /proc rw - proc proc rw\n"
    )
    monkeypatch.setattr(kernel_limits, "_PROC", tmp_path)
    assert list(kernel_limits._parents()) == [first / "inner", second / "user.slice"]


def test_what_runs_on_in_the_background_ends_with_the_program(work):
    mark = f"background-{work.parent.name}"
    ended, _, _ = run(work, f"(setsid sh -c 'while :; do sleep 0.01; done; : {mark}' &) ; sleep 0.1; exit 0")
    assert ended == Ended(0)
    assert not still_running(mark)


_DRIVER = """
import os, sys
from pathlib import Path
from sophron.interfaces.sandbox import Grant
from sophron.sandbox.bubblewrap import Bubblewrap
work = Path(sys.argv[1])
grant = Grant(work, env={"VALUE": os.environ.get("VALUE", "")})
print("ready", flush=True)
ended = Bubblewrap().run(["/bin/sh", "-c", sys.argv[2]], grant, stdout=Path(os.devnull), stderr=work.parent / "stderr")
print(ended.returncode)
"""


def test_everything_ends_when_the_caller_is_killed(work):
    mark = f"orphan-{work.parent.name}"
    script = f"(setsid sh -c 'while :; do date > beat; sleep 0.01; done; : {mark}' &); sleep 60; : {mark}"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen([sys.executable, "-c", _DRIVER, str(work), script], env=environment) as driver:
        while not (work / "beat").exists():
            time.sleep(0.01)
        driver.kill()
    assert gone(mark)


def test_nothing_runs_on_when_the_caller_is_killed_while_starting(work):
    seconds = f"600.{os.getpid()}"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", _DRIVER, str(work), f"exec sleep {seconds}"]
    for moment in range(20):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as driver:
            driver.stdout.readline()
            time.sleep(moment * 0.001)
            driver.kill()
    assert gone(f"sleep\0{seconds}")


@pytest.fixture
def nobody():
    """A folder of the account nobody, and a function that runs Python with Sophron's source as that account."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root becomes somebody else")
    environment = {"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "/usr/bin/python3", "-c"]

    def python(*words):
        return subprocess.run([*command, *words], env=environment, check=False, capture_output=True, text=True, cwd="/")

    if python("import tomllib, sophron.interfaces.sandbox").returncode:
        pytest.skip("nobody can reach no Python that is new enough, or not this checkout")
    with tempfile.TemporaryDirectory() as folder:
        (work := Path(folder) / "work").mkdir()
        for owned in (folder, work):
            shutil.chown(owned, "nobody")
        yield work, python


def test_an_ordinary_user_can_use_it(nobody):
    work, python = nobody
    script = "touch inside; touch /outside 2>/dev/null && echo written; cat /etc/shadow 2>/dev/null; exit 4"
    ended = python(_DRIVER, work, script)
    assert (ended.stdout, ended.stderr) == ("ready\n4\n", "")
    assert (work / "inside").owner() == "nobody"


def test_limits_hold_for_an_ordinary_user(nobody):
    work, python = nobody
    script = "for i in 1 2 3 4; do (while :; do :; done) & done; wait"
    code = _DRIVER.replace("Grant(work,", "Grant(work, cpu_s=1,").replace("ended.returncode", "ended.limit")
    assert python(code, work, script).stdout == "ready\ncpu_s\n"


def test_a_folder_that_is_not_there(work):
    with pytest.raises(UserError, match="does not exist"):
        run(work / "gone", "true")


def test_an_unknown_program(work):
    out, err = work.parent / "stdout", work.parent / "stderr"
    ended = Bubblewrap().run(["no-such-program"], Grant(work), stdout=out, stderr=err)
    assert ended.returncode != 0
    assert "no-such-program" in err.read_text()


def test_without_bwrap(work, monkeypatch):
    monkeypatch.setenv("PATH", str(work))
    assert "install bubblewrap" in Bubblewrap().missing()
    with pytest.raises(UserError, match="install bubblewrap"):
        run(work, "true")


@pytest.mark.parametrize(
    "said",
    [
        "bwrap: No permissions to create new namespace",
        "bwrap: setting up uid map: Permission denied",
        "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
    ],
)
def test_without_user_namespaces(work, monkeypatch, said):
    """A bwrap that fails as it does where the kernel, or its security module, refuses user namespaces."""
    fake = work / "bwrap"
    fake.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{work}:/usr/bin:/bin")
    assert "user.max_user_namespaces" in Bubblewrap().missing()


def test_lammps_cannot_reach_out_through_its_shell_command(work):
    lammps = pytest.importorskip("sophron.science.lammps.executable")
    program = lammps.find()
    secret = work.parent / "secret"
    secret.write_text("secret")
    (work / "in.lmp").write_text(f"shell cp {secret} stolen\nshell touch {work.parent}/left\nprint done file said\n")
    granted = [program.program.parent.parent, Path(sys.prefix) / "lib"]
    command = [str(program.program), "-in", "in.lmp", "-log", "none"]
    grant = Grant(work, read_only=granted, env={**program.environment, "OMP_NUM_THREADS": "1"}, wall_s=60)
    ended = Bubblewrap().run(command, grant, stdout=work.parent / "out", stderr=work.parent / "err")
    assert ended == Ended(0), (work.parent / "err").read_text()
    assert (work / "said").read_text() == "done\n"
    assert not (work / "stolen").exists()
    assert not (work.parent / "left").exists()


def test_what_is_granted_can_have_a_second_name(work, tmp_path):
    (work / "app").mkdir()
    (tests := tmp_path / "tests").mkdir()
    (tests / "a").write_text("read\n")
    names = {"/app": work / "app", "/tests": tests}
    script = "pwd; echo made > b; cat /tests/a; echo no > /tests/a; mv /tests /other; ls /"
    _, out, err = run(work, script, read_only=[tests], places=names, start="/app")
    assert out.splitlines()[:2] == ["/app", "read"]
    assert {"app", "tests"} <= set(out.split())
    assert "other" not in out.split()
    assert err.count("Read-only file system") + err.count("busy") == 2
    assert ((work / "app" / "b").read_text(), (tests / "a").read_text()) == ("made\n", "read\n")


def test_a_folder_below_a_second_name_is_not_hidden(work, tmp_path):
    (work / "root").mkdir()
    (inner := tmp_path / "root").mkdir()
    (inner / "a").write_text("seen\n")
    names = {"/root": work / "root", "/root/deeper": inner}
    assert run(work, "cat /root/deeper/a", read_only=[inner], places=names)[1] == "seen\n"


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("/usr/x", "is not a place"),
        ("/etc", "is not a place"),
        ("/", "is not a place"),
        ("/proc/x", "is not a place"),
        ("/app/../etc", "is not a place"),
        ("app", "is not a place"),
    ],
)
def test_a_second_name_is_no_folder_of_the_system(work, inside, said):
    with pytest.raises(UserError, match=said):
        run(work, "true", places={inside: work})


def test_a_second_name_grants_nothing_new(work, tmp_path):
    (other := tmp_path / "other").mkdir()
    (work / "link").symlink_to(other)
    for path, said in ((other, "is not granted"), (work / "link", "is not granted"), (work / "none", "does not exist")):
        with pytest.raises(UserError, match=said):
            run(work, "true", places={"/app": path})


def test_an_interrupt_reaches_what_a_background_driver_started(work):
    was = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ended, said, _ = run(work, "kill -INT $$; echo ignored")
    finally:
        signal.signal(signal.SIGINT, was)
    assert (ended.returncode == 0, said) == (False, "")
