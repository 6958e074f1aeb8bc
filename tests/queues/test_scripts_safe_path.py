"""The scripts of profiles run under PYTHONSAFEPATH, which a driver sets for its jobs."""

import os
import subprocess
import sys

import pytest

from sophron.records.package_data import resource


@pytest.mark.parametrize("profile", ["pbs", "lsf"])
def test_the_status_script_finds_the_submit_script_beside_it(profile):
    script = resource("profiles", profile) / "status.py"
    environment = os.environ | {"PYTHONSAFEPATH": "1", "PATH": "/nowhere"}
    asked = subprocess.run([sys.executable, script, "1"], env=environment, capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" not in asked.stderr
    assert "qstat" in asked.stderr or "bjobs" in asked.stderr
