"""The review: what it holds for a first plan, an amendment and a signed one, in the terminal and as a page."""

import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
import toy
from html_page import Page

from sophron.campaign.approval import amendment_draft, approve
from sophron.campaign.approval.amendment_draft import Draft
from sophron.campaign.planning import plan
from sophron.campaign.review import review, review_page, review_text
from sophron.campaign.spec.pitfalls import Pitfall
from sophron.campaign.spec.spec import Spec, load
from sophron.cli import main
from sophron.interfaces.probe import Finding
from sophron.records.documents import load_yaml
from sophron.records.errors import UserError
from sophron.records.files import resource

EVIL = "<img src=x onerror=alert(1)>\x1b[2J\u202e</style><script>1</script>"


def pitfall(name: str) -> Pitfall:
    return Pitfall(name, f"About {name}", "what", "why", "do that", name, {}, (), Path())


FOUND = [
    (pitfall("quiet"), Finding("clear", "not there")),
    (pitfall("wet"), Finding("hit", "water <b>everywhere</b>")),
    (pitfall("dark"), Finding("unknown", "no light")),
]


def planned(spec: Spec, shells: dict[str, str] | None = None) -> plan.Plan:
    """The plan that a dry run would give, made by hand, so that thousands of steps cost nothing."""
    shell = "sophron {} --digest {{params.digest}}"
    steps = []
    for stage in spec.stages:
        digest = spec.definition_digest(stage.name)
        steps += [plan.PlannedStep(stage.name, shell, digest, wildcards) for wildcards in spec.steps(stage.name)]
        steps += [plan.PlannedStep(rule, shell, digest, {"stage": stage.name}) for rule in ("verify", "accept")]
    steps.append(plan.PlannedStep("report", shell, spec.report_digest(), {}))
    return plan.Plan(spec, tuple(sorted(steps, key=lambda step: step.identity)))


def made(root: Path, findings=(), amendment: Draft | None = None, closed=()) -> review.Review:
    """A review of the spec in `root`, without Snakemake."""
    spec = load(root / "campaign.yaml")
    proposal = approve.Proposal(root, planned(spec), '{"a": 1}\n', amendment)
    now = [replace(step, reason=f"Missing output files: results/{step.name}") for step in proposal.plan.steps]
    return review.Review(proposal, now, findings, closed)


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    return toy.campaign(tmp_path, monkeypatch)


def test_a_first_review_of_a_real_campaign(campaign):
    campaign.edit("status: verified", "status: UNVERIFIED")
    looked = review.collect(campaign.root, None, lambda _: FOUND)
    assert looked.closed == [
        "the assumption finite is UNVERIFIED; verify it and say so in campaign.yaml",
        "the pitfall wet was found: water <b>everywhere</b>",
    ]
    assert not looked.in_force
    assert [stage.name for stage in looked.stages] == ["a", "b", "c", "d", "e", "f", "report"]
    assert looked.stage("b").rules == {"b": 2, "verify": 1, "accept": 1}
    assert list(looked.stage("b").rules) == ["b", "verify", "accept"]
    # ceilings: 2 cores x 10 min x 3 tries, two steps; verify and accept 10 core-minutes each
    assert looked.stage("b").core_hours == pytest.approx(2 * 2 * 10 / 60 * 3 + 20 / 60)
    assert sum(one.steps for one in looked.waiting) == 21
    words, page = review_text.render(looked), Page(review_page.render(looked)).words
    assert "template debug: at most 30 steps (stage 6, attempt 5)" in words
    assert "debug at most 30" in page
    assert {one.reason.partition(";")[0] for one in looked.waiting} == {"missing output files"}
    words = review_text.render(looked)
    assert "The gate stays closed:" in words
    assert "--digest" not in words
    assert words.index("HIT") < words.index("UNKNOWN") < words.index("CLEAR")
    assert "UNVERIFIED  finite" in words
    assert "UNVERIFIED" in Page(review_page.render(looked)).words


def test_criteria_are_shown_with_what_they_are_and_the_numbers_that_they_name(tmp_path):
    text = resource("campaigns", "lj-liquid-viscosity", "campaign.yaml").read_text()
    justified = "    - {id: known, criterion: green_kubo.error, statement: S, verified_by: P, status: verified}\n"
    (tmp_path / "campaign.yaml").write_text(text.replace("  assumptions:\n", f"  assumptions:\n{justified}"))
    looked = made(tmp_path)
    for words in (review_text.render(looked), Page(review_page.render(looked)).words):
        plain = " ".join(words.split())
        assert "definition.sample_every = 5" in plain
        assert "definition.steps = 340000" in plain
        assert plain.count("(presence check)") == 2  # atoms and samples
        assert plain.count("(holds by construction)") == 3  # density, box and replicas
        assert "(holds the answer against a constant, see the assumption known)" in plain
    assert "no limit on steps in the spec: the plan's own bound is signed" in review_text.render(looked)


def test_who_is_asked_and_what_its_programs_get(campaign):
    adopted = campaign.root / "agents" / "debug.md"
    adopted.parent.mkdir()
    grants = "grants: {network: true, hosts: [api.crossref.org], mounts: [data], walltime_min: 7}"
    shipped = resource("workflow", "agents", "debug.md").read_text()
    adopted.write_text(shipped.replace("tools: []", f"tools: [run_command]\n{grants}"))
    campaign.spec.write_text(campaign.spec.read_text() + "agents: {by_name: {explain: {backend: ranked, rank: 2}}}\n")
    looked = review.collect(campaign.root, None, lambda _: [])
    words, page = review_text.render(looked), Page(review_page.render(looked)).words
    assert re.search(r"debug +heuristic +debug\n", words)
    assert re.search(r"explain +ranked of rank 2 +explain\n", words)
    assert "debug may use run_command; it and its programs get:" in words
    for line in (
        "network: YES, whatever this machine reaches",
        "its own tools ask api.crossref.org",
        "reads: data",
        "at most 7 minutes",
    ):
        assert line in words
        assert line in page
    shown = adopted.read_text()
    adopted.write_text(shown.replace("hosts: [api.crossref.org]", "hosts: ['*.org']"))
    with pytest.raises(UserError, match=r"debug.md:\d+: grants.hosts\[0\]"):
        review.collect(campaign.root, None, lambda _: [])
    adopted.write_text(shown.replace("mounts: [data]", "mounts: [../data]"))
    with pytest.raises(UserError, match=r'debug.md:\d+: grants.mounts\[0\]: has ".." in it'):
        review.collect(campaign.root, None, lambda _: [])


def test_signed_and_then_amended(campaign):
    campaign.sign()
    looked = review.collect(campaign.root, None, lambda _: [])
    assert looked.in_force
    assert looked.next_command == "snakemake"
    words = review_text.render(looked)
    assert "This plan is signed and in force." in words
    assert re.search(r"trusted to sign: ssh-ed25519 SHA256:", words)
    amendment_draft.draft_amendment(campaign.root, "more of <b>it</b>", ["stages.c.definition.weight=0.25"])
    looked = review.collect(campaign.root, None, lambda _: [])
    assert not looked.in_force
    assert [stage.name for stage in looked.invalidated] == ["c", "d", "f"]
    words = review_text.render(looked)
    assert "stages.c.definition.weight: 0.5 -> 0.25" in words
    assert re.search(r"together +9 steps +4.00 core-hours", words)
    page = Page(review_page.render(looked))
    assert "more of <b>it</b>" in page.words
    assert "invalidated by the amendment" in page.words


def test_an_amendment_that_removes_a_stage_and_one_that_adds_it_again(campaign):
    campaign.sign()
    campaign.finish_here()
    amendment_draft.draft_amendment(campaign.root, "not needed", removed=["stages.f"])
    looked = review.collect(campaign.root, None, lambda _: [])
    (removed,) = looked.invalidated
    assert (removed.name, removed.steps, removed.outputs, removed.removed) == ("f", 0, 5, True)
    words, page = review_text.render(looked), Page(review_page.render(looked)).words
    assert re.search(r"f +0 steps +0.00 core-hours +REMOVED; 5 files move to invalidated/v1\n", words)
    assert "f (removed)" in page
    assert main(["approve", str(campaign.root), "--key", str(campaign.key), "--digest", looked.proposal.digest]) == 0
    kept = [path for path in (campaign.root / "invalidated" / "v1" / "results" / "f").iterdir() if path.is_file()]
    assert len(kept) == removed.outputs
    amendment_draft.draft_amendment(campaign.root, "needed after all", withdraw=2)
    looked = review.collect(campaign.root, None, lambda _: [])
    assert looked.invalidated == []
    assert [(stage.name, stage.steps) for stage in looked.added] == [("f", 3)]
    assert re.search(r"adds .*\n +f +3 steps +1.33 core-hours", review_text.render(looked))
    assert "It adds f" in Page(review_page.render(looked)).words


def test_an_assumption_is_not_shown_as_verified_beside_the_hit_of_its_own_probe(campaign):
    text = campaign.spec.read_text()
    entries = "".join(
        f"    - {{id: of-{name}, statement: So it is., verified_by: 'probe {name}', status: verified}}\n"
        for name in ("quiet", "wet", "dark", "nobody")
    )
    campaign.spec.write_text(re.sub(r"  assumptions:.*?\n(?=\w)", f"  assumptions:\n{entries}", text, flags=re.DOTALL))
    looked = made(campaign.root, FOUND)
    assert [(item.id, item.status) for item in looked.assumptions] == [
        ("of-quiet", "verified"),
        ("of-wet", "REFUTED by its own probe"),
        ("of-dark", "not settled by its probe"),
        ("of-nobody", "verified"),
    ]
    assert "REFUTED by its own probe  of-wet" in review_text.render(looked)
    assert '<span class="tag bad">REFUTED by its own probe</span>' in review_page.render(looked)


def test_each_reason_of_a_closed_gate_is_one_item(campaign, capsys):
    reasons = ["a reason " + "that is far longer than a line of the terminal " * 3, "another"]
    shown = review_text.render(made(campaign.root, closed=reasons))
    assert [line[:4] for line in shown.splitlines() if line.startswith("  - ")] == ["  - ", "  - "]
    campaign.edit("status: verified", "status: UNVERIFIED")
    campaign.edit("core_hours: 100", "steps: 5, core_hours: 100")
    assert main(["approve", str(campaign.root), "--key", str(campaign.key), "--digest", "0" * 64]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "sophron approve: the gate stays closed:"
    assert [line[:4] for line in said[1:]] == ["  - ", "  - "]


def test_free_engine_text_outside_the_sandbox_is_shown_loudly(campaign):
    campaign.edit("      memory_mb: 200", "      memory_mb: 200\n      unsandboxed_fragments: true")
    looked = made(campaign.root)
    assert looked.unsandboxed == ["a"]
    assert "SANDBOX EXCEPTION: free engine text of a runs OUTSIDE the sandbox" in review_text.render(looked)
    assert "Free engine text of the stage a would run outside the sandbox" in Page(review_page.render(looked)).words


def test_what_strangers_write_neither_runs_nor_hides(campaign):
    text = campaign.spec.read_text()
    text = text.replace(
        "quantity: a sum",
        'quantity: "a sum of <img src=x onerror=alert(1)>\\u001b[2J\\u202e</style><script>1</script>"',
    )
    text = text.replace(
        "statement: The numbers are finite.", 'statement: "javascript:alert(1) \\u001b]0;x\\u0007 {{ 7 * 1234567 }}"'
    )
    campaign.spec.write_text(text)
    draft = Draft("", 2, [EVIL], EVIL, ["a"], "")
    looked = made(campaign.root, [(pitfall("evil"), Finding("unknown", EVIL))], draft, [EVIL])
    page, words = review_page.render(looked), review_text.render(looked)
    for shown in (page, words):
        assert not {"\x1b", "\u202e", "\x07", "8641969"} & set(re.findall("\x1b|\u202e|\x07|8641969", shown))
    parsed = Page(page)
    assert {"script", "img", "link", "iframe", "form", "object"}.isdisjoint(tag for tag, _ in parsed.tags)
    assert not any(name.startswith("on") or name == "style" for _, attrs in parsed.tags for name in attrs)
    assert "<img src=x onerror=alert(1)></style><script>1</script>" in parsed.words
    assert "The spec holds characters that cannot be seen." in parsed.words
    assert "characters that cannot be seen" in words


def test_the_page_asks_for_nothing_from_elsewhere(campaign):
    page = Page(review_page.render(made(campaign.root, FOUND)))
    policies = [attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policies[0]
    assert not [attrs for _, attrs in page.tags if {"src", "href", "action", "background"} & attrs.keys()]
    assert [tag for tag, _ in page.tags].count("h1") == 1
    assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")


def test_ten_thousand_steps_are_readable_quick_and_small(campaign):
    smoke = campaign.root.with_name("smoke")
    shutil.copytree(toy.DATA / "smoke", smoke)
    spec = (smoke / "campaign.yaml").read_text()
    (smoke / "campaign.yaml").write_text(re.sub(r"replicas: 2\b", "replicas: 2500", spec))
    looked = made(smoke)
    assert len(looked.proposal.plan.steps) == 4 * 2500 + 1 + 5 * 2 + 1
    begun = time.perf_counter()
    page, words = review_page.render(looked), review_text.render(looked)
    elapsed = time.perf_counter() - begun
    assert len(page) < 200_000
    assert len(words.splitlines()) < 100
    assert "… and 2,460 more, in approvals/plans/" in Page(page).words
    print(f"10,012 steps: {elapsed:.3f} s, {len(page)} bytes")


def test_every_word_of_the_spec_that_counts_is_shown(campaign):
    looked = made(campaign.root)
    words, page = review_text.render(looked), Page(review_page.render(looked)).words
    spec = load_yaml(campaign.spec).data
    for name, stage in spec["stages"].items():
        for criterion in stage["criteria"]:
            assert criterion["expression"] in words, name
            assert criterion["expression"] in page, name
            assert criterion["statement"] in page, name
        for key, value in stage["definition"].items():
            assert f"{key} {value}" in words, name
            assert key in page, name
    assert all(step.identity[:12] in page for step in looked.proposal.plan.steps)


def test_the_reason_is_given_without_files():
    reason = (
        "Missing output files: results/a; b/x, results/c; Code has changed since last execution; Updated input files: y"
    )
    assert (
        review.reason_without_files(reason)
        == "missing output files; code has changed since last execution; updated input files"
    )
    assert len(review.reason_without_files("Long " * 50)) == review.REASON_LENGTH


def test_the_verb_writes_both_forms_and_prints_the_digits(campaign, capsys):
    assert main(["review", str(campaign.root), "--no-probes"]) == 0
    words = capsys.readouterr().out
    assert "none probed" in words
    assert (campaign.root / "review.html").read_text().startswith("<!DOCTYPE html>")
    (command,) = re.findall(rf"Next, in {campaign.root}: (.*)", words)
    assert main(["review", str(campaign.root), "--digest"]) == 0
    digits = capsys.readouterr().out
    assert re.fullmatch(r"[0-9a-f]{64}\n", digits)
    assert command == f"sophron approve --key ~/.ssh/id_ed25519 --digest {digits.strip()}"


def test_the_verb_says_in_one_sentence_what_a_person_did_wrong(campaign, capsys):
    campaign.edit("units: none", "unit: none")
    assert main(["review", str(campaign.root)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(
        r'sophron review: .*campaign.yaml:7: question.unit: unknown key; did you mean "units"\?\n', captured.err
    )
