"""Where a file of a pipeline departs from the reference that it descends from.

A rule of thumb cannot read code. What it can do, once a file is suspect, is compare it with ours, which is known to
work: if they differ in one place, that place is put back. Of a pipeline that is not ours it has nothing to say.
"""

from difflib import SequenceMatcher

from sophron.agents.rule_based.pipeline_author import GROUP
from sophron.records import entry_points

ALIKE = 0.9
"""Part of the lines that descent is told by."""
MOST_LINES = 4
"""Of one place, in either file."""


def source(pipeline: str, file: str) -> str:
    """Text of one file of a reply; nothing where it has none."""
    return pipeline.partition(f"FILE {file}\n```python\n")[2].partition("\n```")[0]


def restored(file: str, pipeline: str) -> dict[str, str] | None:
    """The edit that makes `file` our own again; None where it is, or departs in more places than one."""
    found = source(pipeline, file).splitlines()
    for name in entry_points.names(GROUP):
        edit = _only_place(found, source(entry_points.load(GROUP, name)(), file).splitlines())
        if edit:
            return {"file": file, "region": edit[0], "change": edit[1]}
    return None


def _only_place(found: list[str], ours: list[str]) -> tuple[str, str] | None:
    """The one place in which they differ, and ours, with as many lines before it as make it the only one."""
    matcher = SequenceMatcher(None, found, ours, autojunk=False)
    places = [each[1:] for each in matcher.get_opcodes() if each[0] != "equal"]
    if len(places) != 1 or matcher.ratio() < ALIKE:
        return None
    first, last, begin, end = places[0]
    if max(last - first, end - begin) > MOST_LINES:
        return None
    whole = "\n".join(found)
    while min(first, begin) > 0 and (first == last or begin == end or whole.count("\n".join(found[first:last])) > 1):
        first, begin = first - 1, begin - 1
    return "\n".join(found[first:last]), "\n".join(ours[begin:end])
