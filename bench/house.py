"""How the library reads, in numbers: files an action passes, untyped documents, docstrings, functions, packages.

Nothing here judges; the figures are compared with those of another commit. "Files an action passes" are the modules
under src/sophron, `__init__` left out, of which a function was executed in the process of that action.

    PYTHONPATH=tests/toy python bench/house.py
"""

import ast
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import grimp
import numpy as np
import pytest
import toy
from record import record
from scipy.sparse.csgraph import connected_components

from sophron import cli

TOP = Path(__file__).parents[1]
LIBRARY = TOP / "src" / "sophron"
OPTIMIZED = 0x1  # of code objects: set for functions, not for modules and bodies of classes
SMALL = 40


def modules() -> Iterator[Path]:
    """Every module of the library; links to data folders are not followed."""
    folders = [path for path in LIBRARY.iterdir() if path.is_dir() and not path.is_symlink()]
    yield from LIBRARY.glob("*.py")
    for folder in folders:
        yield from (path for path in folder.rglob("*.py") if "templates" not in path.parts)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions and methods in a module."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def reading() -> dict:
    """Lines, lengths of functions, docstrings of public names, untyped documents."""
    trees = {path: ast.parse(path.read_text()) for path in modules()}
    lines = sum(len(path.read_text().splitlines()) for path in trees)
    lengths = sorted(node.end_lineno - node.lineno + 1 for tree in trees.values() for node in functions(tree))
    public = [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        and not getattr(node, "name", "").startswith("_")
    ]
    untyped = sum(len(re.findall(r"(?:dict|Mapping)\[str, Any\]", path.read_text())) for path in trees)
    return {
        "modules": len(trees),
        "lines": lines,
        "function_lines": {
            "median": statistics.median(lengths),
            "p90": lengths[int(0.9 * len(lengths))],
            "max": lengths[-1],
        },
        "public_docstrings_percent": round(
            100 * sum(ast.get_docstring(node) is not None for node in public) / len(public), 1
        ),
        "dict_str_any_per_1000_lines": round(1000 * untyped / lines, 1),
    }


def packages() -> dict:
    """Tables of contents, small modules with one importer, and cycles between sibling packages."""
    graph = grimp.build_graph("sophron")
    registries = (TOP / "setup.cfg").read_text()
    folders = sorted({path.parent for path in modules()} - {LIBRARY})
    with_contents = [folder for folder in folders if "__all__" in (folder / "__init__.py").read_text()]
    small = [
        path.relative_to(LIBRARY).as_posix()
        for path in modules()
        if path.stem != "__init__"
        and len(path.read_text().splitlines()) < SMALL
        and len(graph.find_modules_that_directly_import(_name(path))) == 1
        and f"{_name(path)}:" not in registries  # whoever looks through a registry is one more importer
    ]
    return {
        "packages": len(folders),
        "with_table_of_contents": len(with_contents),
        "small_modules_with_one_importer": len(small),
        "cycles_between_packages": cycles(graph, folders),
    }


def _name(path: Path) -> str:
    return ".".join(("sophron", *path.relative_to(LIBRARY).with_suffix("").parts))


def cycles(graph: grimp.ImportGraph, folders: list[Path]) -> list[list[str]]:
    """Sets of sibling packages that import one another in a circle."""
    found = []
    for parent in sorted({folder.parent for folder in folders}):
        siblings = sorted(folder.name for folder in folders if folder.parent == parent)
        prefix = ".".join(("sophron", *parent.relative_to(LIBRARY).parts))
        edges = np.zeros((len(siblings), len(siblings)), dtype=bool)
        for module in graph.modules:
            of = _sibling(module, prefix, siblings)
            for imported in graph.find_modules_directly_imported_by(module) if of is not None else ():
                to = _sibling(imported, prefix, siblings)
                if to is not None:
                    edges[of, to] |= of != to
        _, circles = connected_components(edges, connection="strong")
        sets = ([siblings[place] for place in np.flatnonzero(circles == number)] for number in set(circles))
        found += [[f"{prefix}.{name}" for name in circle] for circle in sets if len(circle) > 1]
    return found


def _sibling(module: str, prefix: str, siblings: list[str]) -> int | None:
    if not module.startswith(f"{prefix}."):
        return None
    name = module.removeprefix(f"{prefix}.").split(".")[0]
    return siblings.index(name) if name in siblings else None


def passed(action: Callable[[], object]) -> int:
    """The number of files that an action passes."""
    files: set[str] = set()

    def look(frame, event, argument):  # noqa: ARG001 - Python's own signature
        code = frame.f_code
        if event == "call" and code.co_flags & OPTIMIZED and code.co_filename.startswith(str(LIBRARY)):
            files.add(code.co_filename)

    sys.setprofile(look)
    try:
        action()
    finally:
        sys.setprofile(None)
    return len({name for name in files if name.endswith(".py") and not name.endswith("__init__.py")})


def actions() -> dict:
    """Files that an approval, an agent step, a stage and a look at the state pass."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        campaign = toy.campaign(Path(folder), patch)
        root = str(campaign.root)
        toy.make_key(Path(folder) / "signer")
        digest = ["approve", root, "--key", str(Path(folder) / "signer"), "--digest", _digest(root)]
        counted = {"approve": passed(lambda: cli.main(digest))}
        steps = campaign.planned("a", "caveats")  # Snakemake's part, in another process than the steps
        counted["stage"] = passed(lambda: campaign.run_planned(steps, "a"))
        campaign.complete()
        counted["status"] = passed(lambda: cli.main(["status", root]))
        for kept in (campaign.root / "records" / "caveats").glob("answer*.json"):
            kept.unlink()  # else nobody is asked
        counted["agent_step"] = passed(lambda: campaign.run_planned(steps, "caveats"))
        return counted


def _digest(root: str) -> str:
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as out:
        cli.main(["review", root, "--digest"])
    return out.getvalue().split()[-1]


if __name__ == "__main__":
    path = record("house", {"reading": reading(), "packages": packages(), "files_an_action_passes": actions()})
    print(path.read_text())
