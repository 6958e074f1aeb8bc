"""Every number of a finished campaign is computed again; one that somebody edited is found and named."""

import dataclasses
import json
import shutil

import finished_campaign
import pytest

from sophron import cli

CRATE = "results/ro-crate-metadata.json"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        campaign = finished_campaign.make(tmp_path_factory.mktemp("campaign"), patch)
        assert finished_campaign.report(campaign) == 0
        yield campaign


@pytest.fixture
def campaign(finished, tmp_path, monkeypatch):
    root = tmp_path / finished.root.name
    shutil.copytree(finished.root, root)
    monkeypatch.chdir(root)
    return dataclasses.replace(finished, root=root)


def rederived(capsys, code):
    """All checks of the campaign here; the command ends with this code."""
    capsys.readouterr()
    assert cli.main(["rederive", "--json"]) == code
    return json.loads(capsys.readouterr().out)


def differing(capsys):
    checks = rederived(capsys, 1)
    return {(each["file"], each["number"]): each for each in checks if each["state"] == "differs"}


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, text
    path.write_text(text.replace(old, new))


def result(campaign, stage):
    return json.loads((campaign.root / "results" / stage / "outcome.json").read_text())["result"]


def test_all_numbers_of_an_untouched_campaign_agree_and_those_of_an_engine_are_marked(campaign, capsys):
    before = sorted((path, path.stat().st_mtime_ns) for path in campaign.root.rglob("*"))
    checks = rederived(capsys, 0)
    by = {(each["file"], each["number"]): each for each in checks}
    assert by["results/d/outcome.json", "total"]["rederived"] == result(campaign, "d")["total"]
    assert by["results/d/verdict.json", "criteria.total.steps.d.values.total"]["state"] == "agrees"
    assert by["results/b/1/numbers.txt", "content"]["state"] == "agrees"
    assert by["results/report.html", "page"]["state"] == "agrees"
    marked = {(each["file"], each["number"]) for each in checks if each["state"] == "not re-derivable"}
    assert marked == {("results/e/outcome.json", "total"), ("results/caveats.json", "")}
    assert sorted((path, path.stat().st_mtime_ns) for path in campaign.root.rglob("*")) == before


def test_an_edited_result_is_named(campaign, capsys):
    total = result(campaign, "d")["total"]
    edit(campaign.root / "results/d/outcome.json", f'"total": {total}', '"total": 111.5')
    found = differing(capsys)
    number = found["results/d/outcome.json", "total"]
    assert (number["recorded"], number["rederived"]) == (111.5, total)
    # Its digest is not the one that was judged, accepted and shown; all else is derived from the files before it.
    others = {file for file, _ in found.keys() - {("results/d/outcome.json", "total")}}
    notes = {f"results/d/{name}" for name in ("verdict.json", "accepted.json", "passed")}
    assert others == {*notes, "results/report.html", "results/ro-crate-metadata.json"}
    assert [number for file, number in found if file == "results/d/verdict.json"] == ["outcomes.d"]


def test_an_edited_result_that_cannot_be_derived_has_another_digest_than_was_judged_and_built_on(campaign, capsys):
    edit(campaign.root / "results/e/outcome.json", '"total": 30', '"total": 31')
    found = differing(capsys)
    assert {("results/e/verdict.json", "outcomes.e"), ("results/f/outcome.json", "inputs.e")} <= found.keys()
    judged = found["results/e/verdict.json", "criteria.total.steps.e.values.total"]
    assert (judged["recorded"], judged["rederived"]) == (30, 31)
    assert ("results/f/outcome.json", "total") in found


def test_edited_data_of_a_step_are_named(campaign, capsys):
    path = campaign.root / "results/c/numbers.txt"
    first, second = path.read_text().split()
    path.write_text(f"{first}\n1{second[1:]}9\n")
    found = differing(capsys)
    assert ("results/c/numbers.txt", "sha256 of numbers") in found
    assert found["results/c/numbers.txt", "3"]["rederived"] == pytest.approx(float(second))


def test_an_edited_verdict_is_named(campaign, capsys):
    path = campaign.root / "results/d/verdict.json"
    edit(path, '"verdict": "pass"', '"verdict": "fail"')
    found = differing(capsys)
    assert found.keys() == {("results/d/verdict.json", "verdict"), (CRATE, "d/verdict.json.sha256")}
    assert found["results/d/verdict.json", "verdict"]["rederived"] == "pass"


@pytest.mark.parametrize(
    "edited",
    [
        ("results/d/accepted.json", '"stage": "d"', '"stage": "e"', "stage"),
        (CRATE, '"contentSize": "', '"contentSize": "9', "signed/campaign.yaml.contentSize"),
        (CRATE, '"name": "arithmetic-toy, version 2"', '"name": "other, version 2"', "./.name"),
        ("records/caveats/published.json", "results/", "nowhere/", "page"),
        ("records/d/published.json", "results/d/", "results/x/", "outcome"),
        ("invalidated/v1/manifest.json", '"superseded_version": 1', '"superseded_version": 2', "superseded_version"),
        ("invalidated/v1/manifest.json", '"file": "results/d/', '"file": "results/x/', "files.results/d/accepted.json.sha256"),
        ("invalidated/v1/results/d/numbers.txt", ".", ".1", "files.results/d/numbers.txt.sha256"),
        ("approvals/log/0002.json", '"approver":', '"approver" :', "signature"),
        ("approvals/log/0001.campaign.yaml", "version: 1", "version: 7", "sha256 as it was signed"),
        ("approvals/gate.json", '"signature": "', '"signature": "x', "approval"),
        ("campaign.yaml", "units: ", "units: k", "digest of the spec"),
    ],
)  # fmt: skip
def test_an_edited_record_is_named(campaign, capsys, edited):
    path, old, new, number = edited
    text = (campaign.root / path).read_text()
    assert old in text, text[:3000]
    (campaign.root / path).write_text(text.replace(old, new, 1))
    found = {name for _, name in differing(capsys)}
    assert number in found, found


def test_an_edited_number_of_the_page_is_named(campaign, capsys):
    path = campaign.root / "results/report.html"
    total = f"{result(campaign, 'd')['total']:.6g}"
    text = path.read_text()
    assert total in text
    path.write_text(text.replace(total, "111.5", 1))
    found = differing(capsys)
    assert {file for file, _ in found} == {"results/report.html", CRATE}
    (changed,) = (each for (file, _), each in found.items() if file != CRATE)
    assert "111.5" in changed["recorded"]
    assert total in changed["rederived"]


def test_the_table_names_number_file_and_both_values(campaign, capsys):
    edit(campaign.root / "results/d/verdict.json", '"verdict": "pass"', '"verdict": "fail"')
    capsys.readouterr()
    assert cli.main(["rederive", str(campaign.root)]) == 1
    header, row, shown, *marked, last = capsys.readouterr().out.splitlines()
    assert header.split() == ["number", "file", "recorded", "re-derived"]
    assert row.split() == ["verdict", "results/d/verdict.json", "fail", "pass"]
    assert shown.split()[:2] == ["d/verdict.json.sha256", CRATE]
    assert "not re-derivable: results/e/outcome.json, 1 number: e is not an analysis of files" in marked
    assert last.endswith("agree, 2 differ, 2 cannot be computed again")


def test_what_has_not_ended_is_left_out(campaign, capsys):
    ended = ("results/f/outcome.json", "records/f/published.json", "results/d/verdict.json")
    for path in ("results/report.html", CRATE, *ended):
        (campaign.root / path).unlink()
    checks = rederived(capsys, 0)
    reasons = {each["file"]: each["reason"] for each in checks if each["state"] == "not re-derivable"}
    assert reasons["results/d/verdict.json"] == "there is no verdict"
    assert reasons["results/report.html"] == "there is no report"
    assert not [each for each in checks if each["file"].startswith("results/f/")]


def test_a_folder_without_a_campaign_is_named(tmp_path, capsys):
    assert cli.main(["rederive", str(tmp_path)]) == 2
    assert "campaign.yaml" in capsys.readouterr().err
