"""`sophron agent`: what agents a campaign has, whether they are sound, and one agent step."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophron.cli import _step_arguments
from sophron.records import SPEC_NAME

if TYPE_CHECKING:
    from sophron.agents.step.agent_step import AgentStep

HELP = "list, show and check agents; run one agent step; ask again"
EXAMPLES = """\
examples:
  sophron agent list my-melt                the agents of a campaign, and who answers for each
  sophron agent show debug my-melt          its front matter, prompt, schema and digest
  sophron agent adopt caveats my-melt       copy its definition into the campaign, to edit it there
  sophron agent check my-melt               are all definitions sound, and can their models be reached
  sophron agent reask caveats my-melt       set its answer aside; the next snakemake asks again
"""
FORKED = (
    "sophron.agents.memory.restart_files",
    "sophron.agents.step.agent_inputs",
    "sophron.agents.step.agent_step",
    "sophron.agents.step.failure_inputs",
    "sophron.agents.step.report_inputs",
    "sophron.agents.step.step_wiring",
)
"""What the fork server of a local run imports for this verb."""
BACKEND_VARIABLE = "SOPHRON_AGENTS"
"""The same as in `agents/step/step_wiring.py`, which costs too much to import here."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.set_defaults(folder_as_given=True)  # of a folder that is not a campaign, the installation's agents
    verbs = parser.add_subparsers(dest="action", required=True, metavar="list|show|adopt|check|ask|run|reask")
    for name, about in (("list", "agents and who answers for them"), ("check", "are all definitions sound")):
        one = verbs.add_parser(name, help=about)
        one.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    named = {"show": "one definition, whole", "adopt": "copy a definition into the campaign, to edit it there"}
    for name, about in (*named.items(), ("reask", "set an answer aside to ask again")):
        one = verbs.add_parser(name, help=about)
        one.add_argument("name", help="agent" if name in named else "step, e.g. caveats or debug-produce-1")
        one.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    ask = verbs.add_parser("ask", help="one step of design or plan, which need no approval (called by its rule)")
    ask.add_argument("name", choices=["design", "plan"], help="agent")
    ask.add_argument("campaign", nargs="?", type=Path, default=Path(), help="campaign folder (default: here)")
    ask.add_argument("--answer", type=Path, required=True, help="where the answer belongs")
    ask.add_argument("--log", type=Path, help="log file of the step")
    ask.add_argument("--agents", metavar="BACKEND", help="let replay, mailbox or heuristic answer instead")
    step = verbs.add_parser("run", help="one agent step (called by its rule)")
    step.add_argument("rule", help="rule of the step")
    step.add_argument("--wildcard", action="append", default=[], metavar="NAME=VALUE", help="wildcard of the step")
    step.add_argument("--answer", type=Path, required=True, help="where the answer belongs")
    step.add_argument(
        "--agents", metavar="BACKEND", help="let replay, mailbox or heuristic answer instead (or set SOPHRON_AGENTS)"
    )
    _step_arguments.add_step_arguments(step)


def run(args: argparse.Namespace) -> int:
    """Do it. A step that a driver started is given the keys that the driver keeps from jobs."""
    from sophron.records import secret_keys

    secret_keys.recall()
    actions = {"list": _list, "show": _show, "adopt": _adopt, "check": _check}
    steps = {"ask": _ask, "run": _run, "reask": _reask}
    return (actions | steps)[args.action](args)


def _root(args: argparse.Namespace) -> Path | None:
    root: Path = args.campaign.absolute()
    return root if (root / SPEC_NAME).is_file() else None


def _spec_data(root: Path | None) -> dict[str, Any]:
    from sophron.campaign.spec.spec import load

    return dict(load(root / SPEC_NAME).data) if root else {}


def _list(args: argparse.Namespace) -> int:
    from tabulate import tabulate

    from sophron.campaign.planning import campaign_agents

    root = _root(args)
    data = _spec_data(root)
    rows = []
    for name in campaign_agents.agent_names(root):
        agent = campaign_agents.find_agent(root, name)
        chosen = campaign_agents.chosen(data, name)
        who = chosen["backend"] + (f" ({chosen['model']})" if "model" in chosen else "")
        rank = chosen.get("rank", agent.front["rank"])
        rows.append([name, agent.front["role"], rank, who, ", ".join(agent.front.get("tools", [])), agent.path])
    print(tabulate(rows, ["agent", "role", "rank", "answered by", "tools", "definition"], tablefmt="plain"))
    return 0


def _show(args: argparse.Namespace) -> int:
    import json

    from sophron.campaign.planning import campaign_agents

    root = _root(args)
    agent = campaign_agents.find_agent(root, args.name)
    chosen = campaign_agents.chosen(_spec_data(root), args.name)
    print(agent.path.read_text(encoding="utf-8"))
    print(f"Answers fit schemas/agents/{agent.front['output']}.schema.yaml:")
    print(json.dumps(agent.schema, indent=2))
    print(f"digest {agent.digest(chosen)}  answered by {json.dumps(chosen)}")
    return 0


def _adopt(args: argparse.Namespace) -> int:
    from sophron.campaign.planning import campaign_agents
    from sophron.records.errors import UserError
    from sophron.records.files import write_bytes

    root = args.campaign.absolute()
    target = root / campaign_agents.FOLDER / f"{args.name}.md"
    if target.exists():
        raise UserError(f"{target}: is there already; edit it")
    write_bytes(target, campaign_agents.find_agent(None, args.name).path.read_bytes())
    print(f"{target} is this campaign's own now. After an edit: sophron amend --rationale 'why', sophron approve")
    return 0


def _check(args: argparse.Namespace) -> int:
    from sophron.agents.step import step_wiring
    from sophron.campaign.planning import campaign_agents
    from sophron.records.errors import UserError

    root = _root(args)
    data, faults = _spec_data(root), 0
    for name in campaign_agents.agent_names(root):
        try:
            missing = step_wiring.why_unavailable(
                root, campaign_agents.find_agent(root, name), campaign_agents.chosen(data, name)
            )
        except UserError as error:
            missing = str(error)
        faults += missing is not None
        print(f"{'ok  ' if missing is None else 'LACK'}  {name}{'' if missing is None else f': {missing}'}")
    return 1 if faults else 0


def _reask(args: argparse.Namespace) -> int:
    from sophron.agents.step import agent_step
    from sophron.campaign.state.projector import project
    from sophron.records import old_names

    root = args.campaign.absolute()
    number = agent_step.reask(root, old_names.step_now(args.name))
    project(root)
    print(f"The answer of {args.name} is kept as number {number}; run snakemake to ask again.")
    return 0


def _ask(args: argparse.Namespace) -> int:
    """One step of an agent that makes a spec or speaks about one before it is signed."""
    from sophron.agents.step import agent_inputs, step_wiring
    from sophron.agents.supervisor import design_dialogue

    root = args.campaign.absolute()
    inputs = design_dialogue.inputs(root) if args.name == "design" else agent_inputs.for_plan(root)
    step = design_dialogue.dialogue(root).step if args.name == "design" else "plan"
    override = args.agents or os.environ.get(BACKEND_VARIABLE)
    step_wiring.run_unapproved(
        root, args.name, inputs, step_name=step, answer=Path.cwd() / args.answer, override=override
    )
    _step_arguments.finish_log(args, f"{step}: {args.answer}")
    return 0


def _run(args: argparse.Namespace) -> int:
    """One agent step. What its agent is told is gathered from results and records; it decides nothing."""
    from sophron.agents.documents.answers import AgentError
    from sophron.agents.step import agent_inputs, agent_step, step_wiring
    from sophron.campaign.planning import campaign_agents
    from sophron.campaign.spec.spec import load_signed
    from sophron.campaign.state.projector import project
    from sophron.records import approvals, events
    from sophron.records.digests import step_name
    from sophron.records.errors import Refused, UserError

    wildcards = _step_arguments.wildcards(args.wildcard)
    root, name = approvals.campaign_root(args.gate), step_name(args.rule, wildcards)
    try:
        approval = approvals.require_approved(_step_arguments.claim(args, args.rule, args.rule, wildcards), root)
    except Refused as error:
        events.append(root, "sophron", "refused", step=name, reason=str(error))
        raise
    spec = load_signed(approval)
    agent = campaign_agents.signed_agent(root, spec, args.rule, wildcards)
    if agent.digest(campaign_agents.chosen(spec.data, agent.name)) != args.digest:
        raise Refused(f"{name}: the agent {agent.name} is not the one that the rule names; use the rule as it is")
    override = step_wiring.allowed_override(args.agents or os.environ.get(BACKEND_VARIABLE))
    inputs = agent_inputs.for_rule(root, spec, args.rule, wildcards, agent)
    files = agent_inputs.folders(root, agent) | agent_inputs.files(agent, inputs)
    asked = spec.agent_rules.get(args.rule)
    may_fail = asked is not None and asked.may_fail
    web = step_wiring.web(root, name, agent, spec.data, override)
    answer = Path.cwd() / args.answer
    dispensable = step_wiring.dispensable(args.rule, agent.name, spec.data, override)
    work = agent_step.AgentStep(
        root, name, agent, args.digest, {**inputs, **files}, answer, files, may_fail, dispensable, web
    )
    try:
        step_wiring.run_step(work, approval.record.envelope, spec.data, override)
    except AgentError as failure:
        raise UserError(f"{name}: {failure.reason} ({failure.kind})") from None
    finally:
        project(root)
    _step_arguments.finish_log(args, f"{name}: {work.answer}")
    if work.dispensable:
        _say_what_lacks(work)
    return 0


def _say_what_lacks(work: "AgentStep") -> None:
    """One sentence where the report goes without this answer."""
    from sophron.records import documents, terminal

    failure = documents.load_record(work.answer).get("failure")
    if failure:
        terminal.say(
            f"sophron: {work.step}: {failure['reason']} ({failure['kind']}); the report is written without caveats; "
            f"to ask again: sophron agent reask {work.step}, then snakemake"
        )
