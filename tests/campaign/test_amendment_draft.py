"""Amendments: what a draft says, which stages it invalidates, withdrawals, and what is refused."""

import json

import pytest
import toy
import yaml

from sophron.campaign.approval import amendment_draft
from sophron.campaign.planning import campaign_agents
from sophron.campaign.review import review
from sophron.campaign.spec import resource_requests, spec
from sophron.cli import main
from sophron.records import OVERLAYS_NAME
from sophron.records.errors import UserError


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    signed = toy.campaign(tmp_path, monkeypatch)
    signed.sign()
    return signed


def load(campaign, version=None):
    name = spec.DRAFT_SPEC_NAME if version is None else f"log/{version:04d}.campaign.yaml"
    return spec.load(campaign.root / "approvals" / name)


@pytest.mark.parametrize(
    ("setting", "change", "invalidated"),
    [
        ("stages.a.definition.first=3", "stages.a.definition.first: 1 -> 3", "abcdef"),
        ("stages.b.definition.factor=2.5", "stages.b.definition.factor: 2 -> 2.5", "bcdf"),
        ("stages.c.definition.replicas=3", "stages.c.definition.replicas: 2 -> 3", "cdf"),
        ("stages.d.definition.sleep_ms=1", "stages.d.definition.sleep_ms: added 1", "d"),
        ("stages.e.definition.power=3", "stages.e.definition.power: 2 -> 3", "ef"),
        ("seed=8", "seed: 7 -> 8", "abcdef"),
        (
            "stages.e.criteria.total.expression=total > 1",
            "stages.e.criteria[0].expression: total == 30 -> total > 1",
            "",
        ),
        ("stages.a.criteria.1.statement=Other words.", "stages.a.criteria[1].statement: All numbers are there.", ""),
        ("stages.a.mechanical.retries=5", "stages.a.mechanical.retries: 2 -> 5", ""),
        ("limits.steps=60", "limits.steps: added 60", ""),
        ("method.name=counting", "method.name: addition -> counting", ""),
    ],
)
def test_one_change_is_named_and_invalidates_its_stage_and_what_builds_on_it(campaign, setting, change, invalidated):
    drafted = amendment_draft.draft_amendment(campaign.root, "because", [setting])
    (said,) = drafted.changes
    assert said.startswith(change)
    assert drafted.invalidated_stages == list(invalidated)
    assert drafted.version == load(campaign).version == 2
    assert amendment_draft.read_draft(campaign.root).changes == drafted.changes


def test_an_edited_spec_is_the_draft_and_comments_stay(campaign):
    text = campaign.spec.read_text()
    campaign.spec.write_text(text.replace("{offset: 100}", "{offset: 101}  # a better one"))
    drafted = amendment_draft.draft_amendment(campaign.root, "because")
    assert drafted.changes == ["stages.d.definition.offset: 100 -> 101"]
    wanted = campaign.spec.read_text().replace("version: 1", "version: 2")
    assert (campaign.root / "approvals" / spec.DRAFT_SPEC_NAME).read_text() == wanted


def test_a_setting_leaves_everything_else_as_it_was(campaign):
    amendment_draft.draft_amendment(campaign.root, "because", ["stages.c.definition.weight=0.25"])
    before, after = spec.load(campaign.spec).data, load(campaign).data
    assert list(amendment_draft.differences(before, after)) == ["stages.c.definition.weight: 0.5 -> 0.25"]
    assert "# A campaign of plain sums" in (campaign.root / "approvals" / spec.DRAFT_SPEC_NAME).read_text()


@pytest.mark.parametrize("value", ["no", "'1e6'", "'12'", "2024-01-01", "'null'", "0x10 units"])
def test_text_in_a_setting_is_the_same_text_in_the_spec(campaign, value):
    amendment_draft.draft_amendment(campaign.root, "because", [f"question.units={value}"])
    assert load(campaign).data["question"]["units"] == value.strip("'")


@pytest.mark.parametrize("value", ["a: b", "{x: 1}", "1_000", "", "1e6"])
def test_a_setting_that_is_no_text_is_not_taken_for_text(campaign, value):
    with pytest.raises(UserError, match=r"question\.units: .* is not of type string|is not YAML"):
        amendment_draft.draft_amendment(campaign.root, "because", [f"question.units={value}"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([], r"a draft of version 2 waits for a signature \(seed: 7 -> 9\) and holds all of this already"),
        (["seed=7"], "the amendment changes nothing that was signed"),
        (["stages.c.definition.weight=0.50"], "holds all of this already"),
        (["version=9"], "holds all of this already"),
        (["stages.x.definition.first=1"], 'there is no "x"; known here: a, b, c, d, e, f'),
        (["stages.a.criteria.7.statement=x"], 'there is no "7"'),
        (["stages.a.criteria.9=x"], "there is no entry 9; entries count from 0"),
        (["seed.x=1"], "seed holds no keys"),
        (["seed"], "has no value; write path.to.key=value"),
        (["seed=[1"], "is not YAML"),
        (["stages.a.definition.firts=1"], 'stages.a.definition.firts: unknown key; did you mean "first"'),
        (["stages.a.definition.first=x"], 'stages.a.definition.first: "x" is not of type number'),
        (["stages.a.mechanical.memory_mb=601"], "the stage may ask for 601, above its ceiling 600; raise it"),
        (["campaign=other-name"], "the campaign id arithmetic-toy cannot change"),
    ],
)
def test_what_cannot_be_drafted_is_one_sentence_and_leaves_no_trace(campaign, settings, words):
    older = amendment_draft.draft_amendment(campaign.root, "an older draft", ["seed=9"])
    with pytest.raises(UserError, match=words) as caught:
        amendment_draft.draft_amendment(campaign.root, "", settings)
    assert "\n" not in str(caught.value)
    assert amendment_draft.read_draft(campaign.root).changes == older.changes


@pytest.mark.parametrize("last", ["terms", "1"])
def test_an_entry_of_a_list_is_removed_by_its_id_or_number(campaign, last):
    drafted = amendment_draft.draft_amendment(campaign.root, "because", removed=[f"stages.a.criteria.{last}"])
    assert drafted.changes[0].startswith("stages.a.criteria")
    (left,) = yaml.safe_load(drafted.text)["stages"]["a"]["criteria"]
    assert left["id"] == "total"


def test_a_draft_that_waits_is_added_to(campaign):
    amendment_draft.draft_amendment(campaign.root, "The error was too large.", ["stages.c.definition.weight=0.25"])
    drafted = amendment_draft.draft_amendment(
        campaign.root, "More room.", ["limits.core_hours=200"], removed=["stages.f"]
    )
    assert drafted.rationale == "The error was too large. More room."
    assert [change.split(":")[0] for change in drafted.changes] == [
        "limits.core_hours",
        "stages.c.definition.weight",
        "stages.f",
    ]
    assert drafted.invalidated_stages == ["c", "d", "f"]
    again = amendment_draft.draft_amendment(campaign.root, "", ["stages.c.definition.weight=0.125"])
    assert "stages.c.definition.weight: 0.5 -> 0.125" in again.changes
    assert len(again.changes) == 3
    with pytest.raises(UserError, match=r"waits for a signature .* a withdrawal does not add to it: forget it first"):
        amendment_draft.draft_amendment(campaign.root, "because", withdraw=1)
    block = yaml.safe_load(campaign.spec.read_text())["stages"]["f"]
    undone = ["stages.c.definition.weight=0.5", "limits.core_hours=100", f"stages.f={json.dumps(block)}"]
    with pytest.raises(UserError, match=r"changes nothing .* to forget the draft that waits: sophron amend --drop"):
        amendment_draft.draft_amendment(campaign.root, "", undone)
    assert amendment_draft.read_draft(campaign.root).changes == again.changes


def test_an_edited_spec_adds_to_the_draft_only_with_all_that_the_draft_changes(campaign):
    campaign.edit("{offset: 100}", "{offset: 101}")
    amendment_draft.draft_amendment(campaign.root, "because")
    campaign.edit("{power: 2}", "{power: 3}")
    drafted = amendment_draft.draft_amendment(campaign.root, "and")
    assert drafted.changes == ["stages.d.definition.offset: 100 -> 101", "stages.e.definition.power: 2 -> 3"]
    amendment_draft.draft_amendment(campaign.root, "too", ["seed=8"])  # the file has nothing that the draft lacks
    campaign.edit("{scale: 10}", "{scale: 11}")
    for settings in ([], ["seed=9"]):
        with pytest.raises(UserError, match=r"waits whose changes it lacks \(seed: 7 -> 8\); write them into the file"):
            amendment_draft.draft_amendment(campaign.root, "lost", settings)
    assert len(amendment_draft.read_draft(campaign.root).changes) == 3


def test_the_verb_says_what_it_adds_to_and_what_keeps_the_gate_closed(campaign, capsys):
    words = ["amend", str(campaign.root), "--set"]
    assert main([*words, "stages.c.definition.replicas=4", "--rationale", "more"]) == 0
    assert "This adds to" not in capsys.readouterr().out
    assert main([*words, "limits.core_hours=1"]) == 0
    said = capsys.readouterr().out
    assert "This adds to the draft of version 2 that waited for a signature.\n" in said
    assert "  stages.c.definition.replicas: 2 -> 4\n" in said
    assert "As it stands it cannot be signed:\n  - limits.core_hours: the ceilings add up to" in said


def runs(campaign, stage, key):
    block = spec.load(campaign.spec).mechanical_block(stage)
    return getattr(resource_requests.overlaid(block, stage, campaign.root), key)


def test_a_signed_change_of_a_mechanical_key_ends_its_older_overlays(campaign):
    for stage in "abc":
        resource_requests.add_overlay(campaign.root, stage, "threads", 2, by="debug agent", reason="slow")
    drafted = amendment_draft.draft_amendment(campaign.root, "because", ["stages.a.mechanical.memory_mb=300"])
    drafted = amendment_draft.draft_amendment(campaign.root, "because", ["stages.b.mechanical.choices={threads: [1]}"])
    drafted = amendment_draft.draft_amendment(campaign.root, "because", ["stages.c.mechanical.threads=1"])
    looked = review.collect(campaign.root, None, lambda _: [])
    assert looked.overlay_lines == [
        "a.threads: the overlay 2 by debug agent runs, not 1",
        "b.threads: the overlay 2 by debug agent ends with this signature; 1 runs",
        "c.threads: the overlay 2 by debug agent runs, not 1",
    ]
    amendment_draft.draft_amendment(
        campaign.root, "because", ["stages.c.mechanical.ceilings.cores=3", "stages.c.mechanical.threads=3"]
    )
    assert drafted.invalidated_stages == []
    campaign.sign()
    assert [runs(campaign, stage, "threads") for stage in "abc"] == [2, 1, 3]
    assert runs(campaign, "a", "memory_mb") == 300
    campaign.amend("stages.c.mechanical.threads=1")
    assert runs(campaign, "c", "threads") == 1  # a withdrawn value does not bring the overlay back
    log = (campaign.root / OVERLAYS_NAME).read_text().splitlines()
    assert len(log) == 6  # nothing is taken out of it
    resource_requests.add_overlay(campaign.root, "c", "threads", 2, by="debug agent", reason="slow again")
    assert runs(campaign, "c", "threads") == 2
    campaign.amend("stages.f.mechanical.memory_mb=300", "stages.d.definition.offset=101")
    assert runs(campaign, "c", "threads") == 2


def test_a_stage_that_comes_back_does_not_bring_its_overlays(campaign):
    resource_requests.add_overlay(campaign.root, "f", "threads", 2, by="debug agent", reason="slow")
    amendment_draft.draft_amendment(campaign.root, "because", removed=["stages.f"])
    campaign.sign()
    campaign.amend(withdraw=2)
    assert runs(campaign, "f", "threads") == 1


def test_a_rationale_and_a_signature_come_first(campaign, tmp_path, monkeypatch):
    with pytest.raises(UserError, match="an amendment needs its reason: --rationale 'why'"):
        amendment_draft.draft_amendment(campaign.root, "  ", ["seed=8"])
    (tmp_path / "fresh").mkdir()
    fresh = toy.campaign(tmp_path / "fresh", monkeypatch)
    with pytest.raises(UserError, match="nothing is signed yet, so there is nothing to amend"):
        amendment_draft.draft_amendment(fresh.root, "because", ["seed=8"])


def test_a_version_that_no_line_of_its_own_holds_is_said(campaign):
    campaign.edit("version: 1", '"version": 1')
    campaign.edit("seed: 7", "seed: 8")
    with pytest.raises(UserError, match="the version cannot be counted up; write it as `version: 1` on a line of its"):
        amendment_draft.draft_amendment(campaign.root, "because")


def test_a_faulty_edited_spec_is_shown_with_its_own_file_and_line(campaign):
    campaign.edit("{offset: 100}", "{offste: 100}")
    with pytest.raises(UserError, match=r"toy/campaign\.yaml:\d+: stages\.d\.definition|arithmetic/campaign\.yaml:\d+"):
        amendment_draft.draft_amendment(campaign.root, "because")


def test_a_withdrawal_takes_the_content_before_and_counts_on(campaign):
    campaign.amend("seed=8")
    campaign.amend("stages.d.definition.offset=101")
    drafted = campaign.amend(withdraw=2)
    assert drafted.version == 4
    assert drafted.changes == ["seed: 8 -> 7", "stages.d.definition.offset: 101 -> 100"]
    assert drafted.invalidated_stages == list("abcdef")
    assert list(amendment_draft.differences(load(campaign, 1).data, spec.load(campaign.spec).data)) == []
    with pytest.raises(UserError, match="version 9 cannot be withdrawn; versions with a predecessor: 2, 3, 4"):
        amendment_draft.draft_amendment(campaign.root, "because", withdraw=9)
    with pytest.raises(UserError, match="version 1 cannot be withdrawn"):
        amendment_draft.draft_amendment(campaign.root, "because", withdraw=1)


def test_an_optional_stage_may_go_and_come_back(campaign):
    text = campaign.spec.read_text()
    start, end = text.index("  f:\n"), text.index("limits:")
    campaign.spec.write_text(text[:start] + text[end:])
    drafted = amendment_draft.draft_amendment(campaign.root, "because")
    assert drafted.invalidated_stages == ["f"]
    campaign.sign()
    drafted = campaign.amend(withdraw=2)
    assert drafted.invalidated_stages == []
    assert "f" in spec.load(campaign.spec).data["stages"]


def test_line_ends_of_windows_survive_an_amendment(campaign):
    campaign.spec.write_bytes(campaign.spec.read_bytes().replace(b"\n", b"\r\n"))
    drafted = amendment_draft.draft_amendment(campaign.root, "because", ["seed=8"])
    assert drafted.changes == ["seed: 7 -> 8"]
    campaign.sign()
    assert b"\r" not in campaign.spec.read_bytes()  # a setting is written by an editor of YAML, which has its own
    campaign.spec.write_bytes(campaign.spec.read_bytes().replace(b"seed: 8", b"seed: 9").replace(b"\n", b"\r\n"))
    assert amendment_draft.draft_amendment(campaign.root, "because").changes == ["seed: 8 -> 9"]
    assert campaign.sign()["version"] == 3
    assert b"version: 3\r\n" in campaign.spec.read_bytes()


def test_an_approval_from_before_agents_were_signed_names_none_and_a_later_one_does(campaign):
    now = spec.load(campaign.spec)
    assert amendment_draft.agents_changed(campaign.root, now, {}) == []
    signed = {"caveats": campaign_agents.digest_of(campaign.root, now, "caveats"), "debug": "0" * 64}
    said = amendment_draft.agents_changed(campaign.root, now, signed)
    assert said == ["debug"]
