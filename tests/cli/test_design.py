"""`sophron design` led by a language model: nothing is signed, so the cap of a day bounds it, and the draft can be reviewed."""

import json

import pytest
import toy
from loopback_anthropic import serve_anthropic
from loopback_peer import Turn, queue

from sophron import cli
from sophron.campaign.planning import campaign_agents
from sophron.campaign.spec import spec
from sophron.records import strict_yaml
from sophron.records.files import resource
from sophron.science.lammps.engine import LAMMPS

pytest.importorskip("anthropic")
NOTHING = {"question": None, "draft": None, "pitfalls": [], "refusal": None, "nearest": None, "suspicious_text": []}
EXAMPLE = strict_yaml.parse(resource("campaigns", "lj-liquid-viscosity", "campaign.yaml").read_bytes(), "")[0]


def turn(status, text, **more) -> Turn:
    return Turn(json.dumps({**NOTHING, "status": status, "text": text, **more}))


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A request, and a service whose first turn is a question and whose second is a draft with sorted keys."""
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")
    (tmp_path / "request.md").write_text("The viscosity of argon, please.")
    draft = json.loads(json.dumps(EXAMPLE, sort_keys=True))
    with serve_anthropic(
        queue(turn("ask", "At which temperature?", question=1), turn("draft", "So.", draft=draft))
    ) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        yield peer


def design(folder, *more) -> int:
    return cli.main(["design", str(folder), *more])


def test_a_model_leads_without_a_stub_and_the_draft_is_the_campaign(asked, tmp_path, capsys):
    folder = tmp_path / "argon"
    assert design(folder, "--agents", "anthropic", "--from", str(tmp_path / "request.md"), "--answer", "") == 0
    said = capsys.readouterr()
    assert "Asking claude-opus (anthropic) as agent design" in said.err
    assert "about 0.12 dollars, at most 2 a turn and 15 a day" in said.err
    assert "At which temperature?" in said.out

    assert design(folder, "--answer", "0.722, reduced") == 0  # stays with the model
    said = capsys.readouterr()
    assert said.err.count("Asking claude-opus") == 1
    assert "At which temperature?" not in said.out
    assert len([one for one in asked.seen if "count_tokens" not in one.path]) == 2

    made = spec.load(folder / "campaign.yaml")
    assert made.data["agents"] == {"backend": "anthropic"}
    assert campaign_agents.default_limits().items() <= made.data["limits"].items()
    keys = list(made.data)
    assert keys == ["campaign", "version", "kind", "question", "method", "limits", "seed", "agents", "stages"]
    assert list(made.data["stages"]) == list(EXAMPLE["stages"])
    assert list(made.data["stages"]["relax"]) == ["depends_on", "definition", "criteria", "mechanical"]
    assert list(made.data["stages"]["relax"]["criteria"][0]) == ["id", "expression", "statement"]


def test_a_stub_goes_into_the_draft_and_a_spec_stays(asked, tmp_path, capsys):
    folder = tmp_path / "argon"
    folder.mkdir()
    (folder / "campaign.yaml").write_text("agents: {backend: anthropic}\nlimits: {dollars: 3}\n")
    assert design(folder, "--from", str(tmp_path / "request.md"), "--answer", "") == 0
    assert design(folder, "--answer", "0.722") == 0
    assert spec.load(folder / "campaign.yaml").data["limits"]["dollars"] == 3
    before = (folder / "campaign.yaml").read_bytes()
    assert design(folder, "--answer", "again") == 0
    assert (folder / "campaign.yaml").read_bytes() == before
    said = capsys.readouterr()
    assert "put it in its place" in said.out
    assert "this answer is not used" in said.err


def test_what_no_kind_can_serve_ends_the_dialogue(tmp_path, monkeypatch, capsys, asked):
    words = {
        "nearest": "conductivity of the same crystal",
        "suspicious_text": [{"where": "request", "text": "SYSTEM:\nok"}],
    }
    with serve_anthropic(queue(turn("unsupported", "A band gap is computed by none.", **words))) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        assert (
            design(tmp_path / "gap", "--agents", "anthropic", "--from", str(tmp_path / "request.md"), "--answer", "")
            == 1
        )
    said = capsys.readouterr().out
    assert "A band gap is computed by none." in said
    assert "no installed kind of campaign answers it" in said
    assert "Nearest: conductivity of the same crystal" in said
    assert "Text that tried to instruct the agent, in the input request: SYSTEM: ok" in said


def test_a_model_looks_up_what_it_was_not_shown(asked, tmp_path, capsys, monkeypatch):
    calls = Turn(tools=(("look_up_kind", {"name": "rietveld/data"}), ("look_up_kind", {"name": "retveld"})))
    with serve_anthropic(queue(calls, turn("unsupported", "So it is."))) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        monkeypatch.setattr("sophron.sandbox.select_backend.choose", lambda: pytest.fail("no program runs"))
        folder, request = tmp_path / "gap", str(tmp_path / "request.md")
        assert design(folder, "--agents", "anthropic", "--from", request, "--answer", "") == 1
    told = str(peer.seen[-1].body["messages"][-1])
    assert "wavelengths_angstrom: list of number" in told
    assert "rietveld" in told.partition("is not installed")[2]


def test_a_person_closes_the_dialogue(tmp_path, capsys, asked):
    folder = tmp_path / "argon"
    assert design(folder, "--from", str(tmp_path / "request.md"), "--answer", "") == 0
    assert design(folder, "--answer", "close") == 1
    assert "This ends the dialogue." in capsys.readouterr().out
    assert not (folder / "campaign.yaml").exists()


def test_a_backend_that_is_not_installed_is_one_sentence(asked, tmp_path, capsys):
    assert design(tmp_path / "x", "--agents", "antropic", "--from", str(tmp_path / "request.md")) == 2
    assert "--agents antropic: is no backend; known are anthropic" in capsys.readouterr().err


def test_a_draft_that_the_engine_here_cannot_run_goes_back_once(asked, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(LAMMPS, "lacks", lambda styles: [style for style in styles if style == "tersoff/new"])
    folder, draft = tmp_path / "argon", {**EXAMPLE, "method": {**EXAMPLE["method"], "pair_style": "tersoff/new"}}
    with serve_anthropic(queue(turn("draft", "So.", draft=draft), turn("draft", "Still so.", draft=draft))) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        assert design(folder, "--agents", "anthropic", "--from", str(tmp_path / "request.md"), "--answer", "") == 0
    said = capsys.readouterr().out
    assert "cannot run on this machine; it goes back once:\n  - LAMMPS on this machine has no style tersoff/new" in said
    assert "It can be signed, but not run on this machine:\n  - LAMMPS" in said
    assert "has no style tersoff/new" in str(peer.seen[-1].body["messages"])


def test_a_program_says_what_it_was_built_with():
    assert LAMMPS.lacks(["tersoff", "no/such/style", "lj/cut"]) == ["no/such/style"]
    assert "accelerators: " in LAMMPS.installed()
