"""`sophron adopt` as a person meets it: what is there already, what Snakemake cannot read, what is said."""

import subprocess
from pathlib import Path

import pytest

from sophron import cli
from sophron.campaign.spec import spec

WORKFLOW = '''\
rule all:
    input:
        "x",


rule make:
    """Make it.

    word
    """
    output:
        "x",
    shell:
        "touch {output}"
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "my-pipeline"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def adopted(capsys, *arguments: str) -> tuple[int, str]:
    code = cli.main(["adopt", *arguments])
    said = capsys.readouterr()
    return code, said.out + said.err


def test_lines_are_shown_then_added_once_and_the_campaign_stays(here, capsys):
    path = here / "workflow" / "Snakefile"
    path.parent.mkdir()
    path.write_text(WORKFLOW.rstrip())
    path.chmod(0o755)
    code, said = adopted(capsys)
    assert code == 0
    assert "sophron.HOST" in said
    assert "run already" not in said
    read = spec.load(here / "campaign" / "campaign.yaml")
    assert read.definition("outputs")["rules"] == ["make"]
    assert (read.host.snakefile, read.host.directory) == ("../workflow/Snakefile", "")
    (here / "campaign" / "campaign.yaml").write_text(text := read.document.path.read_text() + "# mine\n")
    code, said = adopted(capsys)
    assert code == 2
    assert "campaign.yaml: is there already; edit it, or move it away to begin anew; add the lines to Snakefile" in said
    assert "campaign/campaign.yaml is there already and stays as it is" in adopted(capsys, "--write")[1]
    assert adopted(capsys, "--write")[0] == 2
    assert path.read_text().startswith(WORKFLOW.rstrip() + "\n\n\nimport sophron\n")
    assert path.read_text().count("sophron.HOST") == 1
    assert path.stat().st_mode & 0o777 == 0o755
    assert (here / "campaign" / "campaign.yaml").read_text() == text


def test_a_workflow_that_has_the_lines_is_adopted_anew(here, capsys):
    Path("Snakefile").write_text(WORKFLOW)
    assert adopted(capsys, "--write")[0] == 0
    Path("campaign/campaign.yaml").unlink()
    code, said = adopted(capsys)
    assert (code, "sophron.HOST" in said) == (0, False)
    assert spec.load(Path("campaign/campaign.yaml")).definition("outputs")["rules"] == ["make"]


def test_a_snakefile_elsewhere_is_run_from_here(here, capsys):
    Path("deep").mkdir()
    Path("deep/main.smk").write_text(WORKFLOW)
    assert adopted(capsys, "--snakefile", "deep/main.smk")[0] == 0
    host = spec.load(Path("campaign/campaign.yaml")).host
    assert (host.snakefile, host.directory) == ("../deep/main.smk", "..")


def test_what_surprises_later_is_said(here, capsys):
    Path("Snakefile").write_text(WORKFLOW)
    Path(".gitignore").write_text("campaign/\n")
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".snakemake/metadata").mkdir(parents=True)
    Path(".snakemake/metadata/eA==").write_text("{}")
    code, said = adopted(capsys)
    assert code == 0
    assert "run already: what it made stays valid" in said
    assert "git ignores campaign/campaign.yaml" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no Snakefile; call it where Snakemake runs, or give one: --snakefile"),
        ('rule a:\n    output "x"\n', "Snakefile:2: SyntaxError: Colon expected after keyword output;"),
        ('configfile: "nope.yaml"\n' + WORKFLOW, "Snakefile:1: WorkflowError: Workflow defines configfile nope.yaml"),
        ("import pandas_nope\n", "Snakefile:1: ModuleNotFoundError: No module named 'pandas_nope'; Snakemake cannot"),
        ('rule:\n    output: "x"\n    shell: "touch x"\n', "1 of its rules have no name"),
        ('rule all:\n    input: "x"\n', "no rule of it does anything"),
    ],
)
def test_what_cannot_be_adopted_is_one_sentence_and_leaves_nothing(here, capsys, text, said):
    if text is not None:
        Path("Snakefile").write_text(text)
    code, told = adopted(capsys)
    assert (code, told.count("\n"), said in told) == (2, 1, True), told
    assert not Path("campaign").exists()


def test_a_folder_whose_name_is_too_short_is_adopted_too(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "Snakefile").write_text(WORKFLOW)
    monkeypatch.chdir(folder)
    assert adopted(capsys)[0] == 0
    assert spec.load(folder / "campaign" / "campaign.yaml").campaign == "workflow-x"
