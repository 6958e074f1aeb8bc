"""An upgrade of the harness alone: refused with the file named, signed once more by a short look, and nothing repeats."""

import os

import pytest
import toy

from sophron.campaign.approval import approve
from sophron.campaign.execution import campaign_lock
from sophron.cli import main
from sophron.records import approvals

ONE = ["--quiet", "--", "results/a/passed"]


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """A campaign that was signed and ran in part, under an installation of its own that can be edited."""
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    package = toy.copy_library(tmp_path / "lib", monkeypatch)
    monkeypatch.setenv("PYTHONPATH", f"{package.parent}{os.pathsep}{os.environ['PYTHONPATH']}")
    campaign.sign()
    return campaign


def edit(campaign, name):
    path = campaign.root.parent / "lib" / name
    path.write_text(f"{path.read_text()}\n# a comment\n")


def digest(campaign, capsys):
    capsys.readouterr()
    assert main(["review", str(campaign.root), "--digest"]) == 0
    return capsys.readouterr().out.strip()


def renew(campaign, capsys):
    words = ["--renew", "--key", str(campaign.key), "--digest", digest(campaign, capsys)]
    return main(["approve", str(campaign.root), *words])


def test_an_upgrade_of_the_harness_is_renewed_and_nothing_finished_runs_again(campaign, capsys):
    campaign.complete(*ONE)
    edit(campaign, "sophron/campaign/report/report.py")
    edit(campaign, "snakemake_logger_plugin_sophron/__init__.py")
    refused = campaign.snakemake("--quiet", "--", "results/e/outcome.json")
    assert refused.returncode != 0
    named = "(snakemake_logger_plugin_sophron/__init__.py, sophron/campaign/report/report.py)"
    assert f"in the harness alone {named}; see that the plan is the same" in refused.stdout
    assert renew(campaign, capsys) == 0
    said = capsys.readouterr().out
    assert "The same as in version 1, signed by alex:\n  definitions, criteria and assumptions\n" in said
    assert said.count("envelope") == 1
    assert (
        "Changed in the harness:\n  snakemake_logger_plugin_sophron/__init__.py\n  sophron/campaign/report/report.py"
        in said
    )
    assert approvals.newest(campaign.root).record.version == 1
    campaign.complete(*ONE)
    assert campaign.tries() == {"a": 1}
    assert "Nothing to be done" in campaign.complete("-n", "--", "results/a/passed").stdout


@pytest.mark.parametrize(
    ("name", "part"),
    [("sophron/science/lammps/run.py", "science"), ("sophron/config/models.yaml", "agents")],
)
def test_more_than_the_harness_is_looked_at_as_a_whole(campaign, name, part, capsys):
    edit(campaign, "sophron/campaign/report/report.py")
    edit(campaign, name)
    assert renew(campaign, capsys) == 2
    assert f"--renew: more than the harness changed ({part}); look at it and sign" in capsys.readouterr().err
    assert main(["review", str(campaign.root)]) == 0
    said = capsys.readouterr().out
    assert f"the {part} code changed since it was signed: {name}" in said
    assert "the harness code changed since it was signed: sophron/campaign/report/report.py" in said


def test_there_is_something_to_renew_only_after_an_approval(tmp_path, monkeypatch, capsys):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    assert renew(campaign, capsys) == 2
    assert "--renew: there is no approval that says the same" in capsys.readouterr().err


def test_a_rule_file_that_restores_itself_while_it_is_parsed_is_noticed(campaign):
    """Before the first step asks, the file is what was signed again; what it did to the process stays."""
    path = campaign.root.parent / "lib" / "sophron" / "workflow" / "rules" / "report.smk"
    copy = path.with_suffix(".original")
    copy.write_bytes(path.read_bytes())
    path.write_text(
        "import shutil\n"
        f"shutil.copyfile({str(copy)!r}, {str(path)!r})\n"
        f"shell.prefix('touch {campaign.root}/ran; ')\n{path.read_text()}"
    )
    refused = campaign.snakemake("--no-hooks", *ONE)
    assert refused.returncode != 0
    assert "sophron/workflow/rules/report.smk: changed while the workflow was read" in refused.stdout
    assert path.read_bytes() == copy.read_bytes()
    assert not (campaign.root / "ran").exists()


def test_an_approval_of_an_earlier_sophron_asks_for_another_signature(campaign, monkeypatch):
    """Records of before know one digest of all code."""
    statement = approve.Plan.statement
    monkeypatch.setattr(approve.Plan, "statement", lambda plan, root: statement(plan, root) | {"code": "0" * 64})
    campaign.sign()
    monkeypatch.undo()
    with pytest.raises(approvals.Refused, match="the approval is an earlier Sophron's, which signed less; sign again"):
        approvals.valid_approval(campaign.root)
    with campaign_lock.signing(campaign.root):
        pass
