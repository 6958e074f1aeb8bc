"""Probe of free engine lines: what they change in the input of a step, and what no check could let through."""

import re
from collections.abc import Iterator

from sophron.interfaces.probe import Finding
from sophron.science.lammps import check
from sophron.science.probes.reading import Line, Parameters, Spec, clear, fragments, free_texts, hit, unknown, value
from sophron.science.viscosity.start import template

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
    "decides which lines are executed, and when the run ends": "if jump next label partition quit timer",
    "changes how neighbours are found": "neighbor neigh_modify newton comm_modify comm_style",
    "changes how often samples or restart files are written": "thermo thermo_style thermo_modify restart",
}
_EFFECTS = {command: effect for effect, commands in _DOES.items() for command in commands.split()}
_NAMED = frozenset({"fix", "compute", "dump"})
_OWN = re.compile(r"^(fix|compute|dump)[ ]+(\w+)", re.MULTILINE)


def overrides(spec: Spec, _parameters: Parameters) -> Finding:
    """Say what each free line changes; a hit for lines that a step would refuse, unknown for all others.

    A person decides whether they belong there: the gate asks for an assumption that is bound to the text.
    """
    refused = [f"{_at(stage)} line {found.line}: {found.reason}" for stage, found in _refused(spec)]
    if refused:
        return hit("; ".join(refused))
    changes = [f"{line} {_effect(spec, line)}" for line in fragments(spec)]
    if not changes:
        return clear("no stage has free engine lines")
    return unknown(f"{'; '.join(changes)}; whether that is meant, a person must say")


def _refused(spec: Spec) -> Iterator[tuple[str, check.Finding]]:
    """(stage, what the check of the input would stop its step for)."""
    for stage, text in free_texts(spec):
        yield from ((stage, found) for found in check.check(text))
        if text.rstrip().endswith("&"):
            last = text.rstrip().count("\n") + 1
            yield stage, check.Finding(last, "ends in `&`, which swallows the line behind the fragments; remove it")


def _at(stage: str) -> str:
    return f"stages.{stage}.definition.fragments"


def _effect(spec: Spec, line: Line) -> str:
    """What one command does to the input that it is put into."""
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
    path = template(stage)
    return set(_OWN.findall(path.read_text())) if path.is_file() else set()
