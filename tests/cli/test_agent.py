import shutil

import pytest
import toy

from sophron import cli


@pytest.fixture
def root(tmp_path, monkeypatch):
    return toy.campaign(tmp_path, monkeypatch).root


def test_list_says_who_answers_for_each_agent(root, capsys):
    (root / "campaign.yaml").write_text(
        (root / "campaign.yaml").read_text() + "agents: {by_name: {debug: {backend: mailbox}}}\n"
    )
    assert cli.main(["agent", "list", str(root)]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "mailbox" in rows["debug"]
    assert "heuristic" in rows["caveats"]


def test_show_prints_prompt_schema_and_digest(capsys):
    assert cli.main(["agent", "show", "debug"]) == 0
    shown = capsys.readouterr().out
    assert "{{ log }}" in shown
    assert '"additionalProperties": false' in shown
    assert "digest" in shown


def test_adopted_definitions_are_the_campaigns_own_and_are_not_overwritten(root, capsys):
    assert cli.main(["agent", "adopt", "caveats", str(root)]) == 0
    own = root / "agents" / "caveats.md"
    own.write_text(own.read_text() + "\nMore.\n")
    assert cli.main(["agent", "adopt", "caveats", str(root)]) == 2
    assert own.read_text().endswith("More.\n")
    capsys.readouterr()
    cli.main(["agent", "list", str(root)])
    assert str(own) in capsys.readouterr().out


def test_check_says_what_lacks(root, capsys, monkeypatch):
    assert cli.main(["agent", "check", str(root)]) == 0
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (root / "campaign.yaml").write_text((root / "campaign.yaml").read_text() + "agents: {backend: anthropic}\n")
    assert cli.main(["agent", "check", str(root)]) == 1
    assert "LACK  debug" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: caveats", "name: caveat", "must be called as its file"),
        ("role: work", "role: boss", "is not one of"),
        ("{{ judged }}", "{{ judget }}", "which is no input"),
        ("{{ judged }}", "", "does not use this input"),
        ("skills: [workflow-completion]", "skills: [telepathy]", "no skill"),
        ("output: caveats", "output: nothing", "nothing.schema.yaml"),
    ],
)
def test_a_faulty_definition_is_one_sentence(root, capsys, old, new, said):
    cli.main(["agent", "adopt", "caveats", str(root)])
    own = root / "agents" / "caveats.md"
    text = own.read_text()
    assert old in text
    own.write_text(text.replace(old, new))
    capsys.readouterr()
    assert cli.main(["agent", "show", "caveats", str(root)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.strip().splitlines()) == 1


def test_design_asks_one_question_a_turn_and_ends_in_a_draft(tmp_path, capsys, monkeypatch):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    request = tmp_path / "request.md"
    request.write_text(
        "The shear viscosity of a Lennard-Jones liquid at density 0.8442 and temperature 0.722, cutoff 2.5, "
        "by Green-Kubo in NVE, as in the example lj-liquid-viscosity."
    )
    folder = tmp_path / "my-liquid"
    assert cli.main(["design", str(folder), "--from", str(request), "--answer", "as in the example"]) == 0
    for _ in range(6):
        if (folder / "campaign.yaml").is_file():
            break
        assert cli.main(["design", str(folder), "--answer", "yes, as in the example"]) == 0
    text = (folder / "campaign.yaml").read_text()
    assert "campaign: my-liquid" in text
    assert "UNVERIFIED" in text
    assert (folder / "Snakefile").is_file()
    assert (folder / "design" / "turns.json").is_file()
    assert "draft" in capsys.readouterr().out


def test_design_refuses_what_is_out_of_scope(tmp_path, capsys, monkeypatch):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    request = tmp_path / "request.md"
    request.write_text("Design a protein sequence that binds this receptor, and drive the pipetting robot.")
    assert cli.main(["design", str(tmp_path / "x"), "--from", str(request), "--answer", "go on"]) == 1
    assert "out of scope" in capsys.readouterr().out
    assert not (tmp_path / "x" / "campaign.yaml").exists()
    shutil.rmtree(tmp_path / "x")
