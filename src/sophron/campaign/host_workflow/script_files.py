"""Files of a script or notebook: itself, what it imports or sources from the workflow, and the config it reads."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

CODE = (".py", ".R", ".r", ".Rmd", ".sh", ".bash", ".pl", ".jl", ".awk", ".sed", ".ipynb", ".m", ".lua", ".rb", ".rs")
SOURCED = re.compile(
    r"""(?:\bsource|\binclude|\bsys\.source|^\s*\.)\s*\(?\s*(?:file\s*=\s*)?["']?([\w./-]+\.\w+)""", re.MULTILINE
)
"""`source("x.R")`, `include("x.jl")`, `source x.sh`, `. x.sh`."""
R_CONFIG = re.compile(r"""snakemake@config((?:\s*\[\[\s*["'][^"']+["']\s*\]\]|\$\w+)*)""")
R_KEY = re.compile(r"""\[\[\s*["']([^"']+)["']\s*\]\]|\$(\w+)""")
Key = tuple[str, ...]


def imported(text: str, path: Path) -> Iterator[Path]:
    """Yield the files beside `path` that its text imports, sources or includes."""
    if path.suffix in (".py", ".ipynb"):
        yield from _modules(python_of(text, path), path.parent)
    else:
        for name in SOURCED.findall(text):
            for folder in (path.parent, Path.cwd()):
                if (folder / name).is_file():
                    yield folder / name


def python_of(text: str, path: Path) -> str:
    """Return the Python code of a script, or of the cells of a notebook; empty if the notebook has another language."""
    if path.suffix != ".ipynb":
        return text
    document = json.loads(text)
    if document.get("metadata", {}).get("language_info", {}).get("name", "python") != "python":
        return ""
    cells = [cell["source"] for cell in document.get("cells", []) if cell.get("cell_type") == "code"]
    lines = "\n".join(cell if isinstance(cell, str) else "".join(cell) for cell in cells)
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines.splitlines())


def _modules(text: str, folder: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
        for name in names:
            place = folder.joinpath(*filter(None, name.split(".")))
            for path in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
                if path.is_file():
                    yield path


def closure(path: Path, text: str) -> dict[Path, str]:
    """Return the script and all local files that it reaches: path -> text. Other files are read from disk."""
    found, waiting = {path: text}, [path]
    while waiting:
        one = waiting.pop()
        for other in imported(found[one], one):
            if other not in found:
                found[other] = other.read_text(errors="replace")
                waiting.append(other)
    return found


def config_keys(text: str, path: Path) -> set[Key]:
    """Return the keys under which a script looks up `snakemake.config`; the empty key for any other use of it."""
    if path.suffix not in (".py", ".ipynb"):
        found = {tuple(a or b for a, b in R_KEY.findall(keys)) for keys in R_CONFIG.findall(text)}
        elsewhere = re.search(r"\bsnakemake\.config\b|Snakemake.*config|\bconfig\s*=\s*snakemake", text)
        return found | ({()} if elsewhere else set())
    try:
        tree = ast.parse(python_of(text, path))
    except SyntaxError:
        return {()}
    uses = [node for node in ast.walk(tree) if _is_config(node)]
    inner: dict[int, Key] = {}
    for node in ast.walk(tree):
        key: list[str] = []
        below: ast.AST = node
        while isinstance(below, ast.Subscript) and isinstance(below.slice, ast.Constant):
            key.insert(0, str(below.slice.value))
            below = below.value
        if key and _is_config(below) and len(key) > len(inner.get(id(below), ())):
            inner[id(below)] = tuple(key)
    return {inner.get(id(use), ()) for use in uses}


def _is_config(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "config"
        and isinstance(node.value, ast.Name)
        and node.value.id in ("snakemake", "smk")
    )
