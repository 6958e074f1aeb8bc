import subprocess
import sys

import pytest

from sophron import __version__
from sophron.campaign.state import projector


def bash(script, cwd="/", env=None):
    plain = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"} | (env or {})
    return subprocess.run(
        ["bash", "-c", script], cwd=cwd, env=plain, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(name="campaign")
def _campaign(tmp_path):
    root = tmp_path / "my melt's $(touch forged) folder"
    root.mkdir()
    projector.write_init(root, "my-melt")
    return root


def test_it_is_run_twice(campaign):
    first, second = (subprocess.run([campaign / "init.sh"], capture_output=True, text=True, check=True) for _ in "12")
    assert first.stdout == second.stdout
    assert first.stderr == ""
    told = {label.strip(): text.strip() for label, text in (line.split(":", 1) for line in first.stdout.splitlines())}
    assert told["Campaign"] == str(campaign)
    assert told["Python"] == ".".join(map(str, sys.version_info[:3]))
    assert told["Sophron"] == __version__
    assert {"LAMMPS", "DPDispatcher"} <= told.keys()


@pytest.mark.parametrize("options", ["", "set -eu", "set -euo pipefail"])
def test_sourced_any_number_of_times_it_leaves_one_shell_state(campaign, options):
    look = 'declare -x | sort > "$1"; echo "$- $PWD" >> "$1"'
    script = f"""{options}
        before=$-
        look() {{ {look}; }}
        . "$1/init.sh" > /dev/null
        cd "$SOPHRON_CAMPAIGN" # _ and OLDPWD settle
        look "$2/once"
        . ./init.sh > /dev/null; cd "$SOPHRON_CAMPAIGN"; . ./init.sh > /dev/null; cd "$SOPHRON_CAMPAIGN"
        look "$2/thrice"
        cmp "$2/once" "$2/thrice"
        [ "$before" = "$-" ]
        printf '%s\\n' "$SOPHRON_CAMPAIGN" "$PWD" "$(command -v python3)"
    """
    done = subprocess.run(
        ["bash", "-c", script, "bash", campaign, campaign.parent],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [str(campaign), str(campaign), f"{sys.prefix}/bin/python3"]


def test_what_is_absent_is_said_to_be_absent(campaign):
    elsewhere = projector.render_init("my-melt", "/no/such prefix")
    (campaign / "init.sh").write_text(elsewhere)
    done = bash("exec ./init.sh", cwd=campaign)
    assert done.returncode == 0
    assert "LAMMPS:       not installed" in done.stdout
    assert "DPDispatcher: not installed" in done.stdout
    assert "Sophron:      not installed" in done.stdout
    bare = campaign / "bin"
    bare.mkdir()
    for name in ("bash", "dirname", "sed"):
        (bare / name).symlink_to(f"/usr/bin/{name}")
    done = bash("bash ./init.sh", cwd=campaign, env={"PATH": str(bare)})
    assert (done.returncode, done.stderr) == (0, "")
    assert "Python:       not installed" in done.stdout


def test_no_name_can_forge_a_line(campaign):
    text = projector.render_init("x\ntouch forged", "/p'; touch forged; '")
    (campaign / "init.sh").write_text(text)
    assert bash("exec ./init.sh", cwd=campaign).returncode == 0
    assert not (campaign / "forged").exists()
    assert not (campaign.parent / "forged").exists()


def test_a_search_path_for_cd_leads_nowhere_else(campaign):
    decoy = campaign.parent / "decoy" / campaign.name
    decoy.mkdir(parents=True)
    script = f'CDPATH="{decoy.parent}"; . "$1/init.sh" > /dev/null; printf "%s" "$SOPHRON_CAMPAIGN"'
    command = ["bash", "-c", script, "bash", campaign.name]
    done = subprocess.run(command, cwd=campaign.parent, capture_output=True, text=True, check=True)
    assert done.stdout == str(campaign)


def test_an_equal_one_is_left_alone(campaign):
    before = (campaign / "init.sh").stat()
    projector.write_init(campaign, "my-melt")
    assert (campaign / "init.sh").stat().st_ino == before.st_ino
    projector.write_init(campaign, "another")
    assert 'campaign "another"' in (campaign / "init.sh").read_text()
    assert (campaign / "init.sh").stat().st_mode & 0o777 == 0o755
