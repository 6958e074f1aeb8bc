"""SSH signatures over exact bytes (`ssh-keygen -Y`). Standard library only."""

import os
import subprocess
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from sophron.records import files
from sophron.records.errors import Refused, UserError

SIGNERS_NAME = "allowed_signers"
REVOKED_NAME = "revoked_keys"


def namespace(campaign: str) -> str:
    """Return the signature namespace of one campaign: a signature for it says nothing about another."""
    return f"{campaign}@sophron"


ABSENT = "ssh-keygen is not on PATH; install the OpenSSH client"


def _check_key(key: Path) -> None:
    if key.exists() and not key.is_file():  # ssh-keygen would wait at a FIFO
        raise UserError(f"{key}: is not a key file; give one with --key")


def _keygen(arguments: Sequence[str], data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", *arguments], input=data, capture_output=True, check=False)
    except (FileNotFoundError, PermissionError):
        raise UserError(ABSENT) from None


def sign(data: bytes, key: Path, campaign: str) -> str:
    """Return the armored signature of `data` by a private key file, or the public one of a key in an agent."""
    _check_key(key)
    done = _keygen(["-Y", "sign", "-q", "-f", str(key), "-n", namespace(campaign)], data)
    if done.returncode != 0:
        reason = " ".join(done.stderr.decode(errors="replace").split()) or "no reason given"
        raise UserError(f"{key}: could not sign ({reason}); give a readable SSH private key with --key")
    return done.stdout.decode()


def public_key(key: Path) -> str:
    """Return `type base64` of a key file, private or public."""
    _check_key(key)
    public = key if key.suffix == ".pub" else Path(f"{key}.pub")
    if public.is_file():
        words = public.read_bytes().decode(errors="replace").split()
        if len(words) > 1:
            return " ".join(words[:2])
    done = _keygen(["-y", "-f", str(key)])
    if done.returncode != 0:
        raise UserError(f"{key}: is not a readable SSH key; give one with --key (make one with ssh-keygen -t ed25519)")
    return " ".join(done.stdout.decode().split()[:2])


def keys_in(path: Path) -> set[str]:
    """Return the public keys (`type base64`) that a list of trusted or revoked keys holds; none if it is missing."""
    keys = set()
    text = files.read_bytes(path).decode("utf-8", "replace") if path.is_file() else ""
    for line in text.splitlines():
        words = line.split()
        for word, body in pairwise(words):
            if word.startswith(("ssh-", "ecdsa-", "sk-")):
                keys.add(f"{word} {body}")
    return keys


def _memory_file(content: bytes) -> int:
    handle = os.memfd_create("sophron")
    os.write(handle, content)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _nothing() -> None:
    """What most callers do while ssh-keygen runs."""


def verify(
    data: bytes,
    signature: str,
    *,
    approvals: Path,
    approver: str,
    campaign: str,
    signed_at: str | None = None,
    revocation: bool = True,
    meanwhile: Callable[[], object] = _nothing,
) -> None:
    """Check a signature against `allowed_signers` and `revoked_keys` in the approvals folder.

    signed_at: `YYYYMMDDHHMMSSZ`; expiry counts then, revocation counts now. revocation: False asks only whether it
    was good once, which is all that the next approval in the chain needs. meanwhile: called once while ssh-keygen
    runs, for what the caller needs anyway. Raises Refused.
    """
    signers, revoked = approvals / SIGNERS_NAME, approvals / REVOKED_NAME
    if not signers.is_file():
        raise Refused(
            f"{signers}: there is no list of trusted signers; restore it from the newest copy in {approvals / 'log'}"
        )
    options = ["-f", str(signers), "-I", approver, "-n", namespace(campaign)]
    if signed_at:
        options.append(f"-Overify-time={signed_at}")
    fault = _fault(data, signature, options, meanwhile)
    if fault is not None:
        raise Refused(_refusal(fault, approver))
    if revocation and revoked.is_file() and _fault(data, signature, [*options, "-r", str(revoked)]) is not None:
        raise Refused(f"the key of {approver} is revoked; sign again with a trusted key: sophron approve")


def _fault(data: bytes, signature: str, options: list[str], meanwhile: Callable[[], object] = _nothing) -> str | None:
    """What ssh-keygen says against a signature; None if it is good."""
    content, armored = _memory_file(data), _memory_file(signature.encode())
    command = ["ssh-keygen", "-Y", "verify", *options, "-s", f"/dev/fd/{armored}"]
    try:
        with subprocess.Popen(
            command, stdin=content, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=[armored]
        ) as running:
            meanwhile()
            said = running.communicate()[0]
    except (FileNotFoundError, PermissionError):
        raise UserError(ABSENT) from None
    finally:
        os.close(content)
        os.close(armored)
    return None if running.returncode == 0 else said.decode(errors="replace")


def _refusal(output: str, approver: str) -> str:
    text = output.lower()
    if "expired" in text or "not yet valid" in text:
        return f"the key of {approver} had expired (or was not yet valid) when it signed; sign again: sophron approve"
    if "key is not permitted for use in signature namespace" in text or "namespace" in text:
        return f"the signature of {approver} was made for another campaign; sign this one: sophron approve"
    if "could not verify" in text or "incorrect signature" in text or "verification failed" in text:
        return f"the signature of {approver} does not fit what was signed, or its key is not trusted: sophron approve"
    return f"the signature of {approver} is not valid ({' '.join(output.split())[:120]}); sign again: sophron approve"
