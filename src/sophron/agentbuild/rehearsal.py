"""How a build reaches its agents outside of a campaign: rules of thumb alone, a rehearsal that costs nothing.

A language model is asked in a campaign of the kind `agent_build`, under its envelope.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.agentbuild import aud, build_inputs, build_store, judge, samples
from sophron.agentbuild.case_run import CaseRun
from sophron.agentbuild.contract import Contract
from sophron.agentbuild.curriculum import Case
from sophron.agents.documents.errors import AgentError
from sophron.agents.gateway.model_catalogue import STAND_INS
from sophron.agents.step import agent_step, step_wiring
from sophron.agents.step.unapproved_step import NO_ENVELOPE
from sophron.campaign.planning import agent_definitions
from sophron.records import atomic
from sophron.records.documents import load_json
from sophron.records.errors import UserError

SESSION = "session"
"""Folder below a step's scratch in which tools leave trajectory and plots."""


class Rehearsal:
    """Ways of a build whose folder is `root`; every step leaves its audit there, as in a campaign."""

    def __init__(self, root: Path, contract: Contract) -> None:
        for part, who in contract.handles.items():
            if who["backend"] not in STAND_INS:
                raise UserError(
                    f"{contract.folder / 'models.yaml'}: {part}: {who['backend']} is asked in a campaign alone; "
                    "make one with: sophron new agent_build DIR"
                )
        self.root, self.contract = root, contract

    def attempt(self, name: str, agent: Path, case: Case, folder: Path) -> str:
        """Run the agent on a case, with the tools of its wiring in the sandbox."""
        given, path = self._given(case)
        defined = aud.definition(agent, self.contract)
        packed = self.root / "records" / name / "given" / "agent.json"
        atomic.write_json(packed, aud.packed(agent))
        inputs = build_inputs.attempt(defined, given, aud.recipe(agent), path, packed)
        files = {role: value for role, value in inputs.items() if isinstance(value, Path)}
        work = self._work(name, defined, inputs, files)
        failure = self._ask(work, "agent")
        if not failure:
            answer = load_json(work.answer)
            atomic.write_json(folder / build_store.REPORT, answer["answer"])
            for left in answer.get("files", {}).values():
                atomic.place(work.answer.with_name(left["file"]), folder / left["file"])
        build_inputs.take_pictures(work.scratch / SESSION, folder)
        return failure

    def _given(self, case: Case) -> tuple[samples.Given, Path]:
        """The sample of a case and its file, made once in a build."""
        path = self.root / "samples" / f"{case.name}.json"
        if not path.is_file():
            made = samples.sample(self.contract.folder, case)
            atomic.write_json(path, {"sample": dict(made.sample), "task": dict(made.task)})
            atomic.write_json(path.with_name(f"{case.name}.sample.json"), dict(made.sample))
        kept = load_json(path)
        return samples.Given(kept["sample"], kept["task"]), path.with_name(f"{case.name}.sample.json")

    def screen(self, name: str, run: CaseRun) -> Mapping[str, Any]:
        """Ask the screening judge."""
        return self._answer(name, "screen", build_inputs.screening(run))

    def score(self, name: str, run: CaseRun, computed: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """Ask the scoring judge once; an answer that is not about what was asked is none."""
        repeat = int(name.rpartition("-")[2])
        told = build_inputs.scoring(run, computed, self.contract, repeat, build_inputs.picture(run, folder))
        answer = self._answer(name, "score", told)
        if found := judge.faults(answer, self.contract.rubric):
            raise UserError(f"{name}: {'; '.join(found)}; ask again")
        return answer

    def optimize(self, name: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask the meta-optimizer."""
        return self._answer(name, "optimize", inputs)

    def _answer(self, name: str, part: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        work = self._work(name, agent_definitions.find(None, part), inputs, {})
        failure = self._ask(work, part)
        if failure:
            raise UserError(f"{name}: {failure}")
        answer: Mapping[str, Any] = load_json(work.answer)["answer"]
        return answer

    def _work(
        self, name: str, agent: agent_definitions.AgentFile, inputs: Mapping[str, Any], files: Mapping[str, Path]
    ) -> agent_step.AgentStep:
        answer = self.root / "records" / name / "given" / "answer.json"
        return agent_step.AgentStep(
            self.root, name, agent, agent.digest({"backend": "heuristic"}), inputs, answer, files
        )

    def _ask(self, work: agent_step.AgentStep, part: str) -> str:
        """Ask; why there is no answer, or nothing."""
        spec = {"agents": {"by_name": {work.agent.name: dict(self.contract.handles[part])}}}
        ask = step_wiring.gateway(work, NO_ENVELOPE, spec)
        try:
            with step_wiring.toolbox(work) as tools:
                agent_step.run(work, ask, tools=tools)
        except AgentError as failure:
            return f"{failure.reason} ({failure.kind})"
        return ""
