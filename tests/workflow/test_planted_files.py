"""What lies in a campaign's folder and is not signed has no say: no module, no included rule file, no prefix."""

import subprocess

import pytest
import toy

from sophron.agents import loop
from sophron.campaign import plan

PLANTED = "from pathlib import Path\nPath({mark!r}).write_text('ran')\nraise ImportError('planted')\n"


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    return toy.campaign(tmp_path, monkeypatch)


@pytest.fixture
def mark(campaign):
    """A file that any planted module leaves when it runs. The modules are imported late by Snakemake or by us."""
    mark = campaign.root.parent / "ran"
    for name in ("rfc8785", "jinja2", "tabulate", "snakemake"):
        (campaign.root / f"{name}.py").write_text(PLANTED.format(mark=str(mark)))
    return mark


def test_a_planted_module_is_not_imported_by_the_dry_run_of_a_review(campaign, mark):
    plan.dry_run(campaign.root, campaign.root / "Snakefile", forced=True)
    assert not mark.exists()


def test_a_planted_module_is_not_imported_by_the_driver_of_the_loop(campaign, mark):
    assert loop.snakemake(campaign.root, loop.Settings(["-n", "--quiet"]), []) == 0
    assert not mark.exists()


def test_a_planted_module_is_not_imported_by_snakemake_as_a_person_calls_it(campaign, mark):
    done = subprocess.run(
        ["snakemake", "-n", "--quiet"], cwd=campaign.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not mark.exists()
