"""A screen made from a deployed pipeline, the ladder of methods, and the ranking of a library."""

import json
from itertools import combinations

import pytest
import toy

from sophron.campaign.planning import plan
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec import spec
from sophron.cli import main
from sophron.debate.pipelines.pipeline import STAGES
from sophron.debate.screening import ranking, screen_campaign
from sophron.debate.trials import ablation_campaigns
from sophron.debate.trials.methods import METHODS
from sophron.interfaces.kind import StepContext, UpstreamStep
from sophron.records.documents import Document, load_yaml, validate
from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.science.host_guest.preparation.mol2 import Atom, Molecule
from sophron.science.host_guest.systems import tasks

from . import dimers

ORIGIN = resource("campaigns", "lj-dimer-apr")
LIBRARY = screen_campaign.Library(
    "dimers",
    ("one", "two"),
    {"sigma_a": 3.4, "temperature_k": 298.15, "epsilon_kcal_per_mol": {"one": 1.2, "two": 2.2}},
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)
    return tmp_path


def test_every_step_of_a_screen_is_known_and_fits_its_limits(here):
    made = screen_campaign.draft(dimers.pipeline(4), LIBRARY, load_yaml(ORIGIN / "campaign.yaml").data)
    campaign_folder.from_draft(here / "screen", made)
    loaded = spec.load(here / "screen" / "campaign.yaml")
    planned = plan.make(here / "screen", loaded)
    rules = [step.rule for step in planned.steps]
    assert {rule: rules.count(rule) for rule in ("tasks", "prepare", "equilibrate", "produce", "analyse", "rank")} == {
        **dict.fromkeys(("tasks", "prepare", "equilibrate", "analyse"), 2),
        "produce": 8,
        "rank": 1,
    }
    assert planned.excess() == []
    assert loaded.unverified() == ["transfers"]


def test_an_edited_analysis_invalidates_no_production():
    origin = load_yaml(ORIGIN / "campaign.yaml").data
    sound = screen_campaign.draft(dimers.pipeline(4), LIBRARY, origin)["stages"]
    edited = dimers.edited(dimers.pipeline(4), STAGES[3].file, "Write the standard", "Print the standard")
    changed = screen_campaign.draft(edited, LIBRARY, origin)["stages"]
    assert [name for name in sound if sound[name] != changed[name]] == ["analyse"]


def test_a_ladder_has_a_campaign_for_each_method(here):
    folders = ablation_campaigns.make(ORIGIN, here / "ladder")
    loaded = [spec.load(folder / "campaign.yaml") for folder in folders]
    assert [one.definition("trials")["method"] for one in loaded] == list(METHODS)
    for one, method in zip(loaded, METHODS.values(), strict=True):
        assert ("discussion" in one.data["stages"]) is method.panel


def analysed(folder, guest, status, value, error=0.1):
    path = folder / f"{guest}.json"
    result = {
        "delta_g_kcal_per_mol": value,
        "statistical_error_kcal_per_mol": error,
        "systematic_error_kcal_per_mol": 0.0,
    }
    path.write_text(json.dumps({"result": result, "measured": {}}))
    return UpstreamStep(
        "analyse", {"guest": guest}, {"status": status, "delta_g_kcal_per_mol": value}, {"executed": path}
    )


def test_the_ranking_has_those_with_a_number(tmp_path):
    found = [
        analysed(tmp_path, "weak", "completed", -1.0),
        analysed(tmp_path, "strong", "completed", -5.0),
        analysed(tmp_path, "alike", "completed", -1.1),
        analysed(tmp_path, "mute", "refused", None),
        analysed(tmp_path, "broken", "skipped", None),
    ]
    ctx = StepContext("rank", {}, {}, {"analyse": found}, tmp_path, tmp_path, 1)
    made = ranking.rank(ctx)
    validate(Document(made.result, tmp_path), "screen/rank", "result")
    assert made.result == {
        "strongest": "strong",
        "strongest_kcal_per_mol": -5.0,
        "strongest_error_kcal_per_mol": 0.1,
        "ranked": 3,
        "refused": 1,
        "failed": 1,
        "apart": 1,
        "refusal": None,
    }
    lines = made.files["ranking"].read_text().splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == ["strong", "alike", "weak"]


def test_a_library_without_a_number_says_so(tmp_path):
    found = [analysed(tmp_path, "mute", "refused", None), analysed(tmp_path, "broken", "skipped", None)]
    made = ranking.rank(StepContext("rank", {}, {}, {"analyse": found}, tmp_path, tmp_path, 1))
    validate(Document(made.result, tmp_path), "screen/rank", "result")
    assert made.result["refusal"] == "no guest has one: 1 were refused, 1 failed"
    assert "no guest has a number" in made.files["ranking_plot"].read_text()


def test_many_guests_are_one_image_in_a_small_picture(tmp_path):
    rows = [(f"g{number}", -0.001 * number, 0.1, 0.2) for number in range(3000)]
    ranking.ranked(rows, tmp_path / "ranking.svg")
    assert (tmp_path / "ranking.svg").stat().st_size < 300_000


@pytest.fixture
def library(tmp_path):
    """One guest, in a folder of a user's own."""
    folder = tmp_path / "library"
    (folder / "amine").mkdir(parents=True)
    corners = [(1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)]
    cage = tuple(Atom(f"C{at}", place, "C.3", (-1) ** at * 0.1) for at, place in enumerate(corners, 1))
    host = Molecule("CAG", cage, tuple((one, other, "1") for one, other in combinations(range(4), 2)))
    ends = (Atom("C1", (0.0, 0.0, 5.0), "C.3", 0.4), Atom("N1", (0.0, 0.0, 6.5), "N.4", 0.6))
    guest = Molecule("AMI", ends, ((0, 1, "1"),))
    host.write(folder / "host.mol2")
    guest.write(folder / "amine" / "guest.mol2")
    (folder / "amine" / "complex.pdb").write_text(tasks._pdb(host, guest))
    (folder / "library.yaml").write_text("{temperature_k: 310.0, ph: 7.4, solvent: tip3p}\n")
    return folder


@pytest.mark.parametrize("way", ["folder", "file"])
def test_a_library_of_files_becomes_a_campaign(here, library, monkeypatch, capsys, way):
    monkeypatch.setattr(
        screen_campaign, "_deployed", lambda root, spec: dimers.pipeline(4)
    )  # stands for finished trials
    path = library
    if way == "file":
        path = here / "guests.yaml"
        told = "{folder: library, temperature_k: 310.0, ph: 7.4, solvent: tip3p}"
        path.write_text(f"system: library\nguests: [amine]\nsettings: {told}\n")
    words = ["screen", str(resource("campaigns", "sampl4-cb7-smoke")), "--library", str(path)]
    assert main([*words, "--into", str(here / "screen")]) == 0
    loaded = spec.load(here / "screen" / "campaign.yaml")
    assert loaded.definition("tasks")["settings"]["folder"] == str(library)
    assert len(loaded.definition("tasks")["settings"]["sha256"]["amine"]) == 64
    asked = {"library": "library", "temperature_k": 310.0, "ph": 7.4, "solvent": "tip3p"}
    assert loaded.data["question"]["conditions"] == asked
    assert plan.make(here / "screen", loaded).excess() == []
    capsys.readouterr()
    (library / "amine" / "complex.pdb").unlink()
    assert main([*words, "--into", str(here / "other")]) == 2
    said = capsys.readouterr().err
    assert "complex.pdb: there is no such file" in said
    assert said.count("\n") == 1
    assert not (here / "other").exists()


def test_molecules_are_not_screened_by_a_pipeline_for_particles(library):
    with pytest.raises(UserError, match="its guests are molecules, and the deployed pipeline is for particles"):
        screen_campaign.defined(library, "dimers")
