"""What an author of pipelines is told of the contract, made from the code that enforces it: nothing is typed by hand.

Form of a reply, variables, schemas, what the harness measures, rules of Layer-1, libraries with their versions, the
works that may be cited, what of ours may be imported, and a whole example for another kind of host.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import sophron
from sophron.agents.tools import literature
from sophron.debate.pipelines import measured_diagnostics, pipeline
from sophron.debate.pipelines.static_check import layer1
from sophron.debate.pipelines.static_check.import_policy import LIBRARIES, own_modules
from sophron.records.files import read_text, resource
from sophron.science.host_guest.pipelines import reference_pipelines

SCHEMAS = {pipeline.METADATA_NAME: "task_metadata", "stage_NN_result.json": "stage_result"}
"""File -> schema below `schemas/debate`."""
FORMS = ("particles", "molecules")
PARTICLES = ("lj_dimer", "dimer_diagnostics", "residual_interaction", "apr", "npz", "stage_file_api", "files")
"""Modules that are for single particles as well; what production saves is told elsewhere."""
BINDING = (
    "bar",
    "binding_corrections",
    "correlated_series",
    "mbar",
    "pymbar_solver",
    "refusal",
    "restraints",
    "thermodynamic_cycle",
)
"""Estimators of free energies; of the others names are told."""
TRIAL = f"""\
1. The mechanical check reads the reply; `check_reply` says before what it will say.
2. The rehearsal runs all four files on the first training guest, with {pipeline.REHEARSED_NS} ns a window at most: it
   finds what does not run. An analysis that has too few samples there refuses (status `refused`); it must not crash.
   What is missing for a measurement (below) counts as a crash.
3. Each file runs as a process of its own, `03_production.py` once for each window, all windows at once if there are
   processors: a window can read what stages 1 and 2 left, and nothing of another window. What a file writes into its
   work folder is kept; the folders of earlier stages are read-only.
4. The analysis ends with a number and its errors (status `completed`), or with status `refused` and a reason: a guard
   that does not hold is no crash. `stage_file_api.reporting` and `stage_file_api.Refused` do this.
5. A stage that states of itself what its own samples contradict fails: {measured_diagnostics.tolerances()}.
6. The verdict on held-out guests is `task.criteria`: numbers are the worst of what analyses state, by the keys
   in `task.criteria_rest_on`: what is missing or null in `stage_04_result.json` passes no criterion."""


def contract(form: str) -> str:
    """Return the contract for systems of a form, `particles` or `molecules`."""
    parts = {
        "The reply, and what stage files find and leave": pipeline.__doc__ or "",
        "Variables of the environment": "\n".join(f"- `{name}`: {about}" for name, about in pipeline.VARIABLES.items()),
        "What happens with a reply": TRIAL,
        **{f"Schema of {file}": _schema(name) for file, name in SCHEMAS.items()},
        "What the harness measures": measured_diagnostics.about(),
        "Rules that are checked before anything runs": "\n".join(f"- {rule}" for rule in layer1.RULES),
        "Libraries that are installed, with their versions": "\n".join(_libraries()),
        "Works that RATIONALE may cite": "\n".join(f"- {note.doi}: {note.about}" for note in literature.load()),
        "Modules of sophron that may be imported": "\n\n".join(_modules(form)),
        "A complete example, for another kind of host": example(form),
    }
    return "\n\n".join(f"## {title}\n\n{text.strip()}" for title, text in parts.items()) + "\n"


def example(form: str) -> str:
    """Return a whole reply that runs, for systems of the other form."""
    return reference_pipelines.apr() if form == FORMS[0] else reference_pipelines.lj_dimer()


def reference(name: str) -> str:
    """Return the source of a module of ours that may be imported, or a schema; UserError if `name` is neither."""
    from sophron.records.errors import UserError, did_you_mean

    sources = {_dotted(path): path for path in own_modules()}
    known = {name: read_text(path) for name, path in sources.items() if path.stem != "__init__"}
    known |= {file: _schema(schema) for file, schema in SCHEMAS.items()}
    if name not in known:
        raise UserError(f'nothing may be read as "{name}"; {did_you_mean(name, sorted(known))}')
    return known[name]


def _schema(name: str) -> str:
    return read_text(resource("schemas", "debate") / f"{name}.schema.yaml")


def _libraries() -> Iterator[str]:
    for name in sorted(LIBRARIES):
        try:
            yield f"- {name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue


def _dotted(path: Path) -> str:
    top = Path(sophron.__file__).parent.parent
    return ".".join(path.relative_to(top).with_suffix("").parts)


def _modules(form: str) -> Iterator[str]:
    """Signatures and docstrings of each module that is for this form; of the others names, for `read_reference`."""
    for path in own_modules():
        if path.stem != "__init__":
            tree = ast.parse(read_text(path))
            yield "\n".join([f"### {_dotted(path)}", "", *_told(tree, whole=_wanted(path, form))])


def _wanted(path: Path, form: str) -> bool:
    if path.parent.name == "estimators":
        return path.stem in BINDING
    return form != FORMS[0] or path.stem in PARTICLES


def _told(tree: ast.Module, *, whole: bool) -> Iterator[str]:
    about = ast.get_docstring(tree) or ""
    if not whole:
        yield about.partition("\n")[0]
        yield f"Has {', '.join(_public(tree))}; see `read_reference`."
        return
    yield about
    yield ""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) if not name.startswith("_"):
                yield from _function(node)
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield from _class(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper():
                text = ast.unparse(value)
                yield f"{name} = {text if len(text) < 80 else '...'}"
            case _:
                pass


def _public(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def _function(node: ast.FunctionDef, indent: str = "") -> Iterator[str]:
    kind = "@property " if any(ast.unparse(each).endswith("property") for each in node.decorator_list) else ""
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    yield f"{indent}{kind}def {node.name}({ast.unparse(node.args)}){returned}"
    yield from _docstring(node, f"{indent}    ")


def _class(node: ast.ClassDef) -> Iterator[str]:
    fields = [ast.unparse(each) for each in node.body if isinstance(each, ast.AnnAssign)]
    bases = ", ".join(ast.unparse(each) for each in node.bases)
    yield f"class {node.name}({', '.join(fields) if fields else bases})"
    yield from _docstring(node, "    ")
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            yield from _function(each, "    ")


def _docstring(node: ast.FunctionDef | ast.ClassDef, indent: str) -> Iterator[str]:
    for line in (ast.get_docstring(node) or "").splitlines():
        yield f"{indent}{line}".rstrip()
