"""Verbs without an argument: the campaign here, or the only one below; what comes next is said for where one stands."""

import pytest

from sophron import cli
from sophron.records.errors import UserError
from sophron.records.nearest_campaign import nearest_campaign
from sophron.records.terminal import next_line

HOST = "campaign: x\nkind: workflow\nworkflow:\n  snakefile: {snakefile}\n{more}"


def campaign(folder, text="kind: viscosity\n"):
    folder.mkdir(parents=True)
    (folder / "campaign.yaml").write_text(text)
    return folder


def test_the_only_campaign_below_is_the_one_that_is_meant(tmp_path):
    assert nearest_campaign(tmp_path) == tmp_path
    below = campaign(tmp_path / "campaign")
    assert nearest_campaign(tmp_path) == below
    assert nearest_campaign(below) == below


def test_a_copy_of_the_state_alone_is_a_campaign_too(tmp_path):
    campaign(tmp_path / "campaign")
    (tmp_path / "workflow-state.json").write_text("{}")
    assert nearest_campaign(tmp_path) == tmp_path


def test_of_two_campaigns_a_person_names_one(tmp_path, monkeypatch, capsys):
    campaign(tmp_path / "a")
    campaign(tmp_path / "b")
    with pytest.raises(UserError, match=r"holds several campaigns \(a, b\); name one"):
        nearest_campaign(tmp_path)
    monkeypatch.chdir(tmp_path)
    for verb in ("status", "watch", "review", "amend", "answer", "rederive", "run"):
        assert cli.main([verb]) == 2, verb
        assert "several campaigns (a, b); name one, for example: a" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("snakefile", "more", "here", "said"),
    [
        ("../Snakefile", "", ".", "Next: snakemake"),
        ("../workflow/Snakefile", "", ".", "Next: snakemake"),
        ("../Snakefile", "", "campaign", "Next, in ..: snakemake"),
        ("Snakefile", "  directory: .. # where\n", ".", "Next: snakemake -s campaign/Snakefile"),
        ("../other/main.smk", "  directory: ..\n", ".", "Next: snakemake -s other/main.smk"),
    ],
)
def test_snakemake_is_called_as_the_host_workflow_is(tmp_path, monkeypatch, snakefile, more, here, said):  # noqa: PLR0917
    root = campaign(tmp_path / "campaign", HOST.format(snakefile=snakefile, more=more))
    monkeypatch.chdir(tmp_path / here)
    assert next_line(root, "snakemake") == said
    assert next_line(root, "sophron approve") == "Next: sophron approve"


def test_a_host_that_a_campaign_of_another_kind_signs_too_is_called_as_it_is(tmp_path, monkeypatch):
    root = campaign(
        tmp_path / "liquid", "kind: viscosity\nworkflow: {snakefile: ../Snakefile, directory: ..}\nseed: 1\n"
    )
    monkeypatch.chdir(tmp_path)
    assert next_line(root, "snakemake") == "Next: snakemake"


def test_a_campaign_with_a_workflow_of_ours_is_run_in_its_own_folder(tmp_path, monkeypatch):
    root = campaign(tmp_path / "melt")
    monkeypatch.chdir(tmp_path)
    assert next_line(root, "snakemake") == "Next, in melt: snakemake"
    assert next_line(root, "sophron amend") == "Next: sophron amend"
