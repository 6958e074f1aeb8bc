"""Task folders of Harbor: what is read of them, what is warned of, and what is refused, each in one sentence."""

import os
import shutil
from pathlib import Path

import pytest

from sophron.records.errors import UserError
from sophron.tasks import harbor_folder

FOLDER = Path(__file__).parents[1] / "data" / "tasks" / "column-mean"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(FOLDER, tmp_path / "column-mean", symlinks=True)


def settings(folder, *lines, without=()):
    """Put lines before the first table of task.toml, tables after the last; drop those that begin with `without`."""
    path = folder / "task.toml"
    kept = [line for line in path.read_text().splitlines() if not line.startswith(tuple(without) or ("\0",))]
    top = [line for line in lines if not line.startswith("[")]
    tables = [line for line in lines if line.startswith("[")]
    path.write_text("\n".join([*top, *kept, *tables]) + "\n")
    return folder


def refusal(folder):
    with pytest.raises(UserError) as caught:
        harbor_folder.read(folder)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence.replace(f"{folder}/", "")


def test_a_folder_is_read_whole():
    task = harbor_folder.read(FOLDER)
    assert task.name == "sophron/column-mean"
    assert task.instruction.startswith("The table `data.csv`")
    assert (task.work.timeout_s, task.tests.timeout_s, task.build_timeout_s) == (300, 60, 120)
    assert (task.cpus, task.memory_mb, task.storage_mb) == (1, 1024, None)
    assert task.work.network == task.tests.network == "no-network"
    assert task.env == {"GREETING": "hello"}
    assert task.tests.env == {"TOLERANCE": "0.001"}
    assert not task.separate
    assert task.has_solution
    assert set(task.files) == {
        "environment/Dockerfile",
        "environment/data/data.csv",
        "instruction.md",
        "solution/solve.sh",
        "task.toml",
        "tests/check.py",
        "tests/data.csv",
        "tests/test.sh",
    }
    assert task.warnings == ()


def test_the_digest_of_a_test_is_its_content(folder):
    before = harbor_folder.read(folder).files["tests/check.py"]
    (folder / "tests/check.py").write_text("import sys; sys.exit(0)\n")
    assert harbor_folder.read(folder).files["tests/check.py"] != before


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<!-- a canary of x -->\n# Title\n", "# Title\n"),
        ("\n# canary one\n# Canary two\n\nDo it.\n", "Do it.\n"),
        ("Do it.\n<!-- canary -->\n", "Do it.\n<!-- canary -->\n"),
        ("", ""),
    ],
)
def test_leading_canary_lines_are_not_shown(text, left):
    assert harbor_folder.without_canary(text) == left


def test_unknown_keys_are_named_with_their_line(folder):
    path = folder / "task.toml"
    path.write_text(path.read_text().replace("network_mode", "netwrok_mode") + "[extra]\nx = 1\n")
    warnings = [one.replace(f"{folder}/", "") for one in harbor_folder.read(folder).warnings]
    assert warnings[0] == (
        'task.toml:21: environment.netwrok_mode: unknown key, not read; did you mean "network_mode"?'
    )
    assert warnings[1].startswith("task.toml:23: extra: unknown key, not read; known are")
    assert "allows the network" in warnings[2]


def test_old_spellings_are_read(folder):
    settings(folder, 'version = "1.0"', without=("schema_version", "memory_mb", "network_mode"))
    path = folder / "task.toml"
    path.write_text(path.read_text() + 'memory = "4G"\nstorage = "512M"\nallow_internet = false\n')
    task = harbor_folder.read(folder)
    assert (task.memory_mb, task.storage_mb, task.work.network) == (4000, 512, "no-network")
    assert task.warnings == ()


def test_both_spellings_may_agree_on_either_gigabyte(folder):
    path = folder / "task.toml"
    path.write_text(path.read_text().replace("memory_mb = 1024", 'memory_mb = 1024\nmemory = "1G"'))
    assert harbor_folder.read(folder).memory_mb == 1024
    path.write_text(path.read_text().replace('memory = "1G"', 'memory = "2G"'))
    assert "environment.memory: says 2G and memory_mb says 1024; keep one" in refusal(folder)


def test_tests_of_their_own_environment_see_artifacts_alone(folder):
    settings(folder, 'artifacts = ["/app/mean.json", {source = "/app/out", destination = "out"}]')
    path = folder / "task.toml"
    path.write_text(path.read_text().replace("[verifier]", '[verifier]\nenvironment_mode = "separate"'))
    task = harbor_folder.read(folder)
    assert task.separate
    assert [(one.source, one.destination) for one in task.artifacts] == [("/app/mean.json", ""), ("/app/out", "out")]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("cpus = 1", "gpus = 1", "task.toml:20: environment.gpus: the task wants a GPU"),
        ("cpus = 1", 'os = "windows"', "environment.os: a Windows task cannot run here"),
        ("cpus = 1", 'tpu = {type = "v5", topology = "2x2"}', "environment.tpu: the task wants a TPU"),
        ("cpus = 1", 'healthcheck = {command = "true"}', "environment.healthcheck: waits for a service"),
        ("cpus = 1", 'mcp_servers = [{name = "x"}]', "environment.mcp_servers: servers of a task are not started"),
        ("cpus = 1", "cpus = 0", "environment.cpus: "),
        ("cpus = 1", 'cpus = "two"', "environment.cpus: "),
        ("[task]", '[[steps]]\nname = "one"\n[task]', "task.toml:3: steps: several steps in one environment"),
        ("[task]", 'artifacts = ["/app/../etc"]\n[task]', 'artifacts[0]: has ".." in it'),
        ("[task]", 'artifacts = [{source = "/a", destination = "/b"}]\n[task]', "is to be a relative path"),
        ("[task]", 'artifacts = [{source = "/a", service = "db"}]\n[task]', "comes from another container"),
        ("[verifier]", '[verifier]\ncollect = [{command = "x"}]', "commands between work and tests are not run"),
        ("${TOLERANCE:-0.001}", "${TOLERANCE}", "verifier.env.TOLERANCE: takes TOLERANCE from this machine's"),
        ('"1.4"', "1.4", "task.toml:1: schema_version: "),
        ("[task]", "[task", "task.toml:3: is not valid TOML"),
        ("60.0", "-1", "verifier.timeout_sec: "),
        (
            "[agent]",
            '[verifier.environment]\ncpus = 1\n[agent]\n#"',
            "verifier.environment: tests that share the agent's environment have none",
        ),
    ],
)
def test_settings_that_cannot_be_honoured_are_refused(folder, before, after, said):
    path = folder / "task.toml"
    text = path.read_text().replace(before, after, 1)
    path.write_text(text.replace("timeout_sec = 60.0", 'timeout_sec = 60.0\nenvironment_mode = "shared"'))
    assert said in refusal(folder)


def test_a_folder_without_its_parts_is_refused(folder):
    for name, said in (
        ("environment/Dockerfile", "says what the task needs"),
        ("tests/test.sh", "tests/test.sh: there is no such file"),
        ("instruction.md", "instruction.md: there is no such file"),
        ("task.toml", "task.toml: there is no such file"),
    ):
        (folder / name).unlink()
        assert said in refusal(folder)
    shutil.rmtree(folder)
    assert "there is no such folder" in refusal(folder)


def test_containers_images_and_windows_scripts_are_refused(folder):
    (folder / "environment/docker-compose.yaml").write_text("services: {}\n")
    assert "several containers are not started" in refusal(folder)
    (folder / "environment/docker-compose.yaml").unlink()
    (folder / "tests/Dockerfile").write_text("FROM python:3.11\n")
    assert "tests/Dockerfile: tests are not given an environment of their own" in refusal(folder)
    (folder / "tests/Dockerfile").unlink()
    (folder / "tests/test.sh").rename(folder / "tests/test.bat")
    assert "a Windows script cannot run here; write tests/test.sh" in refusal(folder)
    (folder / "tests/test.bat").rename(folder / "tests/test.sh")
    (folder / "environment/Dockerfile").unlink()
    path = folder / "task.toml"
    path.write_text(path.read_text().replace("cpus = 1", 'docker_image = "x/y:1"'))
    assert "environment.docker_image: a prebuilt image cannot be taken apart" in refusal(folder)


def test_what_has_no_content_to_sign_is_refused(folder):
    link = folder / "tests/expected.csv"
    link.symlink_to("/etc/hostname")
    assert "tests/expected.csv: is a symlink that leads out of the task" in refusal(folder)
    link.unlink()
    link.symlink_to("../environment/data")
    assert "not to a file; copy it" in refusal(folder)
    link.unlink()
    link.symlink_to("data.csv")
    assert harbor_folder.read(folder).files["tests/expected.csv"] == harbor_folder.read(folder).files["tests/data.csv"]
    link.unlink()
    os.mkfifo(link)
    assert "is not a plain file" in refusal(folder)


def test_a_folder_of_the_older_form_is_named(tmp_path):
    (tmp_path / "task.yaml").write_text("instruction: x\n")
    assert "is a task of Terminal-Bench 1; convert it" in refusal(tmp_path)
