"""Names that changed, now -> before: records, answers, approvals and pipelines of before are read through this map.

Standard library only. Who renames a rule, an agent, its schema or a module that pipelines import adds it here.
"""

from collections.abc import Iterator, Mapping

GENERATION = 2
"""Counts the times that what is signed was renamed; an approval that does not name it is of the first."""
AGENTS = {
    "explain": "verify",
    "caveats": "report",
    "refinement": "refine",
    "judge-score": "score",
    "judge-screen": "screen",
    "pipeline-author": "pipeline-writer",
}
ANSWERS = {
    "explain": "verify",
    "caveats": "report",
    "optimize": "optimization",
    "judge-score": "scoring",
    "judge-screen": "screening",
    "pipeline-author": "pipeline",
    "pipeline-critic": "pipeline",
    "pipeline-engineer": "engineer",
}
"""Schemas of answers, which before were not called as their agents."""
EXPERTS = ("force_field", "sampling", "analysis")
STEMS = ("design", "pre", "single", "post")
STEPS = {
    "amend": "propose",
    "checkpoint_management": "restart_files",
    "aud": "try_case",
    "judge_screen": "screen_case",
    "judge_score": "score_case",
    "optimize": "improve",
    "pipeline_author": "write",
    "pipeline_critic": "criticise",
    "pipeline_engineer": "engineer",
    **{f"vote_{stem}-{expert}": f"{stem}_{expert}" for stem in STEMS for expert in EXPERTS},
}
"""Rules of agents, and how the names of their steps begin: before, each expert had rules of its own."""
_GATE, _EXPERT = " --gate {input.gate}", " --wildcard expert={wildcards.expert}"


def agent_now(name: str) -> str:
    """What the agent `name` is called now."""
    return next((now for now, before in AGENTS.items() if before == name), name)


def answer_now(schema: str, agent: str) -> str:
    """What the schema `schema` of the answers of `agent` is called now."""
    if ANSWERS.get(agent) == schema:
        return agent
    return next((now for now, before in ANSWERS.items() if before == schema), schema)


def steps(step: str) -> Iterator[str]:
    """Other names of a step: what it was called before, or is called now."""
    for now, before in STEPS.items():
        for one, other in ((now, before), (before, now)):
            if step == one or step.startswith(f"{one}-"):
                yield other + step[len(one) :]


def step_now(step: str) -> str:
    """What the step `step` is called now."""
    for now, before in STEPS.items():
        if step == before or step.startswith(f"{before}-"):
            return now + step[len(before) :]
    return step


def rules(rule: str) -> list[str]:
    """The names of an agent's rule: now, and before."""
    return [rule, *(before for now, before in STEPS.items() if now.partition("-")[0] == rule)]


def agents_now(signed: Mapping[str, str | Mapping[str, str]]) -> dict[str, str | dict[str, str]]:
    """The signed digests of agents by rule, in the form of now. signed: as an approval of any generation has them."""
    found: dict[str, str | dict[str, str]] = {}
    for before, digest in signed.items():
        rule, _, expert = step_now(before).partition("-")
        known = found.setdefault(rule, {})
        if not expert or not isinstance(known, dict) or not isinstance(digest, str):
            found[rule] = digest if isinstance(digest, str) else dict(digest)
        else:
            known[f"expert={expert}"] = digest
    return found


def shell_now(line: str) -> str:
    """What the shell line of an agent's rule is now."""
    for now, before in STEPS.items():
        rule, _, expert = now.partition("-")
        told = line.removeprefix(f"sophron agent run {before}{_GATE}")
        if told != line:
            return f"sophron agent run {rule}{_GATE}{_EXPERT if expert else ''}{told}"
    return line


def shell_before(line: str, expert: str = "") -> str:
    """What the shell line of an agent's rule was. expert: whose, if it is the line of a vote."""
    for now, before in STEPS.items():
        rule, _, of = now.partition("-")
        told = line.removeprefix(f"sophron agent run {rule}{_GATE}{_EXPERT if of else ''}")
        if told != line and of == expert:
            return f"sophron agent run {before}{_GATE}{told}"
    return line
