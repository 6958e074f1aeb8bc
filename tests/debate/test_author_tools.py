"""The tools of who writes a pipeline: a check that costs no trial, references, and code in the real sandbox."""

import json

import pytest

from sophron.agents.tools.toolbox import Toolbox
from sophron.debate.trials import author_tools
from sophron.interfaces.model_backend import ToolCall
from sophron.sandbox.select_backend import choose

from . import dimers

NAMES = ["check_reply", "read_reference", "run_snippet"]


@pytest.fixture
def asked(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    desk = tmp_path / "desk.json"
    told = {"most_windows": 18, "platform": "Reference", "names": ["weak", "adz"], "task": dimers.task(), "works": []}
    desk.write_text(json.dumps(told))
    box = Toolbox(scratch, {author_tools.DESK: desk}, choose(), NAMES)

    def ask(tool, **arguments):
        answer = box.call(ToolCall("1", tool, arguments))
        return answer.content[0].text, answer.is_error

    return ask


def test_a_reply_without_fault_is_told_so(asked):
    assert asked("check_reply", reply=dimers.pipeline().reply)[0].startswith("No fault of form")


def test_all_faults_of_form_come_at_once(asked):
    made = dimers.pipeline(windows=40)
    reply = made.reply.replace("PULL_LENGTH_A", "PULL_LENGTH").replace("import math\n", "import math\nimport socket\n")
    said, failed = asked("check_reply", reply=reply)
    assert not failed
    assert all(part in said for part in ("PULL_LENGTH", "socket", "40 windows are more than the signed 18"))


def test_a_key_that_no_result_has_is_named(asked):
    own = 'RESULT = {"stage": 4, "status": "completed", "wall_time_s": 1.0, "dG": None}\n\n\ndef main'
    said, _ = asked("check_reply", reply=dimers.pipeline().reply.replace("def main", own, 1))
    assert "the result has no key wall_time_s" in said
    assert "the result has no key dG" in said


def test_a_reference_is_shown_and_another_file_is_not(asked):
    assert "def estimate" in asked("read_reference", name="sophron.science.estimators.mbar")[0]
    said, failed = asked("read_reference", name="/etc/passwd")
    assert failed
    assert "nothing may be read" in said


def test_a_snippet_runs_as_a_stage_would(asked):
    code = (
        "import json, os\nprint(json.load(open('task_metadata.json'))['interaction'], os.environ['SOPHRON_PLATFORM'])"
    )
    said, failed = asked("run_snippet", code=code)
    assert not failed
    assert "'sigma_a': 3.4" in said
    assert "Reference" in said


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("from sophron.science.host_guest.systems import exact_reference", "exact answers"),
        ("import socket", "socket"),
        ("eval('1')", "eval"),
        ("print('", "not valid Python"),
    ],
)
def test_a_snippet_may_not_do_what_a_stage_may_not(asked, code, why):
    said, failed = asked("run_snippet", code=code)
    assert failed
    assert why in said
