"""`sophron evolve suggest`: proposals for the prompts, skills and ranks of a campaign's agents, as patches."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.cli import _dialogue

HELP = "propose edits of prompts, skills and ranks out of what happened in a campaign, as patches for a person"
EXAMPLES = """\
examples:
  sophron evolve suggest my-melt --agents anthropic     writes my-melt/evolve/1/*.patch, each with why and evidence
  git -C my-melt apply evolve/1/1-*.patch               a person applies one; then: sophron amend, and sign
Nothing is applied. An edited prompt is another agent: the gate closes until the amendment is signed. Open work needs a
model; budget.yaml in your configuration bounds what a day may cost. Exit code: 0 there are proposals; 1 there are none.
"""
FOLDER = "evolve"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    suggest = actions.add_parser("suggest", help="ask for proposals, and write them as patches")
    suggest.add_argument("campaign", type=Path, nargs="?", default=Path(), help="folder of the campaign (here)")
    _dialogue.add_backend(suggest)


def run(args: argparse.Namespace) -> int:
    """Ask, write the patches, and say where they are."""
    from sophron.agents.step import definition_edits, evolve_inputs
    from sophron.records.files import write_text

    root = args.campaign.absolute()
    inputs = evolve_inputs.inputs(root)
    number = len(list((root / FOLDER).glob("[0-9]*"))) + 1
    folder, backend = root / FOLDER / str(number), _dialogue.backend(root, args.agents)
    answer = _dialogue.ask_agent(
        root, "evolve", inputs, step=f"evolve-{number}", target=folder / "answer.json", override=backend
    )
    _dialogue.say_suspicious(answer)
    print(f"{answer['summary']}\n")
    for place, one in enumerate(answer["proposals"], 1):
        path = folder / f"{place}-{_slug(one['title'])}.patch"
        write_text(path, _header(root, one) + definition_edits.patch(inputs["files"], one["edits"]))
        print(f"{path.relative_to(root)}: {one['title']}\n  {one['why']}")
    if answer["proposals"]:
        print("\nNothing is applied. Read a patch, do what its first lines say, then: sophron amend, sophron approve")
    return int(not answer["proposals"])


def _slug(title: str) -> str:
    import re

    return "-".join(re.findall(r"[a-z0-9]+", title.lower())[:6]) or "proposal"


def _header(root: Path, one: Mapping[str, Any]) -> str:
    """What a person reads above the diff; `git apply` and `patch` skip it."""
    from sophron.records.sanitize import lines, one_line

    names = sorted({edit["file"] for edit in one["edits"]})
    first = [f"sophron agent adopt {Path(name).stem} {root.name}" for name in names if not (root / name).is_file()]
    told = [one_line(one["title"]), "", *lines(one["why"]), "", "Evidence:"]
    told += [f"  {one_line(line)}" for line in one["evidence"]]
    told += ["", f"It helped if: {one_line(one['shows'])}", "", "To apply, beside the campaign's folder:"]
    told += [
        f"  {line}"
        for line in (*first, f"git -C {root.name} apply evolve/...", f"sophron amend {root.name} --rationale '...'")
    ]
    return "\n".join(told) + "\n\n"
