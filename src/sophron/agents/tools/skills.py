"""The tool that gives an agent a skill when it needs it: its text, or one of its files.

Scripts of a skill run as any program that the agent starts, with `run_command` or a task's shell in the sandbox,
where the files lie read-only below `/skills`. `allowed-tools` of a skill is the wish of its author: of what it names an
agent has the tools that were signed, and is told which of the others it has not.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from sophron.agents.tools.safe_open import OutsideError
from sophron.campaign.skills.skill_folder import SKILL_FILE, Skill
from sophron.interfaces.model_backend import Tool
from sophron.records.errors import did_you_mean, shown
from sophron.records.sanitize import escape_lines

PLACE = "/skills"
READ_CHARACTERS = 48_000
OURS: Mapping[str, Sequence[str]] = {
    "Bash": ("run_command", "task_shell"),
    "Read": ("read_file", "task_read"),
    "Write": ("write_file", "task_write"),
    "Edit": ("write_file", "task_write"),
    "Grep": ("search_text",),
    "Glob": ("list_folder",),
    "LS": ("list_folder",),
}
"""What coding agents call a tool -> ours that does the same."""

TOOL = Tool(
    "read_skill",
    "Read a skill by its name: its text and the list of its files; or one of its text files, with `file`.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 64},
            "file": {"type": "string", "minLength": 1, "maxLength": 4096},
        },
    },
)


class SkillShelf:
    """The skills of one step. tools: names of all tools that the step has, as they were signed."""

    def __init__(self, skills: Sequence[Skill], tools: Collection[str]) -> None:
        self._skills = {skill.name: skill for skill in skills}
        self._tools = tools

    def read_skill(self, name: str, file: str = SKILL_FILE) -> str:
        """Return the text of a skill or of one of its files. OutsideError if there is no such text."""
        if name not in self._skills:
            raise OutsideError(f'there is no skill "{shown(name)}"; {did_you_mean(name, self._skills)}')
        skill = self._skills[name]
        if file == SKILL_FILE:
            return "\n".join([*self._header(skill), escape_lines(skill.body, READ_CHARACTERS)])
        if file not in skill.files:
            raise OutsideError(f'the skill {name} has no file "{shown(file)}"; {did_you_mean(file, skill.files)}')
        try:
            return escape_lines(skill.files[file].decode(), READ_CHARACTERS)
        except UnicodeDecodeError:
            raise OutsideError(f'"{shown(file)}" of the skill {name} is not text') from None

    def _header(self, skill: Skill) -> Iterator[str]:
        others = [shown(name, 200) for name in skill.files if name != SKILL_FILE]
        if others:
            runs = next((name for name in OURS["Bash"] if name in self._tools), None)
            where = f" ({runs} has them below {PLACE}/{skill.name})" if runs else ""
            yield f"[files{where}: {', '.join(others)}]"
        granted, refused = granted_tools(skill, self._tools)
        if granted or refused:
            yield f"[of the tools that it names you have {', '.join(granted) or 'none'}]"
        if refused:
            yield f"[not granted to you: {', '.join(shown(name) for name in refused)}]"


def granted_tools(skill: Skill, signed: Collection[str]) -> tuple[list[str], list[str]]:
    """Return which of the signed tools the `allowed-tools` of a skill name, and which of its wishes are not granted."""
    asked = skill.front.get("allowed-tools", [])
    wishes = _wishes(asked) if isinstance(asked, str) else asked
    granted: list[str] = []
    refused: list[str] = []
    for wish in wishes:
        plain = wish.partition("(")[0].strip()
        ours = [name for name in OURS.get(plain, (plain,)) if name in signed]
        granted += ours
        refused += [] if ours else [wish]
    return list(dict.fromkeys(granted)), list(dict.fromkeys(refused))


def _wishes(text: str) -> list[str]:
    """Cut at blanks and commas outside parentheses: `Bash(git add:*) Read` are two."""
    depth, words = 0, [""]
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if depth <= 0 and (sign in " ,\t\n"):
            words.append("")
        else:
            words[-1] += sign
    return [word for word in words if word]
