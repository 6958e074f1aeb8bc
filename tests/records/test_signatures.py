"""SSH signatures with the real ssh-keygen: what was signed, by whom, for which campaign, and when it was allowed."""

import subprocess

import pytest

from sophron.records import signatures
from sophron.records.errors import Refused, UserError

DATA = b'{"campaign":"melt","version":1}'
AT = "20260615120000Z"


def make_key(path, kind="ed25519"):
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: make_key(folder / name) for name in ("kim", "stranger")}


def trust(folder, key, options="", name="kim"):
    line = " ".join(filter(None, [name, options, signatures.public_key(key)]))
    (folder / signatures.SIGNERS_NAME).write_text(f"{line}\n")


def verify(folder, signature, *, data=DATA, campaign="melt", approver="kim", signed_at=AT):
    signatures.verify(data, signature, approvals=folder, approver=approver, campaign=campaign, signed_at=signed_at)


def refusal(folder, signature, **changed):
    with pytest.raises(Refused) as caught:
        verify(folder, signature, **changed)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def test_a_signature_holds_for_the_exact_bytes_the_campaign_and_the_approver(tmp_path, keys):
    trust(tmp_path, keys["kim"])
    signature = signatures.sign(DATA, keys["kim"], "melt")
    verify(tmp_path, signature)
    verify(tmp_path, signature, signed_at=None)
    assert "sophron approve" in refusal(tmp_path, signature, data=DATA + b"\n")
    assert "does not fit" in refusal(tmp_path, signature, data=DATA.replace(b"1", b"2"))
    assert "another campaign" in refusal(tmp_path, signature, campaign="liquid")
    refusal(tmp_path, signature, approver="lee")


def test_another_kind_of_key_signs_too(tmp_path):
    key = make_key(tmp_path / "key", "ecdsa")
    trust(tmp_path, key)
    verify(tmp_path, signatures.sign(DATA, key, "melt"))


def test_a_key_that_is_not_trusted_is_refused(tmp_path, keys):
    trust(tmp_path, keys["kim"])
    assert "not trusted" in refusal(tmp_path, signatures.sign(DATA, keys["stranger"], "melt"))


def test_a_changed_or_empty_signature_is_refused(tmp_path, keys):
    trust(tmp_path, keys["kim"])
    good = signatures.sign(DATA, keys["kim"], "melt")
    lines = good.splitlines()
    lines[3] = lines[3][::-1]
    for bad in ("", "no signature", good[:-40], "\n".join(lines), good.replace("SSH SIGNATURE", "PGP SIGNATURE")):
        refusal(tmp_path, bad)


def test_a_list_of_signers_that_is_missing_empty_or_garbage_trusts_nobody(tmp_path, keys):
    signature = signatures.sign(DATA, keys["kim"], "melt")
    assert "no list of trusted signers" in refusal(tmp_path, signature)
    for content in (b"", b"\x00\xff", b"kim\n", b"kim ssh-ed25519 AAAA\n"):
        (tmp_path / signatures.SIGNERS_NAME).write_bytes(content)
        refusal(tmp_path, signature)


def test_revocation_counts_now_whenever_it_was_signed(tmp_path, keys):
    trust(tmp_path, keys["kim"])
    signature = signatures.sign(DATA, keys["kim"], "melt")
    revoked = tmp_path / signatures.REVOKED_NAME
    revoked.write_text(signatures.public_key(keys["stranger"]) + "\n")
    verify(tmp_path, signature)
    revoked.write_text(signatures.public_key(keys["kim"]) + "\n")
    for time in (AT, "20200101000000Z", None):
        assert "is revoked" in refusal(tmp_path, signature, signed_at=time)


def test_expiry_counts_when_it_was_signed(tmp_path, keys):
    trust(tmp_path, keys["kim"], 'valid-after="20260601000000Z",valid-before="20260701000000Z"')
    signature = signatures.sign(DATA, keys["kim"], "melt")
    verify(tmp_path, signature, signed_at=AT)  # long expired or not, it was valid then
    assert "expired" in refusal(tmp_path, signature, signed_at="20260801000000Z")
    assert "not yet valid" in refusal(tmp_path, signature, signed_at="20260501000000Z")


def test_a_key_that_is_limited_to_one_campaign_signs_no_other(tmp_path, keys):
    trust(tmp_path, keys["kim"], f'namespaces="{signatures.namespace("melt")}"')
    verify(tmp_path, signatures.sign(DATA, keys["kim"], "melt"))
    other = signatures.sign(DATA, keys["kim"], "liquid")
    assert "another campaign" in refusal(tmp_path, other, campaign="liquid")


def test_a_public_key_is_read_from_either_half(tmp_path):
    key = make_key(tmp_path / "key")
    public = signatures.public_key(key)
    assert public.startswith("ssh-ed25519 AAAA")
    assert signatures.public_key(tmp_path / "key.pub") == public
    (tmp_path / "key.pub").unlink()
    assert signatures.public_key(key) == public


@pytest.mark.parametrize("name", ["text", "missing"])
@pytest.mark.parametrize("call", [lambda key: signatures.sign(DATA, key, "melt"), signatures.public_key])
def test_what_is_no_key_is_one_sentence(tmp_path, name, call):
    (tmp_path / "text").write_text("no key\n")
    (tmp_path / "text").chmod(0o600)
    with pytest.raises(UserError) as caught:
        call(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_without_openssh_the_sentence_says_what_to_install(tmp_path, keys, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="install the OpenSSH client"):
        signatures.sign(DATA, keys["kim"], "melt")
