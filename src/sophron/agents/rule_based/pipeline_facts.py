"""Facts of a pipeline's code, by its syntax trees: what can be said of any pipeline before anything of it has run.

Each fact that is out of its bounds is a `Finding` of one expert's subject, at the stage whose file holds it. A file
that does not say a fact (a time step that is computed, a mass that a library sets) is not judged by it.
"""

import ast
import math
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

FOCUS = {
    "01_prep.py": "preparation",
    "02_equilibrate.py": "equilibration",
    "03_production.py": "production",
    "04_analysis.py": "analysis",
}
"""Stage file -> what a concern about it names."""


@dataclass(frozen=True)
class Finding:
    """A concern. suspect: the file that it blames, where one does."""

    severity: str
    focus: str
    text: str
    suspect: str | None = None


@dataclass(frozen=True)
class StageCode:
    """One stage file. tree: of its source; numbers: module constants that are numbers, by name."""

    file: str
    tree: ast.Module
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def focus(self) -> str:
        """What a concern about it names."""
        return FOCUS[self.file]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return list(ast.walk(self.tree))

    @property
    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Last name of each function that is called, and the call."""
        for node in self.nodes:
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func).rpartition(".")[2], node

    def find(self, pattern: str) -> Iterator[tuple[str, float]]:
        """Numeric constants of the module whose name has `pattern` in it."""
        return ((name, value) for name, value in self.numbers.items() if re.search(pattern, name))


@lru_cache(maxsize=4)
def read(pipeline: str) -> list[StageCode]:
    """Return the stage files of a reply that can be parsed."""
    found = []
    for part in pipeline.split("\nFILE ")[1:]:
        file, _, body = part.partition("\n")
        source = body.strip().removeprefix("```python\n").rpartition("```")[0]
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        if file.strip() in FOCUS:
            found.append(StageCode(file.strip(), tree, _numbers(tree)))
    return found


def _numbers(tree: ast.Module) -> dict[str, float]:
    found: dict[str, float] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = number_of(node.value, found)
            if value is not None:
                found[node.targets[0].id] = value
    return found


def number_of(node: ast.AST, known: Mapping[str, float]) -> float | None:
    """Return the number that an expression of numbers and known names is; None if it is none."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.Name(id=name):
            return known.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _combined(-1.0, ast.Mult(), number_of(operand, known))
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(number_of(left, known), op, number_of(right, known))
    return None


OPERATORS = {
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Pow: operator.pow,
}


def _combined(left: float | None, op: ast.operator, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    function = OPERATORS.get(type(op))
    try:
        return float(function(left, right)) if function else None
    except (ArithmeticError, TypeError, ValueError):
        return None


SCHEDULE = re.compile(r"STRENGTH|LAMBDA|COUPLING|TARGET|OFFSET|SPACING|PULL|SPRING|ATTACH")


def schedule_stage(code: list[StageCode]) -> str | None:
    """Return the stage whose file first holds constants of the path of windows; None if no file does."""
    for each in code[:3]:
        names = [name.id for node in each.tree.body if isinstance(node, ast.Assign) for name in node.targets
                 if isinstance(name, ast.Name)]  # fmt: skip
        if any(SCHEDULE.search(name) for name in names):
            return each.focus
    return None


UNITS: Mapping[str, tuple[float, ...]] = {
    r"^KJ_PER_KCAL$|^KCAL_TO_KJ$": (4.184,),
    r"^KCAL_PER_KJ$|^KJ_TO_KCAL$": (1 / 4.184,),
    r"^NM_PER_(A|ANGSTROM)$|^(A|ANGSTROM)_TO_NM$": (0.1,),
    r"^(A|ANGSTROM)_PER_NM$|^NM_TO_(A|ANGSTROM)$": (10.0,),
    r"^PS_PER_NS$|^FS_PER_PS$": (1000.0,),
    r"^(GAS|BOLTZMANN|R|KB)(_CONSTANT)?_KCAL": (1.98720425864083e-3,),
    r"^(GAS|BOLTZMANN|R|KB)(_CONSTANT)?_KJ": (8.31446261815324e-3,),
    r"^STANDARD_VOLUME(_A3)?$": (1660.5390671738,),
    r"AVOGADRO": (6.02214076e23,),
}
"""Constants that everybody names alike, and their values."""
ROUNDED = 5e-3
"""Relative departure of a constant that is a rounding."""


def wrong_constants(code: list[StageCode]) -> Iterator[Finding]:
    """Check constants of nature and conversions of units."""
    for each in code:
        for pattern, values in UNITS.items():
            for name, value in each.find(pattern):
                if all(abs(value - right) > ROUNDED * abs(right) for right in values):
                    sentence = f"{name} is {value:g} in {each.file}; it is {values[0]:g}"
                    yield Finding("high", each.focus, sentence, each.file)


SHARED = re.compile(r"ENERGY|MASS|SOFT|SPRING|WALL|CONSTANT|VOLUME|_PER_KCAL|_PER_NM|_PER_A$|CLOSEST|TEMPERATURE")


def copies_differ(code: list[StageCode]) -> Iterator[Finding]:
    """Check that constants and functions of the physics that several files have a copy of are the same."""
    seen: dict[str, tuple[str, str]] = {}
    for each in code:
        for name, text in _definitions(each):
            file, before = seen.setdefault(name, (each.file, text))
            if before != text and not _rounding(before, text):
                sentence = f"{name} of {each.file} is another than that of {file}; both must be the same physics"
                yield Finding("high", each.focus, sentence, each.file)


def _rounding(first: str, second: str) -> bool:
    """Whether two texts are numbers that differ by a rounding."""
    try:
        return math.isclose(float(first), float(second), rel_tol=ROUNDED)
    except ValueError:
        return False


def _definitions(code: StageCode) -> Iterator[tuple[str, str]]:
    for node in code.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if SHARED.search(name):
                yield name, repr(code.numbers[name]) if name in code.numbers else ast.unparse(value)
            case ast.FunctionDef(name=name, args=args, body=body) if name != "main" and _energy(name):
                rest = body[1:] if ast.get_docstring(node) else body
                yield name, ast.unparse(args) + "\n".join(ast.unparse(line) for line in rest)


def _energy(name: str) -> bool:
    return bool(re.search(r"energ|reduced|interaction|potential", name))


def interaction_scaled(code: list[StageCode]) -> Iterator[Finding]:
    """Check that what the task says of the interaction is taken as it is: nothing but units multiplies it."""
    for each in code:
        for node in each.nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
                for part, other in ((node.left, node.right), (node.right, node.left)):
                    factor = number_of(other, {})
                    if _of_interaction(part) and factor is not None and abs(factor) not in PLAIN_FACTORS:
                        sentence = f"{ast.unparse(node)} in {each.file} is not the parameter that the task gives"
                        yield Finding("high", each.focus, sentence, each.file)


UNTOUCHED = ("epsilon_kcal_per_mol",)
PLAIN_FACTORS = (1.0, 4.0, 4.184)
"""That of the Lennard-Jones formula, and a conversion of units."""


def _of_interaction(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in UNTOUCHED


INTEGRATOR = re.compile(r"Langevin\w*Integrator$|NoseHooverIntegrator$|BrownianIntegrator$")
THERMOSTATS = {"started": 1, "setVelocitiesToTemperature": 0}
"""Other functions that are given a temperature, and which argument it is."""


def thermostat(code: list[StageCode]) -> Iterator[Finding]:
    """Check that a thermostat has the temperature of the task, not a number of the code nor a multiple."""
    for each in code:
        for name, call in each.calls:
            place = 0 if INTEGRATOR.search(name) else THERMOSTATS.get(name)
            if place is None or len(call.args) <= place:
                continue
            if _tampered(call.args[place], each.numbers):
                sentence = (
                    f"{name} of {each.file} gets the temperature {ast.unparse(call.args[place])}; take the task's"
                )
                yield Finding("high", each.focus, sentence, each.file)


def _tampered(node: ast.AST, known: Mapping[str, float]) -> bool:
    """Whether an argument is a number, or something times or plus one."""
    if number_of(node, known) is not None:
        return True
    return isinstance(node, ast.BinOp) and any(number_of(part, known) is not None for part in (node.left, node.right))


STEP = re.compile(r"^(ENGINE_)?(TIME_?STEP|DT)_(PS|FS)$")
MOST_PHASE = 0.7
"""Time step times the fastest angular frequency, in radian; the integration is lost from 2 on (10.1063/1.463137)."""
MOST_STEP_PS = 0.02
CURVATURE = 418.4
"""1 kcal/mol/Angstrom^2/amu in 1/ps^2."""


def time_step(code: list[StageCode]) -> Iterator[Finding]:
    """Check the time step against mass and stiffest spring, where a file names them; else against 20 fs."""
    stiffest = max((value for each in code for _, value in each.find(r"KCAL_PER_MOL_A2$")), default=0.0)
    masses = [value for each in code for _, value in each.find(r"MASS(_AMU|_DA|_DALTON)?$") if value > 0]
    frequency = math.sqrt(2.0 * stiffest * CURVATURE / min(masses)) if masses else 0.0
    for each in code:
        for name, value in each.find(STEP.pattern):
            step_ps = value * (1e-3 if name.endswith("FS") else 1.0)
            if step_ps > MOST_STEP_PS or step_ps * frequency > MOST_PHASE:
                sentence = f"{name} = {value:g} in {each.file} is too long for the masses and springs; shorten it"
                yield Finding("high", each.focus, sentence, each.file)


SETTLING = re.compile(r"^(SETTLE|WALK|EQUILIBRATION|RELAX\w*|WARM\w*|SEED\w*)_STEPS(_COUNT)?$")
LEAST_SETTLING = 100


def settling(code: list[StageCode]) -> Iterator[Finding]:
    """Check that a file which names steps of equilibration makes some."""
    for each in code:
        for name, value in each.find(SETTLING.pattern):
            if value < LEAST_SETTLING:
                sentence = f"{name} is {value:g} in {each.file}: no equilibration; let each window settle first"
                yield Finding("high", each.focus, sentence, each.file)


VOLUMES = {"STANDARD_VOLUME", "STANDARD_CONCENTRATION"}
RELEASES = {"release", "binding"}
"""Functions of ours that end at 1 mol/l."""
STANDARD_VOLUME_A3 = 1660.5390671738


def standard_state(code: list[StageCode]) -> Iterator[Finding]:
    """Check that the analysis uses a standard state: its volume, a constant of that size, or a function that has it."""
    if not code:
        return
    for each in code:
        called = {name for name, _ in each.calls}
        if called & RELEASES or any(_names_volume(node, each.numbers) for node in each.nodes):
            return
    sentence = "no file uses the standard state of 1 mol/l (1660.54 cubic Angstrom); its number has no unit"
    yield Finding("high", "analysis", sentence, "04_analysis.py")


def _names_volume(node: ast.AST, known: Mapping[str, float]) -> bool:
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
            value = known.get(name)
            return name in VOLUMES or (value is not None and _volume(value))
        case ast.Constant(value=int() | float() as value):
            return 1600.0 < value < 1700.0
    return False


def _volume(value: float) -> bool:
    """1 l/mol in cubic Angstrom, in cubic nanometres, or as a concentration in these."""
    sizes = (STANDARD_VOLUME_A3, STANDARD_VOLUME_A3 * 1e-3, 1 / STANDARD_VOLUME_A3, 1e3 / STANDARD_VOLUME_A3)
    return any(abs(value - size) < ROUNDED * size for size in sizes)


GUARDS = {r"(LEAST|MIN\w*)_OVERLAP": 0.03, r"(LEAST|MIN\w*)_(EFFECTIVE|N_?EFF)\w*": 50.0}
"""Bounds of guards by their names, and the least that they may be."""


def guards(code: list[StageCode]) -> Iterator[Finding]:
    """Check that guards are as strict as they should be."""
    for each in code:
        for pattern, least in GUARDS.items():
            for name, value in each.find(f"^{pattern}$"):
                if value < least:
                    sentence = f"{name} is {value:g} in {each.file}; {least:g} is the least that can be trusted"
                    yield Finding("high", each.focus, sentence, each.file)


def skipped_windows(code: list[StageCode]) -> Iterator[Finding]:
    """Check that the analysis walks through all windows: no stride, no slice of a range."""
    for each in code:
        if each.file != "04_analysis.py":
            continue
        loops = [node.iter for node in each.nodes if isinstance(node, ast.For | ast.comprehension)]
        named = {
            target.id: node.value
            for node in each.nodes
            if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name)
        }
        for loop in loops:
            looped = named.get(loop.id, loop) if isinstance(loop, ast.Name) else loop
            if _strided(looped) and _about_windows(looped):
                sentence = f"{ast.unparse(looped)} in {each.file} leaves windows out; use every one"
                yield Finding("high", each.focus, sentence, each.file)


def _strided(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[_, _, ast.Constant(value=int() as step)]):
            return step > 1
        case ast.Subscript(value=ast.Call(func=ast.Name(id="range")), slice=ast.Slice()):
            return True
    return False


def _about_windows(node: ast.AST) -> bool:
    return bool(re.search(r"chain|window|state|lambda|coupling|count|place", ast.unparse(node)))


FACTS = {
    "force_field": (wrong_constants, copies_differ, interaction_scaled),
    "sampling": (thermostat, time_step, settling),
    "analysis": (standard_state, guards, skipped_windows),
}
"""Subject of an expert -> the facts that it judges."""


def findings(pipeline: str, subject: str) -> list[Finding]:
    """Return what the code of a pipeline says to the expert of `subject`; nothing of files that cannot be parsed."""
    code = read(pipeline)
    return list(dict.fromkeys(each for fact in FACTS[subject] for each in fact(code)))
