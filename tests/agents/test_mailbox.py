"""The mailbox: requests and answers as files, checked, atomic, found again after a time-out."""

import io
import json
import os
import subprocess
import sys
import threading
import time

import pytest
from stub_models import model, request

from sophron.agents.documents.redact import Redactor
from sophron.agents.gateway import mailbox_folder
from sophron.agents.gateway.backends.mailbox import Mailbox
from sophron.cli import main
from sophron.interfaces.model_backend import ModelError
from sophron.records.errors import UserError

GOOD = {"verdict": "done \x1b[31m"}


def backend(root):
    made = Mailbox()
    made.root = root
    return made


def post(root, asked=None):
    return mailbox_folder.post(root, asked or request(), Redactor())


def test_an_answer_given_while_the_step_waits_is_its_response(tmp_path):
    answered = []
    waiting = threading.Thread(
        target=lambda: answered.append(backend(tmp_path).complete(request(), model("m", timeout_s=30)))
    )
    waiting.start()
    while not mailbox_folder.entries(tmp_path):
        time.sleep(0.01)
    (entry,) = mailbox_folder.entries(tmp_path)
    assert "Is it done?" in (entry.folder / "request.md").read_text()
    mailbox_folder.answer(entry, json.dumps(GOOD))
    waiting.join()
    assert json.loads(answered[0].text) == GOOD
    assert (answered[0].backend, answered[0].stop) == ("mailbox", "end")


def test_a_time_out_says_the_next_command_and_the_next_try_finds_the_later_answer(tmp_path):
    with pytest.raises(ModelError, match=r"sophron mailbox answer caveats-1-\w{12} FILE") as failed:
        backend(tmp_path).complete(request(), model("m", timeout_s=0.2))
    assert (failed.value.kind, failed.value.outcome) == ("timeout", "none")
    mailbox_folder.answer(mailbox_folder.find(tmp_path, "caveats"), json.dumps(GOOD))
    assert json.loads(backend(tmp_path).complete(request(), model("m", timeout_s=5)).text) == GOOD
    assert mailbox_folder.withdraw(tmp_path, "caveats") == 1
    with pytest.raises(ModelError):
        backend(tmp_path).complete(request(), model("m", timeout_s=0.1))


def test_an_answer_that_does_not_fit_is_moved_aside_with_the_reason_and_not_deleted(tmp_path):
    entry = post(tmp_path)
    (entry.folder / "answer.json").write_text('{"verdict": 7}')
    with pytest.raises(ModelError):
        backend(tmp_path).complete(request(), model("m", timeout_s=0.2))
    assert json.loads((entry.folder / "answer.invalid-1.json").read_text()) == {"verdict": 7}
    assert "$.verdict: 7 is not of type 'string'" in (entry.folder / "answer.invalid-1.txt").read_text()
    assert not entry.answered


def test_a_pipe_in_the_place_of_an_answer_is_none_and_makes_nobody_wait(tmp_path):
    os.mkfifo(post(tmp_path).folder / "answer.json")
    with pytest.raises(ModelError, match="nobody answered within"):
        backend(tmp_path).complete(request(), model("m", timeout_s=0.2))


def test_a_half_written_answer_is_left_to_its_writer(tmp_path):
    entry = post(tmp_path)
    (entry.folder / "answer.json").write_text('{"verd')
    with pytest.raises(ModelError):
        backend(tmp_path).complete(request(), model("m", timeout_s=0.2))
    assert entry.answered
    (entry.folder / "answer.json").write_text(json.dumps(GOOD))
    assert json.loads(backend(tmp_path).complete(request(), model("m", timeout_s=5)).text) == GOOD


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "is not valid JSON"),
        ("[1]", "not a JSON object"),
        ('{"verdict": NaN}', "NaN is not JSON"),
        ("{}", "verdict"),
        ('{"verdict": "\\ud800"}', "half a character"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_nothing_is_written(tmp_path, text, fault):
    entry = post(tmp_path)
    with pytest.raises(UserError, match=fault):
        mailbox_folder.answer(entry, text)
    assert not entry.answered


def test_a_request_is_posted_once_and_holds_no_key(tmp_path):
    asked = request("with ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789")
    entry = post(tmp_path, asked)
    before = (entry.folder / "request.json").stat()
    assert post(tmp_path, asked) == entry
    assert (entry.folder / "request.json").stat().st_mtime_ns == before.st_mtime_ns
    assert "AbCdEf" not in "".join(path.read_text() for path in entry.folder.iterdir())


def test_the_command_lists_shows_and_answers(tmp_path, capsys, monkeypatch):
    assert main(["mailbox", "list", str(tmp_path)]) == 0
    assert "empty" in capsys.readouterr().out
    entry = post(tmp_path, request("red \x1b[31m text"))
    assert main(["mailbox", "list", str(tmp_path)]) == 0
    assert f"waits     {entry.id}" in capsys.readouterr().out
    assert main(["mailbox", "show", "caveats", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "red  text" in shown
    assert "\x1b" not in shown
    (tmp_path / "bad.json").write_text("{}")
    assert main(["mailbox", "answer", entry.id, str(tmp_path / "bad.json"), str(tmp_path)]) == 2
    assert "is not valid" in capsys.readouterr().err
    assert main(["mailbox", "answer", "nobody", "-", str(tmp_path)]) == 2
    assert 'no request begins with "nobody"' in capsys.readouterr().err
    assert main(["mailbox", "answer", "cav", str(tmp_path / "absent.json"), str(tmp_path)]) == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(GOOD)))
    assert main(["mailbox", "answer", "cav", "-", str(tmp_path)]) == 0
    assert main(["mailbox", "list", str(tmp_path)]) == 0
    assert f"answered  {entry.id}" in capsys.readouterr().out


def test_the_parts_around_models_import_no_client(tmp_path):
    code = (
        "import sys, sophron.agents.gateway.gateway, sophron.agents.gateway.mailbox_folder, sophron.agents.gateway.backends.replay, "
        "sophron.agents.gateway.backends.mailbox, sophron.cli.mailbox\n"
        "print(sorted({'anthropic', 'openai', 'mcp', 'numpy', 'jsonschema', 'yaml', 'httpx2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
