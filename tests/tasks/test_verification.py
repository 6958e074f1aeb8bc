"""Tests of a task in the second sandbox: the oracle passes, empty work fails, and neither sees what it should not."""

import shutil
import sys
from pathlib import Path

import pytest

from sophron.records.errors import UserError
from sophron.sandbox.bubblewrap import Bubblewrap
from sophron.tasks import dockerfile, environment, folder_tree, grading_stubs, harbor_folder, reward, verification
from sophron.tasks.environment import Box, Python

FOLDER = Path(__file__).parents[1] / "data" / "tasks" / "column-mean"
pytestmark = pytest.mark.skipif(Bubblewrap().missing() is not None, reason=str(Bubblewrap().missing()))


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(FOLDER, tmp_path / "column-mean", symlinks=True)


class Place:
    """A task folder with its box in a scratch folder."""

    def __init__(self, folder, scratch):
        self.task, self.scratch, self.sandbox = harbor_folder.read(folder), scratch, Bubblewrap()
        recipe = dockerfile.read(folder / "environment" / "Dockerfile")
        workdir = environment.workdir_of(self.task, recipe)
        self.box = Box(scratch / "tree", Python(Path(sys.prefix)), recipe, workdir)
        scratch.mkdir()
        environment.build_tree(self.box, self.task, self.sandbox, scratch / "build.log")
        self.app = self.box.tree / "app"
        folder_tree.freeze(self.box.tree, scratch / "fresh")

    def verified(self):
        frozen = self.scratch / "frozen"
        if frozen.exists():
            shutil.rmtree(frozen)
        self.left_out = folder_tree.freeze(self.box.tree, frozen)
        return verification.verify(
            self.task, self.box, frozen, self.scratch / "verify", self.sandbox, fresh=self.scratch / "fresh"
        )

    def work(self, script):
        """What an agent's shell line does in the first sandbox; what it printed."""
        log = self.scratch / "work.log"
        self.box.run(["/bin/sh", "-c", script], self.sandbox, log)
        return log.read_text() + log.with_name("work.log.stderr").read_text()


@pytest.fixture
def place(folder, tmp_path):
    return Place(folder, tmp_path / "scratch")


def test_the_tree_is_what_the_dockerfile_says(place):
    assert (place.app / "data.csv").is_file()
    assert (place.app / "out").is_dir()
    assert place.work("pwd; echo $HOME $RESULTS; ls /").split() == [
        *("/app", "/root", "/app"),
        *sorted(place.work("ls /").split()),
    ]


def test_openssl_makes_a_certificate(place):
    if shutil.which("openssl") is None or not environment.SYSTEM_FILES[0].is_file():
        pytest.skip("no openssl here")
    line = "openssl req -x509 -nodes -newkey rsa:2048 -subj /CN=a -keyout k.pem -out c.pem && echo made"
    assert place.work(line).splitlines().count("made") == 1


def test_the_oracle_passes_and_says_which_programs_were_stubs(place):
    verification.solve(place.task, place.box, place.scratch, place.sandbox, 60)
    found = place.verified()
    assert found.passed
    assert found.reward.values == {"reward": 1.0}
    assert found.stubs == ("apt-get update", "apt-get install -y curl")
    assert (found.exit_code, found.limit, found.left_out) == (0, None, ())
    assert found.output == "mean 3.5"


def test_empty_and_wrong_work_fails(place):
    assert place.verified().reward.values == {"reward": 0.0}
    place.work("echo '{\"mean\": 4}' > mean.json")
    assert not place.verified().passed


def test_a_worker_sees_neither_tests_nor_solution(place):
    assert place.work("ls /tests /solution /logs 2>&1; ls /").count("No such file") == 3
    said = place.work(f"cat {place.task.folder}/tests/check.py")
    assert "No such file" in said


def test_a_reward_that_a_worker_wrote_does_not_cross(place):
    place.work("mkdir -p /app/../logs/verifier; echo 1 > /logs/verifier/reward.txt")
    assert not (place.box.tree / "logs").exists()
    (place.box.tree / "logs" / "verifier").mkdir(parents=True)
    (place.box.tree / "logs" / "verifier" / "reward.txt").write_text("1")
    (place.box.tree / "etc").mkdir()
    (place.box.tree / "tests").mkdir()
    found = place.verified()
    assert not found.passed
    assert found.left_out == ("etc", "logs", "tests")


def test_a_script_that_would_fetch_uv_runs_its_tests(place):
    tests = place.task.folder / "tests"
    (tests / "test_outputs.py").write_text("def test_it():\n    assert open('/app/mean.json')\n")
    (tests / "test.sh").write_text(
        "#!/bin/bash\nset -euo pipefail\nsudo apt-get install -y curl\n"
        "curl -LsSf https://astral.sh/uv/install.sh | sh\nsource $HOME/.local/bin/env\nset +e\n"
        "uvx -p 3.13 -w pytest==8.4.1 --with 'x>=1' pytest -q /tests/test_outputs.py\n"
        "if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n"
    )
    place.task = harbor_folder.read(place.task.folder)
    assert place.verified().reward.values == {"reward": 0.0}
    place.work("echo 1 > mean.json")
    found = place.verified()
    assert found.passed
    assert found.stubs == (
        "sudo apt-get install -y curl",
        "apt-get install -y curl",
        "curl -LsSf https://astral.sh/uv/install.sh",
        "source .local/bin/env",
        "uvx -p 3.13 -w pytest==8.4.1 --with x>=1 pytest -q /tests/test_outputs.py",
    )


def test_links_and_programs_of_a_worker_do_not_judge(place):
    place.work(
        "ln -s /etc/hostname mean.json; mkdir -p /root/.local/bin; printf '#!/bin/sh\\nexit 0\\n' > /root/.local/bin/python3; chmod +x /root/.local/bin/python3"
    )
    assert not place.verified().passed
    assert place.left_out == ["app/mean.json"]


def test_tests_cannot_be_replaced_by_what_they_run(place):
    script = place.task.folder / "tests" / "test.sh"
    script.write_text("#!/bin/sh\necho pass > /tests/check.py\nmv /tests /other\ncp /tests/check.py /logs/verifier/\n")
    place.task = harbor_folder.read(place.task.folder)
    place.verified()
    kept = place.scratch / "verify" / "tree" / "logs" / "verifier" / "check.py"
    assert kept.read_text() == (FOLDER / "tests" / "check.py").read_text()


def test_tests_that_were_changed_since_they_were_signed_do_not_run(place):
    (place.task.folder / "tests" / "check.py").write_text("")
    with pytest.raises(UserError, match="is not the file that was signed; restore it, or amend the task"):
        place.verified()


def test_tests_have_no_network_and_pass_their_time(place):
    script = place.task.folder / "tests" / "test.sh"
    script.write_text(
        "#!/bin/sh\nls /sys/class/net /proc/net/dev 2>/dev/null\necho 1 > /logs/verifier/reward.txt\nsleep 60\n"
    )
    settings = place.task.folder / "task.toml"
    settings.write_text(settings.read_text().replace("timeout_sec = 60.0", "timeout_sec = 0.5"))
    place.task = harbor_folder.read(place.task.folder)
    found = place.verified()
    assert found.limit == "wall_s"
    assert not found.passed
    assert found.reward.fault == "the tests passed wall_s"


def test_of_separate_tests_artifacts_alone_cross(folder, tmp_path):
    settings = folder / "task.toml"
    text = settings.read_text().replace("[verifier]", '[verifier]\nenvironment_mode = "separate"')
    settings.write_text(text.replace("[task]", 'artifacts = ["/app/mean.json", "/app/gone"]\n[task]'))
    (folder / "tests" / "test.sh").write_text(
        "#!/bin/sh\nls -a /app > /logs/verifier/seen\necho 1 > /logs/verifier/reward.txt\n"
    )
    place = Place(folder, tmp_path / "scratch")
    place.work("echo '{\"mean\": 3.5}' > mean.json; echo x > hidden.py")
    found = place.verified()
    assert found.passed
    assert found.left_out == ("/app/gone",)
    assert (tmp_path / "scratch/verify/tree/logs/verifier/seen").read_text().split() == [
        ".",
        "..",
        "data.csv",
        "mean.json",
        "out",
    ]


def test_a_command_of_the_dockerfile_that_fails_is_named(folder, tmp_path):
    path = folder / "environment" / "Dockerfile"
    path.write_text(path.read_text() + "RUN cat missing.txt\n")
    with pytest.raises(UserError, match=r"Dockerfile:8: RUN cat missing.txt failed \(cat: missing.txt: No such file"):
        Place(folder, tmp_path / "scratch")
    path.write_text("FROM python:3.11\nCOPY nothing /app/\n")
    with pytest.raises(UserError, match="Dockerfile:2: COPY: nothing is not below"):
        Place(folder, tmp_path / "other")


def test_packages_that_are_not_there_are_named(folder):
    path = folder / "environment" / "Dockerfile"
    path.write_text("FROM ubuntu:24.04\nRUN apt-get install -y bash no-such-package-of-debian\n")
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg-query: not a Debian")
    assert environment.missing_packages(dockerfile.read(path)) == ["no-such-package-of-debian"]


@pytest.mark.parametrize(
    ("name", "content", "values", "fault"),
    [
        ("reward.txt", "1", {"reward": 1}, ""),
        ("reward.txt", " 0.979\n", {"reward": 0.979}, ""),
        ("reward.txt", "", {}, "reward.txt is empty"),
        ("reward.txt", "yes", {}, "reward.txt holds yes, which is not a number"),
        ("reward.txt", "nan", {}, "reward.txt: reward is not a finite number"),
        ("reward.json", '{"reward": true, "speed": 0.5}', {"reward": 1, "speed": 0.5}, ""),
        ("reward.json", '{"speed": 1}', {"speed": 1}, "reward.json has no key reward"),
        ("reward.json", '{"reward": "1"}', {}, "reward.json: reward is not a number"),
        ("reward.json", "[1]", {}, "reward.json is not an object with numbers"),
        ("rewards.json", '{"reward": 1}', {}, "the tests left neither reward.json nor reward.txt"),
    ],
)
def test_a_reward_is_typed_and_its_absence_is_no_pass(tmp_path, name, content, values, fault):
    (tmp_path / name).write_text(content)
    found = reward.read(tmp_path)
    assert (found.values, found.fault) == (values, fault)
    assert found.passed is (values.get("reward") == 1 and not fault)


def test_json_comes_before_text(tmp_path):
    (tmp_path / "reward.txt").write_text("1")
    (tmp_path / "reward.json").write_text('{"reward": 0}')
    assert not reward.read(tmp_path).passed
    (tmp_path / "reward.json").unlink()
    (tmp_path / "reward.json").symlink_to(tmp_path / "reward.txt")
    assert reward.read(tmp_path).fault == "reward.json is not a plain file"


def test_what_a_script_would_install_is_known_before():
    script = (
        "apt-get install -y curl\ncurl -LsSf https://astral.sh/uv/0.9.5/install.sh | sh\nsource $HOME/.local/bin/env\n"
        "uvx --with pytest==8.4.1 \\\n  -w pytest-json-ctrf==0.3.5 pytest /tests/test_outputs.py\npip install -q 'numpy>=2' pandas\n"
    )
    assert grading_stubs.requirements(script) == ("pytest==8.4.1", "pytest-json-ctrf==0.3.5", "numpy>=2", "pandas")
    assert grading_stubs.requirements("uvx --from 'harbor-rewardkit==0.1.*' rewardkit /tests\n") == (
        "harbor-rewardkit==0.1.*",
    )
