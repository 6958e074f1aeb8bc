"""Probe of the heat flux: a tiny LAMMPS run shows whether pair style and per-atom stress give the true heat current."""

import math
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from sophron.interfaces.kind import EngineFailure
from sophron.interfaces.probe import Finding
from sophron.science.lammps import executable
from sophron.science.lammps.executable import Lammps, find
from sophron.science.probes.heat_flux_cluster import STAND_INS, STEP_PS, cluster_input
from sophron.science.probes.spec_access import Parameters, Spec, clear, fragments, hit, unknown, value, wanted

COMPUTES = ("stress/atom", "centroid/stress/atom")
_ACCELERATED = re.compile(r"/(omp|opt|gpu|kk|intel)$")
_TIMEOUT_S = 60
_COLUMNS = 7  # step, three flux components, three components of the energy moment


def many_body(spec: Spec, parameters: Parameters) -> Finding:
    """Pair style and per-atom stress that the spec names give d/dt sum(r e), the heat current of an isolated cluster.

    A tiny cluster with a potential of that style is run. LAMMPS may refuse the compute, at the run and not before; or
    run it and print a flux that differs from the exact derivative by more than parameters.tolerance (relative), as
    `stress/atom` does for many-body styles (Fan et al. 2015, 10.1103/PhysRevB.92.094301; Surblys et al. 2019,
    10.1103/PhysRevE.99.051301). Unknown if this machine has no LAMMPS, or no potential to stand in for the style.
    """
    computes = sorted(set(_computes(spec)))
    if not computes:
        return clear("no heat flux is computed")
    styles = sorted(set(_styles(spec)))
    if not styles:
        return unknown("a heat flux is computed, but the spec does not say for which pair style; set method.pair_style")
    try:
        lammps = find()
        findings = [_ask(lammps, style, one, wanted(parameters, "tolerance")) for style in styles for one in computes]
    except EngineFailure as failure:
        return unknown(f"LAMMPS is needed to look for this: {failure.reason}")
    return min(findings, key=lambda finding: ("hit", "unknown", "clear").index(finding.status))


def _definitions(spec: Spec) -> Iterator[str]:
    stages = value(spec, "stages")
    yield "method"
    yield from (f"stages.{stage}.definition" for stage in (stages if isinstance(stages, dict) else ()))


def _computes(spec: Spec) -> Iterator[str]:
    """Per-atom stress computes behind a heat flux, from keys `heat_flux.compute` and from free lines."""
    for where in _definitions(spec):
        named = value(spec, f"{where}.heat_flux.compute")
        if isinstance(named, str):
            yield named
    defined = {
        line.words[1]: line.words[3:] for line in fragments(spec) if line.words[0] == "compute" and line.words[3:]
    }
    for words in defined.values():
        if words[0] == "heat/flux" and words[3:]:  # compute ID group heat/flux KE PE STRESS
            yield defined.get(words[3], ("an undefined compute",))[0]


def _styles(spec: Spec) -> Iterator[str]:
    named = [value(spec, f"{where}.pair_style") for where in _definitions(spec)]
    named += [" ".join(line.words[1:]) for line in fragments(spec) if line.words[0] == "pair_style"]
    if value(spec, "stages.build.definition.model.pair") == "lj":
        named.append("lj/cut")
    for style in named:
        if isinstance(style, str) and style.split():
            yield _ACCELERATED.sub("", style.split()[0])


def _ask(lammps: Lammps, style: str, compute: str, tolerance: float) -> Finding:
    if compute not in COMPUTES:
        return unknown(f'the heat flux from "{compute}" cannot be checked here; known are {" and ".join(COMPUTES)}')
    if style not in STAND_INS:
        return unknown(f'there is no potential at hand to try pair style "{style}" with; check its heat flux by hand')
    output = _run(lammps, cluster_input(STAND_INS[style], compute))
    error = re.search(r"ERROR[^:]*: (.*?)(?: \(\S+:\d+\))?$", output, re.MULTILINE)
    if error is not None and f"does not support compute {compute}" in error[1]:
        return hit(f"pair_style {style} with compute {compute} would stop at the first run; LAMMPS says: {error[1]}")
    rows = _rows(output)
    if error is not None or len(rows) < 3:
        return unknown(f"pair_style {style} could not be tried: {error[1] if error else 'LAMMPS printed no heat flux'}")
    off = _mismatch(rows)
    text = f"pair_style {style} with compute {compute} runs, and on a small cluster its heat flux is {off:.1%} off"
    return hit(f"{text} the exact one, without a warning") if off > tolerance else clear(f"{text} the exact one")


def _run(lammps: Lammps, text: str) -> str:
    """What LAMMPS prints for the input `text`, which holds nothing from the spec. EngineFailure if it hangs."""
    environment = {**os.environ, **lammps.environment, "OMP_NUM_THREADS": "1"}
    environment.setdefault("LAMMPS_POTENTIALS", str(executable.potentials_folder(lammps)))
    with TemporaryDirectory(prefix="sophron-probe-") as folder:
        (Path(folder) / "in.probe").write_text(text)
        command = [str(lammps.program), "-in", "in.probe", "-log", "none", "-nocite"]
        try:
            ended = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_TIMEOUT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineFailure(f"{lammps.program} did not finish a small run ({type(error).__name__})") from None
    return ended.stdout


def _rows(output: str) -> list[list[float]]:
    rows = []
    for line in output.splitlines():
        words = line.split()
        if len(words) == _COLUMNS and words[0].isdigit():
            rows.append([float(word) for word in words])
    return rows


def _mismatch(rows: list[list[float]]) -> float:
    """Relative distance between the printed flux and the central difference of the energy moment, over all steps."""
    difference, exact = 0.0, 0.0
    for before, here, after in zip(rows, rows[1:], rows[2:], strict=False):
        for axis in (1, 2, 3):
            derivative = (after[axis + 3] - before[axis + 3]) / (2 * STEP_PS)
            difference += (derivative - here[axis]) ** 2
            exact += derivative**2
    return math.sqrt(difference / exact) if exact else math.inf
