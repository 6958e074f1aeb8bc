"""`sophron signer`: what this user's own configuration keeps of it."""

import json

import pytest
import toy

from sophron.campaign.approval import known_signers
from sophron.cli import main
from sophron.records import approvals, signatures
from sophron.records.errors import UserError


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    campaign.sign()
    return campaign


def signer(campaign, action, *words):
    return main(["signer", action, str(campaign.root), *words])


def test_a_revocation_is_remembered_and_goes_into_the_next_record(campaign, tmp_path):
    maria = toy.make_key(tmp_path / "maria")
    revoked = campaign.root / "approvals" / "revoked_keys"
    assert signer(campaign, "add", "--key", f"{maria}.pub", "--as", "maria") == 0
    campaign.sign()
    assert signer(campaign, "revoke", "--key", f"{maria}.pub") == 0
    text = revoked.read_text()
    revoked.unlink()
    with pytest.raises(UserError, match="approvals/revoked_keys lacks a key that you revoked"):
        known_signers.check(approvals.valid_approval(campaign.root))
    revoked.write_text(text)
    assert campaign.sign()["revoked"] == [signatures.public_key(maria)]
    revoked.unlink()
    with pytest.raises(UserError, match="lacks a key that was revoked when the approval was signed"):
        approvals.valid_approval(campaign.root)


def test_a_copy_under_a_key_that_was_never_seen_is_trusted_by_a_word_of_the_user(campaign, tmp_path, capsys):
    copy = toy.Campaign(tmp_path / "copy", toy.make_key(tmp_path / "mallory"))
    copy.root.mkdir()
    for name in ("campaign.yaml", "Snakefile"):
        (copy.root / name).write_bytes((campaign.root / name).read_bytes())
    known = known_signers._path().read_text()
    copy.sign(approver="alex")  # by another account: this one's configuration knows nothing of it
    known_signers._path().write_text(known)
    with pytest.raises(UserError, match=r"under another path, with other keys than .* say so: sophron signer trust"):
        known_signers.check(approvals.valid_approval(copy.root))
    assert signer(copy, "trust") == 0
    assert "You trust these keys for this campaign from now on" in capsys.readouterr().out
    known_signers.check(approvals.valid_approval(copy.root))


def test_a_moved_campaign_is_the_one_that_is_known(campaign, tmp_path):
    campaign.root.rename(tmp_path / "moved")
    known_signers.check(approvals.valid_approval(tmp_path / "moved"))


def test_a_damaged_list_of_known_campaigns_is_one_sentence_with_its_field(campaign):
    (entry,) = known_signers._read()
    known_signers._path().write_text(json.dumps({entry: {"keys": "ssh-ed25519 AAAA"}}))
    with pytest.raises(UserError, match=r"trust.json: is damaged, not a record \(keys: "):
        known_signers.check(approvals.valid_approval(campaign.root))
