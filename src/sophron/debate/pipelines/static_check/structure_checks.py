"""Check the structure of a stage file by its syntax tree (Layer-1); nothing here runs it.

These checks are for readable, honest pipelines. What generated code can reach is decided by the sandbox.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from sophron.debate.pipelines.pipeline import NS_PER_WINDOW, PRODUCTION
from sophron.debate.pipelines.static_check.hardcoded_chemistry import chemistry, dispatch, names, references
from sophron.debate.pipelines.static_check.import_policy import calls, environment, imports
from sophron.debate.pipelines.static_check.name_resolution import called, number
from sophron.debate.pipelines.static_check.stage_source import Found, Source

UNITS = tuple(
    re.split(
        r"\s+",
        "_a _nm _a2 _a3 _ps _fs _ns _s _min _per_ps _k _bar _atm _amu _e _deg _rad _kt _molar _kcal_per_mol "
        "_kj_per_mol _kcal_per_mol_a2 _kcal_per_mol_rad2 _kj_per_mol_nm2 _steps _count _fraction _fractions _per_ns "
        "_mb _g_per_ml _ratio",
    )
)


def structure(source: Source) -> Found:
    """Check for a docstring, a function `main`, and a call of it when the file is run."""
    if not ast.get_docstring(source.tree):
        yield 1, "it has no docstring that says what it does"
    if not any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in source.tree.body):
        yield 1, "it has no function main()"
    guards = [node for node in source.tree.body if isinstance(node, ast.If) and "__main__" in ast.dump(node.test)]
    if not any(isinstance(each, ast.Call) and called(each) == "main" for guard in guards for each in ast.walk(guard)):
        yield 1, 'main() is not called below `if __name__ == "__main__":`'


def own_result(source: Source) -> Found:
    """Check that it writes its own result, by name or through `pipeline_api.reporting`."""
    named = any(text == source.stage.result for _, text in source.literals)
    reported = any(
        isinstance(node, ast.Call)
        and called(node).rpartition(".")[2] == "reporting"
        and [each.value for each in node.args if isinstance(each, ast.Constant)] == [source.stage.number]
        for node in ast.walk(source.tree)
    )
    if not (named or reported):
        yield 1, f"it never writes {source.stage.result}"


def production_length(source: Source) -> Found:
    """Production takes its length from the environment."""
    texts = [text for _, text in source.literals]
    asked = any(isinstance(node, ast.Call) and called(node).endswith("ns_per_window") for node in ast.walk(source.tree))
    if source.stage is PRODUCTION and NS_PER_WINDOW not in texts and not asked:
        yield 1, f"it does not read {NS_PER_WINDOW}; production has the length that it states"


def units(source: Source) -> Found:
    """Check that constants of a module name their unit."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        numeric = parts and all(number(each) is not None for each in parts)
        for target in targets:
            if numeric and isinstance(target, ast.Name) and not target.id.lower().endswith(UNITS):
                yield (
                    node.lineno,
                    f"{target.id} does not say its unit; end its name with one, such as _KCAL_PER_MOL or _COUNT",
                )


CHECKS: tuple[tuple[str, Callable[[Source], Found]], ...] = (
    ("structure", structure),
    ("contract", own_result),
    ("contract", production_length),
    ("contract", environment),
    ("imports", imports),
    ("calls", calls),
    ("chemistry", chemistry),
    ("names", names),
    ("names", dispatch),
    ("references", references),
    ("units", units),
)
