"""The chain-conformation kind: one radius of gyration, sampled through several ways to execute, and their comparison.

Read by every verb at start-up, so it imports nothing heavy; what runs a stage is named, not imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sophron.interfaces.kind import Definition, Kind, Question, stage_of
from sophron.records.errors import UserError
from sophron.science.chain_conformation.execution_backends import WAYS

_REPLICA = ("replica",)
_SYSTEM = {"system": "system.data"}
_SERIES = {"series": "series.npz", "ran": "ran.json"}
FEWEST = 2
"""A comparison takes so many ways."""


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Return the values of the wildcards: `replica` counts `compare.replicas` from 0.

    Raise UserError if there is one way only, or if two of them would sample something else.
    """
    there = [name for name in WAYS if name in definitions]
    if "compare" in definitions and len(there) < FEWEST:
        raise UserError(f"stages: compare needs two stages at least of {', '.join(WAYS)}; add one")
    for name in there[1:]:
        if definitions[name] != definitions[there[0]]:
            raise UserError(
                f"stages: {name}.definition is not that of {there[0]}, and only equal runs are compared; "
                "make them equal"
            )
    count = int(definitions["compare"]["replicas"]) if "compare" in definitions else 1
    return {"replica": [str(replica) for replica in range(count)]}


def question(_definitions: Mapping[str, Definition]) -> Question:
    """Return the size of a chain of beads, in Lennard-Jones units."""
    return Question(
        quantities={"radius of gyration": "sigma (LJ)"},
        conditions={"density": "sigma^-3", "temperature": "epsilon/k_B", "chain_length": "none", "cutoff": "sigma"},
        reduced=True,
    )


_stage = partial(stage_of, "chain_conformation")
_lammps = partial(_stage, engine="lammps")
_analysis = partial(_stage, rederivable=True)


KIND = Kind(
    name="chain_conformation",
    about="Size of bead-spring chains (LAMMPS), the same run executed in several ways (local, MPI under Slurm, a GPU "
    "under Slurm, Parsl, DPDispatcher), and whether they agree",
    rules="chain_conformation.smk",
    stages=(
        _analysis("build", wildcards=_REPLICA, outputs=_SYSTEM),
        _lammps("equilibrate", "build", wildcards=_REPLICA, outputs=_SYSTEM),
        *(
            _lammps(name, "equilibrate", run="sample", wildcards=_REPLICA, outputs=_SERIES, optional=True)
            for name in WAYS
        ),
        _analysis("compare", *WAYS, partial=True, outputs={"sets_plot": "sets.svg"}),
    ),
    ranges=ranges,
    question=question,
    planted_faults="chain_conformation/planted_faults.yaml",
)
