"""The tools of a session on a simulated pattern: what each does, what it refuses, what the trajectory holds."""

import hashlib
from dataclasses import replace

import pytest

from sophron.interfaces.rietveld import Freed
from sophron.records import documents
from sophron.records.errors import UserError
from sophron.science.rietveld.session import sample as samples
from sophron.science.rietveld.session.session import Session, fresh
from sophron.science.rietveld.session.tools import call


class Hand:
    """Calls tools of a new session."""

    def __init__(self, engine, sample, folder):
        self.session = Session(engine, sample, folder)

    def __call__(self, name, /, **arguments):
        return call(self.session, name, arguments)

    def well(self, name, /, **arguments):
        answer = self(name, **arguments)
        assert answer.ok, answer.hint
        return answer

    def report(self):
        """The report of the state in which the model rests."""
        answer = self("report")
        return (answer if answer.ok else self.well("report")).details["report"]


@pytest.fixture
def hand(engine, simulated, tmp_path):
    made = Hand(engine, simulated(0.02, 3000.0), tmp_path / "session")
    made.well("histogram", coefficients=3)
    made.well("phase", name="salt")
    made.well("release", groups=["scale", "background"])
    return made


def test_what_cannot_be_is_said_before_anything_is_refined(engine, simulated, tmp_path):
    hand = Hand(engine, simulated(0.02, 3000.0), tmp_path / "session")
    assert hand("refine").hint == "there is no histogram; add it first"
    assert hand("histogram", low_deg=60, high_deg=30).hint.endswith("give the lower angle first")
    hand.well("histogram", coefficients=3)
    assert hand("refine").hint == "there is no phase; add one first"
    assert "the sample has salt, Si" in hand("phase", name="sugar").hint
    hand.well("phase", name="salt")
    assert hand("refine").hint.startswith("nothing is free in this cycle")
    assert "known are background" in hand("release", groups=["magic"]).hint
    assert hand("release", groups=["absorption"]).hint.startswith("rietx cannot refine absorption")
    assert hand("get_pattern_plot").hint.startswith("nothing was refined yet")
    assert hand("report").hint.startswith("nothing was refined yet")
    assert hand("weights", kind="calculated").hint.startswith("weights from calculated counts need a fit")
    assert [one.ok for one in hand.session.trajectory.calls].count(False) == 10


def test_a_refinement_with_its_trajectory_and_report(hand):
    hand.well("refine", label="scale")
    hand.well("get_pattern_plot")
    first = hand.session.fitted()[1].rwp.percent
    hand.well("release", groups=["cell"])
    numbers = hand.well("refine", label="cell").numbers
    assert numbers["rwp_percent"] < first
    hand.well("note", text="the cell was wrong")
    hand.well("get_zoomed_plot", low_deg=30.0, high_deg=33.0)
    made = hand.report()
    prose = {"caveats": [], "alternatives": [], "confidence": "low", "summary": "salt"}
    folder = hand.session.folder
    documents.validate(documents.Document({**made, **prose}, folder), "agents/refinement")
    assert made["fit"]["rwp_percent"] == numbers["rwp_percent"]
    assert made["refined"]["count"] == 1 + 3 + 1
    assert [one["claimed"] for one in made["phases"]] == [True, False]
    assert [(one["whole"], one["state"]) for one in made["plots"]] == [(True, 1), (False, 2)]
    assert made["state"] == 2
    assert "never released" in {one["reason"] for one in made["held"]}
    assert abs(made["phases"][0]["cell"]["a"]["value"] - 5.6421) < 0.0005
    assert "(" in next(line for line in (folder / "model.cif").read_text().splitlines() if "_cell_length_a" in line)
    trajectory = documents.load_json(folder / "trajectory.json")
    documents.validate(documents.Document(trajectory, folder), "rietveld/trajectory")
    assert [state["label"] for state in trajectory["states"]] == ["start", "scale", "cell", "cell: rest"]
    plots = [one["plot"] for one in trajectory["calls"] if one["plot"]]
    assert [hashlib.sha256((folder / one["file"]).read_bytes()).hexdigest() for one in plots] == [
        one["sha256"] for one in plots
    ]
    assert [one["decision"] for one in trajectory["calls"] if one["decision"]] == ["the cell was wrong"]


def test_a_state_that_was_refined_on_is_looked_at_before_it_is_reported(hand):
    """One iteration from a far width does not reach the end: what comes after it is handed back, and then reported."""
    hand.well("refine", label="scale")
    hand.well("release", groups=["profile_w"])
    hand.well("set_parameters", values={"profile_w": 0.03})
    hand.well("refine", label="width", cycles=1)
    hand.well("get_pattern_plot")
    left = hand.session.current.number
    back = hand("report")
    assert not back.ok
    at_rest = hand.session.current.number
    assert (back.details, back.ended) == ({"state": at_rest}, "converged")
    assert at_rest > left
    assert f"refined on to state {at_rest}: look at that one" in back.hint
    assert not (hand.session.folder / "model.json").exists()
    hand.well("get_pattern_plot")
    states = len(hand.session.states)
    made = hand.well("report").details["report"]
    assert (made["state"], made["converged"]) == (at_rest, True)
    assert len(hand.session.states) == states
    assert [one["state"] for one in made["plots"]] == [left, at_rest]


def test_a_cycle_that_goes_wrong_leaves_the_model_and_can_be_undone(hand):
    hand.well("refine", label="scale")
    hand.well("release", groups=["cell", "displacement"])
    hand.well("set_parameters", values={"cell/salt/a": 3.0, "scale/salt": 1e9})
    wrong = hand("refine", label="far")
    assert not wrong.ok
    assert wrong.ended == "diverged"
    assert hand.session.current.number == 1
    hand.well("roll_back", state=1)
    assert hand.session.values == {}
    assert hand.session.free == (Freed("scale", "salt"), Freed("background"))
    hand.well("release", groups=["cell"])
    hand.well("hold", groups=["cell"], reason="it ran away")
    assert Freed("cell", "salt") not in hand.session.free
    assert "no state 9" in hand("roll_back", state=9).hint


def test_zero_and_displacement_are_refused_also_where_the_model_began_anew(hand):
    hand.well("release", groups=["displacement"])
    hand.well("refine")
    hand.well("hold", groups=["displacement"], reason="the other one")
    hand.well("release", groups=["zero"])
    assert hand("refine").hint.startswith("zero is free after displacement was")
    hand.well("histogram", low_deg=27.0, coefficients=3)
    assert hand("refine").hint.startswith("zero is free after displacement was")
    hand.well("roll_back", state=0)
    hand.well("release", groups=["scale", "background", "zero"])
    hand.well("refine")


def test_one_atom_is_held_and_the_others_stay_free(hand):
    hand.well("refine")
    hand.well("release", groups=["u_iso"])
    hand.well("hold", groups=["u_iso"], phase="salt", atom="Na1", reason="runs away")
    assert Freed("u_iso", "salt", "Cl1") in hand.session.free
    assert Freed("u_iso", "salt") not in hand.session.free
    assert hand.well("refine").numbers["variables"] == 1 + 3 + 1


def test_a_phase_joins_a_fitted_model_and_leaves_it(hand):
    hand.well("release", groups=["cell"])
    before = hand.well("refine").numbers
    cell = hand.session.current.kept.state.values["cell/salt/a"]
    hand.well("phase", name="Si")
    hand.well("release", groups=["scale"], phase="Si")
    after = hand.well("refine").numbers
    assert after["chi2"] < before["chi2"]
    assert after["variables"] == before["variables"] + 1
    state, fit = hand.session.fitted()
    assert state.phases == ("salt", "Si")
    silicon = hand.report()["phases"][1]
    assert silicon["in_model"]
    assert not silicon["claimed"]
    assert silicon["significance"] > 5
    assert 0 < silicon["weight_fraction"] < 0.1
    assert abs(fit.parameter("cell/salt/a").value - cell) < 1e-4
    hand.well("remove_phase", name="Si")
    assert hand.well("refine").numbers["chi2"] == pytest.approx(before["chi2"], rel=1e-4)
    absent = hand.report()["phases"][1]
    assert not absent["in_model"]
    assert absent["significance"] == silicon["significance"]


def test_variances_of_calculated_counts_do_not_pull_the_background_down(engine, simulated, tmp_path):
    hand = Hand(engine, simulated(0.0, 30.0), tmp_path / "session")
    hand.well("histogram", coefficients=3)
    hand.well("phase", name="salt")
    hand.well("release", groups=["scale", "background"])
    hand.well("refine")
    observed = hand.session.fitted()[1].curves
    hand.well("weights", kind="calculated")
    hand.well("refine")
    hand.well("refine")
    calculated = hand.session.fitted()[1].curves
    total = observed.observed.sum()
    assert abs(calculated.calculated.sum() / total - 1) < 0.3 * abs(observed.calculated.sum() / total - 1)


def test_what_was_rolled_back_is_not_called_never_released(hand):
    hand.well("refine")
    hand.well("release", groups=["displacement"])
    hand.well("refine")
    hand.well("roll_back", state=1)
    hand.well("tie", names=["u_iso/salt/Na", "u_iso/salt/Cl"])
    assert ["u_iso/salt/Na", "u_iso/salt/Cl"] in hand.well("project").details["ties"]
    hand.well("roll_back", state=1)
    held = {one["group"]: one["reason"] for one in hand.report()["held"]}
    assert held["displacement"] == "free in state 2, not in this one"
    assert held["zero"] == "never released"


def test_one_peak_of_the_pattern(hand):
    said = hand.well("fit_peak", low_deg=31.2, high_deg=32.2)
    assert said.hint == "one peak on a line"
    found = said.numbers
    assert found["position_deg"] == pytest.approx(31.70, abs=0.03)
    assert found["significance"] > 20
    assert hand("fit_peak", low_deg=31.70, high_deg=31.75).hint.endswith("widen it")


def test_what_speaks_against_a_model_is_found(hand):
    hand.well("release", groups=["cell"])
    hand.well("refine")
    assert "UNEXPLAINED_PEAK" in {one["code"] for one in hand.well("diagnose").details["findings"]}
    worst = hand.well("residuals").details["worst"]
    assert worst[0]["share"] >= worst[-1]["share"] > 0


@pytest.mark.parametrize("ended", ["converged", "unfinished"])
def test_diagnose_says_of_convergence_what_the_cycle_said(hand, ended):
    hand.well("refine")
    current = hand.session.current
    still_moving = replace(current.kept, fit=replace(current.kept.fit, largest_shift_over_esd=0.3))
    hand.session.current = replace(current, ended=ended, kept=still_moving)
    codes = {one["code"] for one in hand.well("diagnose").details["findings"]}
    assert ("NOT_CONVERGED" in codes) == (ended == "unfinished")


def test_a_sample_is_what_its_file_says_and_a_session_has_its_folder(engine, simulated, tmp_path):
    sample = simulated(0.02, 3000.0)
    path = tmp_path / "sample.json"
    path.write_text(__import__("json").dumps(samples.data(sample)))
    assert samples.load(path).digest == sample.digest
    path.write_text(path.read_text().replace('"main"', '"maine"', 1))
    with pytest.raises(UserError, match="phases"):
        samples.load(path)
    folder = tmp_path / "session"
    folder.mkdir()
    (folder / "left").write_text("")
    with pytest.raises(UserError, match="not empty"):
        Session(engine, sample, folder)
    assert fresh(folder) == folder
    assert (tmp_path / "session.1" / "left").is_file()
    Session(engine, sample, folder)
