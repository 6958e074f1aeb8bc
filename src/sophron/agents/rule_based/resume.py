"""Rule of thumb of the resume agent: a campaign recovered from its state file, with no memory of a conversation."""

from dataclasses import asdict, dataclass

from sophron.agents.rule_based.input_checks import given, mapping, objects, quoted, text, texts, whole
from sophron.interfaces import UncheckedObject


@dataclass(frozen=True)
class RunningProcess:
    """A process that the state names. stage: None for one that belongs to no stage."""

    step: str
    stage: str | None
    host: str
    pid: int


def answer(inputs: UncheckedObject) -> UncheckedObject:
    """Read off workflow-state.json (Superscientist, appendix B.1); progress.log and init.sh add nothing to it here.

    Ran and running: stages that are completed and in progress. Processes: entries of running_process. Next: stages that
    are neither running nor completed and whose predecessors are completed.
    """
    state = mapping(inputs.get("standing") or given(inputs, "state"), "state")
    stages = objects(state.get("stages", []), "state.stages")
    ran, running = (_with_status(stages, status) for status in ("completed", "in_progress"))
    processes = _running(state, None) + [entry for stage in stages for entry in _running(stage, _id(stage))]
    ready = [
        _id(stage)
        for stage in stages
        if _id(stage) not in {*ran, *running} and set(texts(stage.get("depends_on", []), "depends_on")) <= set(ran)
    ]
    command = state.get("next_command")
    return {
        "ran": ran,
        "running": running,
        "processes": [asdict(process) for process in processes],
        "next": list(dict.fromkeys(ready)),
        "waiting_for": _waiting(state, stages, processes),
        "command": None if command is None else text(command, "state.next_command"),
    }


def _id(stage: UncheckedObject) -> str:
    return text(stage.get("id"), "the id of a stage")


def _with_status(stages: list[UncheckedObject], status: str) -> list[str]:
    return list(dict.fromkeys(_id(stage) for stage in stages if stage.get("status") == status))


def _running(holder: UncheckedObject, stage: str | None) -> list[RunningProcess]:
    processes = []
    for process in objects(holder.get("running_process", []), "running_process"):
        pid = whole(process.get("pid"), "running_process.pid")
        if pid < 1:
            raise ValueError("running_process.pid is no process id")
        step, host = (text(process.get(key), f"running_process.{key}") for key in ("step", "host"))
        processes.append(RunningProcess(step, stage, host, pid))
    return processes


def _waiting(state: UncheckedObject, stages: list[UncheckedObject], processes: list[RunningProcess]) -> str:
    gate = state.get("waiting_gate")
    if gate is not None:
        draft = " of a drafted amendment" if state.get("draft") else ""
        return f"a person's signature{draft} at the gate {quoted(str(gate))}"
    if state.get("last_refusal"):
        return "a person: the gate refused the last step"
    if processes:
        return f"{len(processes)} running steps to end, or to be taken up again if their process is gone"
    failed = _with_status(stages, "failed")
    if failed:
        return f"a decision about what failed: {quoted(', '.join(failed))}"
    return "the next command" if state.get("next_command") else "nothing; all is done"
