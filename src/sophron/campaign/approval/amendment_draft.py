"""Amendments: drafted by a person or an agent, signed by a person. What changes, and which stages that invalidates."""

import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sophron.campaign.planning import campaign_agents, host_config, host_plan, plan
from sophron.campaign.spec.spec import DRAFT_SPEC_NAME, SPEC_NAME, Spec, load, signed_spec
from sophron.interfaces import JsonObject
from sophron.records import approvals, documents, old_names, typed_json
from sophron.records.approvals import FOLDER
from sophron.records.errors import UserError
from sophron.records.files import read_text, write_json, write_text

DRAFT_NAME = "draft.json"
CANDIDATE_NAME = "candidate.campaign.yaml"
AGENT = "agents: the agent behind "
VERSION = re.compile(r"^version:[^\r\n]*", flags=re.MULTILINE)


@dataclass(frozen=True)
class Draft:
    """An amendment that nobody has signed yet. base: hash of the approval it amends; text: the amended spec.

    config: config file of a host workflow -> dotted key -> new value; the files are edited when it is signed.
    """

    base: str
    version: int
    changes: list[str]
    rationale: str
    invalidated_stages: list[str]
    text: str
    config: Mapping[str, host_config.Edits] = field(default_factory=dict)

    def write(self, root: Path) -> None:
        """Put the draft into the approvals folder, in place of an older one."""
        write_text(root / FOLDER / DRAFT_SPEC_NAME, self.text)
        plain = asdict(self)
        del plain["text"]
        write_json(root / FOLDER / DRAFT_NAME, plain)


def read_draft(root: Path) -> Draft | None:
    """Return the draft of a campaign, if there is one."""
    path = root / FOLDER / DRAFT_NAME
    if not path.is_file():
        return None
    content = documents.load_json(path)
    try:
        return Draft(text=read_text(root / FOLDER / DRAFT_SPEC_NAME), **content)
    except (TypeError, UserError):
        raise UserError(f"{path}: is not a draft any more; remove it and draft again: sophron amend") from None


def drop_draft(root: Path) -> None:
    """Forget the draft (after it was signed, or when its author withdraws it)."""
    for name in (DRAFT_NAME, DRAFT_SPEC_NAME):
        (root / FOLDER / name).unlink(missing_ok=True)


def draft_amendment(
    root: Path,
    rationale: str,
    settings: Sequence[str] = (),
    withdraw: int | None = None,
    *,
    removed: Sequence[str] = (),
) -> Draft:
    """Draft the next version and put it into the approvals folder; a draft that waits is added to, never replaced.

    settings: `path.to.key=value` (YAML values), removed: `path.to.key`, both on top of the draft that waits, or of
    campaign.yaml as it stands; without any, the edited campaign.yaml itself is the draft. `config.key=value` is a value
    in a config file of the host workflow. withdraw: take back version N, by its predecessor's content.
    Raises UserError if nothing changes, if the result is not a valid spec, if nothing is signed yet, or if changes of
    the draft that waits would be lost.
    """
    base = approvals.newest(root)
    if base is None:
        raise UserError("nothing is signed yet, so there is nothing to amend: edit campaign.yaml, then sophron approve")
    version = base.record.version
    old = signed_spec(root, base.hash)
    before = waiting_draft(root, base.hash)
    why = _reasons(before, rationale)
    if before and withdraw is not None:
        raise UserError(
            f"{told_waiting(before)}; a withdrawal does not add to it: forget it first (sophron amend --drop)"
        )
    edits = _config_edits(settings)
    settings = [one for one in settings if not one.startswith(host_config.PREFIX)]
    as_edited = not (settings or removed or edits)
    text = _withdrawn(root, withdraw) if withdraw is not None else _current(root, edited=as_edited)
    if before:
        text = _added_to(root, before, old, text)
        edits = {**{key: value for inner in before.config.values() for key, value in inner.items()}, **edits}
    if settings or removed:
        text = _with_settings(text, settings, removed)
    text = VERSION.sub(f"version: {version + 1}", text, count=1)
    path = root / approvals.FOLDER / CANDIDATE_NAME
    write_text(path, text)
    try:
        new = load(path)
        agents = agents_changed(root, new, base.record.agents)
        config = host_config.by_file(config_values(root, base.record), edits)
        planned = (
            plan.jobs_shown(root, new, None, forced=True, drafted=CANDIDATE_NAME, config=config).host
            if new.host
            else None
        )
        changes = _changes(old, new, version + 1) + config_changes(root, base.record, config)
        changes += [another_agent(rule) for rule in agents]
        changes += host_plan.changes(root, base.record, planned)
        _refuse_nothing(changes, before)
    finally:
        path.unlink()
    rules = host_plan.stale_rules(root, base.record, planned)
    drafted = Draft(base.hash, version + 1, changes, why, invalidated(old, new, agents, rules), text, config)
    drafted.write(root)
    return drafted


def _config_edits(settings: Sequence[str]) -> dict[str, Any]:
    """Return the edits of config files among the settings: dotted key -> value."""
    from ruamel.yaml import YAML

    reader = YAML(typ="safe", pure=True)
    parted = [one.partition("=") for one in settings if one.startswith(host_config.PREFIX)]
    return {path.strip().removeprefix(host_config.PREFIX): reader.load(value) for path, _, value in parted}


def config_values(root: Path, record: approvals.ApprovalRecord) -> dict[str, JsonObject]:
    """Return file -> content of the config files that the signed plan of a host workflow read; none without one."""
    if not record.host:
        return {}
    signed = host_plan.signed(root, record.host)
    return host_config.values(root / signed.workdir, signed.config_files)


def config_changes(root: Path, record: approvals.ApprovalRecord, config: Mapping[str, host_config.Edits]) -> list[str]:
    """Return one line for each edited value of a config file."""
    return list(host_config.differences(config_values(root, record), config)) if config else []


def waiting_draft(root: Path, base: str) -> Draft | None:
    """The draft that waits for a signature; None without one, or if it amends an approval no longer in force."""
    drafted = read_draft(root)
    return drafted if drafted and drafted.base == base else None


def _refuse_nothing(changes: Sequence[str], before: Draft | None) -> None:
    if before and changes == before.changes:
        raise UserError(f"{told_waiting(before)} and holds all of this already; look at it: sophron review")
    if not changes:
        undone = "; to forget the draft that waits: sophron amend --drop" if before else ""
        raise UserError(f"the amendment changes nothing that was signed; change something, or leave it{undone}")


def told_waiting(drafted: Draft) -> str:
    """How a draft is named that a person has to decide about."""
    return f"a draft of version {drafted.version} waits for a signature ({'; '.join(drafted.changes)})"


def _reasons(before: Draft | None, rationale: str) -> str:
    """The reason of the draft that waits, then the new one."""
    said = [before.rationale] if before else []
    if rationale.strip() and rationale.strip() not in said:
        said.append(rationale.strip())
    if not said:
        raise UserError("an amendment needs its reason: --rationale 'why'")
    return " ".join(said)


def _added_to(root: Path, before: Draft, old: Spec, text: str) -> str:
    """The text to go on from: that of the draft, or an edited campaign.yaml that holds all of the draft's changes."""
    edited = set(differences(old.data, documents.load_yaml(root / SPEC_NAME).data))
    if edited <= set(before.changes):
        return before.text
    drafted = documents.load_yaml(root / FOLDER / DRAFT_SPEC_NAME).data
    lost = [change for change in differences(old.data, drafted) if change not in edited]
    if lost:
        raise UserError(
            f"{root / SPEC_NAME}: was edited, and a draft of version {before.version} waits whose changes it lacks "
            f"({', '.join(lost)}); write them into the file too, or forget the draft: sophron amend --drop"
        )
    return text


def _current(root: Path, *, edited: bool) -> str:
    """campaign.yaml as it stands. An edited one is read first, so that a fault is shown with its own lines."""
    path = root / SPEC_NAME
    if edited:
        load(path)
    return read_text(path)


def _changes(old: Spec, new: Spec, version: int) -> list[str]:
    if new.campaign != old.campaign:
        raise UserError(f"the campaign id {old.campaign} cannot change; `sophron new` starts another campaign")
    if new.version != version:
        raise UserError(f"the version cannot be counted up; write it as `version: {old.version}` on a line of its own")
    return list(differences(old.data, new.data))


def agents_changed(root: Path, spec: Spec, agents: Mapping[str, Mapping[str, str] | str]) -> list[str]:
    """Rules whose agent is not what was signed: an edited prompt, skill, schema, or another model.

    agents: as an approval has them; one from before agents were signed has none.
    """
    signed = old_names.agents_now(agents)
    now = {rule: campaign_agents.digests_of(root, spec, rule) for rule in signed}
    return [rule for rule in sorted(signed) if now[rule] != signed[rule]]


def another_agent(rule: str) -> str:
    """How an amendment says that an agent was changed."""
    return f"{AGENT}{rule} is another one"


def _withdrawn(root: Path, version: int) -> str:
    """The spec text in force before `version` was signed."""
    texts: dict[int, str] = {}
    for path in approvals.logged(root):
        record = typed_json.load(path, approvals.ApprovalRecord)
        texts[record.version] = read_text(path.with_name(f"{path.stem}.{SPEC_NAME}"))
    if version not in texts or version - 1 not in texts:
        known = ", ".join(str(one) for one in sorted(texts) if one - 1 in texts) or "none"
        raise UserError(f"version {version} cannot be withdrawn; versions with a predecessor: {known}")
    return texts[version - 1]


def _with_settings(text: str, settings: Sequence[str], removed: Sequence[str]) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    editor.indent(mapping=2, sequence=4, offset=2)
    try:
        content = editor.load(text.replace("\r\n", "\n"))  # one sort of line ends, which the editor keeps
        for setting in settings:
            _assign(content, setting, YAML(typ="safe", pure=True))
        for path in removed:
            _remove(content, path)
    except YAMLError as error:
        raise UserError(f"--set: is not YAML ({' '.join(str(error).split())[:120]}); write path.to.key=value") from None
    buffer = io.StringIO()
    editor.dump(content, buffer)
    return buffer.getvalue()


def _assign(content: Any, setting: str, reader: Any) -> None:
    path, equals, value = setting.partition("=")
    if not equals:
        raise UserError(f"--set {setting}: has no value; write path.to.key=value")
    keys = path.strip().split(".")
    place = content
    for key in keys[:-1]:
        place = _step_into(place, key, setting)
    last: Any = int(keys[-1]) if isinstance(place, list) and keys[-1].isdigit() else keys[-1]
    if isinstance(place, list) and (not isinstance(last, int) or last >= len(place)):
        raise UserError(f"--set {setting}: there is no entry {last}; entries count from 0")
    if not isinstance(place, dict | list):
        raise UserError(f"--set {setting}: {'.'.join(keys[:-1])} holds no keys")
    place[last] = reader.load(value)


def _remove(content: Any, path: str) -> None:
    *above, last = path.strip().split(".")
    place = content
    for key in above:
        place = _step_into(place, key, path, option="--remove")
    if isinstance(place, list):
        entry = _step_into(place, last, path, option="--remove")
        del place[[one is entry for one in place].index(True)]
        return
    if not isinstance(place, dict) or last not in place:
        known = ", ".join(map(str, place)) if isinstance(place, dict) else "none"
        raise UserError(f'--remove {path}: there is no "{last}"; known here: {known}')
    del place[last]


def _step_into(place: Any, key: str, setting: str, option: str = "--set") -> Any:
    if isinstance(place, dict) and key in place:
        return place[key]
    if isinstance(place, list) and key.isdigit() and int(key) < len(place):
        return place[int(key)]
    if isinstance(place, list):  # criteria and assumptions are found by their id too
        for item in place:
            if isinstance(item, dict) and item.get("id") == key:
                return item
    known = ", ".join(map(str, place)) if isinstance(place, dict) else "none"
    raise UserError(f'{option} {setting}: there is no "{key}"; known here: {known}')


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """What changed, one line a key, as `stages.produce.definition.steps: 1000 -> 2000`; the version does not count."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            where = f"{path}.{key}" if path else str(key)
            if where == "version":
                continue
            if key not in new:
                yield f"{where}: removed (was {old[key]})"
            elif key not in old:
                yield f"{where}: added {new[key]}"
            else:
                yield from differences(old[key], new[key], where)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{path}[{index}]")
    elif old != new or type(old) is not type(new):
        yield f"{path}: {old} -> {new}"


def invalidated(old: Spec, new: Spec, agents: Sequence[str] = (), rules: Collection[str] = ()) -> list[str]:
    """Stages whose definition changed, or an ancestor's: the closure of changed digests in the stage graph.

    agents: rules whose agent is another one; the stage that asks it means something else now. rules: of a host
    workflow whose outputs are not valid any more.
    """
    names = {stage.name for stage in old.stages}
    kept = [stage.name for stage in new.stages if stage.name in names]
    changed = [name for name in kept if old.definition_digest(name) != new.definition_digest(name)]
    changed += [new.owner(rule) for rule in agents if rule in new.agent_rules]
    changed += [stage.name for stage in new.stages if stage.name in names and {*stage.host_rules} & {*rules}]
    removed = sorted(names - {stage.name for stage in new.stages})
    closure = set(new.descendants(changed)) | set(old.descendants(changed)) | set(removed)
    return [stage.name for stage in old.stages if stage.name in closure]
