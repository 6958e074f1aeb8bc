"""`sophron answer` on a campaign that has run."""

import finished_campaign
import pytest

from sophron.campaign.report.report import Answer
from sophron.cli import main
from sophron.cli.answer import _about


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        campaign = finished_campaign.make(tmp_path_factory.mktemp("answer") / "sums", patch)
        yield campaign


def test_it_shows_verdicts_and_the_report(finished, capsys):
    assert finished_campaign.report(finished) == 0
    capsys.readouterr()
    assert main(["answer", str(finished.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines if "criteria hold" in line] == [[name, "pass"] for name in "abcdef"]
    assert lines[-1] == f"report: {finished.root / 'results' / 'report.html'}"


def test_an_unfinished_campaign_gets_one_sentence(finished, capsys):
    (finished.root / "results" / "f" / "outcome.json").rename(finished.root / "kept.json")
    assert main(["answer", str(finished.root)]) == 2
    error = capsys.readouterr().err
    assert "there is no outcome of it; run it first: snakemake" in error
    assert error.count("\n") == 1


def test_the_number_comes_with_error_interval_and_reference():
    found = Answer(None, "viscosity", "", 3.2134, 0.0412, (3.13, 3.297, 0.95), None, units="LJ")
    reference = {"low": 3.3, "high": 3.35, "source": "somebody"}
    first, second, third = _about(found, {"quantity": "viscosity", "reference": reference})
    assert first == "viscosity: 3.213 ± 0.041 LJ"
    assert "95 % interval 3.130 to 3.297" in second
    assert "2.1 standard errors" in third


def test_a_cell_keeps_the_digits_that_its_uncertainty_leaves():
    found = Answer(None, "cell", "", 9.3719534, 0.0000931, (9.3717709, 9.3721359, 0.95), None, units="angstrom")
    reference = {"low": 9.371729, "high": 9.372001, "source": "somebody"}
    lines = list(_about(found, {"quantity": "cell", "reference": reference}))
    assert lines[0] == "cell: 9.371953 ± 0.000093 angstrom"
    assert "interval 9.37177 to 9.37214;" in lines[1]
    assert "9.371729 to 9.372001" in lines[2]


def test_a_refused_number_says_why():
    refused = Answer(None, "viscosity", "", None, None, None, "the window is too short")
    assert list(_about(refused, {"quantity": "viscosity", "units": "LJ"})) == [
        "viscosity: no number, because the window is too short"
    ]


def test_a_remark_stands_below_the_number_or_its_refusal():
    question = {"quantity": "conductivity", "units": "W/(m K)"}
    found = Answer(None, "c", "", 560.0, 20.0, None, None, units="W/(m K)", remark="half flies\nfar")
    assert list(_about(found, question)) == ["conductivity: 560 ± 20 W/(m K)", "  half flies far"]
    refused = Answer(None, "c", "", None, None, None, "too short", remark="Boxes: 4 at 52.")
    assert list(_about(refused, question))[-1] == "  Boxes: 4 at 52."


def test_a_campaign_that_was_never_signed_gets_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    main(["new", "viscosity", str(tmp_path / "melt")])
    capsys.readouterr()
    assert main(["answer", str(tmp_path / "melt")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
