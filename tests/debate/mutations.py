"""Faults that are planted in the dimer's pipeline: a family of mutations, drawn by seed, apart from what detects them.

Each is a rewrite of one line that keeps the file's meaning readable; which one, and where, the seed decides. Nothing
here knows an expert's rule or an Engineer's fix.
"""

import ast
import random
import re

from sophron.debate.pipelines.pipeline import STAGES, Pipeline

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
    """A wrong sign at the release: where it is made, where it is used, or in the sum that it is in."""
    text = made.files["04_analysis.py"]
    return "04_analysis.py", _rewritten(text, *source.choice(list(_signs(ast.parse(text)))))


def _signs(tree):
    """Nodes that the sign of the release hangs on, and what each becomes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "release":
            yield node, f"-{ast.unparse(node)}"
        elif isinstance(node, ast.Name) and node.id == "released" and isinstance(node.ctx, ast.Load):
            yield node, "(-released)"
        elif isinstance(node, ast.BinOp) and "released" in {
            each.id for each in ast.walk(node) if isinstance(each, ast.Name)
        }:
            if isinstance(node.op, ast.Add) and not isinstance(node.left, ast.UnaryOp):
                yield node, f"({ast.unparse(node.left)} - {ast.unparse(node.right)})"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and "released" in ast.unparse(node):
            yield node, ast.unparse(node.operand)


def _thinned(made, source):
    """Windows that the analysis leaves out, so that neighbours in what is left do not overlap."""
    text, every = made.files["04_analysis.py"], "range(len(windows))"
    (node,) = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Call) and ast.unparse(each) == every]
    stride, gap = source.choice([2, 3]), source.randrange(2, made.windows - 4)
    ways = [
        f"range(0, len(windows), {stride})",
        f"{every}[::{stride}]",
        f"[each for each in {every} if each % {stride} == 0]",
        f"[each for each in {every} if not {gap} <= each < {gap + 3}]",
        f"[*{every}[:{gap}], *{every}[{gap + 3}:]]",
    ]
    return "04_analysis.py", _rewritten(text, node, source.choice(ways))


def _rewritten(text, node, new):
    """With the source of one node of one line replaced."""
    lines = text.splitlines(keepends=True)
    line = lines[node.lineno - 1]
    assert node.lineno == node.end_lineno
    lines[node.lineno - 1] = line[: node.col_offset] + new + line[node.end_col_offset :]
    return "".join(lines)
