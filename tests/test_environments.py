"""Conda environments of the rules: there, and with what their steps import."""

import re
from pathlib import Path

import pytest
import yaml

from sophron.records.files import resource

RULES = sorted((resource("workflow") / "rules").glob("*.smk"))
NEEDED = {
    "execution.smk": {"openmm", "openmmtools", "ambertools", "parmed", "pymbar"},
    "host_guest.smk": {"parmed"},  # tasks of CBClip are read off Amber topologies
    "report.smk": {"matplotlib-base"},
}


def environments(path):
    return {Path(name).name for name in re.findall(r'"\.\./\.\./envs/(\S+)"', path.read_text())}


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_each_is_there_and_holds_what_its_steps_import(path):
    for name in environments(path):
        packages = yaml.safe_load((resource("envs") / name).read_text())["dependencies"]
        names = {re.split(r"[ <>=]", each)[0] for each in packages if isinstance(each, str)}
        pip = " ".join(each["pip"][0] for each in packages if isinstance(each, dict))
        assert pip.startswith("sophron")
        assert names >= NEEDED.get(path.name, set())


def test_stage_files_of_a_screen_have_the_environment_of_a_trial():
    found = {path.name: environments(path) for path in RULES}
    assert found["screen.smk"] == found["execution.smk"] | {"sophron.yaml"}
