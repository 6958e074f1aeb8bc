"""`sophron skill`: list skills, examine one, copy one into a campaign, draft one, hand ours out to coding agents."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.cli import _dialogue

if TYPE_CHECKING:
    from sophron.campaign.skills.skill_folder import Skill

HELP = "skills for agents: list, examine, copy into a campaign, draft from a task, hand out to coding agents"
EXAMPLES = """\
examples:
  sophron skill list my-melt                    what is shipped, and what the campaign has, with source and licences
  sophron skill check path/to/skill             what a person should see of it before it is let in
  sophron skill add lammps --campaign my-melt   copy a shipped one; then name it under `skills`, and sign
  sophron skill add K-Dense-AI/claude-scientific-skills@899a51bfbd63218153b272c9459dcb4a7ae88da6:scientific-skills/rdkit
  sophron skill make jobs/fit-anthropic         draft one from what workers did at a task, to be read by a person
  sophron skill install .claude/skills          so that a coding agent in a terminal can drive campaigns

exit codes: 0 done, nothing found; 1 something was found, or there is nothing to make one of; 2 it is refused
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="show the skills of a campaign, and those that are shipped")
    listed.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="CAMPAIGN")
    check = actions.add_parser("check", help="read a skill and say what it asks for; nothing runs")
    add = actions.add_parser("add", help="copy a skill into a campaign, with source, commit and licences")
    for action in (check, add):
        action.add_argument(
            "source", metavar="SOURCE", help="a folder, a shipped name, or REPOSITORY@COMMIT:PATH of a git repository"
        )
    add.add_argument("--campaign", type=Path, default=Path(), help="folder of the campaign (here)")
    add.add_argument("--reviewed", action="store_true", help="add it although something was found, which you looked at")
    make = actions.add_parser("make", help="draft a skill from a task's attempts and memory; a person takes it, or not")
    make.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="CAMPAIGN")
    make.add_argument("--stage", metavar="TASK", help="task of the campaign (needed if it has several)")
    make.add_argument(
        "--agents", metavar="BACKEND", help="who drafts it: heuristic, anthropic, openai, mailbox, replay"
    )
    install = actions.add_parser("install", help="copy the orchestration skills where a coding agent looks for skills")
    install.add_argument("folder", type=Path, metavar="DIR", help="such as .claude/skills or .agents/skills")


def run(args: argparse.Namespace) -> int:
    """Do one action; UserError, a sentence, if a skill is refused."""
    return {"list": _list, "check": _check, "add": _add, "make": _make, "install": _install}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from tabulate import tabulate

    from sophron.campaign.skills import skill_folder, skill_source
    from sophron.records.files import resource

    rows = [_row(args.folder, skill) for skill in skill_source.campaign_skills(args.folder)]
    rows += [["shipped", name, "", skill_source.OURS, ""] for name in skill_source.shipped_names()]
    rows += [["harness", skill.name, "", skill_source.OURS, ""] for skill in skill_source.harness_skills()]
    for row in rows[-len(skill_source.shipped_names()) - len(skill_source.harness_skills()) :]:
        folder = ("skills",) if row[0] == "shipped" else skill_source.HARNESS
        row[2] = _short(skill_folder.read(resource(*folder, row[1])))
    print(tabulate(rows, ["where", "skill", "what for", "licence (source; skill)", "source"], tablefmt="plain"))
    return 0


def _row(root: Path, skill: "Skill") -> list[str]:
    from sophron.campaign.skills import skill_source
    from sophron.records.sanitize import one_line

    about = skill_source.source_of(root, skill.name)
    if about is None:
        return ["campaign", skill.name, _short(skill), str(skill.front.get("license", "")), "written here"]
    licenses = "; ".join(one_line(text, 40) for text in (about.source_license or "?", about.skill_license) if text)
    source = f"{one_line(about.source, 300)}{'@' + about.commit[:12] if about.commit else ''}"
    return ["campaign", skill.name, _short(skill), licenses, source + ", edited" * (about.digest != skill.digest)]


def _short(skill: "Skill") -> str:
    from sophron.records.sanitize import one_line

    return one_line(skill.description, 60)


def _check(args: argparse.Namespace) -> int:
    from sophron.campaign.skills import danger_checks, skill_source

    with skill_source.opened(args.source) as origin:
        found = danger_checks.examine(origin.skill)
        print(f"{origin.skill.name}: {len(origin.skill.files)} files, digest {origin.skill.digest}")
        for finding in found:
            print(f"  {finding}")
        print(f"{danger_checks.kinds(found) or 'nothing found'}")
    return int(bool(found))


def _add(args: argparse.Namespace) -> int:
    from sophron.campaign.skills import danger_checks, skill_source
    from sophron.campaign.spec.spec import SPEC_NAME
    from sophron.records.errors import UserError

    if not (args.campaign / SPEC_NAME).is_file():
        raise UserError(f"{args.campaign / SPEC_NAME}: there is no such file; name the campaign with --campaign")
    with skill_source.opened(args.source) as origin:
        found = danger_checks.examine(origin.skill)
        if found and not args.reviewed:
            raise UserError(
                f"{origin.skill.name}: asks for {danger_checks.kinds(found)}; look at it with "
                f"`sophron skill check {args.source}`, then add it with --reviewed"
            )
        target = skill_source.add(origin, args.campaign.absolute(), found)
    print(
        f"{target}. Name it under agents.by_name.<agent>.skills in campaign.yaml, or under skills of a task; "
        "then: sophron review"
    )
    return 0


def _make(args: argparse.Namespace) -> int:
    from sophron.campaign.skills import danger_checks, skill_draft
    from sophron.campaign.skills.skill_draft import SkillDraft
    from sophron.campaign.spec.spec import SPEC_NAME, load
    from sophron.kinds.task import skill_material
    from sophron.records import documents
    from sophron.records.sanitize import escape_lines, one_line
    from sophron.records.typed_json import from_json

    root = args.folder.absolute()
    spec = load(root / SPEC_NAME)
    stage = skill_material.stage_of(spec, args.stage)
    target, inputs = root / skill_draft.FOLDER / f"{stage}.answer.json", skill_material.inputs(root, spec, stage)
    backend, step = _dialogue.backend(root, args.agents), f"skill-{stage}"
    answer = _dialogue.ask_agent(root, "skill-maker", inputs, step=step, target=target, override=backend)
    _dialogue.say_suspicious(answer)
    print(escape_lines(answer["reason"], 2000))
    if answer["status"] == "nothing":
        return 1
    draft = from_json(SkillDraft, answer)
    who = documents.load_json(target)["backend"]
    made = skill_draft.write(root, draft, f"skill-maker ({who}) of the task {stage}")
    for one in answer["evidence"]:
        call = f", call {one['call']}" if one["call"] else ""
        print(f"  attempt {one['attempt']}{call}: {one_line(one['says'], 200)}")
    for finding in danger_checks.examine(skill_draft.as_skill(draft, "")):
        print(f"  {finding}")
    print(f"{made} is a draft, and no agent has it. Read it, edit it, then: sophron skill add {made} --reviewed")
    return 0


def _install(args: argparse.Namespace) -> int:
    from sophron.campaign.skills import skill_source

    for target in skill_source.install(args.folder):
        print(target)
    return 0
