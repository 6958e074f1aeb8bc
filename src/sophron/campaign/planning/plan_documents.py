"""experiment-design.md and workflow-plan.md: the persisted output of the Specify gate, for people and for git.

Superscientist, appendix A.1 (written approval of a persisted document) and B.1 (what workflow-state.json points to).
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sophron.campaign.planning.plan import Plan, make
from sophron.campaign.spec.spec import SPEC_NAME, Spec, load
from sophron.campaign.state import projector
from sophron.campaign.state.campaign_state import plain
from sophron.records import approvals, events, files, templates
from sophron.records.files import resource

DESIGN = "experiment-design.md"
PLAN = "workflow-plan.md"
GIT_PATIENCE_S = 30
MARKUP = str.maketrans({sign: f"\\{sign}" for sign in "\\`*[]<>|#"})


def documents(spec: Mapping[str, Any], plan_summary: Mapping[str, Any]) -> dict[str, str]:
    """Return file name -> Markdown text of the two documents; equal input gives equal text.

    spec: the content of a valid campaign.yaml. plan_summary: `hash`; `counts`, a list of {stage, rule, steps};
    `core_hours`, stage -> upper bound; `envelope`, limit -> value.
    """
    stages = {
        name: {**stage, "mechanical": {"retries": 2, **stage["mechanical"]}} for name, stage in spec["stages"].items()
    }
    values = {**spec, "stages": stages, "plan": plan_summary}
    return {name: _render(f"{name}.j2", values) for name in (DESIGN, PLAN)}


def _render(template: str, values: Mapping[str, object]) -> str:
    # Markdown, not HTML: what a person or an agent wrote is escaped by the filters below, one by one.
    folder = resource("campaign", "templates")
    environment = templates.environment(folder, autoescape=False, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"line": _line, "code": _code, "pretty": _pretty}
    return environment.get_template(template).render(**values).rstrip() + "\n"


def _line(value: object) -> str:
    return plain(str(value)).translate(MARKUP)


def _code(value: object) -> str:
    return plain(str(value)).replace("`", "'")


def _pretty(value: object) -> str:
    # ASCII only: control and direction characters come out as escapes, and no line can end the code block.
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False)


def write_documents(root: Path, texts: Mapping[str, str]) -> None:
    """Put the documents into the campaign; a file that says the same already is left alone."""
    for name, text in texts.items():
        path = root / name
        if not path.is_file() or path.read_bytes() != text.encode():
            files.write_text(path, text)


def commit_documents(root: Path) -> str | None:
    """Commit just the two documents where the campaign lies in a git repository; the commit's id, or None.

    Whatever else the user has staged stays staged and is not committed. Where git or an identity is missing,
    the files are ignored, a merge is under way or a hook refuses, nothing is committed and nothing is wrong.
    """
    names = [name for name in (DESIGN, PLAN) if (root / name).is_file()]
    if not names or _git(root, "check-ignore", "--quiet", *names) == "":
        return None
    listed = _git(root, "ls-files", "--", *names)
    if listed is None or not _git(root, "status", "--porcelain", "--untracked-files=all", "--", *names):
        return None
    fresh = [name for name in names if name not in listed.splitlines()]
    # `commit --only` takes known files: an entry without content makes a new file known.
    if fresh and _git(root, "add", "--intent-to-add", "--", *fresh) is None:
        return None
    message = f"{root.name}: experiment design and workflow plan"
    if _git(root, "commit", "--quiet", "--only", "-m", message, "--", *names) is None:
        if fresh:
            _git(root, "rm", "--cached", "--quiet", "--", *fresh)
        return None
    return _git(root, "rev-parse", "HEAD")


def _git(root: Path, *arguments: str) -> str | None:
    """What git prints, without blanks around it; None if it is missing, fails, or asks for something."""
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=GIT_PATIENCE_S,
            env=environment,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


# A spec becomes the campaign's: its documents are written and committed, and the record of events says so


def record_spec(root: Path, spec: Spec, plan: Plan) -> None:
    """Called where a version is signed; the documents follow the plan, the event is for another spec only."""
    counts = [{"stage": stage, "rule": rule, "steps": steps} for (stage, rule), steps in plan.counts().items()]
    summary = {
        "hash": plan.hash,
        "counts": counts,
        "core_hours": plan.core_hours(),
        "envelope": plan.envelope(),
    }
    write_documents(root, documents(spec.data, summary))
    commit_documents(root)
    if projector.project(root)["spec_digest"] == spec.digest:
        return
    stages = [
        {
            "id": stage.name,
            "depends_on": list(stage.depends_on),
            "parameters": dict(spec.definition(stage.name)),
            "success_criteria": [asdict(criterion) for criterion in spec.criteria(stage.name)],
            "steps": len(spec.steps(stage.name)),
        }
        for stage in spec.stages
    ]
    events.append(
        root,
        "sophron",
        "spec_loaded",
        workflow_id=spec.campaign,
        version=spec.version,
        digest=spec.digest,
        stages=stages,
        **({"host_rules": plan.host.counts} if plan.host else {}),
        experiment_design=DESIGN,
        workflow_plan=PLAN,
    )
    projector.project(root)


def record_in_force(root: Path, plan: Plan | None = None) -> None:
    """Record the spec in force, if the records do not know it yet (a kill came between), and project the state."""
    if not approvals.gate_path(root).is_file():
        return
    spec = load(root / SPEC_NAME)
    own = spec.host is not None or (root / "Snakefile").is_file()
    planned = plan is not None or own  # the plan of a host that only imports our rules is its own affair
    if planned and projector.project(root)["spec_digest"] != spec.digest:
        record_spec(root, spec, plan or make(root, spec))
    projector.project(root)
