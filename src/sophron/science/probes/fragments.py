"""Probe of free engine lines: find what they override in the input of a step, and commands that are refused."""

import re
from collections.abc import Iterator, Sequence

from sophron.interfaces.probe import Finding
from sophron.science.lammps import input_checker
from sophron.science.lammps.stage_run import template
from sophron.science.probes.spec_access import Line, Parameters, Spec, clear, fragments, free_texts, hit, unknown, value

_DOES = {
    "changes the interactions": (
        "pair_style pair_coeff pair_modify special_bonds bond_style bond_coeff angle_style angle_coeff dihedral_style "
        "dihedral_coeff improper_style improper_coeff kspace_style kspace_modify dielectric"
    ),
    "changes the atoms or their velocities": (
        "velocity set displace_atoms create_atoms delete_atoms create_bonds delete_bonds reset_atoms replicate "
        "read_data read_dump read_restart mass atom_style atom_modify"
    ),
    "changes the box": "box boundary change_box create_box dimension lattice",
    "sets other units": "units",
    "moves the system, or sets how it is moved": "run run_style minimize min_style min_modify rerun reset_timestep",
    "decides which lines are executed, and when the run ends": "if jump next partition quit timer",
    "changes how neighbours are found": "neighbor neigh_modify newton comm_modify comm_style",
    "changes which output or restart files are written, and when": "thermo thermo_style thermo_modify restart log",
}
_EFFECTS = {command: effect for effect, commands in _DOES.items() for command in commands.split()}
_NAMED = frozenset({"fix", "compute", "dump"})
_HARMLESS = frozenset({"compute", "echo", "group", "info", "label", "print", "region", "variable"})
_OWN = re.compile(r"^(fix|compute|dump)[ ]+(\w+)", re.MULTILINE)


def overrides(spec: Spec, _parameters: Parameters) -> Finding:
    """Say what each free line changes; a hit for lines that a step would refuse, unknown for all others.

    A person decides whether they belong there: the gate asks for an assumption that is bound to the text.
    """
    refused = [f"{_at(stage)} line {found.line}: {found.reason}" for stage, found in _refused(spec)]
    if refused:
        return hit("; ".join(refused))
    lines = list(fragments(spec))
    if not lines:
        return clear("no stage has free engine lines")
    told = [_listed(spec, stage, [line for line in lines if line.stage == stage]) for stage, _ in free_texts(spec)]
    return unknown("; ".join([*filter(None, told), "whether that is meant, a person must say"]))


def _listed(spec: Spec, stage: str, lines: Sequence[Line]) -> str:
    """What the free lines of one stage do; those that only name or print something are counted."""
    told = [_effect(spec, line) for line in lines if not _is_harmless(line)]
    rest = [line.words[0] for line in lines if _is_harmless(line)]
    if rest:
        told.append(f"commands that only name or print something: {len(rest)} ({', '.join(sorted(set(rest)))})")
    return f"{_at(stage)}: {'; '.join(told)}" if told else ""


def _is_harmless(line: Line) -> bool:
    """Whether a command adds a name or a line of output, and takes nothing's place."""
    return line.words[0] in _HARMLESS and line.words[:2] not in _own(line.stage)


def _refused(spec: Spec) -> Iterator[tuple[str, input_checker.Finding]]:
    """(stage, what the check of the input would stop its step for)."""
    for stage, text in free_texts(spec):
        yield from ((stage, found) for found in input_checker.check(text))
        if text.rstrip().endswith("&"):
            last = text.rstrip().count("\n") + 1
            yield (
                stage,
                input_checker.Finding(last, "ends in `&`, which swallows the line behind the fragments; remove it"),
            )


def _at(stage: str) -> str:
    return f"stages.{stage}.definition.fragments"


def _effect(spec: Spec, line: Line) -> str:
    """A command, its place, and its effect on the input around it."""
    return f'line {line.number}, "{" ".join(line.words)}" {_does(spec, line)}'


def _does(spec: Spec, line: Line) -> str:
    command, *words = line.words
    if command == "timestep":
        given = value(spec, f"stages.{line.stage}.definition.timestep")
        return f"sets the time step, which the definition gives as {given}"
    if command.removeprefix("un") in _NAMED and words:
        return _named(line.stage, command, words)
    sort = command.removesuffix("_modify")
    if sort in _NAMED and words and (sort, words[0]) in _own(line.stage):
        return f"changes the {sort} {words[0]}, which the step itself needs"
    return _EFFECTS.get(command, "is added to the input")


def _named(stage: str, command: str, words: list[str]) -> str:
    """What a command does that makes or ends a fix, a compute or a dump."""
    sort, name = command.removeprefix("un"), words[0]
    own = (sort, name) in _own(stage)
    if command != sort:
        return f"ends the {sort} {name}" + (", which the step itself needs" if own else "")
    if own:
        return f"takes the place of the {sort} {name}, which the step itself needs"
    return f"adds a {sort} of style {(words[2:] or ['?'])[0]}"


def _own(stage: str) -> set[tuple[str, str]]:
    """(sort, name) of all that the step's own input makes."""
    path = template("viscosity", stage)
    return set(_OWN.findall(path.read_text())) if path.is_file() else set()
