"""Signing: what is shown and recorded, who may sign, and how the chain of approvals grows."""

import hashlib
import json
import subprocess
from datetime import datetime

import pytest
import toy

from sophron.campaign.approval import amendment_draft, approve, known_signers
from sophron.campaign.execution import campaign_lock
from sophron.campaign.review import review_text
from sophron.campaign.spec.pitfalls import Pitfall
from sophron.cli import main
from sophron.interfaces.probe import Finding
from sophron.records import approvals, signatures
from sophron.records.errors import Refused, UserError
from sophron.records.typed_json import to_json


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    return toy.campaign(tmp_path, monkeypatch)


def test_the_statement_is_the_same_as_often_as_it_is_made(campaign):
    first, second = approve.propose(campaign.root), approve.propose(campaign.root)
    assert first.statement == second.statement
    assert first.digest == hashlib.sha256(first.statement.encode()).hexdigest()
    assert json.loads(first.statement)["previous"] is None
    assert not campaign.gate.exists()


def test_the_record_is_the_statement_with_who_when_and_a_nonce(campaign):
    proposal = approve.propose(campaign.root)
    record = campaign.sign(approver="alex")
    added = {"approver", "time", "nonce", "shown", "signers"}
    assert record.keys() - added == json.loads(proposal.statement).keys()
    assert {key: record[key] for key in record.keys() - added} == json.loads(proposal.statement)
    assert record["approver"] == "alex"
    assert record["shown"] == proposal.digest
    assert datetime.fromisoformat(record["time"]).tzinfo is not None
    signers = (campaign.root / "approvals" / "allowed_signers").read_bytes()
    assert record["signers"] == hashlib.sha256(signers).hexdigest()
    assert signers.startswith(b'alex namespaces="arithmetic-toy@sophron" ssh-ed25519 ')
    assert to_json(approvals.valid_approval(campaign.root).record) == record


def test_each_approval_holds_the_hash_of_the_one_before(campaign):
    campaign.sign()
    first = approvals.signed_gate(campaign.root)
    again = campaign.sign()
    assert again["previous"] == first.hash
    assert again["version"] == 1
    assert again["nonce"] != first.record.nonce
    assert again["trusted"] == known_signers.fingerprints(campaign.root)
    assert known_signers.history(approvals.signed_gate(campaign.root)) == [
        approvals.signed_gate(campaign.root).hash,
        first.hash,
    ]
    names = [path.name for path in approvals.logged(campaign.root)]
    assert names == ["0001.json", "0002.json"]


def test_what_is_shown_names_the_trusted_keys_as_ssh_keygen_does(campaign):
    campaign.sign()
    shown = subprocess.run(["ssh-keygen", "-lf", f"{campaign.key}.pub"], capture_output=True, text=True, check=True)
    (fingerprint,) = json.loads(approve.propose(campaign.root).statement)["trusted"]
    assert fingerprint == f"ssh-ed25519 {shown.stdout.split()[1]}"


def test_a_key_that_cannot_sign_leaves_nothing_behind(campaign, tmp_path):
    missing = tmp_path / "no-such-key"
    with pytest.raises(UserError, match="no-such-key: is not a readable SSH key; give one with --key"):
        campaign.sign(missing)
    only_public = tmp_path / "half.pub"
    only_public.write_text((campaign.key.with_suffix(".pub")).read_text())
    campaign.key.rename(tmp_path / "hidden")
    with pytest.raises(UserError, match=r"half\.pub: could not sign"):
        campaign.sign(only_public)
    (tmp_path / "hidden").rename(campaign.key)
    assert not (campaign.root / "approvals" / "allowed_signers").exists()
    campaign.sign()


def test_a_stranger_cannot_sign_after_the_first_approval(campaign, tmp_path):
    campaign.sign()
    gate = campaign.gate.read_bytes()
    with pytest.raises(Refused, match="is not among the trusted signers of this campaign; a trusted one adds it"):
        campaign.sign(toy.make_key(tmp_path / "stranger"), None)
    with pytest.raises(Refused, match="is not among the trusted signers"):
        campaign.sign(approver="somebody-else")
    assert campaign.gate.read_bytes() == gate


@pytest.mark.parametrize("name", ["", "two words", "a,b", "*", "!alex", "#alex", 'a"b', "a?", "al\u202eex", "a\x1b[2J"])
def test_a_name_that_is_a_pattern_or_none_or_hides_something_is_refused(name):
    with pytest.raises(UserError, match="cannot name a signer; use letters") as refused:
        approve.signer_line(name, "ssh-ed25519 AAAA", "toy")
    assert str(refused.value).isprintable()


def test_the_gate_stays_closed_for_assumptions_and_limits(campaign):
    assert approve.closed(approve.propose(campaign.root, probe=lambda _: [])) == []
    campaign.edit("status: verified", "status: UNVERIFIED")
    campaign.edit("core_hours: 100", "steps: 5, core_hours: 100")
    unverified, steps = approve.closed(approve.propose(campaign.root, probe=lambda _: []))
    assert unverified == "the assumption finite is UNVERIFIED; verify it and say so in campaign.yaml"
    assert steps.startswith("limits.steps: the plan has 21 steps, the limit is 5")


def test_nothing_is_signed_past_the_gate_by_a_caller_of_the_library_either(campaign):
    pitfall = Pitfall("wet", "Wet", "what", "why", "do that", "wet", {}, (), campaign.root)
    for probe, words in (
        (None, "the probes of its pitfalls were not run"),
        (lambda _: [(pitfall, Finding("hit", "water"))], "the pitfall wet was found: water"),
    ):
        with campaign_lock.signing(campaign.root), pytest.raises(Refused, match=words):
            approve.sign(approve.propose(campaign.root, probe=probe), campaign.key, "alex")
    assert not campaign.gate.exists()


def test_windows_line_ends_in_spec_and_signers_are_signed_as_they_are(campaign):
    campaign.spec.write_bytes(campaign.spec.read_bytes().replace(b"\n", b"\r\n"))
    signers = campaign.root / "approvals" / "allowed_signers"
    signers.parent.mkdir()
    line = approve.signer_line("alex", signatures.public_key(campaign.key), "arithmetic-toy")
    signers.write_bytes(line.replace("\n", "\r\n").encode())
    spec_bytes = campaign.spec.read_bytes()
    campaign.sign()
    assert campaign.spec.read_bytes() == spec_bytes
    approvals.valid_approval(campaign.root)


def test_a_comment_or_another_order_of_keys_needs_no_new_signature(campaign):
    campaign.sign()
    campaign.edit("# A campaign of plain sums", "# Sums, plain ones")
    campaign.edit("{replicas: 2, weight: 0.5}", "{weight: 0.5, replicas: 2.0}")
    approvals.valid_approval(campaign.root)
    assert json.loads(approve.propose(campaign.root).statement)["version"] == 1


def test_one_signs_at_a_time(campaign):
    with campaign_lock.signing(campaign.root), pytest.raises(UserError, match="another process works on this campaign"):
        campaign.sign()


def test_this_user_remembers_keys_and_the_last_approval_under_a_lock(campaign):
    campaign.sign()
    known = known_signers.known_keys(campaign.root, "arithmetic-toy")
    assert known == {signatures.public_key(campaign.key)}
    assert known_signers.known_keys(campaign.root, "another") is None
    campaign.amend("seed=8")
    known_signers.check(approvals.signed_gate(campaign.root))


def log_files(campaign):
    return {path.name: path.read_bytes() for path in (campaign.root / "approvals" / "log").iterdir()}


@pytest.mark.parametrize("lost", ["0001.*", "0002.*", "0001.json"])
def test_a_log_with_a_gap_is_neither_amended_nor_written_over(campaign, lost):
    campaign.sign()
    campaign.amend("seed=8")
    drafted = amendment_draft.draft_amendment(campaign.root, "because", ["seed=9"])
    campaign.sign()
    for path in (campaign.root / "approvals" / "log").glob(lost):
        path.unlink()
    before = log_files(campaign)
    missing = r"000[23]\.json: the record that it follows is missing; restore the approval log from your copy"
    with pytest.raises(Refused, match=missing):
        amendment_draft.draft_amendment(campaign.root, "because", ["seed=10"])
    drafted.write(campaign.root)
    with pytest.raises(Refused, match=missing):
        campaign.sign()
    assert log_files(campaign) == before
    assert not (campaign.root / "approvals" / "journal.json").exists()


def test_a_record_that_does_not_belong_to_the_log_is_named(campaign):
    campaign.sign()
    stray = campaign.root / "approvals" / "log" / "9999.json"
    foreign = r"9999\.json: is not a signed record of this campaign; move it out of the approval log"
    for content in ("{}", "x", stray.with_name("0001.json").read_text()):
        stray.write_text(content)
        with pytest.raises(Refused, match=foreign):
            campaign.sign()
    stray.write_text("{}")
    with pytest.raises(Refused, match=foreign):
        approvals.valid_approval(campaign.root)
    stray.unlink()
    campaign.sign()


def test_a_lost_newest_record_is_not_written_over_by_the_next(campaign):
    campaign.sign()
    campaign.sign()
    (campaign.root / "approvals" / "log" / "0002.json").unlink()
    campaign.sign()
    assert [path.name for path in approvals.logged(campaign.root)] == ["0001.json", "0003.json"]


def test_an_approval_that_is_in_force_is_said_to_be(campaign, capsys):
    digest = approve.propose(campaign.root).digest
    words = ["approve", str(campaign.root), "--key", str(campaign.key), "--digest", digest]
    assert main(words) == 0
    gate = campaign.gate.read_bytes()
    assert main(words) == 0
    assert "Version 1 is in force already, signed by" in capsys.readouterr().out
    assert campaign.gate.read_bytes() == gate


def test_what_the_review_cannot_show_is_not_signed(campaign, monkeypatch, capsys):
    def broken(_):
        raise UserError("the review cannot show this")

    monkeypatch.setattr(review_text, "render", broken)
    digest = approve.propose(campaign.root).digest
    assert main(["approve", str(campaign.root), "--key", str(campaign.key), "--digest", digest]) == 2
    assert "the review cannot show this" in capsys.readouterr().err
    assert not campaign.gate.exists()
