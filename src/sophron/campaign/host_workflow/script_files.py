"""Files of a script or notebook: itself, what it imports, sources or names in the workflow, and the config it reads."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

PYTHON = (".py", ".ipynb")
CODE = (
    *(".py", ".R", ".r", ".Rmd", ".qmd", ".sh", ".bash", ".pl", ".pm", ".jl", ".awk", ".sed", ".ipynb", ".m", ".lua"),
    *(".rb", ".rs", ".js", ".ts", ".c", ".h", ".cpp", ".hpp", ".xsh", ".hy", ".nf", ".sql", ".stan", ".j2", ".cwl"),
)
"""Endings of files that count by content if a shell line or a script names them."""
WORD = re.compile(r"[\w./~@+-]*\w\.(?:" + "|".join(suffix[1:] for suffix in CODE) + r")\b")
SOURCED = re.compile(r"""(?:\bsource|(?:^|[;&|]|\bthen|\bdo)\s*\.)\s+["']?([\w./-]+)""", re.MULTILINE)
"""`source lib` and `. lib` of a shell script, whatever the ending."""
VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")
CONFIG = re.compile(r"""snakemake(?:@|\.|_)config((?:\s*\[\[?\s*["'][^"']+["']\s*\]?\]|\$\w+)*)""")
KEY = re.compile(r"""\[\[?\s*["']([^"']+)["']\s*\]?\]|\$(\w+)""")
ENVIRONMENT = re.compile(r"\bos\.environ\b|\bgetenv\(|\bSys\.getenv\b|\bENV\[")
SHELL = (".sh", ".bash")
SHELL_VARIABLE = re.compile(r"(?<![\\$])\$\{?([A-Za-z_]\w*)")
ASSIGNED = re.compile(r"(?:^|[;&|\s(])(?:export\s+|local\s+|readonly\s+|declare\s+(?:-\w+\s+)*)?([A-Za-z_]\w*)\+?=")
LOOPED = re.compile(r"\b(?:for|read(?:\s+-\w+)*)\s+((?:[A-Za-z_]\w*[ \t]*)+)")
Key = tuple[str, ...]
Ignored = Callable[[Path], bool]


def imported(text: str, path: Path) -> Iterator[Path]:
    """Yield the local files that the text of `path` imports, sources, includes, or names by an ending of code."""
    folders = [path.parent, Path.cwd()]
    if path.suffix in PYTHON and (code := python_of(text, path)):
        yield from _modules(code, path.parent)
        text = code
    text = VARIABLE.sub("", text)  # `$HERE/common.sh`
    for pattern in (WORD, SOURCED) if path.suffix in SHELL else (WORD,):
        for name in pattern.findall(text):
            names = {name, name.lstrip("/")}
            yield from (found for folder in folders for one in sorted(names) if (found := folder / one).is_file())


def python_of(text: str, path: Path) -> str:
    """Return the Python code of a script, or of the cells of a notebook; empty if the notebook has another language."""
    if path.suffix != ".ipynb":
        return text
    try:
        document = json.loads(text)
    except ValueError:
        return ""
    if document.get("metadata", {}).get("language_info", {}).get("name", "python") != "python":
        return ""
    cells = [cell["source"] for cell in document.get("cells", []) if cell.get("cell_type") == "code"]
    lines = "\n".join(cell if isinstance(cell, str) else "".join(cell) for cell in cells)
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines.splitlines())


def _modules(text: str, folder: Path) -> Iterator[Path]:
    """Files of imported modules: beside the script, in the folders above, and in those that the text names."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    nodes = list(ast.walk(tree))
    folders = [folder, *_named_folders(nodes, folder)]
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module(alias.name, folders)
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = folder.joinpath(*[".."] * (node.level - 1))
            for alias in node.names:
                yield from _module(".".join(filter(None, (node.module, alias.name))), [base])
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield from _module(f"{node.module}.{alias.name}", folders)


def _named_folders(nodes: list[ast.AST], folder: Path) -> list[Path]:
    """Folders that `sys.path` may be given: those that a text of the script names, and the workflow's own."""
    names = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    bases = [folder, Path.cwd()]
    named = [base / name for name in sorted(names) if 0 < len(name) < 200 and "\n" not in name for base in bases]
    return [path for path in [*bases[1:], folder.parent, *named] if _is_folder(path)]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _module(name: str, folders: list[Path]) -> Iterator[Path]:
    """Each file that `import a.b` executes: those of a too. From the first folder that has any."""
    for folder in folders:
        found, place = [], folder
        for part in name.split("."):
            place = place / part
            found += [path for path in (place.with_name(f"{part}.py"), place / "__init__.py") if path.is_file()]
            if not (place.is_dir() or found):
                break
        if found:
            yield from found
            return


def closure(path: Path, text: str, ignored: Ignored = lambda _: False) -> dict[Path, str]:
    """Return the script and all local files that it reaches: path -> text. Other files are read from disk.

    ignored: says of a file that it does not count, say because a rule makes it.
    """
    found, waiting, seen = {path: text}, [path], {path.resolve()}
    while waiting:
        one = waiting.pop()
        for other in imported(found[one], one):
            if (resolved := other.resolve()) not in seen and not ignored(other):
                seen.add(resolved)
                found[other] = other.read_text(errors="replace")
                waiting.append(other)
    return found


def unseen(text: str, path: Path) -> set[str]:
    """Return what a script uses that cannot be signed: variables of the environment."""
    found = {"environment variables"} if ENVIRONMENT.search(text) else set()
    if path.suffix in SHELL:
        found |= {f"${name}" for name in shell_variables(text)}
    return found


def shell_variables(text: str) -> set[str]:
    """Return the names of variables that a shell text reads and does not set."""
    own = {*ASSIGNED.findall(text)} | {name for names in LOOPED.findall(text) for name in names.split()}
    return {name for name in SHELL_VARIABLE.findall(text) if name not in own and not name.startswith("snakemake")}


def config_keys(text: str, path: Path) -> set[Key]:
    """Return the keys under which a script looks up `snakemake.config`; the empty key for any other use of it."""
    code = python_of(text, path) if path.suffix in PYTHON else ""
    if not code:
        found = {tuple(a or b for a, b in KEY.findall(keys)) for keys in CONFIG.findall(text)}
        return found | ({()} if re.search(r"\bconfig\b", CONFIG.sub("", text)) else set())
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return {()}
    return _python_keys(list(ast.walk(tree)))


def _python_keys(nodes: list[ast.AST]) -> set[Key]:
    uses = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == "config"]
    inner: dict[int, Key] = {}
    for node in nodes:
        key: list[str] = []
        below: ast.AST = node
        while isinstance(below, ast.Subscript) and isinstance(below.slice, ast.Constant):
            key.insert(0, str(below.slice.value))
            below = below.value
        if key and below in uses and len(key) > len(inner.get(id(below), ())):
            inner[id(below)] = tuple(key)
    by_name = any(isinstance(node, ast.Constant) and node.value == "config" for node in nodes)
    return {inner.get(id(use), ()) for use in uses} | ({()} if by_name else set())
