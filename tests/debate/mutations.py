"""Faults that are planted in the dimer's pipeline: a family of mutations, drawn by seed, apart from what detects them.

Each is a rewrite of one line that keeps the file's meaning readable; which one, and where, the seed decides. Nothing
here knows an expert's rule or an Engineer's fix.
"""

import ast
import random
import re

from sophron.debate.pipeline import STAGES, Pipeline

FAMILIES = ("does_not_run", "sign_of_release", "overlap_lost")


def mutate(made, family, seed):
    """The pipeline with one fault of a family, and the file that it is in."""
    source = random.Random(f"{family}/{seed}")
    file, text = {"does_not_run": _broken, "sign_of_release": _sign, "overlap_lost": _thinned}[family](made, source)
    assert text != made.files[file]
    ast.parse(text)
    return Pipeline(made.rationale, made.windows, {**made.files, file: text}), file


def _broken(made, source):
    """An import that is missing, or a name that is misspelt, in one of the first three files."""
    file = source.choice([stage.file for stage in STAGES[:3]])
    text = made.files[file]
    if source.random() < 0.5:
        lines = [line for line in text.splitlines() if re.match(r"import numpy|from pathlib", line)]
        return file, text.replace(source.choice(lines) + "\n", "", 1)
    tree = ast.parse(text)
    (main,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main"]
    used = [node for node in ast.walk(main) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    chosen = source.choice([node for node in used if len(node.id) > 5])
    place = source.randrange(1, len(chosen.id) - 1)
    spelt = chosen.id[:place] + chosen.id[place + 1] + chosen.id[place] + chosen.id[place + 2 :]
    if spelt == chosen.id:
        spelt = chosen.id + chosen.id[-1]
    lines = text.splitlines(keepends=True)
    line = lines[chosen.lineno - 1]
    lines[chosen.lineno - 1] = line[: chosen.col_offset] + spelt + line[chosen.end_col_offset :]
    return file, "".join(lines)


def _sign(made, source):
    """The release with the wrong sign: where it is made, or where it is summed."""
    text = made.files["04_analysis.py"]
    ways = [
        ("released = release(", "released = -release("),
        ("found.difference + released", "found.difference - released"),
    ]
    old, new = source.choice(ways)
    assert text.count(old) == 1
    return "04_analysis.py", text.replace(old, new)


def _thinned(made, source):
    """Windows that the analysis leaves out, so that neighbours in what is left do not overlap."""
    text = made.files["04_analysis.py"]
    stride = source.choice([2, 3])
    assert text.count("WINDOW_STRIDE_COUNT = 1\n") == 1
    return "04_analysis.py", text.replace("WINDOW_STRIDE_COUNT = 1\n", f"WINDOW_STRIDE_COUNT = {stride}\n")
