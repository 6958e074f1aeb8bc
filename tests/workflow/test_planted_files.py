"""What lies in a campaign's folder and is not signed has no say: no module, no included rule file, no prefix."""

import subprocess

import pytest
import toy

from sophron.agents.supervisor import supervisor
from sophron.campaign.planning import plan
from sophron.records.files import resource

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
    assert supervisor.snakemake(campaign.root, supervisor.Settings(["-n", "--quiet"]), []).code == 0
    assert not mark.exists()


def test_a_planted_module_is_not_imported_by_snakemake_as_a_person_calls_it(campaign, mark):
    done = subprocess.run(
        ["snakemake", "-n", "--quiet"], cwd=campaign.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not mark.exists()


def include(campaign, text):
    """Have the campaign's Snakefile include a file of its own with this text."""
    (campaign.root / "extra.smk").write_text(text)
    snakefile = campaign.root / "Snakefile"
    snakefile.write_text(f'include: "extra.smk"\n\n\n{snakefile.read_text()}')


def test_a_file_that_the_snakefile_includes_is_signed(campaign):
    include(campaign, "")
    record = campaign.sign()
    assert record["loaded"] == ["extra.smk"]
    (campaign.root / "extra.smk").write_text("shell.prefix('touch ran; ')\n")
    for words in ([], ["--no-hooks"]):
        done = campaign.snakemake("--quiet", "all", *words)
        assert done.returncode != 0
        assert "changed since the approval (science: extra.smk); look at it and sign" in done.stdout
    assert campaign.tries() == {}


def test_a_module_that_the_snakefile_imports_from_its_folder_is_signed(campaign):
    (campaign.root / "helper_of_mine.py").write_text("ONE = 1\n")
    include(campaign, "import helper_of_mine\n")
    assert campaign.sign()["loaded"] == ["extra.smk", "helper_of_mine.py"]


def test_a_shell_prefix_runs_only_where_it_was_signed(campaign):
    (campaign.root / "Snakefile").write_text(resource("campaign", "templates", "new", "Snakefile").read_text())
    campaign.sign()
    other = campaign.root / "other.smk"
    other.write_text("shell.prefix('touch ran; ')\n" + (campaign.root / "Snakefile").read_text())
    done = campaign.snakemake("--quiet", "all", snakefile="other.smk")
    assert done.returncode != 0
    assert "sets a shell prefix or suffix that is not the signed one" in done.stdout
    assert not (campaign.root / "ran").exists()
    include(campaign, "shell.prefix('touch ran; ')\n")
    assert campaign.sign()["shell"] == ["touch ran; ", ""]
    campaign.complete("--quiet", "all", "--", "results/a/outcome.json")
    assert (campaign.root / "ran").exists()
