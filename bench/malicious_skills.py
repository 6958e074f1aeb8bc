"""What `sophron skill check` sees in skills that attackers published, in benign ones, and in injections of a benchmark.

The collections are not part of this repository: data/ground_truth of ShenaoW/MalSkills at 46d60f09 (Apache-2.0; skills
of ClawHub, which its authors found malicious or benign), and data/*_injections.json of aisa-group/skill-inject at
182f3d9d. Three malicious skills were looked at when the check was last widened (`LOOKED_AT`); they are not counted.
Run as:
python bench/malicious_skills.py MALSKILLS SKILL_INJECT
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from record import record

from sophron.campaign.skills import danger_checks, skill_folder
from sophron.campaign.skills.skill_folder import SKILL_FILE, Skill

LOOKED_AT = ("sakaen736jih_gog-5w7zvby", "zaycv_nanopdf", "moonshine-100rze_excel-1kl")


def kinds(files: dict[str, bytes]) -> set[str]:
    """Return the kinds of findings in files of a skill, whatever the format says of its front matter."""
    skill = Skill("any", "", Path("any"), {}, files)
    return {finding.kind for finding in danger_checks.examine(skill)}


def counted(found: Iterable[set[str]]) -> dict:
    """Return of how many skills something was found, and of how many each kind."""
    rows = list(found)
    each = Counter(kind for row in rows for kind in row)
    return {"skills": len(rows), "with_findings": sum(map(bool, rows)), "kinds": dict(each.most_common())}


def collection(folder: Path) -> Iterable[set[str]]:
    """Yield what is found in each skill below a folder."""
    for path in sorted(folder.rglob(SKILL_FILE)):
        if not any(path.parent.relative_to(folder).as_posix().find(name) >= 0 for name in LOOKED_AT):
            yield kinds(dict(skill_folder.files_of(path.parent)))


def injections(folder: Path, name: str) -> Iterable[set[str]]:
    """Yield what is found in each injection: its sentences, with the scripts that it brings."""
    for one in json.loads((folder / "data" / name).read_text()):
        said = one["instructions"]
        texts = said.values() if isinstance(said, dict) else [said]
        files = {SKILL_FILE: "\n".join(map(str, texts)).encode()}
        for script, path in (one.get("task_scripts") or {}).items():
            files[f"scripts/{script}"] = (folder / "data" / path).read_bytes()
        yield kinds(files)


def main() -> int:
    """Examine the collections and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("malskills", type=Path)
    parser.add_argument("skill_inject", type=Path)
    args = parser.parse_args()
    truth = args.malskills / "data" / "ground_truth"
    result = {
        "malicious": counted(collection(truth / "malicious")),
        "benign": counted(collection(truth / "benign")),
        "obvious_injections": counted(injections(args.skill_inject, "obvious_injections.json")),
        "contextual_injections": counted(injections(args.skill_inject, "contextual_injections.json")),
    }
    print(json.dumps(result, indent=1))
    record("malicious_skills", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
