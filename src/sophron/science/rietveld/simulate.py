"""Stage simulate: a powder pattern whose truth is known, instead of one that was measured."""

from __future__ import annotations

from sophron.interfaces.kind import StepContext, StepResult
from sophron.interfaces.rietveld import RietveldEngine
from sophron.records import entry_points
from sophron.records.errors import UserError, shown
from sophron.records.files import write_json, write_text

FILES = {"sample": "sample.json", "pattern": "pattern.xy", "truth": "truth.json"}
"""Outputs of the stage."""


def run(ctx: StepContext) -> StepResult:
    """Poisson counts of the scan that the wildcard `scan` names, from the step's seed.

    `sample.json` is what a refinement is given, `pattern.xy` the counts alone, `truth.json` what went in. UserError
    for a series, a scan or an engine that there is not.
    """
    from sophron.science.rietveld.data import REGISTRY
    from sophron.science.rietveld.session import sample
    from sophron.science.rietveld.simulated import series

    definition, scan = ctx.definition, ctx.wildcards["scan"]
    if scan not in definition["scans"]:
        raise UserError(f'simulate.definition.scans: there is no "{shown(scan)}"; add it with its seconds')
    engine: RietveldEngine = entry_points.load(REGISTRY, definition["engine"])()
    try:
        truth = series.truth(engine, series.series(definition["series"]))
    finally:
        engine.close()
    time_s = definition["scans"][scan]
    pattern = series.scan(truth, time_s, ctx.seed)
    files = {name: ctx.workdir / file for name, file in FILES.items()}
    roles: tuple[tuple[str, sample.Role], ...] = ((truth.series.main, "main"), (truth.series.candidate, "candidate"))
    phases = tuple(sample.GivenPhase(series.phase(structure), role) for structure, role in roles)
    given = sample.Sample(definition["engine"], pattern, phases, series.instrument(true=False))
    write_json(files["sample"], sample.data(given))
    lines = (f"{x:.4f} {y:.0f}" for x, y in zip(pattern.two_theta_deg, pattern.intensity, strict=True))
    write_text(files["pattern"], "\n".join((f"# {pattern.name}", *lines)) + "\n")
    went_in = {"cell_angstrom": truth.cell_angstrom, "weight_fractions": truth.weight_fractions}
    write_json(files["truth"], {"simulated": True, "title": pattern.name, "seed": ctx.seed, **went_in})
    result = {
        "simulated": True,
        "title": pattern.name,
        "series": truth.series.name,
        "count_time_s": time_s,
        "seed": ctx.seed,
        "points": int(pattern.intensity.size),
        "counts": int(pattern.intensity.sum()),
    }
    return StepResult(result, files, {definition["engine"]: truth.engine_version})
