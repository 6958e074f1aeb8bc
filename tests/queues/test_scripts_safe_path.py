"""The scripts of profiles run under PYTHONSAFEPATH, which a driver sets for its jobs."""

import os
import subprocess
import sys

import pytest

from sophron.campaign.planning import profiles


@pytest.mark.parametrize("profile", ["pbs", "lsf"])
def test_the_status_script_of_an_installed_profile_finds_what_lies_beside_it(profile, tmp_path):
    folder, _ = profiles.install(profile, tmp_path)
    assert not any(path.is_symlink() for path in folder.iterdir())
    script = folder / "status.py"
    environment = os.environ | {"PYTHONSAFEPATH": "1", "PATH": "/nowhere"}
    asked = subprocess.run([sys.executable, script, "1"], env=environment, capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" not in asked.stderr
    assert "qstat" in asked.stderr or "bjobs" in asked.stderr
    assert not (folder / "__pycache__").exists()
