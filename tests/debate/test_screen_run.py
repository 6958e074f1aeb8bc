"""A screen that runs: three guests, of which one is refused, from the tasks to the ranking, the report and the answer."""

import csv
import json

import finished_campaign
import pytest
import toy

from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec import spec
from sophron.cli import main
from sophron.debate.screening import screen_campaign
from sophron.debate.trials.execute_stage_file import PARTS
from sophron.records.documents import load_yaml
from sophron.records.files import resource
from sophron.science.host_guest.systems import systems

from . import dimers

pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")
pytestmark = pytest.mark.slow
EPSILON = {"faint": 0.3, "fair": 1.4, "sticky": 12.0}
"""The last one does not leave in so short a run."""
LIBRARY = screen_campaign.Library(
    "dimers",
    tuple(EPSILON),
    {"sigma_a": 3.4, "temperature_k": 298.15, "epsilon_kcal_per_mol": EPSILON},
)


@pytest.fixture(scope="module")
def screened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screen")
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in toy.settings(folder).items():
            patch.setenv(variable, value)
        toy.plan_here(patch)
        origin = load_yaml(resource("campaigns", "lj-dimer-apr") / "campaign.yaml").data
        origin["stages"]["trials"]["definition"]["ns_per_window"] = 1.5
        pipeline = dimers.pipeline(8, spring=0.5, strengths=(0.0, 0.1), interval=40)
        root = folder / "my-screen"
        campaign_folder.from_draft(root, screen_campaign.draft(pipeline, LIBRARY, origin))
        campaign = toy.Campaign(root, toy.make_key(folder / "key"))
        campaign.edit("UNVERIFIED", "verified")
        patch.chdir(root)
        campaign.sign()
        for name in ("tasks", *PARTS, "rank"):
            assert not any(finished_campaign.stage(campaign, name, memory_mb=1000)), name
        assert finished_campaign.report(campaign) == 0
        yield campaign


def test_guests_with_a_number_are_ranked_and_the_refused_one_is_counted(screened):
    folder = screened.root / "results" / "rank"
    result = json.loads((folder / "outcome.json").read_text())["result"]
    assert (result["ranked"], result["refused"], result["failed"]) == (2, 1, 0)
    assert (result["strongest"], result["refusal"]) == ("fair", None)
    with (folder / "ranking.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["rank"], row["guest"]) for row in rows] == [("1", "fair"), ("2", "faint")]
    assert float(rows[0]["delta_g_kcal_per_mol"]) == result["strongest_kcal_per_mol"]
    wanted = systems.DIMERS.references(LIBRARY.settings, screened.root)
    for row in rows:
        error = float(row["statistical_error_kcal_per_mol"])
        assert abs(float(row["delta_g_kcal_per_mol"]) - wanted[row["guest"]]) < 4 * error
    assert "fair" in (folder / "ranking.svg").read_text()


def test_its_question_is_its_own(screened):
    question = spec.load(screened.spec).data["question"]
    assert question["quantity"] == "standard binding free energies of 3 guests, ranked"
    assert question["conditions"]["temperature_k"] == 298.15


def test_report_and_answer_name_the_strongest_guest(screened, capsys):
    page = (screened.root / "results" / "report.html").read_text()
    assert "Standard binding free energies of 3 guests, ranked" in page
    assert "no number" not in page
    assert "No criterion was set." in page
    assert '<p class="answer"><small>fair</small> -' in page
    assert "The strongest 2 of 2 guests with a number" in page
    assert "Predicted standard binding free energies, the strongest guest first" in page
    capsys.readouterr()
    assert main(["answer", str(screened.root)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("standard binding free energies of 3 guests, ranked: fair -")
    assert "±" in first
