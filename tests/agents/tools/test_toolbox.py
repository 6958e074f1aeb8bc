"""The toolbox: what a model may read, write and run, and how its mistakes come back."""

import os
import shutil
import socket
import subprocess
import sys

import pytest

from sophron.agents.tools import files
from sophron.agents.tools.toolbox import BUILT_IN, Toolbox
from sophron.interfaces.model_backend import ToolCall
from sophron.interfaces.sandbox import Grant
from sophron.records.errors import UserError
from sophron.sandbox.bubblewrap import Bubblewrap

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bwrap")


@pytest.fixture
def step(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "a.txt").write_text("Alpha\nbeta\n")
    (tmp_path / "data" / "sub" / "b.txt").write_text("gamma alpha\n")
    (tmp_path / "run.log").write_text("step 1\n")
    (tmp_path / "secret").write_text("TOP SECRET alpha")
    return tmp_path


@pytest.fixture
def box(step):
    return Toolbox(
        step / "scratch",
        {"data": step / "data", "log": step / "run.log"},
        Bubblewrap(),
        BUILT_IN,
        grant=Grant(step / "scratch", wall_s=20),
    )


def ask(box, name, **arguments):
    """Text of the answer, and whether it is an error."""
    answer = box.call(ToolCall("c1", name, arguments))
    assert answer.id == "c1"
    return "\n".join(part.text for part in answer.content), answer.is_error


def test_the_model_sees_what_is_named_in_that_order(step):
    box = Toolbox(step / "scratch", {}, Bubblewrap(), ["run_command", "read_file"])
    assert [tool.name for tool in box.tools] == ["run_command", "read_file"]
    assert ask(box, "write_file", path="scratch/x", text="x") == (
        'there is no tool "write_file"; did you mean "read_file"?',
        True,
    )
    with pytest.raises(UserError, match='"read_fle" is no tool; did you mean "read_file"'):
        Toolbox(step / "scratch", {}, Bubblewrap(), ["read_fle"])


def test_reading(box, step):
    assert ask(box, "read_file", path="log") == ("[log: bytes 0 to 7 of 7]\nstep 1\n", False)
    assert ask(box, "read_file", path="data/a.txt", offset=6)[0] == "[data/a.txt: bytes 6 to 11 of 11]\nbeta\n"
    assert ask(box, "read_file", path=str(step / "data" / "sub" / "b.txt"))[0].endswith("gamma alpha\n")
    (step / "data" / "big").write_text("x" * 200_000)
    text, failed = ask(box, "read_file", path="data/big", offset=100_000)
    assert not failed
    assert "bytes 100000 to 148000 of 200000" in text
    assert len(text) < files.READ_BYTES + 100
    assert ask(box, "read_file", path="data/big", offset=10**12)[0] == "[data/big: bytes 200000 to 200000 of 200000]\n"


def test_what_is_read_is_data(box, step):
    (step / "run.log").write_bytes(b"ok\x1b[2J\x00\xff\xe2\x80\xae\xf3\xa0\x81\x81\r\ttab\n")
    text, _ = ask(box, "read_file", path="log")
    assert text.splitlines()[1] == "ok\\x1b[2J\\x00\ufffd\\u202e\\U000e0041\\r\ttab"


def test_listing(box, step):
    assert ask(box, "list_folder") == ("folder scratch\nfolder data\nfile log", False)
    (step / "data" / "link").symlink_to(step / "secret")
    os.mkfifo(step / "data" / "pipe")
    (step / "data" / "odd\n\x1b").write_text("")
    text, _ = ask(box, "list_folder", path="data")
    kinds = [(line.split()[0], line.split()[2]) for line in text.splitlines()]
    assert kinds == [("file", "a.txt"), ("link", "link"), ("file", "odd\\n\\x1b"), ("FIFO", "pipe"), ("folder", "sub")]
    assert ask(box, "list_folder", path="scratch")[0] == "[empty]"
    for number in range(files.ENTRIES + 3):
        (step / "scratch" / str(number)).touch()
    assert ask(box, "list_folder", path="scratch")[0].endswith("[3 more]")
    assert ask(box, "list_folder", path="log")[1]


def test_searching(box, step):
    (step / "data" / "link").symlink_to(step / "secret")
    (step / "data" / "up").symlink_to(step)
    text, failed = ask(box, "search_text", path="data", text="ALPHA")
    assert (text.splitlines(), failed) == (["data/a.txt:1: Alpha", "data/sub/b.txt:1: gamma alpha"], False)
    assert ask(box, "search_text", path="data/sub/b.txt", text="gamma")[0] == "data/sub/b.txt:1: gamma alpha"
    assert ask(box, "search_text", path="log", text="step")[0] == "log:1: step 1"
    assert ask(box, "search_text", path="data", text="SECRET")[0] == "[no line holds it]"
    (step / "data" / "many").write_text("hit\n" * 1000)
    lines = ask(box, "search_text", path="data", text="hit")[0].splitlines()
    assert len(lines) == files.HITS + 1
    assert lines[-1].startswith("[stopped")


def test_writing(box, step):
    assert ask(box, "write_file", path="scratch/new/note.md", text="text\n") == (
        "[wrote 5 bytes to scratch/new/note.md]",
        False,
    )
    assert (step / "scratch" / "new" / "note.md").read_text() == "text\n"
    assert ask(box, "write_file", path="scratch/new/note.md", text="other")[1] is False
    assert [path.name for path in (step / "scratch" / "new").iterdir()] == ["note.md"]
    assert ask(box, "write_file", path="scratch/new", text="x") == ("there is a folder of that name", True)
    assert ask(box, "write_file", path="scratch/new/note.md/below", text="x")[1]
    assert ask(box, "write_file", path="scratch/big", text="ä" * 600_000)[1]
    assert [path.name for path in (step / "scratch").iterdir()] == ["new"]


@pytest.mark.parametrize(
    "path", ["data/x", "log", "scratch", "secret", "/etc/x", "../secret", "scratch/../data/a.txt", "~/x", "scratch/\0"]
)
def test_nothing_is_written_elsewhere(box, step, path):
    before = {file: file.read_bytes() for file in step.rglob("*") if file.is_file()}
    assert ask(box, "write_file", path=path, text="pwned")[1]
    assert {file: file.read_bytes() for file in step.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize(
    "path",
    [
        "secret",
        "../secret",
        "data/../../secret",
        "data/..",
        "/etc/passwd",
        "/proc/self/environ",
        "scratch/link",
        "scratch/updir/secret",
        "scratch/chain",
        "scratch/proc/self/environ",
        "scratch/hard",
        "scratch/pipe",
        "scratch/socket",
        "scratch/rel/secret",
        "data/link",
        "log/x",
        "",
        ".",
    ],
)
def test_nothing_outside_is_read(box, step, path):
    scratch = step / "scratch"
    (scratch / "link").symlink_to(step / "secret")
    (scratch / "updir").symlink_to(step)
    (scratch / "rel").symlink_to("..")
    (scratch / "chain").symlink_to("link")
    (scratch / "proc").symlink_to("/proc")
    (scratch / "hard").hardlink_to(step / "secret")
    (step / "data" / "link").symlink_to(step / "secret")
    os.mkfifo(scratch / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(scratch)  # the name of a socket is short
        listener.bind("socket")
    for name, more in (("read_file", {}), ("search_text", {"text": "SECRET"})):
        text, failed = ask(box, name, path=path, **more)
        assert failed, (name, text)
        assert "TOP" not in text


def test_a_link_that_is_swapped_in_while_reading_leads_nowhere(box, step):
    """A process swaps a folder and a link to another place as fast as it can; no read ever gets there."""
    scratch = step / "scratch"
    (scratch / "real").mkdir()
    (scratch / "real" / "file").write_text("harmless")
    (step / "other").mkdir()
    (step / "other" / "file").write_text("TOP SECRET")
    (scratch / "link").symlink_to(step / "other")
    swap = """if 1:
        import ctypes, sys
        rename = ctypes.CDLL(None).renameat2
        print("ready", flush=True)
        while True:
            rename(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)  # RENAME_EXCHANGE
    """
    seen = set()
    with subprocess.Popen(
        [sys.executable, "-c", swap, scratch / "real", scratch / "link"], stdout=subprocess.PIPE
    ) as swapper:
        swapper.stdout.readline()
        try:
            for _ in range(1500):
                text, failed = ask(box, "read_file", path="scratch/real/file")
                seen.add("secret" if "TOP" in text else "refused" if failed else "read")
        finally:
            swapper.kill()
    assert seen == {"refused", "read"}


def test_a_link_or_fifo_in_the_way_is_replaced_and_not_written_through(box, step):
    scratch = step / "scratch"
    (scratch / "link").symlink_to(step / "secret")
    (scratch / "hard").hardlink_to(step / "secret")
    (scratch / "folder").symlink_to(step)
    os.mkfifo(scratch / "pipe")
    for name in ("link", "hard", "pipe"):
        assert ask(box, "write_file", path=f"scratch/{name}", text="mine")[1] is False
        assert (scratch / name).read_text() == "mine"
    assert ask(box, "write_file", path="scratch/folder/secret", text="mine")[1]
    assert (step / "secret").read_text() == "TOP SECRET alpha"


def test_inputs_may_be_hard_links_and_links(step):
    """Finished results are hard links to scratch files, and a workflow may hand on a link."""
    (step / "result").hardlink_to(step / "run.log")
    (step / "named").symlink_to(step / "run.log")
    box = Toolbox(step / "scratch", {"result": step / "result", "named": step / "named"}, Bubblewrap(), BUILT_IN)
    assert ask(box, "read_file", path="result")[0].endswith("step 1\n")
    assert ask(box, "read_file", path="named")[0].endswith("step 1\n")


def test_roots_that_are_refused(step):
    (step / "scratch" / "planted").symlink_to(step / "secret")
    os.mkfifo(step / "pipe")
    for inputs, reason in (
        ({"scratch": step / "data"}, "name of the work folder"),
        ({"gone": step / "gone"}, "does not exist"),
        ({"pipe": step / "pipe"}, "neither a file nor a folder"),
        ({"planted": step / "scratch" / "planted"}, "leads out of the work folder"),
    ):
        with pytest.raises(UserError, match=reason):
            Toolbox(step / "scratch", inputs, Bubblewrap(), BUILT_IN)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("read_file", {}, "'path' is a required property"),
        ("read_file", {"path": 3}, "3 is not of type 'string'"),
        ("read_file", {"path": "log", "offset": -1}, "minimum"),
        ("read_file", {"path": "log", "mode": "rw"}, "mode"),
        ("run_command", {}, "not valid"),
        ("run_command", {"argv": ["a"], "line": "b"}, "valid under each"),
        ("run_command", {"argv": ["a\0b"]}, "does not match"),
        ("read_file", None, "no JSON object"),
        ("read_file", {"path": "data/none"}, "No such file"),
        ("read_file", {"path": "data/" + "x" * 4000}, "name too long"),
        ("read_file", {"path": "data/\ud800"}, ""),
    ],
)
def test_a_models_mistakes_are_answers(box, name, arguments, reason):
    answer = box.call(ToolCall("c1", name, arguments))
    assert answer.is_error
    assert reason in answer.content[0].text
    assert "\n" not in answer.content[0].text


@needs_bwrap
def test_commands(box, step):
    text, failed = ask(box, "run_command", line="pwd; cat ../data/a.txt; echo kept >f; echo bad >&2; exit 3")
    assert (text, failed) == (f"[exit code 3]\n[stdout]\n{step}/scratch\nAlpha\nbeta\n\n[stderr]\nbad\n", True)
    assert (step / "scratch" / "f").read_text() == "kept\n"
    assert ask(box, "run_command", argv=["echo", "$HOME;"]) == ("[exit code 0]\n[stdout]\n$HOME;\n", False)
    assert ask(box, "run_command", argv=["no-such"])[0].startswith("[exit code 127]")
    assert "No such file" in ask(box, "run_command", line=f"cat {step}/secret")[0]
    text, _ = ask(box, "run_command", line="head -c 1000000 /dev/zero | tr '\\0' x; echo end")
    assert "[976004 bytes left out]" in text
    assert text.endswith("end\n")
    assert len(text) < 30_000
    assert "\\x1b[2J" in ask(box, "run_command", line="printf '\\033[2J'")[0]


@needs_bwrap
def test_a_command_that_passes_a_limit_says_which(step):
    box = Toolbox(step / "scratch", {}, Bubblewrap(), ["run_command"], grant=Grant(step / "scratch", wall_s=0.3))
    assert "At most 600 CPU seconds, 2000 MB of memory" in box.tools[0].description
    assert ask(box, "run_command", line="sleep 30") == ("[ended: it passed its limit of 0.3 seconds]", True)
