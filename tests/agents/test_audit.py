"""The audit: one line an attempt, and no secret in it, wherever it was planted and however it was escaped."""

import base64
import hashlib
import json
import subprocess
import sys
from urllib.parse import quote

import pytest
import stub_models

from sophron.agents.documents.model_request import request_digest, response_data, response_of
from sophron.agents.documents.redact import MARK, Redactor
from sophron.agents.gateway.audit import Audit, path_of
from sophron.interfaces.model_backend import Image, Message, ModelError, Response, Text, ToolAnswer, ToolCall, Usage

ENVIRONMENT = 'planted/"value"-0123456789'
PLANTED = {
    "variable": ENVIRONMENT,
    "anthropic": "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz_0123456789",
    "github": "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXRoYXQtaXMtbG9uZw",
    "pem": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAA\nAAAABG5vbmU\n-----END OPENSSH PRIVATE KEY-----",
}
# What must not be found in an audit: a stretch of each secret.
TRACES = ["0123456789", "AbCdEfGh", "IOSFODNN", "c2lnbmF0dX", "b3BlbnNz"]


@pytest.fixture(autouse=True)
def _variables(monkeypatch):
    monkeypatch.setenv("SOME_SERVICE_TOKEN", ENVIRONMENT)
    monkeypatch.setenv("ODD_NAME", "told-by-the-model-entry")
    monkeypatch.setenv("MAX_TOKENS", "200000")
    monkeypatch.setenv("USE_TOKENS", "yes")


def ways(secret):
    """A secret as it is, inside JSON, inside JSON inside JSON, and with characters written as escapes."""
    escaped = "".join(f"\\u{ord(sign):04x}" if number % 3 == 0 else sign for number, sign in enumerate(secret))
    once = json.dumps({"text": secret})
    return [secret, once, json.dumps({"raw": once}), escaped.replace("\n", "\\n"), secret.replace("/", "\\/")]


@pytest.mark.parametrize("name", PLANTED)
def test_no_way_of_writing_a_secret_passes(name):
    redactor = Redactor()
    for written in ways(PLANTED[name]):
        clean = redactor.text(f"before {written} after")
        assert MARK in clean
        assert clean.startswith("before ")
        assert clean.endswith("after") or name == "pem"
        assert not [trace for trace in TRACES if trace in clean]
        assert redactor.text(clean) == clean


def test_headers_and_named_variables_are_taken_out_and_ordinary_text_is_not():
    redactor = Redactor(["ODD_NAME"])
    assert redactor.text("Authorization: Bearer abc.def-ghi") == f"Authorization: Bearer {MARK}"
    assert redactor.text('{"x-api-key": "abcdef"}') == f'{{"x-api-key": "{MARK}"}}'
    assert redactor.plain({"headers": {"Authorization": "Basic YTpi", "x": 1}}) == {
        "headers": {"Authorization": MARK, "x": 1}
    }
    assert redactor.text("it is told-by-the-model-entry") == f"it is {MARK}"
    plain = "200000 steps; yes; the risk-averse-choice-of-task-and-desk; sk-short; eyJ; api keys; a\\nb \\u0041"
    assert redactor.text(plain) == plain
    assert Redactor().text("it is told-by-the-model-entry").endswith("entry")


@pytest.mark.parametrize("before", ["", "u", "us", "usr:"])
def test_a_known_value_is_found_in_base64_hex_and_addresses(before, monkeypatch):
    secret = "correct/horse+battery=staple"
    monkeypatch.setenv("SOME_TOKEN", secret)
    whole = f"{before}{secret}-and-after".encode()
    written = [encode(whole).decode() for encode in (base64.b64encode, base64.urlsafe_b64encode)]
    for form in (*written, whole.hex(), whole.hex().upper(), quote(whole.decode(), safe="")):
        clean = Redactor().text(f"it said {form}.")
        assert MARK in clean
        assert len(clean) < len("it said .") + len(MARK) + 40
        assert Redactor().text(clean) == clean


def test_passwords_in_addresses_and_tokens_of_gitlab_are_taken_out_and_addresses_stay():
    redactor = Redactor()
    clean = redactor.text("cloned https://me:hunter2@git.example/a.git with glpat-abcdefghij0123456789")
    assert clean == f"cloned https://me:{MARK}@git.example/a.git with {MARK}"
    for address in ("http://127.0.0.1:8080/v1", "ssh://git@host/a", "https://a.example/x:y@z", "10:30 user@host"):
        assert redactor.text(address) == address


def test_secrets_in_request_answer_tool_call_and_error_are_not_in_the_audit(tmp_path):
    everything = " ".join(way for secret in PLANTED.values() for way in ways(secret))
    asked = stub_models.request(everything)
    audit, model = Audit(tmp_path, Redactor()), stub_models.model("m")
    call = ToolCall("1", "read", {"path": everything}, everything)
    response = Response((Text(everything), call), "tool", Usage(3, 4, 1), "stub", "m", {"headers": {"Cookie": "abc"}})
    audit.answered(asked, model, response, 0.5, 0.01)
    audit.failed(asked, model, ModelError("server", everything, status=500, raw={everything: everything}), 0.1)
    text = path_of(tmp_path, "caveats").read_text()
    decoded = json.dumps([json.loads(line) for line in text.splitlines()], ensure_ascii=False)
    assert not [trace for trace in TRACES if trace in text or trace in decoded]
    first, second = (json.loads(line) for line in text.splitlines())
    assert (first["status"], first["input_tokens"], first["dollars"], first["latency_s"]) == ("answered", 3, 0.01, 0.5)
    assert (second["status"], second["http_status"], second["response"]) == ("server", 500, None)
    assert first["request_digest"] == second["request_digest"] == request_digest(asked)


def test_the_digest_of_a_request_tells_every_part_apart_and_no_machine():
    asked = stub_models.request()
    digests = {request_digest(asked), request_digest(stub_models.request(turn=2))}
    digests |= {request_digest(stub_models.request("other")), request_digest(stub_models.request(step="other"))}
    digests |= {request_digest(stub_models.request(max_tokens=5))}
    assert len(digests) == 5
    again = subprocess.run(
        [
            sys.executable,
            "-c",
            "import stub_models as s; from sophron.agents.documents.model_request import request_digest as d; print(d(s.request()))",
        ],
        env={"PYTHONPATH": str(stub_models.__file__).rpartition("/")[0], "HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert again.stdout.strip() == request_digest(asked)


def test_parts_of_every_kind_are_kept_and_responses_come_back_equal(tmp_path):
    parts = (
        Text("t"),
        Image("image/png", "AAAA"),
        ToolAnswer("1", (Text("x"), Image("image/png", "B")), is_error=True),
    )
    asked = stub_models.request()
    asked = type(asked)(**{**asked.__dict__, "messages": (Message("user", parts),)})
    audit = Audit(tmp_path, Redactor())
    calls = (ToolCall("1", "read", {"path": "a"}), ToolCall("2", "read", None, "{oops"), Text("done \ud800"))
    response = Response(calls, "tool", Usage(1, 2, 3), "stub", "m", {"number": 1.5})
    audit.answered(asked, stub_models.model("m"), response, 0.0, 0.0)
    line = json.loads(path_of(tmp_path, "caveats").read_text())
    assert response_of(line["response"]) == response
    assert [part["type"] for part in line["request"]["messages"][0]["parts"]] == ["text", "image", "tool_answer"]
    assert response_data(response) == line["response"]


def test_a_picture_is_kept_once_however_often_it_is_said_again(tmp_path):
    picture = b"a picture" * 1000
    image = Image("image/png", base64.b64encode(picture).decode())
    answered = Message("user", (ToolAnswer("1", (Text("seen"), image)),))
    audit = Audit(tmp_path, Redactor())
    for turn in (1, 2, 3):
        asked = stub_models.request(turn=turn)
        asked = type(asked)(**{**asked.__dict__, "messages": (answered,) * turn})
        audit.answered(asked, stub_models.model("m"), stub_models.answer(), 0.0, 0.0)
    path = path_of(tmp_path, "caveats")
    (kept,) = (path.parent / "pictures").iterdir()
    assert kept.read_bytes() == picture
    assert kept.name == hashlib.sha256(picture).hexdigest()
    assert path.stat().st_size < len(picture)
    last = [json.loads(line) for line in path.read_text().splitlines()][-1]
    said = [one["parts"][0]["content"][1] for one in last["request"]["messages"]]
    assert said == [{"type": "image", "media_type": "image/png", "sha256": kept.name, "bytes": len(picture)}] * 3
    assert last["request_digest"] == request_digest(asked)


def test_numbers_that_json_cannot_hold_do_not_stop_an_audit(tmp_path):
    failure = ModelError("wrong_shape", "odd", raw={"value": float("nan")})
    Audit(tmp_path, Redactor()).failed(stub_models.request(), stub_models.model("m"), failure, 0.0)
    assert json.loads(path_of(tmp_path, "caveats").read_text())["failure"]["raw"] == {"value": "nan"}
