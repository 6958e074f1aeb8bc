"""The Lennard-Jones dimer as a task, its pipeline, and one guest run through all four stages without Snakemake."""

import re

from sophron.debate.pipelines.pipeline import PRODUCTION, STAGES, Pipeline
from sophron.debate.trials.stage_sandbox import Work, run
from sophron.sandbox.select_backend import choose
from sophron.science.host_guest.pipelines.reference_pipelines import DimerShape, files

RATIONALE = "Attach-pull-release fits a guest with one way out (10.1021/acs.jctc.5b00405); MBAR (10.1063/1.2978177)."


def task(epsilon=2.0, name="guest"):
    return {
        "task": name,
        "temperature_k": 298.15,
        "host_charge_e": 0,
        "guest_charge_e": 0,
        "symmetry": {"equivalent_sites": 1, "locked_by_restraint": False},
        "ph": 7.0,
        "solvent": "none",
        "interaction": {"epsilon_kcal_per_mol": epsilon, "sigma_a": 3.4, "bound_within_a": 8.0},
    }


def pipeline(windows=12, **shape):
    return Pipeline(RATIONALE, windows, files(DimerShape(**shape)))


def edited(made, file, pattern, new, count=1):
    source, changed = re.subn(pattern, new, made.files[file], count=count)
    assert changed == count, f"{pattern} is not in {file}"
    return Pipeline(made.rationale, made.windows, {**made.files, file: source})


def stage(made, number, folder, *, window=None, earlier=(), ns=0.04, wall_s=60, metadata=None, sandbox=None):
    place = folder / (f"stage_{number:02d}" if window is None else f"windows/{window}")
    left = {each: folder / each / "work" for each in earlier}
    if number == 4:
        left |= {f"windows/{each}": folder / f"windows/{each}" / "work" for each in range(made.windows)}
    work = Work(
        made, STAGES[number - 1], metadata or task(), place, 7, ns, "Reference", window, earlier=left, wall_s=wall_s
    )
    return work, run(work, sandbox or choose())


def through(made, folder, **others):
    """All four stages; the results by stage, windows as a list."""
    first = stage(made, 1, folder, **others)[1]
    second = stage(made, 2, folder, earlier=["stage_01"], **others)[1]
    windows = [
        stage(made, PRODUCTION.number, folder, window=each, earlier=["stage_01", "stage_02"], **others)[1]
        for each in range(made.windows)
    ]
    return first, second, windows, stage(made, 4, folder, earlier=["stage_01", "stage_02"], **others)[1]
