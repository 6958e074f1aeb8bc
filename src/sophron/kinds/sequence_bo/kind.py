"""The sequence_bo kind: sequences of beads are evaluated, modelled, proposed in rounds, and the best validated.

Read by every verb at start-up, so it imports nothing heavy; what runs a stage is named, not imported.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from sophron.interfaces.kind import AgentRule, Definition, Kind, Part, Question, stage_of
from sophron.records.errors import UserError
from sophron.science.sequence_bo.sequences import distinct, expand, forward

_MODULE = "sophron.science.sequence_bo.rounds"
AGENT = "propose_sequences"
WARM_UP = "warm_up"
"""Candidate of validate that is the best of the warm-up."""


def ranges(definitions: Mapping[str, Definition]) -> dict[str, Sequence[str]]:
    """Return the values of the wildcards: sequences of the warm-up, rounds and items of the loop, and candidates.

    UserError if the warm-up has fewer than four sequences or one that does not fit the chain, if a round has room for
    repeats only, or if an agent is to propose more than it has room for.
    """
    warm_up, rounds = definitions["warm_up"], definitions["rounds"]
    _check_given(warm_up["given"], **warm_up["chain"])
    count = len(warm_up["given"]) + warm_up["random"]
    if count < 4:
        raise UserError("stages.warm_up.definition: a model needs four sequences at least; raise random")
    if count > distinct(**warm_up["chain"]):
        raise UserError(
            f"stages.warm_up.definition.random: there are {distinct(**warm_up['chain'])} sequences; ask for fewer"
        )
    if rounds["repeats"] >= rounds["batch"]:
        raise UserError(
            "stages.rounds.definition.repeats: a round has room for no new sequence; make it less than batch"
        )
    if rounds.get("agent_proposals", 0) > rounds["batch"] - rounds["repeats"]:
        raise UserError(
            "stages.rounds.definition.agent_proposals: a round has no room for so many new sequences; make it batch "
            "less repeats at most"
        )
    return {
        "sequence": [str(number) for number in range(count)],
        "round": [str(number) for number in range(rounds["rounds"])],
        "item": [str(number) for number in range(rounds["batch"])],
        "candidate": [*(str(place) for place in range(definitions["validate"]["candidates"])), WARM_UP],
    }


def _check_given(given: Sequence[str], length: int, count_b: int) -> None:
    where = "stages.warm_up.definition.given"
    for text in given:
        try:
            sequence = expand(text)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        if len(sequence) != length or sequence.count("B") != count_b:
            raise UserError(
                f"{where}: {text} has {len(sequence)} beads, {sequence.count('B')} of them B, and the chain {length} "
                f"and {count_b}; correct one of them"
            )
    if len({forward(expand(text)) for text in given}) < len(given):
        raise UserError(f"{where}: two are the same chain, read from either end; remove one")
    if not 0 < count_b < length:
        raise UserError("stages.warm_up.definition.chain.count_b: a chain needs both kinds of beads; change it")


def left_out(definitions: Mapping[str, Definition]) -> Collection[str]:
    """Return the agent's rule if no definition asks it for proposals."""
    return [] if definitions["rounds"].get("agent_proposals") else [AGENT]


def question(_definitions: Mapping[str, Definition]) -> Question:
    """Return the largest radius of gyration (Rg) among the sequences, in Lennard-Jones units."""
    return Question(
        quantities={"largest Rg": "sigma (LJ)"},
        conditions={"temperature": "epsilon/k_B", "length": "none", "count_b": "none", "cutoff": "sigma"},
        reduced=True,
    )


_stage = partial(stage_of, "sequence_bo")


def _part(name: str, wildcards: tuple[str, ...], builds_on: tuple[str, ...], **details: object) -> Part:
    return Part(name, f"{_MODULE}:{name}", f"sequence_bo/{name}", wildcards, builds_on=builds_on, **details)  # type: ignore[arg-type]


KIND = Kind(
    name="sequence_bo",
    about="Sequence of a binary copolymer with the largest size (LAMMPS), by Bayesian optimisation in rounds: warm-up, "
    "proposals, validation of the winner",
    rules="sequence_bo.smk",
    stages=(
        _stage("warm_up", wildcards=("sequence",), engine="lammps"),
        _stage(
            "rounds",
            "warm_up",
            outputs={"progress_plot": "progress.svg"},
            parts=(
                _part("propose", ("round",), ("warm_up", AGENT), carried=("update",), rederivable=True),
                _part("evaluate", ("round", "item"), ("propose",), engine="lammps"),
                _part("update", ("round",), ("warm_up", "propose", "evaluate"), carried=("update",), rederivable=True),
            ),
            agents=(AgentRule(AGENT, ("round",), bounded=True, may_fail=True),),
            builds_on=("update",),
            rederivable=True,
        ),
        _stage("validate", "rounds", wildcards=("candidate",), engine="lammps"),
        _stage("compare", "validate", outputs={"candidates_plot": "candidates.svg"}, rederivable=True),
    ),
    ranges=ranges,
    left_out=left_out,
    question=question,
    planted_faults="sequence_bo/planted_faults.yaml",
)
