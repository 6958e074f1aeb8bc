"""Tools of who writes a pipeline: the mechanical check before a trial, references, and code in the sandbox."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sophron.agents.tools import literature
from sophron.agents.tools.literature import CitedWork
from sophron.agents.tools.safe_open import OutsideError
from sophron.agents.tools.toolbox import RegisteredTool, ToolPlace, run_command
from sophron.debate.pipelines import author_contract
from sophron.debate.pipelines.pipeline import METADATA_NAME, PRODUCTION, REHEARSED_NS, Pipeline
from sophron.debate.pipelines.static_check import layer1
from sophron.debate.pipelines.static_check.import_policy import calls, environment, imports
from sophron.debate.pipelines.static_check.stage_source import Source
from sophron.debate.trials import stage_sandbox
from sophron.debate.trials.execute_stage_file import extracted
from sophron.interfaces import JsonObject
from sophron.interfaces.model_backend import Tool
from sophron.interfaces.sandbox import Grant
from sophron.records import documents, files
from sophron.records.errors import UserError

DESK, GUEST_FILES = "desk", "guest_files"
"""Inputs of the author for its tools: names, bounds and the first guest's task; and the files of that guest."""
SNIPPET_NAME = "snippet.py"
SNIPPET_WALL_S = 60.0
SNIPPET_MEMORY_MB = 2000


def check(reply: str, desk: JsonObject) -> list[str]:
    """Return all that form speaks against, a sentence each. desk: as `kinds.host_guest.agent_inputs` writes it."""
    works = [CitedWork(**one) for one in desk["works"]]
    verdict = layer1.verify(reply, desk["names"], literature.load(), works)
    found = [f"{each.file}, line {each.line} ({each.check}): {each.sentence}" for each in verdict.faults]
    made = verdict.pipeline
    if made and made.windows > desk["most_windows"]:
        found.append(f"ENTRY: {made.windows} windows are more than the signed {desk['most_windows']}")
    return found + (list(_unknown_keys(made)) if made else [])


def _unknown_keys(made: Pipeline) -> list[str]:
    """Keys of a result that no schema knows, as far as they stand in the code: keywords of a `reporting` account."""
    known = set(documents.schema(stage_sandbox.SCHEMA)["properties"])
    found = []
    for name, source in made.files.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Dict):
                keys = [str(each.value) for each in node.keys if isinstance(each, ast.Constant)]
                if {"stage", "status"} <= set(keys):
                    wrong = [key for key in keys if key not in known]
                    found += [f"{name}, line {node.lineno}: the result has no key {key}" for key in wrong]
    return found


def _check_reply(arguments: JsonObject, place: ToolPlace) -> str:
    faults = check(arguments["reply"], documents.load_json(place.inputs[DESK]))
    if not faults:
        return "No fault of form: the mechanical check would let it through. Nothing was run."
    return f"{len(faults)} faults of form; the trial would end here:\n" + "\n".join(f"- {each}" for each in faults)


def _read_reference(arguments: JsonObject, _: ToolPlace) -> str:
    try:
        return author_contract.reference(arguments["name"])
    except UserError as unknown:
        raise OutsideError(str(unknown)) from None


def _run_snippet(arguments: JsonObject, place: ToolPlace) -> str:
    """Run code as a stage file of the first guest would run; what Layer-1 forbids to call is refused here too."""
    code, desk = arguments["code"], documents.load_json(place.inputs[DESK])
    if refused := _forbidden(code, desk["names"]):
        raise OutsideError("; ".join(refused))
    folder = place.scratch / "snippet"
    grant = _grant(folder, desk)
    if GUEST_FILES in place.inputs:
        extracted(place.inputs[GUEST_FILES], folder)
    folder.mkdir(parents=True, exist_ok=True)
    files.write_json(folder / METADATA_NAME, desk["task"])
    files.write_text(folder / SNIPPET_NAME, code)
    import sys

    said, _ = run_command(place.sandbox, grant, argv=[sys.executable, "-s", SNIPPET_NAME])
    return said


def _forbidden(code: str, names: Sequence[str]) -> list[str]:
    try:
        source = Source(PRODUCTION, ast.parse(code), names)
    except (SyntaxError, ValueError, RecursionError) as error:
        return [f"it is not valid Python: {error}"]
    return [f"line {line}: {said}" for look in (imports, calls, environment) for line, said in look(source)]


def _grant(folder: Path, desk: JsonObject) -> Grant:
    work = stage_sandbox.Work(
        Pipeline("", desk["most_windows"], {}), PRODUCTION, desk["task"], folder, 1, REHEARSED_NS, desk["platform"], 0
    )
    env = {**stage_sandbox.variables(work), "HOME": str(folder.absolute())}
    limits = Grant(
        folder,
        read_only=stage_sandbox.interpreter(),
        env=env,
        memory_mb=SNIPPET_MEMORY_MB,
        wall_s=SNIPPET_WALL_S,
        processes=stage_sandbox.MOST_PROCESSES,
    )
    return replace(limits, disk_mb=500, file_mb=200)


def _text(name: str, most: int, about: str) -> JsonObject:
    value = {"type": "string", "minLength": 1, "maxLength": most, "description": about}
    return {"type": "object", "additionalProperties": False, "required": [name], "properties": {name: value}}


CHECK_REPLY = RegisteredTool(
    Tool(
        "check_reply",
        "All faults of form that a reply has: the mechanical check of the trial, the number of windows, the keys of "
        "results. It runs nothing and uses up no trial.",
        _text("reply", 800_000, "The whole reply: RATIONALE, ENTRY and four FILE blocks."),
    ),
    _check_reply,
)
READ_REFERENCE = RegisteredTool(
    Tool(
        "read_reference",
        "The source of a module of sophron that may be imported, by its dotted name, or a schema: "
        f"{', '.join(author_contract.SCHEMAS)}.",
        _text("name", 200, "Dotted name of a module, or name of a file with a schema."),
    ),
    _read_reference,
)
RUN_SNIPPET = RegisteredTool(
    Tool(
        "run_snippet",
        "Run Python in the sandbox, in a folder with the task and the files of the first training guest and with the "
        f"variables of a stage; what it prints comes back. At most {SNIPPET_WALL_S:g} s, {SNIPPET_MEMORY_MB} MB, no "
        "network; imports and calls as in a stage file.",
        _text("code", 200_000, "A whole Python program."),
    ),
    _run_snippet,
)
