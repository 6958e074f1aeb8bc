"""The report: gathered from results and records alone, complete, the same every time, refused where it must be."""

import dataclasses
import json
import re
import shutil

import finished_campaign
import pytest
from html_page import Page

from sophron.campaign.execution import outcome_store
from sophron.campaign.execution.outcome_store import Finished, Outcome
from sophron.campaign.execution.verdict import JudgedCriterion, JudgedStep, Verdict
from sophron.campaign.report import report, report_page
from sophron.campaign.spec.criteria import Comparison
from sophron.campaign.spec.spec import load
from sophron.interfaces.kind import StageKind
from sophron.records import approvals
from sophron.records.digests import file_digest
from sophron.records.typed_json import from_json

EVIL_SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><circle r="5"/></svg>'


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield finished_campaign.make(tmp_path_factory.mktemp("campaign"), patch)


@pytest.fixture
def copied(campaign, tmp_path, monkeypatch):
    """A copy that a test may spoil; nothing in a campaign says where it lies."""
    root = tmp_path / campaign.root.name
    shutil.copytree(campaign.root, root)
    monkeypatch.chdir(root)
    return dataclasses.replace(campaign, root=root)


def gathered(campaign) -> report.Report:
    return report.collect(campaign.root, load(campaign.spec), approvals.signed_gate(campaign.root))


def test_the_page_says_what_was_found_judged_and_signed(campaign):
    assert finished_campaign.report(campaign) == 0
    page = Page((campaign.root / "results" / "report.html").read_text())
    words = " ".join(page.words.split())
    assert "arithmetic-toy, version 2 A sum" in words
    assert "All 9 criteria of 6 stages hold." in words
    result = json.loads((campaign.root / "results" / "d" / "outcome.json").read_text())["result"]
    assert f"{result['total']:.6g} The sum of both." in words
    assert "abs(mean - 11) < 1" in words
    assert "stages.c.definition.weight: 0.5 -> 0.49" in words
    assert "Invalidated c, d, f; kept in invalidated/v1." in words
    assert words.count("alex") == 2
    assert "a was refused" in words
    assert re.search(r"arithmetic 0 a, b, c, d, e, f", words)
    seeds = list((campaign.root / "results" / "b").glob("*/outcome.json"))
    assert len(seeds) == 2
    assert all(str(json.loads(path.read_text())["seed"]) in words for path in seeds)


def test_the_page_is_self_contained(campaign):
    finished_campaign.report(campaign)
    page = Page((campaign.root / "results" / "report.html").read_text())
    assert {"script", "link", "iframe", "object", "form"}.isdisjoint(tag for tag, _ in page.tags)
    assert [tag for tag, _ in page.tags].count("h1") == 1
    assert not any(name.startswith("on") or name == "style" for _, attrs in page.tags for name in attrs)
    assert not [attrs for _, attrs in page.tags if attrs.get("src", "data:").partition(":")[0] != "data"]
    assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")


def test_the_same_records_give_the_same_bytes(campaign):
    files = [campaign.root / "results" / name for name in ("report.html", "ro-crate-metadata.json")]
    finished_campaign.report(campaign)
    before = [path.read_bytes() for path in files]
    finished_campaign.report(campaign)
    assert before == [path.read_bytes() for path in files]


def test_tries_and_cost_come_from_the_records(campaign):
    found = {stage.name: stage for stage in gathered(campaign).stages}
    # Three tries of c at most: its first result went to invalidated/, its tries stay.
    assert {name: len(stage.all_tries) for name, stage in found.items()} == {
        "a": 1,
        "b": 2,
        "c": 2,
        "d": 2,
        "e": 1,
        "f": 2,
    }
    notes = [json.loads(path.read_text()) for path in (campaign.root / "records").glob("c/*/try.json")]
    assert found["c"].core_hours == pytest.approx(sum(note["core_seconds"] for note in notes) / 3600)
    assert [one.number for one in found["c"].all_tries] == [1, 2]


def test_final_stages_are_those_that_nobody_builds_on(campaign):
    assert [stage.name for stage in gathered(campaign).final_stages] == ["d", "f"]


def spoil_definition(campaign):
    path = campaign.root / "results" / "d" / "outcome.json"
    path.write_text(path.read_text().replace('"definition_digest": "', '"definition_digest": "0'))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoil_definition, r"d/outcome.json: was made for another definition of d; move it away"),
        (lambda campaign: (campaign.root / "results" / "b" / "1" / "outcome.json").unlink(), r"b-1: there is no outcome of it"),
        (lambda campaign: campaign.edit("quantity: a sum", "quantity: a product"), r"campaign.yaml was changed since version 2"),
        (lambda campaign: next(iter(sorted((campaign.root / "approvals" / "log").glob("*.json")))).unlink(), r"approval log"),
    ],
    ids=["definition", "missing", "spec", "log"],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_sentence(copied, capsys, spoil, sentence):
    spoil(copied)
    assert finished_campaign.report(copied) == 2
    error = capsys.readouterr().err
    assert re.search(sentence, error), error
    assert len(error.splitlines()) == 1


def test_another_digest_is_refused(copied, capsys):
    assert finished_campaign.report(copied, "0" * 64) == 2
    assert "the step report is not in the signed plan" in capsys.readouterr().err


def stage_with(tmp_path, result: dict, files: dict[str, bytes], keys: str = "", status: str = "done"):
    """A stage whose only step has this result and these files; keys: further keys of its schema."""
    schema = tmp_path / "made.schema.yaml"
    schema.write_text(f"{keys}\n$defs: {{result: {{properties: {{eta: {{description: Shear viscosity.}}}}}}}}\n")
    kind = StageKind("e", ("a",), "nowhere:run", str(tmp_path / "made"), outputs={name: name for name in files})
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    entries = {name: {"file": name, "sha256": file_digest(tmp_path / name), "bytes": 1} for name in files}
    outcome = {"stage": "e", "status": status, "reason": None if status == "done" else "it broke", "result": result}
    outcome |= {"files": entries, "tools": {}, "inputs": {}, "seed": 1}
    step = Finished("e", {}, tmp_path / "outcome.json", from_json(Outcome, outcome), "0" * 64)
    return report.StageReport(kind, [step], Verdict("e", "pass", "", "", {}, [], {}), {"e": []})


ANSWER = (
    "answer: {value: eta, standard_error: eta_error, interval: {low: low, high: high, level: 0.9}, refusal: refusal}"
)


def answers(stage) -> list[report.Answer]:
    spec = load(finished_campaign.toy.DATA / "search" / "campaign.yaml")
    return report.Report(None, spec, [stage], [], [], []).answers


def test_the_schema_says_which_number_answers(tmp_path):
    result = {"eta": 3.2134, "eta_error": 0.0412, "low": 3.1, "high": 3.3, "refusal": None, "other": 1}
    (answer,) = answers(stage_with(tmp_path, result, {}, ANSWER))
    assert (answer.value, answer.standard_error, answer.interval, answer.refusal) == (
        3.2134,
        0.0412,
        (3.1, 3.3, 0.9),
        None,
    )
    assert answer.description == "Shear viscosity."
    (tmp_path / "silent").mkdir()
    assert answers(stage_with(tmp_path / "silent", result, {})) == []


def test_a_refused_number_is_no_number(tmp_path):
    result = {"eta": None, "eta_error": None, "low": None, "high": None, "refusal": "noise: too much"}
    (answer,) = answers(stage_with(tmp_path, result, {}, ANSWER))
    assert (answer.value, answer.interval, answer.refusal) == (None, None, "noise: too much")
    (answer,) = answers(stage_with(tmp_path, {}, {}, ANSWER, status="failed"))
    assert (answer.value, answer.refusal) == (None, "it broke")


def test_a_refused_number_stands_under_no_green_box(campaign, tmp_path, monkeypatch):
    (refused,) = answers(stage_with(tmp_path, {"eta": None, "refusal": "noise: too much"}, {}, ANSWER))
    monkeypatch.setattr(report.Report, "answers", [refused])
    found = gathered(campaign)
    html = report_page.render(found, {"failure": {"kind": "x", "reason": "y"}})
    assert found.passed
    assert "The question has no answer," in html
    assert "box good" not in html


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (3.25, 0.05, "The answer lies within the published 3.2 to 3.35 (somewhere)."),
        (3.2, 0.05, "The answer lies within the published 3.2 to 3.35 (somewhere)."),
        (3.1, 0.05, "The answer lies 0.1, or 2.0 standard errors, below the published 3.2 to 3.35 (somewhere)."),
        (3.5, 0.05, "The answer lies 0.15, or 3.0 standard errors, above the published 3.2 to 3.35 (somewhere)."),
        (3.5, None, "The answer lies 0.15 above the published 3.2 to 3.35 (somewhere)."),
        (None, None, "There is no number to compare with the published 3.2 to 3.35 (somewhere)."),
    ],
)
def test_a_comparison_counts_standard_errors_and_is_no_criterion(value, error, words):
    answer = report.Answer(None, "eta", "", value, error, None, None)
    reference = {"low": 3.2, "high": 3.35, "source": "somewhere"}
    assert report.comparison(answer, reference) == f"{words} This comparison is not a criterion."


CAVEATS = {
    "backend": "heuristic",
    "answer": {
        "summary": "One <b>caveat</b>.",
        "caveats": [{"about": "size", "severity": "note", "text": "<script>small</script>"}],
    },
}


def test_plots_enter_as_data_and_never_as_markup(campaign, tmp_path):
    stage = stage_with(tmp_path, {}, {"eta_plot": EVIL_SVG}, "figures: {eta_plot: The <b>curve</b>.}")
    (tmp_path / "eta.svg").write_bytes(EVIL_SVG)
    files = stage.steps[0].outcome.files
    files["eta_plot"] = dataclasses.replace(files["eta_plot"], file="eta.svg")
    whole = gathered(campaign)
    page = report_page.render(dataclasses.replace(whole, stages=[stage]), CAVEATS)
    parsed = Page(page)
    (image,) = [attrs for tag, attrs in parsed.tags if tag == "img"]
    assert image["src"].startswith("data:image/svg+xml;base64,")
    assert image["alt"] == "The <b>curve</b>. Step e."
    assert "alert(1)" not in page
    assert not [tag for tag, _ in parsed.tags if tag in ("script", "circle")]
    (tmp_path / "eta.svg").write_bytes(EVIL_SVG + b" ")
    with pytest.raises(report.Refused, match=r"eta.svg: is missing or is not the file that its outcome speaks of"):
        report_page.render(dataclasses.replace(whole, stages=[stage]), CAVEATS)


def test_compared_gives_the_span_over_all_steps():
    def compared(*lefts):
        steps = [JudgedStep("e", True, None, {}, (Comparison("x < 2", left, 2),)) for left in lefts]
        return report_page.compared(JudgedCriterion("small", "x < 2", "x is small.", True, steps))

    assert compared(1.0) == [("x < 2", "1", "2")]
    assert compared(1.25, 0.5, None) == [("x < 2", "0.5 … 1.25, 1 without a number", "2")]
    assert compared(None) == [("x < 2", "no number", "2")]


def test_a_record_folder_tells_tries_apart_from_other_numbers(campaign):
    assert outcome_store.record_folder(campaign.root, "b-1").is_dir()
    assert len({one.step for stage in gathered(campaign).stages for one in stage.all_tries}) == 7
