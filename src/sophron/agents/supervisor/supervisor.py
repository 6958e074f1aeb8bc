"""The loop around Snakemake: fresh processes until the campaign is done, a debug agent between them, and its limits.

Superscientist, A.3 and B.5; DESIGN section 3, number 5. The loop decides nothing: what may change is chosen by the
debug agent among the signed choices, and a change of definition is drafted and left for a signature.
"""

import json
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from sophron.agents.documents.answers import REMOVED, AmendAnswer, AnswerRecord, DebugAnswer, Overlay, VerifyAnswer
from sophron.agents.memory import debug_memory
from sophron.agents.step import step_wiring
from sophron.agents.supervisor import failure_report, snakemake_process
from sophron.campaign.approval import amendment_draft, approval_journal, approve, known_signers
from sophron.campaign.approval.amendment_draft import Draft
from sophron.campaign.execution import campaign_lock, completion, environment_faults
from sophron.campaign.planning import plan, plan_documents
from sophron.campaign.snakefile import local_steps
from sophron.campaign.spec import resource_requests
from sophron.campaign.spec.pitfalls import ProbeSpec
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.campaign.state.projector import project
from sophron.interfaces import JsonObject
from sophron.records import approvals, documents, events
from sophron.records.errors import Refused, UserError, of_system
from sophron.records.files import FileLock, LockHeldError
from sophron.records.typed_json import from_json

MOST_ANSWERS = 2


class Offer(NamedTuple):
    """What is offered to a person. faults: why the draft could not be signed; why: the reason if there is no draft.

    command: drafts the same by hand.
    """

    draft: Draft | None
    faults: Sequence[str] = ()
    why: str = ""
    command: str = ""


def offer(root: Path, ask: Callable[[Sequence[str]], AmendAnswer | None], probe: ProbeSpec) -> Offer:
    """Draft what the agent answers, and try it; its faults go back to the agent once.

    ask: gives the answer, told the faults of the one before. Only a draft that opens the gate is offered, but for
    what a person may verify. A second answer that is worse than the first, because it is not a spec, is not taken.
    Raises UserError if a person's draft waits.
    """
    best = Offer(None, why="the amend agent gave no answer")
    for _ in range(MOST_ANSWERS):
        answer = ask(best.faults)
        if answer is None or not answer.changes:
            best = best if best.draft or answer is None else Offer(None, why=answer.rationale)
            break
        attempt = _try_draft(root, answer, probe, best.draft)
        best = attempt if attempt.draft or not best.draft else best
        if not best.faults:
            break
    if best.draft and best.faults:
        with campaign_lock.signing(root):
            amendment_draft.drop_draft(root)
        return best._replace(draft=None, why=f"Nothing is drafted. To draft it by hand: {best.command}.")
    if best.draft:
        _tell(root, best.draft)
    return best


def _try_draft(root: Path, answer: AmendAnswer, probe: ProbeSpec, own: Draft | None) -> Offer:
    """Draft an answer, in the place of this agent's own earlier draft, and return it with its faults."""
    settings = [f"{one.path}={json.dumps(one.value)}" for one in answer.changes if one.value is not REMOVED]
    removed = [one.path for one in answer.changes if one.value is REMOVED]
    with campaign_lock.signing(root):
        approval_journal.finish_locked(root)
        waits = amendment_draft.read_draft(root)
        if waits is not None and (own is None or waits.changes != own.changes):
            raise UserError(
                f"{amendment_draft.told_waiting(waits)} and is not replaced by an agent's; sign it or drop it first"
            )
        amendment_draft.drop_draft(root)
        try:
            _leave_to_people(answer)
            draft = amendment_draft.draft_amendment(root, answer.rationale, settings, removed=removed)
        except UserError as error:
            if own:
                own.write(root)
            return Offer(None, [str(error)], f"what the amend agent drafted cannot be a version: {error}.")
        words = [word for one in settings for word in ("--set", one)] + [
            word for one in removed for word in ("--remove", one)
        ]
        command = shlex.join(["sophron", "amend", *words, "--rationale", answer.rationale])
        return Offer(draft, approve.draft_faults(root, probe), command=command)


def _leave_to_people(answer: AmendAnswer) -> None:
    """Refuse a change that justifies a criterion against a published value: a person's word, not an agent's."""
    for one in answer.changes:
        if one.path.startswith("method") and "criterion" in {*one.path.split("."), *_keys(one.value)}:
            raise UserError(f"{one.path}: only a person may write an assumption that justifies a criterion")


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
        value = list(value.values())
    for inner in value if isinstance(value, list) else []:
        yield from _keys(inner)


def _tell(root: Path, draft: Draft) -> None:
    about = {"rationale": draft.rationale, "invalidated_stages": draft.invalidated_stages}
    events.append(root, "amend agent", "drafted", version=draft.version, **about)
    project(root)


PAUSE_NAME = "PAUSE"
RUN_LOCK = Path("records") / "run.lock"
RAPID_S = 60.0
MOST_RAPID = 3
MOST_SILENT = 2
MOST_NAMED = 3
LOCAL_TRIES, REMOTE_TRIES = 3, 5


class Ending(IntEnum):
    """How the loop ended; the exit code of `sophron run`."""

    DONE = 0
    PAUSED = 3
    SIGNATURE = 4
    ESCALATED = 5
    HALTED = 6
    REPAIR = 7
    BUSY = 8


@dataclass(frozen=True)
class Host:
    """A host workflow that is driven. directory: where Snakemake runs; targets: what is made of it, by default all."""

    snakefile: Path
    directory: Path
    options: Sequence[str] = ()
    targets: Sequence[str] = ()

    def command(self, root: Path, targets: Sequence[str]) -> list[str]:
        """Return options and targets of a process that makes the host's targets, or these of the campaign's folder."""
        own = [os.path.relpath(root / target, self.directory) for target in targets]
        options = ["--snakefile", str(self.snakefile), "--rerun-incomplete", "--nolock", *self.options]
        return [*options, "--", *(own or self.targets)]


def host_of(root: Path, spec: Spec, snakefile: Path | None) -> Host | None:
    """Return the host workflow to drive, if there is one. snakefile: as a person gave it; UserError for another one."""
    if spec.host is None:
        return None if snakefile is None else Host(snakefile.absolute(), plan.workdir(root, snakefile.absolute()))
    own = plan.host_snakefile(root, spec)
    if own is None or (snakefile is not None and snakefile.resolve() != own):
        where = spec.document.where(["workflow", "snakefile"])
        raise UserError(f"{where}: the campaign gates {own}; leave --snakefile {snakefile} out, or amend this")
    targets, options = _parted(spec.host.arguments)
    return Host(own, plan.host_workdir(root, spec.host), options, targets)


def _parted(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part targets from options: they stand before the first option, or behind `--`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    first = next((place for place in range(end) if arguments[place].startswith("-")), end)
    return [*arguments[:first], *arguments[end + 1 :]], list(arguments[first:end])


@dataclass(frozen=True)
class Settings:
    """How to drive. options: for Snakemake, e.g. `--profile slurm`; tries: of the debug agent for a failed stage.

    here: whether steps run on this machine, beside Snakemake. probe: runs the pitfall probes on what the amend agent
    drafts.
    """

    options: Sequence[str]
    tries: int = LOCAL_TRIES
    here: bool = False
    stagewise: bool = False
    processes: int = 200
    environment: Mapping[str, str] = field(default_factory=dict)
    host: "Host | None" = None
    probe: ProbeSpec = lambda _: ()


def snakemake(root: Path, settings: Settings, targets: Sequence[str]) -> snakemake_process.Ended:
    """Run one fresh Snakemake process."""
    called = ["snakemake", *settings.options]
    called += settings.host.command(root, targets) if settings.host else ["--", *targets]
    directory = settings.host.directory if settings.host else root
    server = snakemake_process.NO_SERVER
    if settings.here:
        server = local_steps.early(root, load(root / SPEC_NAME), {**os.environ, **settings.environment})
    return snakemake_process.run(root, called, settings.environment, directory=directory, server=server)


class Loop:
    """One `sophron run`. say: where sentences for people go."""

    def __init__(self, root: Path, settings: Settings, say: Callable[[str], None] = print) -> None:
        self._root, self._settings, self._say = root, settings, say
        self._started, self._rapid = 0, 0
        self._silent: Counter[str] = Counter()
        self._ended: snakemake_process.Ended | None = None
        self._passed: set[str] = set()
        self._tried: tuple[str, int, DebugAnswer] | None = None

    def run(self) -> int:
        """Drive until the campaign is done, paused, waits for a person, or keeps dying; the exit code.

        A sentence says which, whatever ends it; after signal N the code is 128 + N. Raises UserError.
        """
        load(self._root / SPEC_NAME)
        try:
            with snakemake_process.signals_raised(), FileLock(self._root / RUN_LOCK, blocking=False):
                return self._drive()
        except LockHeldError:
            self._say("Another sophron run drives this campaign; there is nothing to do for this one.")
            return Ending.BUSY
        except OSError as error:
            self._say(f"Halted: {of_system(error)}; then: sophron run again.")
            return Ending.REPAIR
        except snakemake_process.StoppedError as stopped:
            self._say(f"Stopped by {stopped.name}: what ran was ended. The next sophron run goes on from there.")
            return 128 + stopped.number

    def _drive(self) -> Ending:
        while True:
            spec = load(self._root / SPEC_NAME)
            ending = self._waiting() or self._idle()
            if ending is not None:
                return ending
            plan_documents.record_in_force(self._root)  # a host's Snakefile may leave that to us
            stage = self._next(spec)
            if self._snakemake([] if stage is None else [f"results/{stage}/passed"]):
                self._note_end(spec, None)
                if stage is None:
                    return self._done()
                self._passed.add(stage)
                continue
            ending = self._failed(spec)
            if ending is not None:
                return ending

    def _done(self) -> Ending:
        completion.note(self._root, approvals.signed_gate(self._root))
        self._say("Done: all stages passed. sophron answer shows the number, results/report.html how it came about.")
        return Ending.DONE

    def _waiting(self) -> Ending | None:
        """Return what a person wants: a pause, or time to look at a draft. No agent is asked meanwhile."""
        if (self._root / PAUSE_NAME).exists():
            self._say(f"Paused: remove the file {PAUSE_NAME} and call sophron run again.")
            return Ending.PAUSED
        waiting = amendment_draft.read_draft(self._root)
        if waiting is not None:
            self._say(f"Version {waiting.version} is drafted and waits for a signature: {waiting.rationale}")
            self._say("Next: sophron review, sophron approve; or sophron amend --drop, to go on without it")
            return Ending.SIGNATURE
        return None

    def _idle(self) -> Ending | None:
        """Return whether there is nothing to do for this process: another one is at work, or all is done.

        Raises Refused if nothing valid is signed: no Snakemake process would say anything else.
        """
        try:
            with campaign_lock.driver_lock(self._root):
                approval_journal.finish_locked(self._root)
                approval = approvals.valid_approval(self._root)
        except Refused:
            raise
        except UserError as held:
            self._say(f"{held}.")
            return Ending.BUSY
        known_signers.check(approval)
        if self._settings.host is None and completion.stands(self._root, approval):
            self._say("Nothing is left to do: all stages passed, and nothing changed since.")
            return Ending.DONE
        if not self._started and not self._settings.environment:
            step_wiring.require_models(self._root)
        return None

    def _next(self, spec: Spec) -> str | None:
        """Return the first stage that is not passed yet; None if the whole campaign is to run."""
        if not self._settings.stagewise:
            return None
        status = {stage["id"]: stage["status"] for stage in project(self._root)["stages"]}
        done = {name for name, one in status.items() if one == "completed"} | self._passed
        return next((stage.name for stage in spec.stages if stage.name not in done), None)

    def _snakemake(self, targets: Sequence[str]) -> bool:
        """Return whether a fresh process came to a good end."""
        self._ended = None
        if self._started >= self._settings.processes:
            return False
        self._started += 1
        self._ended = ended = snakemake(self._root, self._settings, targets)
        died = ended.code != 0 and (ended.elapsed_s < RAPID_S or not ended.finished_something)
        self._rapid = self._rapid + 1 if died else 0
        return ended.code == 0

    def _failed(self, spec: Spec) -> Ending | None:
        """Return what comes after a process that failed; None if the loop goes on."""
        ending = self._hopeless()
        if ending is not None:
            return ending
        failure = failure_report.first(self._root, spec)
        if failure is None:
            return self._halted("no stage is known to have failed; see what Snakemake said")
        if failure.kind == "environment" and not failure_report.has_choice(spec, failure.stage):
            return self._lacking(failure)
        self._note_end(spec, failure.stage)
        if before := failure_report.unchanged(self._root, spec, failure):
            return self._nothing_new(failure, before)
        attempt = failure_report.note(self._root, spec, failure)
        debug_memory.take(self._root, failure.stage, attempt)
        if attempt > self._settings.tries:
            self._say(f"{failure.stage} failed {attempt} times; the cap is {self._settings.tries}.")
            return self._escalated(failure, self._settings.tries)
        return self._debugged(spec, failure, attempt)

    def _debugged(self, spec: Spec, failure: failure_report.Failure, attempt: int) -> Ending | None:
        if failure.kind == "verdict":  # no mechanical change makes a finished result pass
            self._explain(failure)
            return self._escalated(failure, attempt)
        content = self._answer(f"results/{failure.stage}/debug-{attempt}.json")
        answer = None if content is None else from_json(DebugAnswer, content)
        if answer is None:
            return self._mute("debug", "see what Snakemake said") or self._halted("the debug agent gave no answer")
        self._say(f"debug of {failure.stage}, try {attempt}: {answer.action}: {answer.diagnosis}")
        debug_memory.note_decision(self._root, failure.stage, attempt, answer)
        if answer.kind == "environment":
            return self._lacking(failure)
        if answer.action == "escalate":
            return self._escalated(failure, attempt)
        self._tried = failure.stage, attempt, answer
        if answer.overlay is not None:
            self._overlay(failure.stage, answer.overlay, answer.diagnosis)
        failure_report.set_aside(self._root, spec, failure)
        return self._halted("they left nothing to change") if self._rapid >= MOST_RAPID else None

    def _hopeless(self) -> Ending | None:
        """Stop for what another process would not change: the cap, a full disk, a refusal, an agent out of reach."""
        if self._ended is None:
            self._say(f"Halted: {self._started} processes were started, which is the cap (--processes).")
            return Ending.HALTED
        full = environment_faults.unwritable(self._root / "records")
        if full:
            self._say(f"{full}: make room, then: sophron run again.")
            return Ending.REPAIR
        for event in self._ended.of("refused")[-1:]:
            self._say(f"Refused: {event['reason']}")
            return Ending.ESCALATED
        for event in {one["agent"]: one for one in self._ended.of("agent_failed")}.values():
            ending = self._mute(event["agent"], f"{event['kind']}: {event['reason']}")
            if ending is not None:
                return ending
        return None

    def _mute(self, agent: str, why: str) -> Ending | None:
        """Stop at the second process in which an agent gave no answer, whatever time they took."""
        self._silent[agent] += 1
        if self._silent[agent] < MOST_SILENT:
            return None
        self._say(f"Halted: the agent {agent} gave no answer twice ({why}). What is finished stays: sophron run again.")
        return Ending.HALTED

    def _lacking(self, failure: failure_report.Failure) -> Ending:
        """Say what the machine lacks, and what goes on from there: no agent and no amendment cures it."""
        for step, reason in list(failure.reasons.items())[:MOST_NAMED]:
            self._say(f"{step}: {reason}")
        clear = f"sophron retry {failure.stage}, " if failure.kind == "outcome" else ""
        self._say(f"Nothing of the science failed. Repair the machine, then: {clear}sophron run again.")
        return Ending.REPAIR

    def _note_end(self, spec: Spec, failed: str | None) -> None:
        """Remember how the last attempt went. failed: the stage that failed now, None if none did."""
        if self._tried is not None:
            stage, attempt, answer = self._tried
            debug_memory.note_end(self._root, spec.campaign, stage, attempt, answer, passed=stage != failed)
            self._tried = None

    def _explain(self, failure: failure_report.Failure) -> None:
        """Say what the explain agent makes of a missed criterion; the amend agent reads it too."""
        answer = self._answer(f"results/{failure.stage}/explanation.json")
        if answer is not None:
            self._say(f"{failure.stage}: {from_json(VerifyAnswer, answer).explanation}")

    def _nothing_new(self, failure: failure_report.Failure, attempt: int) -> Ending:
        """Stop without asking anybody: what agents had to say of this failure they said."""
        again = f", sophron retry {failure.stage} if it was the machine" if failure.kind == "outcome" else ""
        self._say(
            f"{failure.stage} failed as in attempt {attempt}, and nothing changed since: no agent is asked again. "
            f"A person decides. Next: sophron status, sophron amend{again}"
        )
        return Ending.SIGNATURE

    def _halted(self, why: str) -> Ending | None:
        if self._rapid < MOST_RAPID:
            return None
        self._say(f"Halted: {self._rapid} processes died within a minute or finished nothing; {why}.")
        return Ending.HALTED

    def _proposal(self, stage: str, attempt: int, refusals: Sequence[str]) -> AmendAnswer | None:
        """Return the amend agent's answer; with refusals, its second, which is told why the first cannot be signed."""
        if refusals:
            failure_report.note_refusals(self._root, stage, attempt, refusals)
        answer = self._answer(f"results/{stage}/proposal-{attempt}.json")
        return None if answer is None else from_json(AmendAnswer, answer)

    def _answer(self, target: str) -> JsonObject | None:
        """Return the answer of the agent step that makes `target`; None if it gave none."""
        ended = snakemake(self._root, self._settings, [target])
        if ended.code != 0:
            for event in ended.of("agent_failed")[-1:]:
                self._say(f"The agent {event['agent']} gave no answer ({event['kind']}): {event['reason']}")
            return None
        return from_json(AnswerRecord, documents.load_json(self._root / target)).answer

    def _overlay(self, stage: str, overlay: Overlay, reason: str) -> None:
        """Change the one thing that debug may. A changed campaign has earned new processes."""
        key, value = overlay.key, overlay.value
        resource_requests.add_overlay(self._root, stage, key, value, by="debug agent", reason=reason)
        events.append(self._root, "sophron", "overlay", stage=stage, key=key, value=value)
        project(self._root)
        self._rapid = 0

    def _escalated(self, failure: failure_report.Failure, attempt: int) -> Ending:
        """Draft an amendment, if the amend agent knows one, and stop: a person decides."""
        draft, faults, why, _ = offer(
            self._root, lambda refusals: self._proposal(failure.stage, attempt, refusals), self._settings.probe
        )
        for fault in faults:
            self._say(f"What the amend agent drafted cannot be signed: {fault}")
        if draft is None:
            again = f"sophron retry {failure.stage} if it was the machine, " if failure.kind == "outcome" else ""
            self._say(f"{failure.stage}: {why} Next: sophron status, {again}sophron amend")
            return Ending.ESCALATED
        self._say(f"Version {draft.version} is drafted: {json.dumps(draft.changes, ensure_ascii=False)}")
        self._say("Nothing changes before a person signs it. Next: sophron review, sophron approve")
        return Ending.SIGNATURE
