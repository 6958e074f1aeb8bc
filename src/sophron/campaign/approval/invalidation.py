"""What an amendment makes invalid: the results, verdicts and answers that move to `invalidated/v<N>/`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from sophron.campaign.execution import outcome_store
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.kind import StageKind
from sophron.records import old_names
from sophron.records.approvals import Amendment
from sophron.records.digests import file_digest
from sophron.records.files import move, write_json

MANIFEST = "manifest.json"
REPORT = (*outcome_store.REPORT_NAMES, "signed")


def set_aside(
    root: Path, amendment: Amendment, old: Spec, new: Spec, agents: list[str], *, host: Sequence[Path] = ()
) -> None:
    """Move what the amended stages and agents left to `invalidated/v<superseded version>/`; nothing is deleted.

    host: outputs of a host workflow, files and folders, which are not valid any more.

    Old verdicts of stages that are only judged anew go there too: a missing verdict is made again whatever else
    runs, while Snakemake does not look at the params of a step behind another one that runs.
    """
    stages = amendment.invalidated_stages
    verdicts = [name for name in _judged_anew(old, new) if name not in stages]
    if not (stages or verdicts or agents or host):
        return
    target = root / "invalidated" / f"v{old.version}"
    for source in (
        _left_by(root, old, stages)
        + _verdicts_of(root, old, verdicts)
        + _answers_of(root, agents)
        + [path for path in host if path.exists()]
    ):
        inside = source.relative_to(root) if source.is_relative_to(root) else Path("outside", *source.parts[1:])
        if not (target / inside).exists():
            move(source, target / inside)
    write_json(target / MANIFEST, manifest(target, stages, old, new, agents))


def manifest(target: Path, stages: list[str], old: Spec, new: Spec, agents: list[str]) -> dict[str, object]:
    """Return what is in a folder of results that an amendment moved there, and why. stages: those it invalidated."""
    paths = sorted(path for path in target.rglob("*") if path.is_file() and path.name != MANIFEST)
    entries = [
        {"file": str(path.relative_to(target)), "sha256": file_digest(path), "bytes": path.stat().st_size}
        for path in paths
    ]
    return {
        "superseded_version": old.version,
        "invalidated_stages": stages,
        "repeated_verdicts": [name for name in _judged_anew(old, new) if name not in stages],
        "amended_agents": agents,
        "files": entries,
    }


def _judged_anew(old: Spec, new: Spec) -> list[str]:
    """Stages of both specs whose criteria changed, or the steps that they are judged by."""
    both = [stage.name for stage in new.stages if stage in old.stages]
    return [
        name
        for name in both
        if old.criteria_digest(name) != new.criteria_digest(name) or old.steps(name) != new.steps(name)
    ]


def _left_by(root: Path, spec: Spec, stages: list[str]) -> list[Path]:
    """Everything that the steps of these stages left: outputs, verdicts, scratch, and the report over them.

    Steps are found by their records: an earlier version may have had more of them.
    """
    found: set[Path] = set()
    for stage in (one for one in spec.stages if one.name in stages):
        for folder in (root / "scratch").glob("*/*"):
            if _is_of(stage, folder.name) and folder.is_dir():
                found.add(folder)
        for step, outcome in _noted(root, stage):
            found.update(outcome.parent / name for name in [outcome.name, *stage.outputs.values()])
            common = outcome.parents[len(stage.wildcards)]
            # A host's rules that wait for `accepted.json` would run again if it were missing; accept writes it anew.
            accepted = () if stage.host_rules else ("accepted.json",)
            found.update(common / name for name in ("verdict.json", *accepted, "passed"))
            found.update(common.parent / name for name in REPORT)
            found.add(outcome_store.record_folder(root, step) / outcome_store.PUBLISHED_NAME)
        found.update(_left_by_loop(root, stage))
    # Notes of where things lie are moved last: a kill in between must find the rest again.
    return sorted((path for path in found if path.exists()), key=lambda path: path.name == outcome_store.PUBLISHED_NAME)


def outputs(root: Path, spec: Spec, stage: str) -> list[Path]:
    """The results and verdicts of a stage that an amendment which invalidates it moves away."""
    notes = (root / "records", root / "scratch")
    left = (path for path in _left_by(root, spec, [stage]) if path.is_file())
    return [path for path in left if path.name not in REPORT and not any(map(path.is_relative_to, notes))]


def _left_by_loop(root: Path, stage: StageKind) -> Iterator[Path]:
    """What the parts of a stage and its agents left."""
    for unit in map(stage.unit, stage.parts):
        yield from (folder for folder in (root / "scratch").glob("*/*") if _is_of(unit, folder.name))
        for step, outcome in _noted(root, unit):
            yield from (outcome.parent / name for name in [outcome.name, *unit.outputs.values()])
            yield outcome_store.record_folder(root, step) / outcome_store.PUBLISHED_NAME
    for asked in stage.agents:
        yield from _answers_of(root, [asked.rule])


def _verdicts_of(root: Path, spec: Spec, stages: list[str]) -> list[Path]:
    """The verdicts of these stages. What was accepted stays: what builds on it is not judged anew."""
    found: set[Path] = set()
    for stage in (one for one in spec.stages if one.name in stages):
        for _, outcome in _noted(root, stage):
            common = outcome.parents[len(stage.wildcards)]
            found.update(common / name for name in ("verdict.json", "passed"))
    return sorted(path for path in found if path.exists())


def _answers_of(root: Path, agents: list[str]) -> list[Path]:
    """The answers of agent steps by rule with what their tools left, and the report, which quotes them."""
    found: set[Path] = set()
    for rule in (name for asked in agents for name in old_names.rules(asked)):
        for folder in (*(root / "records").glob(rule), *(root / "records").glob(f"{rule}-*")):
            answer = outcome_store.noted(root, folder.name)
            if answer is not None:
                names = (*outcome_store.REPORT_NAMES, *outcome_store.beside(root, folder.name))
                found.update([answer, *(answer.with_name(name) for name in names)])
    return sorted(path for path in found if path.exists())


def _noted(root: Path, stage: StageKind) -> Iterator[tuple[str, Path]]:
    """Name and outcome path of every step of a stage that was ever finished."""
    for folder in sorted((root / "records").glob(f"{stage.name}*")):
        outcome = outcome_store.noted(root, folder.name) if _is_of(stage, folder.name) else None
        if outcome is not None:
            yield folder.name, outcome


def _is_of(stage: StageKind, name: str) -> bool:
    return name == stage.name or name.startswith(f"{stage.name}-")
