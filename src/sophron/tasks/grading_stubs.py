"""Programs that stand in for those which would fetch or install something while tests run, and what tests need of pip.

Most published tests fetch uv or packages when they grade. Without a network that fails; the stubs let the script go
on to its tests, and record each call, because they change what the author wrote.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from sophron.records.files import write_text
from sophron.records.sanitize import one_line
from sophron.tasks.run_instruction import of_debian

NAMES = ("apt", "apt-get", "sudo", "curl", "wget", "uv", "uvx")
CALLS = "SOPHRON_STUB_CALLS"
"""Variable that names the file in which calls are recorded."""
MOST_CALLS = 50
LONGEST_CALL = 300
_OPTION = re.compile(r"(?:--with|--from|-w)[ =]+(\S+)")
_APT_INSTALL = re.compile(r"\bapt(?:-get)? (?:-\S+ )*install +([^\n;&|<>#]+)")
_INSTALL = re.compile(r"\b(?:uv )?pip3? install +([^\n;&|]+)|\buv add +([^\n;&|]+)")

SCRIPT = r"""#!/bin/sh
# Stands in for a program that would fetch or install something while tests run: it says in a record that it was
# called, and does nothing. `uv run`, `uvx` and `sudo` start the program that they were given.
name=${0##*/}
printf '%s\n' "$name $(printf '%s' "$*" | tr '\r\n' '  ' | cut -c1-500)" >>"$SOPHRON_STUB_CALLS"

skip_options() {
    while [ $# -gt 0 ]; do
        case $1 in
            -p|--python|-w|--with|--with-requirements|--with-editable|--from|--index-url|--extra-index-url|--index|\
            --project|--directory|--env-file|--group|--extra|-u|-g) shift; [ $# -gt 0 ] && shift ;;
            -*=*|-*|[A-Za-z_]*=*) shift ;;
            *) break ;;
        esac
    done
    [ $# -eq 0 ] && exit 0
    case $1 in
        *.py) exec python3 "$@" ;;
        *) exec "$@" ;;
    esac
}

case $name in
    sudo|uvx) skip_options "$@" ;;
    uv)
        case $1 in
            run) shift; skip_options "$@" ;;
            tool) [ "$2" = run ] && { shift 2; skip_options "$@"; } ;;
        esac ;;
esac
exit 0
"""


SOURCED = f"printf 'source .local/bin/env\\n' >>\"${CALLS}\"\n"
"""What uv's installer would leave for scripts to source; one under `set -e` ends without it."""


def write(folder: Path, home: Path) -> None:
    """Write the stubs into a folder, which is to stand first on PATH, and into `home` what scripts source."""
    if not (home / ".local" / "bin" / "env").exists():
        write_text(home / ".local" / "bin" / "env", SOURCED)
    for name in NAMES:
        write_text(folder / name, SCRIPT)
        (folder / name).chmod(0o755)


def calls(path: Path) -> tuple[str, ...]:
    """Return the calls that were recorded, each once, in their order; the tests could have written them too."""
    if path.is_symlink() or not path.is_file():
        return ()
    with path.open("rb") as stream:
        lines = stream.read(1_000_000).decode(errors="replace").splitlines()
    return tuple(dict.fromkeys(one_line(line, LONGEST_CALL) for line in lines if line.strip()))[:MOST_CALLS]


def requirements(script: str) -> tuple[str, ...]:
    """Return what a test script would let pip or uv install, so that it can be there before: names with versions."""
    text = script.replace("\\\n", " ")
    found = [match[1] for match in _OPTION.finditer(text)]
    for match in _INSTALL.finditer(text):
        try:
            words = shlex.split(match[1] or match[2], comments=True)
        except ValueError:
            continue
        found += [word for word in words if not word.startswith("-")]
    found += of_debian(packages(script)).wheels
    plain = (word.strip("\"'") for word in found)
    return tuple(
        dict.fromkeys(word for word in plain if re.fullmatch(r"[A-Za-z0-9][\w.\[\]-]*(?:[=<>!~]=?[\w.*,<>=!]+)?", word))
    )


def packages(script: str) -> tuple[str, ...]:
    """Return the Debian packages that a script would let apt install, without their versions."""
    words = [word for match in _APT_INSTALL.finditer(script.replace("\\\n", " ")) for word in match[1].split()]
    plain = (re.split(r"[=/]", word)[0] for word in words if re.fullmatch(r"[a-z0-9][\w.+=~:/-]*", word))
    return tuple(dict.fromkeys(plain))
