"""progress.log: append-only, one line a transition, no line twice and none lost, whenever a kill comes.

The lines are a function of the events. A projector that died between the log and workflow-state.json leaves lines
in the log that its successor derives again: it recognises them in the log's tail and goes on after them.
"""

from pathlib import Path

from sophron.records import files, sanitize

NAME = "progress.log"
LONGEST_REASON = 400


def plain(text: str) -> str:
    """`text` on one line, without hidden characters: no reason that a program gives can forge a log line."""
    return sanitize.one_line(text, LONGEST_REASON)


def size(root: Path) -> int:
    """Return the bytes of progress.log; 0 if there is none."""
    try:
        return (root / NAME).stat().st_size
    except FileNotFoundError:
        return 0


def extend(root: Path, lines: list[str], since: int) -> int:
    """Append those of `lines` that do not stand beyond byte `since` of the log yet; the log's new size in bytes.

    The caller holds the projector's lock. A line that somebody else put into the log stays where it is.
    """
    path = root / NAME
    if not lines:
        return size(root)
    with path.open("a+b", buffering=0) as stream:
        stream.seek(since)
        missing = _missing(stream.read(), [line.encode() + b"\n" for line in lines])
        if missing:
            stream.write(missing)  # opened for appending: always at the end
        return stream.seek(0, 2)


def rewrite(root: Path, lines: list[str]) -> int:
    """Make the log anew from all its lines, where it was cut short; its size in bytes."""
    files.write_text(root / NAME, "".join(f"{line}\n" for line in lines))
    return size(root)


def _missing(tail: bytes, lines: list[bytes]) -> bytes:
    """What to append to a log that ends in `tail`, so that it holds `lines` in their order."""
    found = 0
    for present in tail.splitlines(keepends=True):
        if found < len(lines) and present == lines[found]:
            found += 1
    torn = tail[tail.rfind(b"\n") + 1 :]
    if torn and found < len(lines) and lines[found].startswith(torn):
        return lines[found][len(torn) :] + b"".join(lines[found + 1 :])
    return (b"\n" if torn and found < len(lines) else b"") + b"".join(lines[found:])
