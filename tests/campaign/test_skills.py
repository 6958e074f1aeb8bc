"""Skills: the format, what of one is signed, how one comes into a campaign, and what a coding agent is handed."""

import json
import subprocess

import pytest
import toy

from sophron.agents.documents import model_request
from sophron.campaign.planning import campaign_agents
from sophron.campaign.skills import skill_folder, skill_source
from sophron.campaign.spec.spec import load
from sophron.cli import main
from sophron.records.errors import UserError
from sophron.records.files import resource

FRONT = "---\nname: {name}\ndescription: Adds numbers. Use when two are to be added.\n---\n"


def make(folder, name="adding", body="# Adding\n\nRun `scripts/add.py 1 2`.\n", **files):
    """A skill with one script below `folder`."""
    (folder / name / "scripts").mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(FRONT.format(name=name) + body)
    (folder / name / "scripts" / "add.py").write_text(
        "#!/usr/bin/env python3\nimport sys\nprint(sum(map(int, sys.argv[1:])))\n"
    )
    for path, text in files.items():
        (folder / name / path).write_text(text)
    return folder / name


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    return toy.campaign(tmp_path, monkeypatch)


def give(campaign, *names):
    """Give the campaign's caveats agent skills."""
    campaign.spec.write_text(
        f"{campaign.spec.read_text()}\nagents: {{by_name: {{caveats: {{skills: [{', '.join(names)}]}}}}}}\n"
    )


ALL = [
    *skill_source.harness_skills(),
    *(skill_folder.read(resource("skills", one)) for one in skill_source.shipped_names()),
]


@pytest.mark.parametrize("skill", ALL, ids=lambda skill: skill.name)
def test_what_is_shipped_is_valid_by_the_reference_too(skill):
    reference = pytest.importorskip("skills_ref", reason="skills-ref, the reference validator")
    assert reference.validate(skill.path.parent) == []


def test_ten_skills_are_of_the_harness():
    assert len(skill_source.harness_skills()) == 10


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: adding", "name: Adding", "name"),
        ("name: adding", "name: other", "called as its folder, adding"),
        ("name: adding\n", "", "name"),
        ("---\nname", "name", "no front matter"),
        ("description: Adds numbers. Use when two are to be added.", "description: ''", "description"),
        ("---\n#", "hooks: {PreToolUse: run.sh}\n---\n#", "hooks: unknown key"),
        ("Adds numbers.", "x" * 1025, "description"),
    ],
)
def test_what_the_format_forbids_is_a_sentence(tmp_path, old, new, said):
    path = make(tmp_path) / "SKILL.md"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match=said):
        skill_folder.read(path.parent)


def test_an_agent_without_tools_gets_the_text_and_the_whole_folder_is_signed(campaign):
    folder = make(campaign.root / "agents" / "skills")
    give(campaign, "adding")
    spec = load(campaign.spec)
    agent = campaign_agents.signed_agent(campaign.root, spec, "caveats", {})
    assert agent.skills["adding"] == "# Adding\n\nRun `scripts/add.py 1 2`.\n"
    before = campaign_agents.digest_of(campaign.root, spec, "caveats")
    (folder / "scripts" / "add.py").write_text("print(3)\n")
    assert campaign_agents.digest_of(campaign.root, spec, "caveats") != before


def test_an_agent_with_tools_is_told_of_it_and_reads_it_later(tmp_path):
    make(tmp_path / "agents" / "skills")
    agent = campaign_agents.find_agent(None, "pipeline-author")
    more = agent.with_skills(tmp_path, ["adding"])
    assert more.skills == agent.skills
    assert [skill.name for skill in more.on_demand] == ["adding"]
    system = model_request._system(more)
    assert "- adding: Adds numbers. Use when two are to be added." in system
    assert "Run `scripts/add.py" not in system
    assert model_request._system(agent) == system[: system.index("\n# Skills")]


def test_a_plain_text_of_a_campaign_still_counts(tmp_path):
    (tmp_path / "agents" / "skills").mkdir(parents=True)
    (tmp_path / "agents" / "skills" / "workflow-completion.md").write_text("# Mine\n")
    assert campaign_agents.find_agent(tmp_path, "caveats").skills["workflow-completion"] == "# Mine\n"


def test_the_review_shows_whose_it_is_and_an_edit_closes_the_gate(campaign, tmp_path, capsys):
    source = make(tmp_path / "elsewhere")
    assert main(["skill", "add", str(source), "--campaign", str(campaign.root)]) == 0
    give(campaign, "adding")
    assert main(["review", str(campaign.root)]) == 0
    assert "skill adding" in (shown := capsys.readouterr().out)
    assert str(source) in shown
    campaign.sign()
    assert campaign.run_here("a") == 0
    (campaign.root / "agents" / "skills" / "adding" / "scripts" / "add.py").write_text("import os\n")
    assert campaign.run_here("a") == 2
    assert "agents/skills/adding/scripts/add.py" in capsys.readouterr().err


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_a_skill_comes_from_one_commit_of_a_repository(campaign, tmp_path):
    repository = tmp_path / "repository"
    skill = make(repository / "collection")
    (repository / "LICENSE").write_text("MIT License\n\nCopyright (c) somebody\n")
    (skill / "SKILL.md").write_text(
        (skill / "SKILL.md").read_text().replace("---\n#", "license: BSD-3-Clause license\n---\n#")
    )
    git(repository, "init", "-q")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "one")
    commit = git(repository, "rev-parse", "HEAD")
    wanted = skill_folder.read(skill).digest
    (skill / "SKILL.md").write_text("changed since\n")
    git(repository, "commit", "-qam", "two")
    assert main(["skill", "add", f"{repository}@{commit}:collection/adding", "--campaign", str(campaign.root)]) == 0
    about = json.loads((campaign.root / "agents/skills/adding.source.json").read_text())
    assert (about["commit"], about["path"], about["digest"]) == (commit, "collection/adding", wanted)
    assert (about["skill_license"], about["source_license"]) == ("BSD-3-Clause license", "MIT")
    assert (campaign.root / "agents/skills/adding.LICENSE").read_text().startswith("MIT License")
    assert skill_folder.read(campaign.root / "agents/skills/adding").digest == wanted


def test_a_folder_under_git_is_recorded_with_its_commit_unless_it_was_changed(tmp_path):
    skill = make(tmp_path / "collection")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    with skill_source.opened(str(skill)) as origin:
        assert (origin.commit, origin.path) == (git(tmp_path, "rev-parse", "HEAD"), "collection/adding")
    (skill / "more.md").write_text("new\n")
    with skill_source.opened(str(skill)) as origin:
        assert origin.commit == ""


def test_nothing_is_replaced_by_another_skill_of_its_name(campaign, tmp_path, capsys):
    make(campaign.root / "agents" / "skills", body="# Mine\n")
    assert main(["skill", "add", str(make(tmp_path / "elsewhere")), "--campaign", str(campaign.root)]) == 2
    assert "another skill of that name" in capsys.readouterr().err


def test_list_says_where_each_comes_from(campaign, tmp_path, capsys):
    make(campaign.root / "agents" / "skills", "own")
    assert main(["skill", "add", str(make(tmp_path / "elsewhere")), "--campaign", str(campaign.root)]) == 0
    (campaign.root / "agents/skills/adding/more.md").write_text("mine\n")
    assert main(["skill", "list", str(campaign.root)]) == 0
    lines = capsys.readouterr().out
    assert "written here" in lines
    assert "elsewhere/adding, edited" in lines
    assert "using-it" in lines


def test_a_coding_agent_gets_ten_valid_skills_under_our_name(tmp_path, capsys):
    validate = pytest.importorskip("skills_ref", reason="skills-ref, the reference validator").validate
    for _ in range(2):
        assert main(["skill", "install", str(tmp_path / ".claude" / "skills")]) == 0
    folders = sorted((tmp_path / ".claude" / "skills").iterdir())
    assert [validate(folder) for folder in folders] == [[]] * 10
    assert "sophron-using-it" in {folder.name for folder in folders}
    (tmp_path / "theirs" / "sophron-using-it").mkdir(parents=True)
    assert main(["skill", "install", str(tmp_path / "theirs")]) == 2
    assert "not from Sophron" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("                   GNU LESSER GENERAL PUBLIC LICENSE\n   Version 3, 29 June 2007\n", "LGPL-3"),
        ("Apache License\nVersion 2.0, January 2004\n", "Apache-2.0"),
        ("\nSomething of my own\n", "Something of my own"),
    ],
)
def test_a_licence_is_called_by_its_name(text, name):
    assert skill_source.license_name(text) == name
