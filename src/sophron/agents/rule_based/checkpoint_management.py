"""Rule of thumb of the checkpoint-management agent: the newest whole restart files of each step stay."""

from sophron.agents.rule_based.input_checks import given, mapping, objects, text, whole
from sophron.interfaces import UncheckedObject

File = dict[str, str]


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Keep the `policy.keep` whole restart files of each step that were written last, and go on from the last.

    Broken files go only where a whole one stays: a step without any keeps what it has, for a person to look at. That
    more than one is kept follows the LAMMPS manual (`restart` with two file names), which writes them in turn so that
    a crash while writing leaves the other whole.
    """
    keep = max(1, whole(mapping(given(inputs, "policy"), "policy").get("keep"), "policy.keep"))
    by_step: dict[str, list[UncheckedObject]] = {}
    for restart in objects(given(inputs, "restarts"), "restarts"):
        by_step.setdefault(text(restart.get("step"), "restarts.step"), []).append(restart)
    kept: list[File] = []
    pruned: list[File] = []
    chosen = {}
    for step in sorted(by_step):
        newest = sorted(by_step[step], key=_age, reverse=True)
        valid = [restart for restart in newest if restart.get("valid") is True]
        staying = [_file(restart) for restart in valid[:keep] or newest]
        kept += staying
        pruned += [_file(restart) for restart in newest if _file(restart) not in staying]
        if valid:
            chosen[step] = {"file": staying[0]["file"]}
    stuck = len(by_step) - len(chosen)
    return {"kept": kept, "pruned": pruned, "chosen": chosen, "reason": _reason(keep, stuck)}


def _file(restart: UncheckedObject) -> File:
    return {key: text(restart.get(key), f"restarts.{key}") for key in ("step", "file")}


def _age(restart: UncheckedObject) -> tuple[int, str]:
    return whole(restart.get("order"), "restarts.order"), _file(restart)["file"]


def _reason(keep: int, stuck: int) -> str:
    sentence = f"The {keep} whole restart files of each step that were written last stay; a step goes on from the last."
    return sentence + (f" {stuck} steps have no whole one; their files stay to be looked at." if stuck else "")
