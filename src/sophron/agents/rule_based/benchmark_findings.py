"""What the experts find in the results of a benchmark: bounds on what the harness measured, or a file states.

Each function yields the findings of one guest; nothing here knows which pipeline it is, or what its code says.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sophron.agents.rule_based import pipeline_facts
from sophron.agents.rule_based.input_checks import listed, mapping, number, quoted
from sophron.agents.rule_based.pipeline_facts import Finding
from sophron.interfaces import UncheckedObject

HARNESS = ("overlaps", "minimum_overlap", "block_difference_kcal_per_mol", "effective_samples")
"""Diagnostics of the analysis that the harness measures by itself."""


@dataclass(frozen=True)
class Stage:
    """The result of one stage of one guest, or of nothing."""

    result: UncheckedObject = field(default_factory=dict)

    @property
    def diagnostics(self) -> UncheckedObject:
        """What the file states; where the harness measured the same, the worse of both."""
        stated = mapping(self.result.get("diagnostics") or {}, "diagnostics")
        measured = mapping(self.result.get("measured") or {}, "measured")
        return {
            **stated,
            **{name: _worse(name, stated.get(name), measured[name]) for name in HARNESS if name in measured},
        }

    @property
    def flags(self) -> UncheckedObject:
        """Checks that were made."""
        return mapping(self.result.get("convergence_flags") or {}, "convergence_flags")

    @property
    def terms(self) -> Mapping[str, float | None]:
        """Terms of the free energy, in kcal/mol."""
        components = mapping(self.result.get("energy_components") or {}, "energy_components")
        return {name: number(value) for name, value in components.items()}

    @property
    def delta_g(self) -> float | None:
        """Free energy in kcal/mol."""
        return number(self.result.get("delta_g_kcal_per_mol"))

    @property
    def failure(self) -> str:
        """Kind of its failure or refusal, nothing without one."""
        return str(mapping(self.result.get("failure") or {}, "failure").get("kind", ""))

    @property
    def measured(self) -> UncheckedObject:
        """What the harness measured of its samples; of production, by name a list of all windows."""
        return mapping(self.result.get("measured") or {}, "measured")

    def number(self, name: str) -> float | None:
        """Return a diagnostic, where it is a number."""
        return number(self.diagnostics.get(name))


def _worse(name: str, stated: object, measured: object) -> object:
    """The one of two values, or lists of them, that says worse of a pipeline; what was measured if one is missing."""
    sizes = [[abs(size) for each in _each(value) if (size := number(each)) is not None] for value in (stated, measured)]
    if not all(sizes):
        return measured
    worst = [max(size) if name.startswith("block") else -min(size) for size in sizes]
    return stated if worst[0] > worst[1] else measured


def _each(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def stages(guest: UncheckedObject) -> list[Stage]:
    """Return preparation, equilibration, production (its first window) and analysis of a guest; empty if not there."""
    results = mapping(guest.get("stages", {}), "stages of a guest")
    return [Stage(mapping(results.get(str(number), {}), f"stage {number}")) for number in (1, 2, 3, 4)]


LEAST_OVERLAP = 0.03
LEAST_EFFECTIVE = 50.0
MOST_CHARGE_E = 1e-3
MOST_RESTRAINT_KCAL_PER_MOL = 0.1
LEAST_DWELL = 0.1
LEAST_INDEPENDENT = 20.0
MOST_BLOCKS_KCAL_PER_MOL = 1.0
MOST_DRIFT = 5.0
"""In standard errors of the drift of one window."""
TEMPERATURE_FRACTION = 0.06
LEAST_LENGTH = 0.9
"""Part of the sampling that a window is given."""
LEAST_USED = 0.2
"""Part of the independent samples that an analysis rests on; estimates of their number differ by less."""
MOST_SLOPE = 0.08
SLOPE_ERRORS = 5.0
REMADE_KCAL_PER_MOL = 0.12
REMADE_ERRORS = 2.0
"""Two estimates from the same samples differ by less than either's error."""
BALL = 0.15
"""Deviation of the distance in means, from which on a guest fills a ball; of a ball it is 0.26."""
GAS_KCAL_PER_MOL_K = 1.98720425864083e-3
STANDARD_VOLUME_A3 = pipeline_facts.STANDARD_VOLUME_A3
LOST = re.compile(r"\bnan\b|not finite|infinite", re.IGNORECASE)
ROUNDING_KCAL_PER_MOL = 2e-3
SMALL_ERROR_KCAL_PER_MOL = 0.01
ANALYSIS = "04_analysis.py"
CYCLES: tuple[Mapping[str, int], ...] = (
    {"attach_and_pull": -1, "release": -1},
    {"decoupled_in_the_host": 1, "release": 1, "decoupled_alone": 1},
)
"""Terms by their names and the sign with which each enters binding: costs of attach-pull-release, and the terms of
double decoupling (10.1021/jp0217839), which are named as they are added."""
CORRECTIONS = ("symmetry", "protonation")
"""Added to either cycle, where a stage names them."""
SHORT_OF = ("few_samples", "hysteresis", "blocks_differ")


def force_field(guest: UncheckedObject, windows: int) -> Iterator[Finding]:
    """Findings in preparation: warnings, sums of charges, restraints that start with an energy."""
    del windows
    first = stages(guest)[0]
    charge, expected = first.number("charge_sum_e"), first.number("charge_expected_e")
    if first.diagnostics.get("force_field_warnings"):
        yield Finding("high", "preparation", "preparation was warned; read its logs and correct the types it names")
    if charge is not None and expected is not None and abs(charge - expected) > MOST_CHARGE_E:
        yield Finding("high", "preparation", f"charges sum to {charge:g} e, not {expected:g} e; renormalise them")
    restraint = first.number("restraint_energy_kcal_per_mol")
    if restraint is not None and restraint > MOST_RESTRAINT_KCAL_PER_MOL:
        sentence = (
            f"static restraints start with {restraint:.2g} kcal/mol; place the dummy atoms where the complex lies"
        )
        yield Finding("medium", "preparation", sentence)


def sampling(guest: UncheckedObject, windows: int) -> Iterator[Finding]:
    """Findings in what a pipeline says of its sampling, the worse of that and of what was measured."""
    last = stages(guest)[3]
    whole = last.diagnostics.get("window_count") == _window_count(guest, windows)
    overlap = last.number("minimum_overlap")
    if whole and overlap is not None and overlap < LEAST_OVERLAP:
        yield Finding("high", "production", f"neighbours overlap by {overlap:.2g} only; put windows between them")
    if whole and last.failure in SHORT_OF and not list(_thrown_away(last)):
        yield Finding("high", "production", f"the analysis refused ({last.failure}); more windows share the load")
    effective = [number(each) for each in listed(last.diagnostics.get("effective_samples") or [], "effective_samples")]
    least = min((each for each in effective if each is not None), default=LEAST_EFFECTIVE)
    if least < LEAST_EFFECTIVE:
        yield Finding("medium", "production", f"a window rests on {least:.0f} effective samples")
    dwell = stages(guest)[2].number("dwell_within_target")
    if dwell is not None and dwell < LEAST_DWELL:
        yield Finding("low", "production", "a window hardly dwells at its target; its spring may be too weak there")


@dataclass(frozen=True)
class Asked:
    """What the task asks for. particles: whether host and guest are single ones, so that a distance is all there is.

    temperature_k, ns: of the guest, and of one window; None if it says none. chain: stage that the windows' path is of.
    """

    temperature_k: float | None
    ns: float | None
    particles: bool
    chain: str | None

    @classmethod
    def of(cls, inputs: UncheckedObject) -> "Asked":
        """Read task and code."""
        task = mapping(inputs.get("task") or {}, "task")
        guests = [mapping(each, "a guest") for each in mapping(task.get("guests") or {}, "guests").values()]
        asked = [number(each.get("temperature_k")) for each in guests]
        return cls(
            next((each for each in asked if each is not None), None),
            number(task.get("ns_per_window")),
            bool(guests) and all(each.get("interaction") for each in guests),
            pipeline_facts.schedule_stage(pipeline_facts.read(str(inputs.get("pipeline") or ""))),
        )


def measured(guest: UncheckedObject, asked: Asked) -> Iterator[Finding]:
    """Findings in what the harness measured, which needs no word of the pipeline."""
    produced, last = stages(guest)[2].measured, stages(guest)[3].measured
    overlap, blocks = number(last.get("minimum_overlap")), number(last.get("block_difference_kcal_per_mol"))
    if overlap is not None and overlap < LEAST_OVERLAP:
        sentence = f"the samples of neighbours overlap by {overlap:.2g} only, as measured; put windows between them"
        yield Finding("high", asked.chain or "production", sentence)
    error = number(stages(guest)[3].result.get("statistical_error_kcal_per_mol")) or 0.0
    if blocks is not None and abs(blocks) > max(MOST_BLOCKS_KCAL_PER_MOL, 4 * error):
        sentence = f"second halves of the runs differ from first ones by {blocks:+.2g} kcal/mol; sample longer"
        yield Finding("high", "production", sentence)
    samples = [one for each in listed(last.get("samples") or [], "samples") if (one := number(each)) is not None]
    if samples and min(samples) < LEAST_INDEPENDENT:
        yield Finding("high", "production", f"a window holds {min(samples):.0f} independent samples; sample longer")
    yield from _length(_numbers(produced, "sampled_ns"), asked.ns)
    yield from _thermostat(_numbers(produced, "temperature_k"), asked.temperature_k)
    yield from _ensemble(number(last.get("ensemble_slope")), number(last.get("ensemble_slope_error")))
    drifts = _numbers(produced, "energy_drift_kcal_per_mol_per_ns")
    errors = _numbers(produced, "energy_drift_error_kcal_per_mol_per_ns")
    drifting = [one for one, off in zip(drifts, errors, strict=False) if abs(one) > MOST_DRIFT * off > 0]
    if drifts and len(drifting) > len(drifts) / 3:
        sentence = f"the energy drifts in {len(drifting)} of {len(drifts)} windows; equilibrate longer"
        yield Finding("high", "equilibration", sentence)
    failure = mapping(stages(guest)[2].result.get("failure") or {}, "failure")
    if LOST.search(str(failure.get("sentence", ""))):
        yield Finding("high", "production", "the integration was lost; shorten the time step or soften what is stiff")


def _length(sampled: Sequence[float], ns: float | None) -> Iterator[Finding]:
    if sampled and ns and min(sampled) < LEAST_LENGTH * ns:
        sentence = f"a window samples {min(sampled):.3g} of {ns:g} ns, as the times of its samples say; sample them all"
        yield Finding("high", "production", sentence)


def _ensemble(slope: float | None, error: float | None) -> Iterator[Finding]:
    """Two windows differ as their energies say, or their samples are of another ensemble (10.1021/ct300688p)."""
    if slope is None or error is None or abs(slope - 1.0) < max(MOST_SLOPE, SLOPE_ERRORS * error):
        return
    sentence = (
        f"samples are distributed as if energies were {slope:.2f} times what they are: the saved energies are of "
        "another potential, unit or temperature than the simulation's"
    )
    yield Finding("high", "production", sentence)


def _thermostat(measured: Sequence[float], temperature_k: float | None) -> Iterator[Finding]:
    if not measured or temperature_k is None:
        return
    mean = math.fsum(measured) / len(measured)
    if abs(mean - temperature_k) > TEMPERATURE_FRACTION * temperature_k:
        sentence = f"production runs at {mean:.0f} K, not {temperature_k:.0f} K; check integrator, time step and units"
        yield Finding("high", "production", sentence)


def _numbers(measured: UncheckedObject, name: str) -> list[float]:
    values = listed(measured.get(name) or [], name)
    return [one for each in values if (one := number(each)) is not None]


def remade(guest: UncheckedObject, asked: Asked) -> Iterator[Finding]:
    """Make the number of two particles again: chain as measured, and the volume of its free end in the standard one.

    That volume is of a narrow shell, or of a ball, by mean and deviation of the distance; each free term that a careful
    analysis adds besides (what a soft wall lends, what the last window still feels) is small.
    """
    last, produced = stages(guest)[3], stages(guest)[2]
    chain_kcal = number(last.measured.get("chain_difference_kcal_per_mol"))
    ends = _numbers(last.measured, "end_potentials_kcal_per_mol")
    places = _per_window(produced, "distance_mean_a"), _per_window(produced, "distance_deviation_a")
    if last.delta_g is None or chain_kcal is None or len(ends) != 2 or not asked.particles or not all(places):
        return
    if asked.temperature_k is None:
        return
    free = -1 if ends[-1] > ends[0] else 0
    volume_a3 = _reached(places[0][free], places[1][free])
    cost = chain_kcal if free == -1 else -chain_kcal
    again = -cost - GAS_KCAL_PER_MOL_K * asked.temperature_k * math.log(volume_a3 / STANDARD_VOLUME_A3)
    error = number(last.result.get("statistical_error_kcal_per_mol")) or 0.0
    if abs(again - last.delta_g) > REMADE_KCAL_PER_MOL + REMADE_ERRORS * error:
        sentence = (
            f"its number is {last.delta_g:.2f} kcal/mol; its own samples and the volume of the free end make "
            f"{again:.2f}: a sign, a unit, a term or the standard state is wrong"
        )
        yield Finding("high", "analysis", sentence, ANALYSIS)


def _per_window(stage: Stage, name: str) -> list[float]:
    windows = mapping(stage.diagnostics.get("windows") or {}, "windows")
    return _numbers(windows, name)


def _reached(mean_a: float, deviation_a: float) -> float:
    """Volume of a shell whose distance is normal, or of a ball if it is wide; in cubic Angstrom."""
    if deviation_a > BALL * mean_a:
        return 4.0 / 3.0 * math.pi * (mean_a / 0.75) ** 3
    return 4.0 * math.pi * (mean_a**2 + deviation_a**2) * deviation_a * math.sqrt(2.0 * math.pi)


def analysis(guest: UncheckedObject, windows: int) -> Iterator[Finding]:
    """Findings in the analysis: windows and samples that it leaves out, guards, its sum, an error that is too small."""
    last = stages(guest)[3]
    used = last.diagnostics.get("window_count")
    placed = _window_count(guest, windows)
    sampled = last.measured.get("window_count")
    placed = sampled if isinstance(sampled, int) else placed
    if isinstance(used, int) and used != placed:
        sentence = f"it used {used} of {placed} windows; use every one"
        yield Finding("high", "analysis", sentence, ANALYSIS)
    yield from _thrown_away(last)
    if last.delta_g is None:
        return
    if not all(last.flags.values()):
        false = quoted(", ".join(sorted(name for name, held in last.flags.items() if not held)))
        yield Finding("high", "analysis", f"it gives a number although {false} is false; let the guard refuse")
    yield from _cycle(last)
    error = number(last.result.get("statistical_error_kcal_per_mol"))
    if error is not None and error < SMALL_ERROR_KCAL_PER_MOL:
        yield Finding("medium", "analysis", f"a standard error of {error:.1g} kcal/mol is too good to be true")


def _thrown_away(last: Stage) -> Iterator[Finding]:
    """An analysis that rests on a small part of the samples which the harness takes for independent."""
    mine = _numbers(mapping(last.result.get("diagnostics") or {}, "diagnostics"), "samples")
    measured = _numbers(last.measured, "samples")
    if mine and measured and math.fsum(mine) < LEAST_USED * math.fsum(measured):
        sentence = f"it rests on {math.fsum(mine):.0f} of {math.fsum(measured):.0f} independent samples; use them all"
        yield Finding("high", "analysis", sentence, ANALYSIS)


def _window_count(guest: UncheckedObject, windows: int) -> int:
    """Count the windows: what seeding placed, if it says so, else all that the pipeline has slots for."""
    placed = stages(guest)[1].diagnostics.get("window_count")
    return placed if isinstance(placed, int) and not isinstance(placed, bool) else windows


def _cycle(last: Stage) -> Iterator[Finding]:
    from sophron.science.estimators.restraints import Frame, Harmonic, release

    wanted = _sum_terms(last.terms)
    if wanted is None or last.delta_g is None:
        return
    added = _as_added(last)
    if added:
        wanted = math.fsum(value for value in last.terms.values() if value is not None)
    if abs(wanted - last.delta_g) > ROUNDING_KCAL_PER_MOL:
        off = last.delta_g - wanted
        sentence = f"its number is {off:+.3g} kcal/mol off the sum of its terms; a sign or a leg is wrong"
        yield Finding("high", "analysis", sentence, ANALYSIS)
    released = last.terms.get("release")
    if released is None or "attach_and_pull" not in last.terms or added:
        return
    target, k = last.number("release_target_a"), last.number("release_k_kcal_per_mol_a2")
    temperature_k = last.number("temperature_k")
    if target is not None and k is not None and temperature_k is not None:
        again = release(Frame(Harmonic(target, k)), temperature_k)
        if abs(again - released) > 1e-3:
            sentence = f"the release of its restraint is {again:.3f} kcal/mol, not {released:.3f}; check its sign"
            yield Finding("high", "analysis", sentence, ANALYSIS)


def _as_added(last: Stage) -> bool:
    """Whether an attach-pull-release states its terms as they are added to binding: the chain's with the other sign."""
    cost = number(last.measured.get("chain_difference_kcal_per_mol"))
    stated = last.terms.get("attach_and_pull")
    return cost is not None and stated is not None and abs(stated + cost) < abs(stated - cost)


def _sum_terms(terms: Mapping[str, float | None]) -> float | None:
    """Sum the terms that a stage names to binding; None if they make no known cycle, or one is unknown."""
    signs = next((cycle for cycle in CYCLES if set(cycle) <= set(terms) <= {*cycle, *CORRECTIONS}), None)
    values = [value for value in terms.values() if value is not None]
    if signs is None or len(values) < len(terms):
        return None
    signed = {**dict.fromkeys(CORRECTIONS, 1), **signs}
    return math.fsum(signed[name] * value for name, value in zip(terms, values, strict=True))
