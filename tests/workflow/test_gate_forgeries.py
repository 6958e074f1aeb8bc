"""Forgeries and accidents against the gate: each is refused with one sentence that names the cause, nothing is lost,
and after the remedy no finished step runs again.
"""

import argparse
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import toy
from toy import Campaign

from sophron.campaign.approval import amendment_draft, approval_journal, approve, known_signers
from sophron.campaign.execution import campaign_lock, outcome_store, run_step
from sophron.campaign.snakefile import onstart
from sophron.campaign.spec import resource_requests, spec
from sophron.cli import gate
from sophron.records import approvals, digests, signatures
from sophron.records.digests import file_digest
from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.science.lammps import input_checker

NEW_SNAKEFILE = resource("campaign", "templates", "new", "Snakefile")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A campaign that was signed and ran to its end; its folder is copied for every case."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        toy.plan_here(monkeypatch)
        campaign = toy.campaign(tmp_path_factory.mktemp("finished"), monkeypatch)
        campaign.sign()
        campaign.complete("--quiet", "all")
        yield campaign


@pytest.fixture
def campaign(finished, tmp_path, monkeypatch):
    """A finished campaign of one's own, which its person signed here."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    shutil.copytree(finished.root, tmp_path / "toy", symlinks=True)
    copy = Campaign(tmp_path / "toy", finished.key)
    known_signers.remember(approvals.signed_gate(copy.root))
    return copy


def claim(campaign: Campaign) -> approvals.Claim:
    """What step `c` says of itself, exactly as its rule calls it."""
    digest = spec.load(campaign.spec).definition_digest("c")
    line = "stage c --gate approvals/gate.json --outcome results/c/outcome.json --log logs/c/c.log --cores 1"
    argv = [*line.split(), "--memory-mb", "200", "--runtime-min", "5", "--digest", digest]
    return approvals.Claim("c", digest, "c", {}, argv, cores=1, memory_mb=200, runtime_min=5)


def step(campaign: Campaign) -> None:
    """The check of a step, which no missing hook and no compute node avoids."""
    approvals.require_approved(claim(campaign), campaign.root)


def start(campaign: Campaign) -> None:
    """The check at the start of a workflow, which knows this user's own configuration too."""
    try:
        onstart.take(campaign.root)
    finally:
        while onstart._held:
            onstart._held.pop().release()


def gate_rule(campaign: Campaign) -> None:
    """What the rule `gate` runs, once Snakemake has removed the gate file."""
    try:
        gate.run(argparse.Namespace(gate=campaign.gate, log=None))
    finally:
        assert not campaign.gate.exists()


def sign(campaign: Campaign) -> None:
    """Look at the plan and sign it."""
    campaign.sign()


def finish(campaign: Campaign) -> None:
    """What every Snakemake does first."""
    approval_journal.finish(campaign.root)


def put_gate(campaign: Campaign, record: dict, key: Path, campaign_id: str = "arithmetic-toy") -> None:
    """A gate file with this content, signed with this key."""
    text = json.dumps(record, indent=2, sort_keys=True) + "\n"
    signature = signatures.sign(text.encode(), key, campaign_id)
    campaign.gate.write_text(json.dumps({"record": text, "signature": signature}))


def record_of(campaign: Campaign) -> dict:
    """The signed record in the gate file."""
    return json.loads(json.loads(campaign.gate.read_text())["record"])


# Each case: what somebody did, who refuses it, with which words, and what makes it good again.


def no_signature(campaign):
    gate = json.loads(campaign.gate.read_text())
    campaign.gate.write_text(json.dumps(gate | {"signature": ""}))


def half_a_gate_file(campaign):
    campaign.gate.write_text(campaign.gate.read_text()[:400])


def no_gate_file(campaign):
    campaign.gate.unlink()


def rolled_back_without_a_gate_file(campaign):
    """The same, and the gate file left out, so that the log would say what is in force."""
    rolled_back_folder(campaign)
    campaign.gate.unlink()


def edited_without_a_gate_file(campaign):
    edited_definition(campaign)
    campaign.gate.unlink()


def revoked_without_a_gate_file(campaign):
    revoked_key(campaign)
    campaign.gate.unlink()


def foreign_newest_record_without_a_gate_file(campaign):
    """A record of somebody else's at the end of the log, where the gate file would be written from."""
    record = record_of(campaign)
    record |= {"envelope": record["envelope"] | {"core_hours": 1e9}, "previous": approvals.newest(campaign.root).hash}
    put_gate(campaign, record, toy.make_key(campaign.root.parent / "mallory"))
    gate = json.loads(campaign.gate.read_text())
    campaign.gate.unlink()
    log = campaign.root / "approvals" / "log"
    (log / "0002.json").write_text(gate["record"])
    (log / "0002.sig").write_text(gate["signature"])


def raised_envelope(campaign):
    gate = json.loads(campaign.gate.read_text())
    campaign.gate.write_text(
        json.dumps(gate | {"record": gate["record"].replace('"core_hours": 100', '"core_hours": 999')})
    )


def other_key(campaign):
    put_gate(campaign, record_of(campaign), toy.make_key(campaign.root.parent / "mallory"))


def second_key_under_the_same_name(campaign):
    """Everything consistent, log included, but signed with a key that the user never trusted."""
    mallory = toy.make_key(campaign.root.parent / "mallory")
    signers = campaign.root / "approvals" / "allowed_signers"
    signers.write_text(
        signers.read_text() + approve.signer_line("alex", signatures.public_key(mallory), "arithmetic-toy")
    )
    forged = record_of(campaign) | {"signers": file_digest(signers)}
    put_gate(campaign, forged, mallory)
    gate = json.loads(campaign.gate.read_text())
    (campaign.root / "approvals" / "log" / "0001.json").write_text(gate["record"])
    (campaign.root / "approvals" / "log" / "0001.sig").write_text(gate["signature"])


def restore_approvals(campaign, finished):
    shutil.rmtree(campaign.root / "approvals")
    shutil.copytree(finished.root / "approvals", campaign.root / "approvals")


def added_signer(campaign):
    mallory = signatures.public_key(toy.make_key(campaign.root.parent / "mallory"))
    with (campaign.root / "approvals" / "allowed_signers").open("a") as stream:
        stream.write(approve.signer_line("mallory", mallory, "arithmetic-toy"))


def removed_signers(campaign):
    (campaign.root / "approvals" / "allowed_signers").unlink()


def restore_signers(campaign, finished):
    shutil.copy(finished.root / "approvals" / "allowed_signers", campaign.root / "approvals")


def revoked_key(campaign):
    (campaign.root / "approvals" / "revoked_keys").write_text(signatures.public_key(campaign.key) + "\n")


def forgotten_revocation(campaign):
    """A key is revoked, then its line is gone again: this user's own configuration knows better."""
    revoked_key(campaign)
    known_signers.remember_keys(campaign.root, "arithmetic-toy")  # as `sophron signer revoke` does
    (campaign.root / "approvals" / "revoked_keys").unlink()


def revoke_again(campaign, _):
    """The key of this campaign was revoked for good: another folder of the same campaign is signed with another."""
    known_signers._path().unlink()


def forgotten_by_the_campaign(campaign):
    """A revocation that stands in the signed record, seen by a step that knows no user's configuration."""
    maria = toy.make_key(campaign.root.parent / "maria")
    (campaign.root / "approvals" / "revoked_keys").write_text(f"{signatures.public_key(maria)}\n")
    campaign.sign()
    (campaign.root / "approvals" / "revoked_keys").unlink()


def restore_revoked(campaign, _):
    maria = signatures.public_key(campaign.root.parent / "maria")
    (campaign.root / "approvals" / "revoked_keys").write_text(f"{maria}\n")


def copied_and_signed_by_another(campaign):
    """A copy of the folder, in which everything is consistent under a key that the user never saw."""
    added_signer(campaign)
    content = json.loads(known_signers._path().read_text())
    moved = {key.replace("/toy", "/the-original"): entry for key, entry in content.items()}
    known_signers._path().write_text(json.dumps(moved))


def unrevoke(campaign, _):
    (campaign.root / "approvals" / "revoked_keys").unlink()


def other_campaign(campaign):
    record = record_of(campaign) | {"campaign": "another-one"}
    put_gate(campaign, record, campaign.key, "another-one")


def other_campaigns_spec(campaign):
    campaign.edit("campaign: arithmetic-toy", "campaign: another-one")


def edited_definition(campaign):
    campaign.edit("weight: 0.5", "weight: 0.6")


def unedit_definition(campaign, _):
    campaign.edit("weight: 0.6", "weight: 0.5")


def edited_criterion(campaign):
    campaign.edit("total > 400", "total > 4")


def unedit_criterion(campaign, _):
    campaign.edit("total > 4", "total > 400")


def restore_spec(campaign, finished):
    shutil.copy(finished.spec, campaign.spec)


def edited_snakefile(campaign):
    with (campaign.root / "Snakefile").open("a") as stream:
        stream.write("\n\nrule extra:\n    shell:\n        'true'\n")


def edited_list_of_steps(campaign):
    (path,) = (campaign.root / "approvals" / "plans").glob("*.steps")
    path.write_text(path.read_text() + "f" * 64 + "\n")


def no_list_of_steps(campaign):
    shutil.rmtree(campaign.root / "approvals" / "plans")


def symlinked_gate(campaign):
    away = campaign.root.parent / "elsewhere.json"
    campaign.gate.rename(away)
    campaign.gate.symlink_to(away)


def unlink_gate_and_sign(campaign, _):
    campaign.gate.unlink()
    campaign.sign()


def symlinked_folder(campaign):
    away = campaign.root.parent / "elsewhere"
    (campaign.root / "approvals").rename(away)
    (campaign.root / "approvals").symlink_to(away)


def move_folder_back(campaign, _):
    (campaign.root / "approvals").unlink()
    (campaign.root.parent / "elsewhere").rename(campaign.root / "approvals")


def lost_record(campaign):
    """One of three; neither the gate file nor the newest record shows it."""
    campaign.sign()
    campaign.sign()
    (campaign.root / "approvals" / "log" / "0002.json").rename(campaign.root.parent / "0002.json")


def relog(campaign, _):
    (campaign.root.parent / "0002.json").rename(campaign.root / "approvals" / "log" / "0002.json")


def no_log(campaign):
    shutil.rmtree(campaign.root / "approvals" / "log")


def replayed_gate(campaign):
    old = campaign.gate.read_bytes()
    campaign.amend("stages.f.mechanical.retries=3")
    campaign.gate.write_bytes(old)


def replayed_version(campaign):
    """An older gate file together with its spec."""
    old = campaign.gate.read_bytes(), campaign.spec.read_bytes()
    campaign.amend("stages.f.mechanical.retries=3")
    campaign.gate.write_bytes(old[0])
    campaign.spec.write_bytes(old[1])


def sign_newest_spec(campaign, _):
    newest = max((campaign.root / "approvals" / "log").glob("*.campaign.yaml"))
    shutil.copy(newest, campaign.spec)
    campaign.sign()


def rolled_back_folder(campaign):
    """The whole folder as it was before an amendment; only the user's own configuration can know."""
    shutil.copytree(campaign.root / "approvals", campaign.root.parent / "backup")
    old = campaign.spec.read_bytes()
    campaign.amend("stages.f.mechanical.retries=3")
    shutil.rmtree(campaign.root / "approvals")
    shutil.copytree(campaign.root.parent / "backup", campaign.root / "approvals")
    campaign.spec.write_bytes(old)


def forged_journal(campaign):
    gate = json.loads(campaign.gate.read_text())
    content = {"record": gate["record"], "signature": "", "spec_text": campaign.spec.read_text()}
    content["signers_text"] = (campaign.root / "approvals" / "allowed_signers").read_text()
    (campaign.root / "approvals" / "journal.json").write_text(json.dumps(content))


def replayed_journal(campaign):
    forged_journal(campaign)
    path = campaign.root / "approvals" / "journal.json"
    content = json.loads(path.read_text())
    path.unlink()
    gate = json.loads(campaign.gate.read_text())
    campaign.amend("stages.f.mechanical.retries=3")
    path.write_text(json.dumps(content | {"signature": gate["signature"]}))


def remove_journal(campaign, _):
    (campaign.root / "approvals" / "journal.json").unlink()


def beyond_the_envelope(campaign):
    (campaign.root / "records" / "usage.json").write_text('{"core_seconds": 360000.0}')


def raise_envelope(campaign, _):
    campaign.amend("limits.core_hours=200")


def lying_draft(campaign):
    amendment_draft.draft_amendment(campaign.root, "only words", ["stages.a.definition.first=2"])
    path = campaign.root / "approvals" / "draft.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"invalidated_stages": [], "changes": ["a comment"]}))


def drop_draft(campaign, _):
    for path in (campaign.root / "approvals").glob("draft*"):
        path.unlink()


def stale_draft(campaign):
    amendment_draft.draft_amendment(campaign.root, "more tries", ["stages.a.mechanical.retries=4"])
    kept = {path: path.read_bytes() for path in (campaign.root / "approvals").glob("draft*")}
    drop_draft(campaign, None)
    campaign.sign()
    for path, content in kept.items():
        path.write_bytes(content)


def overlay_never_signed(campaign):
    overlay = "[{stage: c, key: threads, value: 64, by: an agent, timestamp: '2026-01-01', reason: faster}]"
    (campaign.root / "mechanical.yaml").write_text(overlay)


def overlaid(campaign):
    resource_requests.overlaid(spec.load(campaign.spec).data["stages"]["c"]["mechanical"], "c", campaign.root)


def remove_overlay(campaign, _):
    (campaign.root / "mechanical.yaml").unlink()


def as_it_is(*_):
    """Nothing has to be done."""


def claims(**changes) -> Callable:
    def attempt(campaign):
        approvals.require_approved(claim(campaign)._replace(**changes), campaign.root)

    return attempt


def other_shell_line(campaign):
    argv = claim(campaign).argv
    approvals.require_approved(claim(campaign)._replace(argv=[*argv[:-2], "--extra", *argv[-2:]]), campaign.root)


def gate_elsewhere(campaign):
    away = campaign.root / "results" / "gate.json"
    shutil.copy(campaign.gate, away)
    try:
        run_step.execute(run_step.Order(claim(campaign), away, campaign.root / "results" / "c" / "outcome.json"), None)
    finally:
        away.unlink()


def upstream_of(stage):
    def attempt(campaign):
        loaded = spec.load(campaign.spec)
        outcome_store.upstream(campaign.root, loaded, loaded.stage(stage), {})

    return attempt


def outcome_of_another_definition(campaign):
    path = campaign.root / "results" / "c" / "outcome.json"
    path.write_text(path.read_text().replace(spec.load(campaign.spec).definition_digest("c"), "0" * 64))


def restore_outcome(campaign, finished):
    shutil.copy2(finished.root / "results" / "c" / "outcome.json", campaign.root / "results" / "c" / "outcome.json")


def own_models(campaign):
    """Another provider behind a name that was signed, and prices that make a cap of dollars mean nothing."""
    (campaign.root / "config").mkdir()
    (campaign.root / "config" / "models.yaml").write_text(
        "models:\n  claude-opus: {provider: openai, name: other, price_in: 0, price_out: 0, key_env: OTHER_SECRET}\n"
    )


def second_driver(campaign):
    with campaign_lock.driver_lock(campaign.root):
        start(campaign)


def sign_while_it_runs(campaign):
    with campaign_lock.driver_lock(campaign.root):
        campaign.sign()


def sign_while_a_step_runs(campaign):
    with campaign_lock.FileLock(campaign.root / campaign_lock.STEPS_LOCK, shared=True):
        campaign.sign()


def nothing_happened(_):
    """The attempt itself is the forgery."""


def unedit_and_restore(campaign, finished):
    unedit_definition(campaign, finished)
    approval_journal.restore_gate(campaign.root)


def unrevoke_and_restore(campaign, finished):
    unrevoke(campaign, finished)
    approval_journal.restore_gate(campaign.root)


@dataclass(frozen=True)
class Case:
    """forge: what somebody did; attempt: who is asked then; words: of the refusal; remedy: what a person does."""

    forge: Callable
    attempt: Callable
    words: str
    remedy: Callable = lambda campaign, _: campaign.sign()


CASES = [
    Case(no_signature, step, "the signature of alex does not fit|is not valid"),
    Case(half_a_gate_file, step, "is not a gate file any more; sign again: sophron approve"),
    Case(no_gate_file, step, r"not approved yet; look at it and sign: sophron review \S+, sophron approve \S+"),
    Case(rolled_back_without_a_gate_file, start, "the folder was rolled back"),
    Case(rolled_back_without_a_gate_file, gate_rule, "the folder was rolled back"),
    Case(edited_without_a_gate_file, gate_rule, "campaign.yaml was changed since version 1", unedit_and_restore),
    Case(revoked_without_a_gate_file, gate_rule, "the key of alex is revoked", unrevoke_and_restore),
    Case(
        foreign_newest_record_without_a_gate_file,
        gate_rule,
        "the signature of alex does not fit what was signed",
        restore_approvals,
    ),
    Case(raised_envelope, step, "the signature of alex does not fit what was signed"),
    Case(other_key, step, "the signature of alex does not fit what was signed, or its key is not trusted"),
    Case(second_key_under_the_same_name, start, "has a key that you never trusted; remove it", restore_approvals),
    Case(added_signer, step, "the list of trusted signers was changed since the approval", restore_signers),
    Case(added_signer, sign, "has a key that you never trusted; remove it", restore_signers),
    Case(
        copied_and_signed_by_another,
        sign,
        "under another path, with other keys than .* sophron signer trust",
        restore_signers,
    ),
    Case(forgotten_revocation, start, "approvals/revoked_keys lacks a key that you revoked", revoke_again),
    Case(forgotten_revocation, sign, "approvals/revoked_keys lacks a key that you revoked", revoke_again),
    Case(forgotten_by_the_campaign, step, "lacks a key that was revoked when the approval was signed", restore_revoked),
    Case(removed_signers, step, "there is no list of trusted signers; restore it", restore_signers),
    Case(removed_signers, sign, "there is no list of trusted signers; restore it", restore_signers),
    Case(revoked_key, step, "the key of alex is revoked; sign again with a trusted key", unrevoke),
    Case(revoked_key, sign, "the key of alex is revoked; sign again with a trusted key", unrevoke),
    Case(other_campaign, step, "was made for another campaign"),
    Case(other_campaigns_spec, step, "the approval is for the campaign arithmetic-toy, not for this one", restore_spec),
    Case(
        edited_definition,
        step,
        "campaign.yaml was changed since version 1 was signed: sophron amend",
        unedit_definition,
    ),
    Case(edited_definition, sign, "was changed since version 1 was signed; draft the change", unedit_definition),
    Case(
        edited_criterion, start, "campaign.yaml was changed since version 1 was signed: sophron amend", unedit_criterion
    ),
    Case(edited_snakefile, step, r"changed since the approval \(science: Snakefile\); look at it and sign"),
    Case(own_models, step, r"changed since the approval \(agents: config/models.yaml\); look at it and sign"),
    Case(edited_list_of_steps, step, "the signed list of steps is missing or changed; sign again"),
    Case(no_list_of_steps, step, "the signed list of steps is missing or changed; sign again"),
    Case(symlinked_gate, step, "is a symbolic link; remove the link and sign here", unlink_gate_and_sign),
    Case(symlinked_folder, step, "is a symbolic link; remove the link and sign here", move_folder_back),
    Case(lost_record, start, r"0003\.json: the record that it follows is missing; restore the approval log", relog),
    Case(no_log, step, "is not the newest approval of this campaign's log", restore_approvals),
    Case(no_log, sign, "the approval log is missing though there is a gate file; restore it", restore_approvals),
    Case(replayed_gate, step, "is not the newest approval of this campaign's log; put the newest one back"),
    Case(replayed_version, step, "is not the newest approval of this campaign's log", sign_newest_spec),
    Case(rolled_back_folder, start, r"not the last approval you signed here \(version 2\): the folder was rolled back"),
    Case(forged_journal, finish, "journal.json: is not validly signed; remove it and look", remove_journal),
    Case(forged_journal, step, "a signed amendment is half applied; finish it with: sophron review", remove_journal),
    Case(replayed_journal, finish, "does not follow the approval in force; remove it", remove_journal),
    Case(beyond_the_envelope, step, "beyond the signed envelope of 100; raise limits.core_hours", raise_envelope),
    Case(lying_draft, sign, "the draft does not say what it changes; draft it again", drop_draft),
    Case(stale_draft, sign, "amends an approval that is no longer in force; draft it again", drop_draft),
    Case(overlay_never_signed, overlaid, "64 is not among the signed choices of c.threads", remove_overlay),
    Case(outcome_of_another_definition, upstream_of("d"), "was made for another definition of c", restore_outcome),
    Case(nothing_happened, claims(digest="0" * 64), "the step c is not in the signed plan", as_it_is),
    Case(nothing_happened, claims(rule="b", wildcards={"replica": "7"}), "called with another shell line", as_it_is),
    Case(nothing_happened, claims(rule="backdoor"), "the rule backdoor is not in the signed plan", as_it_is),
    Case(nothing_happened, claims(cores=64), "reserves cores 64, above the signed ceiling 2; lower it", as_it_is),
    Case(nothing_happened, claims(memory_mb=9999), "reserves memory_mb 9999, above the signed ceiling 600", as_it_is),
    Case(nothing_happened, other_shell_line, "called with another shell line than the signed one", as_it_is),
    Case(nothing_happened, gate_elsewhere, "is not the gate file of a campaign", as_it_is),
    Case(nothing_happened, second_driver, "another process works on this campaign", as_it_is),
    Case(nothing_happened, sign_while_it_runs, "another process works on this campaign", as_it_is),
    Case(
        nothing_happened,
        sign_while_a_step_runs,
        "steps of this campaign are running; wait until they have ended",
        as_it_is,
    ),
]


def kept(campaign: Campaign) -> dict[str, bytes]:
    """Results and histories, which no forgery and no refusal may touch."""
    tries = (campaign.root / "records").glob("*/*/try.json")
    return {
        str(path): path.read_bytes() for path in [*(campaign.root / "results").rglob("*.*"), *tries] if path.is_file()
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.forge.__name__}-{case.attempt.__name__}")
def test_it_is_refused_with_its_cause_and_nothing_is_lost(case, campaign, finished):
    step(campaign)
    start(campaign)
    case.forge(campaign)
    before = kept(campaign)
    with pytest.raises(UserError, match=case.words) as caught:
        case.attempt(campaign)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 400
    assert kept(campaign) == before
    tried = campaign.tries()
    case.remedy(campaign, finished)
    step(campaign)
    start(campaign)
    assert campaign.shown() == set()
    assert campaign.tries() == tried


@pytest.mark.parametrize("forced", [["-F"], ["-R", "gate"], ["--no-hooks", "-R", "gate"]], ids=" ".join)
def test_a_forced_run_leaves_the_plan_signed(forced, campaign):
    """Snakemake removes the outputs of a forced job, and the gate file is one."""
    signed, log = campaign.gate.read_bytes(), sorted((campaign.root / "approvals" / "log").iterdir())
    results, tried = campaign.results(), campaign.tries()
    campaign.complete("--quiet", "all", *forced)
    assert campaign.gate.read_bytes() == signed
    assert sorted((campaign.root / "approvals" / "log").iterdir()) == log
    assert campaign.results().keys() == results.keys()
    assert campaign.tries() == tried
    assert campaign.shown() == set()


def test_a_lost_gate_file_is_written_again_from_the_log_when_a_run_starts(campaign):
    signed = campaign.gate.read_bytes()
    campaign.gate.unlink()
    start(campaign)
    assert campaign.gate.read_bytes() == signed


def test_an_expired_key_cannot_sign_and_one_that_expires_later_stays_good(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    signers = campaign.root / "approvals" / "allowed_signers"
    signers.parent.mkdir()
    line = approve.signer_line("alex", signatures.public_key(campaign.key), "arithmetic-toy")
    for option, words in (
        ('valid-before="20200101",', "the key of alex had expired"),
        ('valid-after="20990101",', "was not yet valid"),
    ):
        signers.write_text(line.replace("namespaces", option + "namespaces"))
        with pytest.raises(UserError, match=words):
            campaign.sign()
        assert not campaign.gate.exists()
    signers.write_text(line.replace("namespaces", 'valid-before="20980101",namespaces'))
    campaign.sign()
    step(campaign)


@pytest.mark.parametrize(
    "part", ["workflow/rules/verdict.smk", "schemas/campaign.schema.yaml", "campaign/execution/run_step.py"]
)
def test_an_edited_rule_schema_or_module_of_sophron_is_refused(part, campaign, tmp_path, monkeypatch):
    package = toy.copy_library(tmp_path / "copy", monkeypatch)
    step(campaign)
    path = package / part
    text = path.read_text()
    path.write_text(f"{text}\n# a comment\n")
    with pytest.raises(UserError, match=rf"changed since the approval, in the harness alone \(sophron/{part}\); see"):
        step(campaign)
    campaign.sign()
    step(campaign)
    assert campaign.shown() == set()
    path.write_text(text)


def test_an_edited_rule_of_another_distributions_kind_is_refused(campaign, tmp_path, monkeypatch):
    record = record_of(campaign)
    folder = tmp_path / "copy" / Path(record["kind_folder"]).name
    shutil.copytree(record["kind_folder"], folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert digests.code_digests(digests.read_code(campaign.root, str(folder))) == record["code"]
    with (folder / "arithmetic.smk").open("a") as stream:
        stream.write("# a comment\n")
    assert digests.code_digests(digests.read_code(campaign.root, str(folder)))["science"] != record["code"]["science"]


def test_a_spec_that_changes_between_the_look_and_the_signature_is_not_signed(campaign):
    campaign.edit("# A campaign", "# The campaign")
    proposal = approve.propose(campaign.root, probe=lambda _: [])
    campaign.edit("weight: 0.5", "weight: 0.6")
    gate = campaign.gate.read_bytes()
    with campaign_lock.signing(campaign.root), pytest.raises(UserError, match="was changed meanwhile; look again"):
        approve.sign(proposal, campaign.key)
    assert campaign.gate.read_bytes() == gate


def test_signers_of_another_campaign_sign_nothing_here(campaign, tmp_path):
    """A demo's key is good for the demo's campaign id alone."""
    signers = campaign.root / "approvals" / "allowed_signers"
    signers.write_text(signers.read_text().replace("arithmetic-toy@sophron", "demo@sophron"))
    for attempt in (step, sign):
        with pytest.raises(UserError, match="was made for another campaign"):
            attempt(campaign)


def test_an_input_that_calls_a_shell_is_found():
    (finding,) = input_checker.check("units lj\nshell rm -rf /\nrun 0\n")
    assert finding.line == 2
    assert "starts programs" in finding.reason


def test_an_edited_result_is_refused_and_made_again(campaign):
    """Results are links of what lies in scratch, so the edited file must not come back from there."""
    path = campaign.root / "results" / "b" / "0" / "numbers.txt"
    whole = path.read_text()
    path.unlink()
    (scratch,) = campaign.root.glob("scratch/*/b-0/finished/numbers.txt")
    path.hardlink_to(scratch)
    with path.open("a") as stream:
        stream.write("1000.0\n")
    campaign.amend("stages.c.definition.weight=0.52")
    done = campaign.snakemake("--quiet", "all")
    assert done.returncode != 0
    assert "numbers.txt: is not what its outcome speaks of; remove it and run again" in done.stdout
    path.unlink()
    campaign.complete("--quiet", "all")
    assert path.read_text() == whole
    assert campaign.tries() == {"a": 1, "b-0": 2, "b-1": 1, "c": 2, "d": 2, "e": 1, "f": 2}


def test_after_a_revocation_another_trusted_key_signs(campaign, tmp_path):
    maria = toy.make_key(tmp_path / "maria")
    signers = campaign.root / "approvals" / "allowed_signers"
    signers.write_text(
        signers.read_text() + approve.signer_line("maria", signatures.public_key(maria), "arithmetic-toy")
    )
    known_signers.remember_keys(campaign.root, "arithmetic-toy")  # as `sophron signer add` does
    with pytest.raises(UserError, match="maria: was not trusted when the last approval was signed"):
        campaign.sign(maria, "maria")
    campaign.sign()
    revoked_key(campaign)
    for attempt in (step, sign):
        with pytest.raises(UserError, match="the key of alex is revoked"):
            attempt(campaign)
    campaign.sign(maria, "maria")
    step(campaign)
    start(campaign)
    assert campaign.shown() == set()


def test_a_step_of_the_workflow_cannot_sign(campaign):
    """A rule beside ours that calls `sophron approve`: the run holds the campaign."""
    rule = f"sophron approve . --key {campaign.key} --digest {'0' * 64} && touch signed"
    (campaign.root / "signing.smk").write_text(
        f"{NEW_SNAKEFILE.read_text()}\n\nrule sign:\n    output:\n        'signed'\n    shell:\n        '{rule}'\n"
    )
    done = campaign.snakemake("--quiet", "all", "--", "signed", snakefile="signing.smk")
    assert done.returncode != 0
    assert "sophron approve: toy: another process works on this campaign" in done.stdout
    assert not (campaign.root / "signed").exists()


def driven(campaign):
    """A driver that has checked the campaign, as long as this test."""
    onstart.take(campaign.root)
    return json.loads((campaign.root / campaign_lock.DRIVER_LOCK).read_text())


@pytest.fixture
def no_driver():
    """No driver is left when the test is over."""
    yield
    while onstart._held:
        onstart._held.pop().release()


def test_a_step_of_a_driver_that_has_checked_reads_neither_signature_nor_library(campaign, monkeypatch, no_driver):
    note = driven(campaign)
    assert note["approval"] == approvals.newest(campaign.root).hash
    assert note["pid_start"]
    monkeypatch.setattr(approvals, "valid_approval", lambda _: pytest.fail("was checked once more"))
    step(campaign)
    with pytest.raises(UserError, match="the step c is not in the signed plan"):
        claims(digest="0" * 64)(campaign)
    with pytest.raises(UserError, match="reserves memory_mb"):
        claims(memory_mb=10_000)(campaign)
    campaign.edit("weight: 0.5", "weight: 0.6")
    with pytest.raises(UserError, match=r"campaign\.yaml was changed since version 1 was signed"):
        step(campaign)


@pytest.mark.parametrize(
    "change",
    [
        {"pid_start": "another boot/17"},
        {"host": "elsewhere"},
        {"approval": "0" * 64},
        {"keys": "0" * 128},
        {"pid": 2**22 - 1},
    ],
)
def test_a_step_without_a_fresh_note_of_its_driver_checks_everything(change, campaign, no_driver, monkeypatch):
    note = driven(campaign)
    (campaign.root / campaign_lock.DRIVER_LOCK).write_text(json.dumps(note | change))
    asked = []
    valid = approvals.valid_approval
    monkeypatch.setattr(approvals, "valid_approval", lambda root: asked.append(root) or valid(root))
    step(campaign)
    assert asked == [campaign.root]


def test_a_note_is_gone_with_its_driver_and_a_revocation_counts_at_once(campaign, no_driver):
    driven(campaign)
    revoked_key(campaign)
    with pytest.raises(UserError, match="the key of alex is revoked"):
        step(campaign)
    onstart._held.pop().release()
    edited_snakefile(campaign)
    unrevoke(campaign, None)
    with pytest.raises(UserError, match="science: Snakefile"):
        step(campaign)


def test_without_hooks_or_metadata_and_with_touch_the_step_itself_refuses(campaign):
    """An amended definition cannot be made to look done: the outcome embeds the digest it was made for."""
    old = {name: (campaign.root / "results" / name).read_bytes() for name in ("c/outcome.json", "c/numbers.txt")}
    campaign.amend("stages.c.definition.weight=0.52")
    for name, content in old.items():
        (campaign.root / "results" / name).parent.mkdir(parents=True, exist_ok=True)
        (campaign.root / "results" / name).write_bytes(content)
    shutil.copy(
        campaign.root / "invalidated" / "v1" / "records" / "c" / "published.json", campaign.root / "records" / "c"
    )
    shutil.rmtree(campaign.root / ".snakemake" / "metadata")
    done = campaign.snakemake("--quiet", "all", "--no-hooks", "--touch")
    done = campaign.snakemake("--quiet", "all", "--no-hooks", "--rerun-triggers", "mtime", "--keep-going")
    assert done.returncode != 0
    assert "was made for another definition of c; move it away and run again: snakemake" in done.stdout
    assert campaign.tries()["d"] == 1
    for name in old:
        (campaign.root / "results" / name).unlink()
    done = campaign.snakemake("--quiet", "all")
    assert done.returncode == 0, done.stdout
    assert campaign.tries() == {"a": 1, "b-0": 1, "b-1": 1, "c": 2, "d": 2, "e": 1, "f": 2}


def test_nothing_runs_unapproved_with_or_without_hooks(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    assert "a" in campaign.shown()  # a dry run always works
    done = campaign.snakemake("--quiet", "all", "--no-hooks")
    assert done.returncode != 0
    assert "sophron gate: arithmetic: the plan is not approved yet; look at it and sign" in done.stdout
    campaign.sign()
    campaign.edit("{factor: 2}", "{factor: 3}")
    done = campaign.snakemake("--quiet", "all", "--no-hooks")
    assert done.returncode != 0
    assert "sophron stage: campaign.yaml was changed since version 1 was signed: sophron amend" in done.stdout
    assert campaign.tries() == {}


def test_a_host_that_overrides_a_digest_is_refused_by_the_step(campaign):
    host = campaign.root / "host.smk"
    text = (campaign.root / "Snakefile").read_text()
    host.write_text(f"{text}\n\nuse rule c from sophron_workflow with:\n    params:\n        digest='{'0' * 64}'\n")
    done = campaign.snakemake("--quiet", "all", "--no-hooks", snakefile="host.smk")
    assert done.returncode != 0
    assert "sophron stage: the step c is not in the signed plan: sophron review, sophron amend" in done.stdout
    assert campaign.tries()["c"] == 1
    assert campaign.complete("--quiet", "all")
    assert campaign.tries() == {"a": 1, "b-0": 1, "b-1": 1, "c": 1, "d": 1, "e": 1, "f": 1}
