"""Ways out of a task's sandbox, and ways to a reward without work: none of them leads anywhere.

All lines of the first list run in one sandbox, each in a shell of its own; each says GOT if it got what it must not.
What the second list plants is all there in one verification, whose reward must be that of no work.
"""

import http.server
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from sophron.sandbox.bubblewrap import Bubblewrap
from sophron.tasks import dockerfile, environment, folder_tree, harbor_folder, verification
from sophron.tasks.environment import Box, Python

FOLDER = Path(__file__).parents[1] / "data" / "tasks" / "column-mean"
pytestmark = pytest.mark.skipif(Bubblewrap().missing() is not None, reason=str(Bubblewrap().missing()))
MARK = "the-mark-of-this-machine"

READS = {  # name -> (line, whether it works outside a sandbox)
    "tests of the task, by their place": ("grep -q tolerance -i {task}/tests/check.py", True),
    "solution of the task, by its place": ("grep -q mean {task}/solution/solve.sh", True),
    "tests where they will be": ("test -s /tests/check.py", False),
    "solution where it would be": ("test -s /solution/solve.sh", False),
    "the task folder through a link": ("ln -s {task} /app/t && cat /app/t/tests/check.py | grep -q .", False),
    "any check.py anywhere": ("find / -name check.py -not -path '/proc/*' 2>/dev/null | grep -q {task}", False),
    "any solve.sh anywhere": ("find / -name solve.sh -not -path '/proc/*' 2>/dev/null | grep -q .", False),
    "another task beside it": ("test -s {other}/tests/check.py", True),
    "results of another attempt": ("test -s {beside}/result.json", True),
    "a file of this machine": ("grep -q {mark} {secret}", True),
    "a file through a link": ("ln -s {secret} /app/s && grep -q {mark} /app/s", False),
    "a file through a hard link": ("ln {secret} /app/h && grep -q {mark} /app/h", False),
    "a file through the root of process 1": ("grep -q {mark} /proc/1/root{secret}", False),
    "a file through its own root": ("grep -q {mark} /proc/self/root/../..{secret}", False),
    "a file through an open descriptor": ("ls -l /proc/*/fd 2>/dev/null | grep -q {secret}", False),
    "a file by climbing": ("cd /app && grep -q {mark} ../../../../../..{secret}", False),
    "a file as a program's argument": ("python3 -c 'print(open(\"{secret}\").read())' | grep -q {mark}", True),
    "passwords of this machine": ("test -s /etc/shadow", False),
    "keys of this account": ("ls /root/.ssh /home/*/.ssh | grep -q .", False),
    "variables of this account": ("env | grep -q {mark}", True),
    "variables of other processes": ("cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q {mark}", False),
    "processes of this machine": ("cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q pyt[e]st", False),
    "a mount": ("mount --bind /usr /app", False),
    "a user namespace with a mount": ("unshare -rm mount --bind /usr /app", False),
    "namespaces of process 1": ("nsenter -t 1 -m true", False),
    "another root": ("chroot /usr /bin/true", False),
    "a device of this machine": ("ls /dev/sd* /dev/vd* /dev/kmem /dev/mem | grep -q .", False),
    "a parameter of the kernel": ("echo 1 > /proc/sys/vm/drop_caches", False),
    "a server of this machine": ("exec 3<>/dev/tcp/127.0.0.1/{port}", True),
    "a server of this machine, by Python": (
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'",
        True,
    ),
    "a name of the network": ("getent hosts example.org", False),
    "a route to the network": ("test $(wc -l < /proc/net/route) -gt 1", False),
}
WRITES = {
    "a test of the task": "echo > {task}/tests/check.py",
    "a place for tests": "mkdir -p /tests && echo > /tests/check.py",
    "a reward before its time": "mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt",
    "a module that every Python imports": "echo 'import os' > $(dirname $(python3 -c 'import csv; print(csv.__file__)'))/x.py",
    "a program of the environment": "touch {prefix}/bin/python3",
    "a package of the environment": "touch {prefix}/lib/planted.pth",
    "a program of this machine": "touch /usr/bin/planted",
    "a setting of this machine": "echo > /etc/profile",
}
PLANTS = (
    "mkdir -p /root/.local/bin; printf '#!/bin/sh\\nexit 0\\n' > /root/.local/bin/python3; chmod +x /root/.local/bin/python3",
    "mkdir -p /app/bin; cp /root/.local/bin/python3 /app/bin/python3; cp /root/.local/bin/python3 /app/python3",
    "echo 'echo 1 > /logs/verifier/reward.txt; exit 0' | tee /root/.bashrc /root/.profile /root/.bash_profile /root/.bash_env",
    "mkdir -p /root/.local/lib/python3.{minor}/site-packages; echo 'import os; os._exit(0)' > /root/.local/lib/python3.{minor}/site-packages/usercustomize.py",
    "echo 'import os; os._exit(0)' | tee /app/sitecustomize.py /app/csv.py /app/json.py /app/pathlib.py /app/conftest.py",
    "ln -s /tests/data.csv /app/mean.json",
    "ln -s /logs/verifier /app/logs; mkfifo /app/fifo",
    "(setsid sh -c 'while sleep 0.1; do echo 1 > /logs/verifier/reward.txt; done' >/dev/null 2>&1 &)",
)


class World:
    """A task with another one beside it, a secret, a server, and the box of its work."""

    def __init__(self, top, port):
        self.folder = shutil.copytree(FOLDER, top / "tasks" / "column-mean")
        other = shutil.copytree(FOLDER, top / "tasks" / "other")
        (beside := top / "jobs" / "beside").mkdir(parents=True)
        (beside / "result.json").write_text("{}")
        (secret := top / "secret").write_text(MARK)
        self.task, self.scratch = harbor_folder.read(self.folder), top / "scratch"
        recipe = dockerfile.read(self.folder / "environment" / "Dockerfile")
        self.box = Box(self.scratch / "tree", Python(Path(sys.prefix)), recipe, "/app", wall_s=60)
        self.scratch.mkdir()
        environment.build_tree(self.box, self.task, Bubblewrap(), self.scratch / "build.log")
        self.names = {"task": self.folder, "other": other, "beside": beside, "secret": secret, "mark": MARK}
        self.names |= {"port": port, "prefix": sys.prefix, "minor": sys.version_info.minor}

    def line(self, text):
        for name, value in self.names.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def script(self, lines):
        """Each line in a shell of its own, which has five seconds."""
        path = self.scratch / "tree" / "app" / "lines"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for number, text in enumerate(lines):
            (path / f"{number}.sh").write_text(self.line(text))
        return (
            "for f in /app/lines/*.sh; do timeout 5 bash $f >/dev/null 2>&1 && echo GOT $(basename $f .sh); done; true"
        )

    def worked(self, lines):
        """Which lines got what they wanted, in the sandbox of the work."""
        log = self.scratch / "work.log"
        self.box.run(["/bin/bash", "-c", self.script(lines)], Bubblewrap(), log)
        return [[*lines][int(said.split()[1])] for said in log.read_text().splitlines()]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["SOPHRON_TEST_MARK"] = MARK
    yield World(tmp_path_factory.mktemp("world"), server.server_port)
    del os.environ["SOPHRON_TEST_MARK"]
    server.shutdown()


def test_there_are_forty_and_each_is_another_one():
    lines = [*(line for line, _ in READS.values()), *WRITES.values(), *PLANTS]
    assert len(set(lines)) == len(lines) >= 40


def test_a_worker_reads_nothing_that_is_not_its_own(world):
    assert world.worked([line for line, _ in READS.values()]) == []


def test_outside_the_sandbox_it_would(world):
    lines = [line for line, outside in READS.values() if outside]
    failed = [line for line in lines if subprocess.run(["bash", "-c", world.line(line)], check=False).returncode]
    assert failed == []


def test_a_worker_changes_nothing_that_is_not_its_own(world):
    assert world.worked(WRITES.values()) == []
    assert (world.folder / "tests" / "check.py").read_text() == (FOLDER / "tests" / "check.py").read_text()


def test_nothing_that_a_worker_plants_gives_a_reward(world):
    assert world.worked(PLANTS) != []  # they are planted
    frozen = world.scratch / "frozen"
    left_out = folder_tree.freeze(world.box.tree, frozen)
    assert {"app/mean.json", "app/logs", "app/fifo"} <= {*left_out}
    found = verification.verify(world.task, world.box, frozen, world.scratch / "verify", Bubblewrap())
    assert (found.passed, dict(found.reward.values), found.reward.fault) == (False, {"reward": 0.0}, "")
    assert "mean.json is not there" in found.output


def test_the_tests_of_shipped_tasks_are_hidden_where_this_package_is_installed_beside_others(world, monkeypatch):
    prefix = world.scratch / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
    package = next(prefix.glob("lib/python3.*/site-packages")) / "sophron"
    (tests := package / "example_tasks" / "fit" / "tests").mkdir(parents=True)
    (tests / "check.py").write_text("EXPECTED = 2.5\n")
    box, log = replace(world.box, python=Python(prefix)), world.scratch / "hidden.log"
    line = ["/bin/bash", "-c", f"cat {tests}/check.py; find / -name check.py -path '*example_tasks*' 2>/dev/null"]
    box.run(line, Bubblewrap(), log)
    assert "EXPECTED" in log.read_text()  # so it would be
    monkeypatch.setattr(environment, "HARNESS", package)
    box.run(line, Bubblewrap(), log)
    assert log.read_text() == ""


def test_programs_have_a_user_and_localhost_as_in_a_container(world):
    log = world.scratch / "user.log"
    line = "whoami; getent hosts localhost | wc -l; ssh-keygen -q -t ed25519 -N '' -f /root/key && ls /root/key; cat /etc/passwd | wc -l"
    world.box.run(["/bin/bash", "-c", line], Bubblewrap(), log)
    assert log.read_text().split() == ["root", "1", "/root/key", "1"]
