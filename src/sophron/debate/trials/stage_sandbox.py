"""Running one stage file on one guest: in the sandbox, in its own folder, with nothing granted but what it needs.

A stage file is code that a model wrote. It sees the interpreter with its packages, this package, the task, the files
of host and guest, and what earlier stages left; it has no network, no home and no environment but its variables.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import sophron
from sophron.debate.pipelines import measured_diagnostics, pipeline
from sophron.debate.pipelines.pipeline import Pipeline, StageFile
from sophron.interfaces.sandbox import Ended, Grant, SandboxBackend
from sophron.records import documents, files, sanitize
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json
from sophron.sandbox import mounts

SCHEMA = "debate/stage_result"
TAIL = 4000
"""Characters kept of what it wrote to its error stream."""
MOST_PROCESSES = 64


@dataclass(frozen=True)
class Work:
    """One execution. task: its metadata; inputs: canonical name -> file; earlier: name below its folder -> folder.

    folder: scratch of the step; work and inputs lie below it. ns_per_window: of production; platform: OpenMM's.
    required: quantities that what production saves has to make measurable.
    """

    pipeline: Pipeline
    stage: StageFile
    task: Mapping[str, object]
    folder: Path
    seed: int
    ns_per_window: float
    platform: str = "CPU"
    window: int | None = None
    inputs: Mapping[str, Path] = field(default_factory=dict)
    earlier: Mapping[str, Path] = field(default_factory=dict)
    memory_mb: int = 2000
    cores: int = 1
    wall_s: float | None = None
    required: Sequence[str] = ()

    @property
    def workdir(self) -> Path:
        """Where the file runs."""
        return self.folder / "work"


@dataclass(frozen=True)
class StageFailure:
    """Why a stage failed or was refused. kind: type of an exception, or reason of a refusal."""

    kind: str
    sentence: str


@dataclass(frozen=True)
class StageResult:
    """What a stage file says of itself (`debate/stage_result.schema.yaml`). diagnostics: each file has its own."""

    stage: int
    status: str
    wall_time_seconds: float
    delta_g_kcal_per_mol: float | None
    convergence_flags: Mapping[str, bool]
    energy_components: Mapping[str, float | None]
    diagnostics: Mapping[str, object]
    writer_notes: str
    failure: StageFailure | None = None


@dataclass(frozen=True)
class Measured:
    """What was measured from outside. exit_code: negative for a signal; limit: of the sandbox, if one ended it.

    diagnostics: from what production saved of its samples, by the names of a result's own.
    """

    wall_time_s: float
    exit_code: int
    limit: str | None
    stderr_tail: str
    diagnostics: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Executed:
    """How it went. said: the document of `result`, as the file wrote it, or as we did where it left no valid one."""

    said: Mapping[str, object]
    measured: Measured

    @property
    def result(self) -> StageResult:
        """What the file says of itself; valid whatever happened."""
        return from_json(StageResult, self.said)

    @property
    def completed(self) -> bool:
        """Whether the stage did its work."""
        return self.result.status == "completed"

    def as_document(self) -> dict[str, object]:
        """Return plain data that fits `debate/executed.schema.yaml`."""
        measured = asdict(self.measured)
        if not measured["diagnostics"]:
            del measured["diagnostics"]
        return {"result": dict(self.said), "measured": measured}


def run(work: Work, sandbox: SandboxBackend) -> Executed:
    """Run the file once; what it left is in `work.workdir` afterwards, without links.

    It begins where a try of the same work that was killed has stopped: files that one left are there, its result is
    not. `work.folder` is of this work alone. UserError if no sandbox can be made; whatever the file does is a
    result.
    """
    _prepare(work)
    output = work.folder / "stdout"
    errors = work.folder / "stderr"
    begun = time.monotonic()
    ended = sandbox.run([sys.executable, "-s", work.stage.file], _grant(work), stdout=output, stderr=errors)
    measured = Measured(time.monotonic() - begun, ended.returncode, ended.limit, _tail(errors))
    result = _result(work, ended, measured)
    _clean(work)
    measured = replace(measured, diagnostics=_measured(work))
    if result["status"] != "failed" and (faults := _contradicted(work, result, measured)):
        result = _failed(work, *faults, measured)
    files.write_json(work.workdir / work.stage.result, result)
    return Executed(result, measured)


def _measured(work: Work) -> dict[str, object]:
    """What the samples say that production has saved; of an analysis, those of all windows."""
    if work.stage is pipeline.PRODUCTION:
        return measured_diagnostics.of_window(work.workdir)
    windows = [path for name, path in sorted(work.earlier.items()) if name.startswith("windows/")]
    temperature_k = work.task.get("temperature_k")
    if work.stage is not pipeline.STAGES[-1] or not isinstance(temperature_k, int | float):
        return {}
    return measured_diagnostics.of_chain(windows, float(temperature_k))


def _contradicted(work: Work, result: Mapping[str, object], measured: Measured) -> tuple[str, str] | None:
    """Kind and sentence if a stage cannot be measured, or states what its own samples contradict; all of it."""
    if work.stage is pipeline.PRODUCTION:
        lacks = measured_diagnostics.missing(work.workdir, work.required, states=work.pipeline.windows)
        return ("not_measurable", "; ".join(lacks)) if lacks else None
    said = result["diagnostics"]
    wrong = measured_diagnostics.contradictions(said if isinstance(said, Mapping) else {}, measured.diagnostics)
    return ("contradicted", "; ".join(wrong)) if wrong else None


def variables(work: Work) -> dict[str, str]:
    """Return the environment of the file."""
    own = {
        pipeline.NS_PER_WINDOW: repr(work.ns_per_window),
        pipeline.WINDOWS: str(work.pipeline.windows),
        pipeline.SEED: str(work.seed),
        pipeline.PLATFORM: work.platform,
        "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
        "PYTHONPATH": str(_package().parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(work.workdir),
        "LANG": "C.UTF-8",
        "AMBERHOME": sys.prefix,
        "OMP_NUM_THREADS": str(work.cores),
        "OPENMM_CPU_THREADS": str(work.cores),
    }
    return own if work.window is None else own | {pipeline.WINDOW: str(work.window)}


def interpreter() -> list[Path]:
    """What a sandbox must show of this Python: its environment, its standard library, its program, this package."""
    base = Path(sys.base_prefix)
    shown = [Path(sys.prefix), _package()]
    if base not in (Path(sys.prefix), Path("/usr")):
        library = Path(sysconfig.get_config_var("LIBDIR") or base / "lib")
        shown += [
            Path(sysconfig.get_path("stdlib")),
            *_chain(Path(sys.executable)),
            *sorted(library.glob("libpython*")),
        ]
    return shown


def _chain(program: Path) -> list[Path]:
    """The links from an environment's interpreter to the real one, each by itself, and that one."""
    found = []
    while program.is_symlink():
        program = program.parent / program.readlink()
        found.append(program)
    return found


def _package() -> Path:
    return Path(sophron.__file__).resolve().parent


def _prepare(work: Work) -> None:
    work.workdir.mkdir(parents=True, exist_ok=True)
    _clean(work)  # a link that a killed try has left could lead our own writing out of the folder
    (work.workdir / work.stage.result).unlink(missing_ok=True)
    files.write_json(work.workdir / pipeline.METADATA_NAME, work.task)
    files.write_text(work.workdir / work.stage.file, work.pipeline.files[work.stage.file])
    for name, source in {**work.inputs, **work.earlier}.items():
        link = work.workdir / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source.resolve())


def _grant(work: Work) -> Grant:
    accelerated = work.platform in ("CUDA", "OpenCL")
    return Grant(
        work.workdir,
        read_only=[*interpreter(), *(path.resolve() for path in (*work.inputs.values(), *work.earlier.values()))],
        env=variables(work),
        memory_mb=None if accelerated else work.memory_mb,  # a driver of a GPU reserves addresses that it never uses
        wall_s=work.wall_s,
        processes=MOST_PROCESSES,
        devices=mounts.accelerators() if accelerated else (),
    )


def _tail(path: Path) -> str:
    text = path.read_bytes()[-4 * TAIL :].decode(errors="replace")
    return "\n".join(sanitize.lines(text))[-TAIL:]


def _result(work: Work, ended: Ended, measured: Measured) -> Mapping[str, object]:
    """What the file says of itself where that is valid and fits how it ended; else what we saw."""
    if ended.limit is not None:
        return _failed(work, "limit", f"it passed its limit {ended.limit} and was ended.", measured)
    path = work.workdir / work.stage.result
    if path.is_symlink() or not path.is_file():
        said = measured.stderr_tail.strip().splitlines()
        why = f"it ended with {ended.returncode} and left no {work.stage.result}"
        return _failed(work, "no_result", f"{why}{': ' + said[-1] if said else ''}", measured)
    result, faults = _read(path)
    if faults:
        return _failed(work, "invalid_result", "; ".join(faults), measured)
    if result["stage"] != work.stage.number:
        return _failed(work, "invalid_result", f"its result says stage {result['stage']}", measured)
    if ended.returncode and result["status"] != "failed":
        return _failed(work, "crash", f"it says {result['status']} and ended with {ended.returncode}", measured)
    return result


def _read(path: Path) -> tuple[dict[str, object], list[str]]:
    """A result, and all that is wrong with it."""
    try:
        result: dict[str, object] = documents.load_json(path)
    except UserError as error:
        return {}, [str(error)]
    return result, documents.faults(documents.Document(result, Path(path.name)), SCHEMA)


def _failed(work: Work, kind: str, sentence: str, measured: Measured) -> Mapping[str, object]:
    return {
        "stage": work.stage.number,
        "status": "failed",
        "failure": {"kind": kind, "sentence": sentence},
        "wall_time_seconds": measured.wall_time_s,
        "delta_g_kcal_per_mol": None,
        "convergence_flags": {},
        "energy_components": {},
        "diagnostics": {},
        "writer_notes": "",
    }


def _clean(work: Work) -> None:
    """Take away what we put there, and every link and special file that the program made: none of it is a result."""
    ours = {pipeline.METADATA_NAME, work.stage.file}
    for folder, folders, names in os.walk(work.workdir, topdown=False):
        for name in (*folders, *names):
            path = Path(folder) / name
            plain = path.is_dir() if name in folders else path.is_file()
            if path.is_symlink() or not plain or str(path.relative_to(work.workdir)) in ours:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
