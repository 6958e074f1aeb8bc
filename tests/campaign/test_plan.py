"""The plan: a function of spec, code and inputs, whatever has run and however it is run; bounds, ceilings, excess."""

import json
import os
import subprocess
import sys
import time

import pytest
import toy

from sophron.campaign.approval import amendment_draft
from sophron.campaign.planning import plan, snakemake_error
from sophron.campaign.spec import spec
from sophron.records.digests import step_identity
from sophron.records.errors import UserError

PROFILE = """\
cores: 7
set-threads: [b=5, c=3]
set-resources: [b:mem_mb=77]
default-resources: [mem_mb=1, runtime=1]
forceall: true
config: [campaign=/nowhere]
"""


def make(campaign) -> plan.Plan:
    return plan.make(campaign.root, spec.load(campaign.spec))


def frozen(campaign) -> tuple[str, str, str]:
    made = make(campaign)
    return made.listing, made.hash, json.dumps(made.statement(campaign.root))


def test_a_plan_is_the_same_before_during_and_after_a_run(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    campaign.edit("{factor: 2}", "{factor: 2, sleep_ms: 3000}")
    before = frozen(campaign)
    campaign.sign()
    command = [sys.executable, "-m", "snakemake", *toy.BASICS, "results/c/passed"]
    run = subprocess.Popen(command, cwd=campaign.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while "b-0" not in campaign.tries():
            assert run.poll() is None
            time.sleep(0.05)
        during = frozen(campaign)
        assert not (campaign.root / "results" / "c").exists()
        assert run.wait() == 0
    finally:
        run.kill()
        run.wait()
    assert before == during == frozen(campaign)


def test_a_plan_does_not_know_profiles_cores_overlays_or_the_environment(tmp_path, monkeypatch):
    campaign = toy.campaign(tmp_path, monkeypatch)
    before = frozen(campaign)
    for folder in (campaign.root / "profiles" / "default", campaign.root / "other"):
        folder.mkdir(parents=True)
        (folder / "config.v8+.yaml").write_text(PROFILE)
    monkeypatch.setenv("SNAKEMAKE_PROFILE", str(campaign.root / "other"))
    monkeypatch.setenv("SNAKEMAKE_CORES", "3")
    overlay = "[{stage: b, key: threads, value: 2, by: me, timestamp: '2026-01-01T00:00:00+00:00', reason: faster}]"
    (campaign.root / "mechanical.yaml").write_text(overlay)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert frozen(campaign) == before


def test_every_step_is_in_the_plan_once_and_sorted(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    made = make(toy.campaign(tmp_path, monkeypatch))
    names = sorted(step.name for step in made.steps)
    services = [f"{rule}-{stage}" for rule in ("accept", "verify") for stage in "abcdef"]
    assert names == sorted(["a", "b-0", "b-1", "c", "caveats", "d", "e", "f", "report", *services])
    lines = made.listing.splitlines()
    assert lines == sorted(lines)
    assert lines == sorted(step_identity(step.rule, step.shell, step.digest, step.wildcards) for step in made.steps)
    assert made.counts()["b", "b"] == 2
    assert next(iter(made.counts())) == ("a", "a")
    assert list(made.counts())[-1] == ("report", "report")


def test_bounds_are_ceilings_times_attempts_and_beyond_the_limits_is_said(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    services = 2 * 10 / 60  # verify and accept, ten minutes on one core each
    assert make(campaign).core_hours()["b"] == pytest.approx(2 * (2 * 10 / 60 * 3) + services)
    assert make(campaign).excess() == []
    campaign.edit("core_hours: 100", "steps: 19, core_hours: 1")
    steps, hours = make(campaign).excess()
    assert steps == "limits.steps: the plan has 21 steps, the limit is 19; raise it"
    assert hours.startswith("limits.core_hours: the ceilings add up to ")


def test_without_limits_the_plans_own_bounds_are_signed(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    campaign.edit("limits: {core_hours: 100}\n", "")
    made = make(campaign)
    assert made.excess() == []
    envelope = made.envelope()
    assert envelope["steps"] == len(made.steps)
    assert 0 <= envelope["core_hours"] - sum(made.core_hours().values()) < 0.01


def test_definitions_and_criteria_change_the_listing_and_a_ceiling_only_the_hash(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    first = make(campaign)
    campaign.edit("ceilings: {cores: 2, memory_mb: 600", "ceilings: {cores: 2, memory_mb: 601")
    ceiling = make(campaign)
    assert ceiling.listing == first.listing
    assert ceiling.hash != first.hash
    campaign.edit("weight: 0.5", "weight: 0.6")
    changed = {step.name for step in make(campaign).steps} - {
        step.name for step in make(campaign).steps if step.identity in ceiling.listing
    }
    assert changed == {"c", "accept-c"}
    campaign.edit("total > 400", "total > 401")
    changed |= {step.name for step in make(campaign).steps if step.identity not in ceiling.listing}
    assert changed == {"c", "accept-c", "verify-f"}


def test_a_host_that_overrides_a_digest_is_refused_and_one_that_adds_a_param_is_not(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    snakefile = campaign.root / "Snakefile"
    text = snakefile.read_text() + "\n\nuse rule c from sophron_workflow with:\n    params:\n        "
    before = make(campaign).listing
    snakefile.write_text(text + "colour=1\n")
    assert make(campaign).listing == before
    snakefile.write_text(text + f"digest='{'0' * 64}'\n")
    with pytest.raises(UserError, match="the rule c has another digest than its stage; use it without overriding"):
        make(campaign)


def test_a_snakefile_without_our_rules_or_with_a_fault_is_one_sentence(tmp_path, monkeypatch):
    campaign = toy.campaign(tmp_path, monkeypatch)
    snakefile = campaign.root / "Snakefile"
    snakefile.write_text("rule all:\n    input: []\n")
    with pytest.raises(UserError, match="the workflow has no step of this campaign; import its rules"):
        make(campaign)
    snakefile.write_text("rule all\n    input: []\n")
    with pytest.raises(UserError, match=r"the dry run failed: .*Snakefile:1: SyntaxError") as caught:
        make(campaign)
    assert "\n" not in str(caught.value)


def test_the_cause_of_a_failed_dry_run_is_the_exception_and_not_a_path():
    frame = '  File "/x/sophron/campaign/snakefile/dry_run.py", line 42, in shown\n    open(path)\n    ^^^^\n'
    cause = snakemake_error.cause(f"Traceback (most recent call last):\n{frame}WorkflowError:\nno access\n    to: x\n")
    assert cause == "WorkflowError: no access to: x"
    assert snakemake_error.cause("warning\nsophron: campaign.yaml:1: is empty\n") == "campaign.yaml:1: is empty"
    assert snakemake_error.cause("") == "it gave no reason"


def test_planning_a_draft_looks_at_the_draft_and_leaves_the_spec(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    campaign.sign()
    text = campaign.spec.read_bytes()
    amendment_draft.draft_amendment(campaign.root, "because", ["stages.c.definition.replicas=3"])
    drafted = plan.make(campaign.root, spec.load(campaign.root / "approvals" / spec.DRAFT_SPEC_NAME))
    assert sum(step.rule == "b" for step in drafted.steps) == 3
    assert sum(step.rule == "b" for step in make(campaign).steps) == 2
    assert campaign.spec.read_bytes() == text


def test_a_folder_without_a_snakefile_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="Snakefile: not found; copy the Snakefile of a campaign"):
        plan.dry_run(tmp_path, tmp_path / "Snakefile", forced=False)
