"""The tool that runs a command in the step's sandbox: inputs read-only, scratch as working folder, output bounded."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sophron.interfaces.model_backend import Tool
from sophron.interfaces.sandbox import Ended, Grant, SandboxBackend
from sophron.records.sanitize import escape_lines

OUTPUT = 24_000
_HEAD = OUTPUT // 4
_SAID = {
    "cpu_s": "CPU seconds",
    "memory_mb": "MB of memory",
    "file_mb": "MB in one file",
    "disk_mb": "MB in the work folder",
    "wall_s": "seconds",
    "processes": "processes",
}


def tool(grant: Grant) -> Tool:
    """`run_command` as a model sees it, with what the grant allows."""
    limits = ", ".join(
        f"{getattr(grant, key):g} {word}" for key, word in _SAID.items() if getattr(grant, key) is not None
    )
    return Tool(
        "run_command",
        "Run a program in the sandbox: either `argv`, or one `line` for /bin/sh. Its folder is scratch, the only place "
        f"that it can write to. {'It has network.' if grant.network else 'There is no network.'} At most {limits}.",
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "argv": {"type": "array", "minItems": 1, "maxItems": 1000, "items": _word(100_000)},
                "line": {**_word(100_000), "minLength": 1},
            },
            "oneOf": [{"required": ["argv"]}, {"required": ["line"]}],
        },
    )


def run(sandbox: SandboxBackend, grant: Grant, argv: Sequence[str] = (), line: str = "") -> tuple[str, bool]:
    """How the command ended and what it wrote, and whether it failed. UserError where no sandbox can be made."""
    command = list(argv) or ["/bin/sh", "-c", line]
    with TemporaryDirectory(prefix="sophron-") as folder:
        out, err = Path(folder) / "stdout", Path(folder) / "stderr"
        ended = sandbox.run(command, grant, stdout=out, stderr=err)
        text = "\n".join([_sentence(ended, grant), *_stream("stdout", out), *_stream("stderr", err)])
    return text, ended.returncode != 0


def _word(most: int) -> dict[str, object]:
    # A NUL cannot be in an argument; refused here, it is a mistake of the model and not of the system.
    return {"type": "string", "maxLength": most, "pattern": "^[^\\x00]*$"}


def _sentence(ended: Ended, grant: Grant) -> str:
    if ended.limit is not None:
        return f"[ended: it passed its limit of {getattr(grant, ended.limit):g} {_SAID[ended.limit]}]"
    if ended.returncode < 0:
        return f"[ended by signal {-ended.returncode}]"
    return f"[exit code {ended.returncode}]"


def _stream(name: str, path: Path) -> list[str]:
    """Beginning and end of what it wrote, where the whole is too long; nothing where it wrote nothing."""
    size = path.stat().st_size
    if not size:
        return []
    with path.open("rb") as stream:
        if size <= OUTPUT:
            return [f"[{name}]", escape_lines(stream.read().decode(errors="replace"), OUTPUT)]
        head = stream.read(_HEAD)
        stream.seek(_HEAD - OUTPUT, 2)
        tail = stream.read()
    left_out = f"[{size - OUTPUT} bytes left out]"
    return [
        f"[{name}]",
        escape_lines(head.decode(errors="replace"), OUTPUT),
        left_out,
        escape_lines(tail.decode(errors="replace"), OUTPUT),
    ]
