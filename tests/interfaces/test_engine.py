"""Engines: the skeleton to copy, what can cure an end, and the progress of real steps of OpenMM and rietx."""

import json
import os
import signal
import sys
import textwrap

import pytest

from sophron.campaign.spec import engines
from sophron.cli import _campaign_status
from sophron.interfaces import engine as interface
from sophron.interfaces.engine import Engine, Progress
from sophron.interfaces.kind import EngineFailure, EnvironmentFailure
from sophron.records import step_progress


@pytest.fixture(name="cp2k")
def _cp2k():
    text = interface.__doc__.partition("    import re\n")[2]
    names = {"EngineFailure": EngineFailure}
    exec(textwrap.dedent("    import re\n" + text), names)
    return names["CP2K"]


def test_the_skeleton_of_the_docstring_is_an_engine(cp2k, tmp_path):
    assert cp2k.progress(tmp_path, tmp_path) is None
    (tmp_path / "cp2k.log").write_text(" STEP NUMBER =     3\n STEP NUMBER =     4\n")
    (tmp_path / "x.restart").write_bytes(b"whole")
    assert cp2k.progress(tmp_path, tmp_path) == Progress(4, None)
    assert [one.valid for one in cp2k.restart_files(tmp_path)] == [True]
    assert cp2k.failure(1, "out of memory\n").curable_by == "memory"


@pytest.mark.parametrize(
    ("code", "kind", "curable"),
    [
        (-signal.SIGKILL, EngineFailure, "memory"),
        (128 + signal.SIGTERM, EngineFailure, "time"),
        (127, EnvironmentFailure, None),
        (128 + signal.SIGILL, EnvironmentFailure, None),
        (1, EngineFailure, None),
        (None, EngineFailure, None),
    ],
)
def test_what_a_retry_can_cure(code, kind, curable):
    one = Engine()
    one.title = "Anything"
    found = one.failure(code, "its last words\n")
    assert (type(found), found.curable_by) == (kind, curable)


def test_a_fault_of_the_device_is_the_machines():
    openmm = engines.find("openmm")
    assert isinstance(openmm.failure(None, "Error: CUDA_ERROR_ILLEGAL_ADDRESS (700)"), EnvironmentFailure)
    assert type(openmm.failure(None, "Particle coordinate is NaN")) is EngineFailure


def test_status_asks_light_modules_only():
    code = "import sys; from sophron.campaign.spec import engines; engines.installed(); print('numpy' in sys.modules)"
    assert os.popen(f'{sys.executable} -c "{code}"').read() == "False\n"


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "[1]", '{"step": -1, "total": 4}', '{"step": true, "total": 4}', '{"step": 1e99}']
)
def test_what_a_sandboxed_program_wrote_is_not_believed(tmp_path, text):
    path = tmp_path / step_progress.NAME
    path.write_text(text)
    assert step_progress.read(path, "steps") is None


def test_a_pipe_or_a_link_in_place_of_the_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "whole").write_text('{"step": 1, "total": 4}')
    (tmp_path / "link").symlink_to("whole")
    assert step_progress.read(tmp_path / "whole", "steps") == Progress(1, 4)
    assert [step_progress.read(tmp_path / name, "steps") for name in ("pipe", "link", "none")] == [None] * 3


def test_the_engine_that_a_try_names_reads_its_scratch_folder(tmp_path):
    log, scratch = tmp_path / "records" / "series-1" / "1", tmp_path / "scratch" / "0" / "series-1"
    log.mkdir(parents=True)
    scratch.mkdir(parents=True)
    with step_progress.Meter(scratch, total=8) as meter:
        meter.at(2)
        for name, unit in (("rietx", "patterns"), ("gsas2", "patterns"), ("openmm", None), (None, None)):
            note = {"engine": name, "digest": "0", "step": "series-1"}
            (log / "try.json").write_text(json.dumps(note))
            found = engines.progress_of_try(tmp_path, log)
            assert (found.unit if found else None) == unit
        assert engines.progress_of_agent(tmp_path, "series-1") is None
    assert not list(scratch.iterdir())


def test_the_page_says_what_is_counted():
    found = {"step": 150, "total": 600, "steps_per_s": 2.5, "seconds_left": None, "unit": "samples (forward)"}
    assert _campaign_status.how_far(found) == " 25 %  150 of 600 samples (forward), 2.50 samples/s"


def test_gpus_are_what_engines_say():
    assert [engines.wants_gpu(one) for one in ("gpu", "kk", "omp", "none")] == [True, True, False, False]
