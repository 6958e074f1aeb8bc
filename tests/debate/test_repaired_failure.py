"""A failure that was mended, read from the records of a campaign, and drawn (MDForge, figure 3d)."""

import dataclasses

import pytest

from sophron import cli
from sophron.debate.pipelines.pipeline import Pipeline
from sophron.debate.trials import repaired_failure, trial_figures

from . import dimers, mutations, recorded
from .recorded import GOOD, LOST, TRAINING

SOUND = dimers.pipeline(12)
THINNED, FILE = mutations.mutate(SOUND, "overlap_lost", 0)
(FAULT, WHOLE), *_ = (
    pair
    for pair in zip(THINNED.files[FILE].splitlines(), SOUND.files[FILE].splitlines(), strict=True)
    if pair[0] != pair[1]
)
VALUES = {"weak": -1.1, "middle": -2.0, "strong": -3.1}


def refused(windows=4, overlap=LOST):
    return {name: recorded.analysis(windows, overlap, None) for name in TRAINING}


def clean(windows=12):
    return {name: recorded.analysis(windows, GOOD, VALUES[name]) for name in TRAINING}


def ended(root, *tried, method="full"):
    """A campaign with these trials, each a pipeline and its analyses."""
    loaded = recorded.campaign(root, method)
    trials = [recorded.trial(root, loaded, number, *each)[0] for number, each in enumerate(tried)]
    recorded.close(root, loaded, trials)
    return loaded, trials


def revised(made, analysed):
    return recorded.revised(made, recorded.panel(made, analysed))


@pytest.fixture
def mended(tmp_path):
    root = tmp_path / "host"
    loaded, trials = ended(root, (THINNED, refused()), (revised(THINNED, refused()), clean()))
    return root, repaired_failure.find(root, loaded, trials)


def test_a_lost_overlap_is_followed_from_its_flag_to_its_one_line_edit(mended):
    _, found = mended
    assert found.before.broken == {"mbar_overlap_above_0p03": list(TRAINING)}
    assert found.after.broken == {}
    assert found.before.overlaps["weak"] == [GOOD, LOST, LOST]
    assert len(found.after.overlaps["strong"]) == 11
    assert (found.critique.focus, found.file, found.changed) == ("analysis", FILE, 1)
    assert [line for line in found.edit if line[:1] in "+-"][2:] == [f"-{FAULT}", f"+{WHOLE}"]
    assert found.sentence == (
        "Trial 0 ended as analysis_refusal (mbar_overlap_above_0p03 = false for weak, middle, strong); the panel said "
        f"{found.critique.label} and named the stage analysis; the author changed 1 line; trial 1 ended as clean."
    )


def test_more_windows_are_an_edit_of_production(tmp_path):
    short = {name: recorded.analysis(12, LOST, None) for name in TRAINING}
    wider = revised(SOUND, short)
    assert (wider.files, wider.windows > 12) == (SOUND.files, True)
    loaded, trials = ended(tmp_path / "host", (SOUND, short), (wider, clean(wider.windows)))
    found = repaired_failure.find(tmp_path / "host", loaded, trials)
    assert (found.critique.focus, found.file) == ("production", "03_production.py")
    assert found.edit[-2:] == ["-windows=12", f"+windows={wider.windows}"]


def test_a_number_that_the_panel_failed_counts_once_it_passes(tmp_path):
    """No refusal: the panel alone saw the fault."""
    wrong = {name: recorded.analysis(4, GOOD, VALUES[name]) for name in TRAINING}
    loaded, trials = ended(tmp_path / "host", (THINNED, wrong), (SOUND, clean()))
    failed = [dataclasses.replace(trials[0], label=repaired_failure.Label.FAIL), trials[1]]
    assert repaired_failure.find(tmp_path / "host", loaded, failed).before.trial.number == 0
    unsure = [dataclasses.replace(trials[0], label=repaired_failure.Label.UNCERTAIN), trials[1]]
    assert repaired_failure.find(tmp_path / "host", loaded, unsure) is None


def test_a_refusal_goes_before_what_the_panel_alone_saw(tmp_path):
    wrong = {name: recorded.analysis(4, GOOD, VALUES[name]) for name in TRAINING}
    tried = ((THINNED, wrong), (SOUND, clean()), (THINNED, refused()), (SOUND, clean()))
    loaded, trials = ended(tmp_path / "host", *tried)
    trials[0] = dataclasses.replace(trials[0], label=repaired_failure.Label.FAIL)
    assert repaired_failure.find(tmp_path / "host", loaded, trials).before.trial.number == 2


ELSEWHERE = Pipeline(
    THINNED.rationale, THINNED.windows, {**THINNED.files, "01_prep.py": THINNED.files["01_prep.py"] + "\nNAME = 1\n"}
)


@pytest.mark.parametrize(
    "tried",
    [
        [(THINNED, refused())],
        [(THINNED, refused()), (SOUND, refused(12))],
        [(THINNED, refused()), (ELSEWHERE, clean())],
        [(SOUND, clean()), (THINNED, refused())],
    ],
    ids=["alone", "refused again", "another file", "worse"],
)
def test_without_a_mended_trial_there_is_none(tmp_path, tried):
    loaded, trials = ended(tmp_path / "host", *tried)
    assert repaired_failure.find(tmp_path / "host", loaded, trials) is None


def test_a_method_without_a_panel_has_none(tmp_path):
    loaded, trials = ended(tmp_path / "host", (THINNED, refused()), (SOUND, clean()), method="trial_level")
    assert repaired_failure.find(tmp_path / "host", loaded, trials) is None


def drawn(found, path):
    pytest.importorskip("matplotlib")
    trial_figures.mended(found, path)
    return path.read_text()


def test_the_picture_shows_diagnostics_panel_and_edit(mended, tmp_path):
    text = drawn(mended[1], tmp_path / "one.svg")
    panel = f"2. Panel: {mended[1].critique.label} ({mended[1].critique.score:.2f}), names analysis"
    words = ["1. Diagnostics: mbar_overlap_above_0p03 false", panel, "trial 0, analysis_refusal", "trial 1, clean"]
    words += [f"-{FAULT}", f"+{WHOLE}", "analysis: fail, analysis (high), proposes an edit"]
    for word in words:
        assert f"<!-- {word} -->" in text, word
    assert drawn(mended[1], tmp_path / "again.svg") == text


def test_what_an_agent_wrote_is_drawn_as_it_stands(mended, tmp_path):
    """A formula for matplotlib, an invisible sign, and far more lines than a picture holds."""
    edit = ["+price = '$\\frac{x$'", "+hid\u200bden", *[f"+line {number}" for number in range(100)], f"+{'x' * 500}"]
    text = drawn(dataclasses.replace(mended[1], edit=edit), tmp_path / "one.svg")
    assert "<!-- +price = '$\\frac{x$' -->" in text
    assert "<!-- +hidden -->" in text
    assert "<!-- ... and 73 more lines -->" in text
    assert "line 99" not in text
    assert "3. Edit: 103 lines" in text


def test_the_verb_draws_it_or_says_in_one_sentence_that_there_is_none(mended, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    root, found = mended
    path = tmp_path / "out.svg"
    ended(tmp_path / "other", (SOUND, clean()))
    assert cli.main(["trials", "show", str(tmp_path / "other"), "--mended", str(path)]) == 0
    assert capsys.readouterr().out.endswith(f"{repaired_failure.NONE}\n")
    assert not path.exists()
    assert cli.main(["trials", "show", str(tmp_path / "other"), str(root), "--mended", str(path)]) == 0
    assert f"host: {found.sentence}\n{path}: made" in capsys.readouterr().out
    assert path.stat().st_size > 10_000
