"""How often stated 95 % intervals hold the truth, on synthetic data whose answer is known.

Run as: python bench/coverage.py [--series 400] [--freeze] [--only series]

Constants of the estimators were chosen with `--freeze`, which draws from other seeds than the recorded run.
"""

import argparse
import itertools
import json
import math
import zlib
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from record import RESULTS, record
from scipy import signal

from sophron.science.estimators.autocorrelation import autocorrelation
from sophron.science.estimators.correlated_series import block_mean, series_mean
from sophron.science.estimators.finite_size import extrapolate as lengths
from sophron.science.estimators.green_kubo import Estimate as GreenKubo
from sophron.science.estimators.green_kubo import estimate as green_kubo
from sophron.science.estimators.green_kubo import running_integral
from sophron.science.estimators.mbar import Estimate, Run, estimate
from sophron.science.estimators.restraints import rt
from sophron.science.estimators.statistical_power import (
    SIGNIFICANCE,
    compare_two,
    detectable_shift,
)
from sophron.science.estimators.statistics import NORMAL, Estimated, homogeneity, pooled_mean, t_quantile
from sophron.science.estimators.zero_shear import carreau
from sophron.science.estimators.zero_shear import extrapolate as zero_shear

Array = NDArray[np.float64]
Pair = tuple[float, float]
Row = dict[str, float | int | str | None]
Draw = Callable[[np.random.Generator, int, int], Array]
"""Random generator, series, samples -> (series, samples), mean 0."""
FROZEN, JUDGED = 1, 2
LOW, HIGH, MOST_REFUSED, FROM_TIMES = 0.92, 0.98, 0.10, 200
FAST, SLOW = 0.3, 100.0
TIMES = (50, 100, 200, 400)
AT_ONCE = 400
"""Series in memory."""


def relaxing(tau: float, frequency: float = 0.0) -> Draw:
    """Gaussian series with autocorrelation exp(-k / tau) cos(frequency k)."""
    decay = np.exp(-1 / tau + 1j * frequency)

    def draw(rng: np.random.Generator, series: int, samples: int) -> Array:
        kicks = rng.normal(size=(2, series, samples)) * math.sqrt(1 - abs(decay) ** 2)
        kicks[:, :, 0] /= math.sqrt(1 - abs(decay) ** 2)
        if not frequency:
            return np.asarray(signal.lfilter([1.0], [1.0, -decay.real], kicks[0]))
        return np.asarray(signal.lfilter([1.0], [1.0, -decay], kicks[0] + 1j * kicks[1]).real)

    return draw


def mixed(share: float, fast: float = FAST, slow: float = SLOW) -> Draw:
    """Two times, the slow one with `share` of the variance."""

    def draw(rng: np.random.Generator, series: int, samples: int) -> Array:
        parts = (relaxing(tau)(rng, series, samples) for tau in (fast, slow))
        return sum(math.sqrt(part) * each for part, each in zip((1 - share, share), parts, strict=True))  # type: ignore[return-value]

    return draw


SERIES: dict[str, tuple[Draw, float]] = {
    "one time, 20 samples": (relaxing(20.0), 20.0),
    "one time, 3 samples": (relaxing(3.0), 3.0),
    **{f"two times, slow share {share:.2f}": (mixed(share), SLOW) for share in (0.05, 0.10, 0.20, 0.30, 0.50)},
    "two times 2 and 20, slow share 0.10": (mixed(0.1, 2.0, 20.0), 20.0),
    **{f"oscillating, frequency x time {w * 10:g}": (relaxing(10.0, w), 10.0) for w in (0.1, 0.2, 0.3, 0.6)},
    **{f"AR(1), coefficient {a:g}": (relaxing(-1 / math.log(a)), 1 + 1 / (1 - a)) for a in (0.5, 0.9)},
}
"""Kind -> how to draw it, and its slow time in samples."""


def generator(seed: int, kind: str) -> np.random.Generator:
    """Equal for equal kinds, whichever rows are run."""
    return np.random.default_rng([seed, zlib.crc32(kind.encode())])


def row(kind: str, length: int, times: float | None, held: list[bool | None]) -> Row:
    """held: of each set, whether the interval holds the truth; None if it was refused."""
    given = [each for each in held if each is not None]
    coverage = sum(given) / len(given) if given else None
    return {
        "kind": kind,
        "length": length,
        "slow_times": times,
        "series": len(held),
        "refused_share": round(1 - len(given) / len(held), 4),
        "coverage": coverage and round(coverage, 4),
        "standard_error": coverage and round(math.sqrt(coverage * (1 - coverage) / len(given)), 4),
    }


def holds(mean: float, error: float | None, freedom: float, truth: float = 0.0) -> bool | None:
    """Whether the t interval holds the truth."""
    return None if error is None else abs(mean - truth) <= t_quantile(freedom) * error


def of_series(seed: int, sets: int) -> Iterator[Row]:
    """Means of correlated series."""
    for kind, (draw, slow) in SERIES.items():
        rng = generator(seed, kind)
        for times in TIMES:
            length = round(slow * times)
            batches = [min(AT_ONCE, sets - done) for done in range(0, sets, AT_ONCE)]
            found = [series_mean(each) for batch in batches for each in draw(rng, batch, length)]
            yield row(kind, length, times, [holds(one.mean, one.error, one.degrees_of_freedom) for one in found])


def of_blocks(seed: int, sets: int) -> Iterator[Row]:
    """Means of a few blocks: of white noise, and of blocks of 10, 5 and a third of a correlation time."""
    times = {"independent": 0.001, "10 times long": 2.0, "5 times long": 4.0, "a third of a time": 60.0}
    for kind, tau in times.items():
        for count in (4, 8, 20):
            rng = generator(seed, f"{kind} {count}")
            means = relaxing(tau)(rng, sets, 20 * count).reshape(sets, count, 20).mean(axis=2)
            found = [block_mean(each) for each in means]
            held = [holds(one.mean, one.error, one.degrees_of_freedom) for one in found]
            yield row(f"{count} blocks, {kind}", count, round(20 * count / tau) if tau >= 1 else None, held)


STIFF, CENTRES, TEMPERATURE = (1.0, 1.5, 2.0), (0.0, 0.7, 1.4), 298.15


def windows(rng: np.random.Generator, draw: Draw, samples: int) -> list[Run]:
    """A run in each of three harmonic wells."""
    runs = []
    for place, (at, k) in enumerate(zip(CENTRES, STIFF, strict=True)):
        x = at + draw(rng, 1, samples)[0] / math.sqrt(k)
        reduced = np.array([0.5 * k * (x - c) ** 2 for c, k in zip(CENTRES, STIFF, strict=True)])
        runs.append(Run(place, reduced, x[None]))
    return runs


def of_mbar(seed: int, sets: int) -> Iterator[Row]:
    """Free energy of a chain of harmonic wells; slow share of the coordinate's variance, and its time."""
    truth = 0.5 * rt(TEMPERATURE) * math.log(STIFF[-1] / STIFF[0])
    for share in (0.10, 0.15):
        kind, slow, times = f"MBAR, slow share {share:.2f}", 20.0, 200
        rng, draw = generator(seed, kind), mixed(share, FAST, slow)
        found = [estimate(windows(rng, draw, round(slow * times)), TEMPERATURE) for _ in range(sets)]
        held = [
            holds(one.difference, one.error, one.degrees_of_freedom, truth) if isinstance(one, Estimate) else None
            for one in found
        ]
        yield row(kind, round(slow * times), times, held)


STRESS = {
    "one time 0.3": ((1.0, 0.3),),
    "three times, as of a liquid": ((0.5, 0.1), (0.3, 0.2), (0.2, 0.6)),
    "tail of 6 % at time 2": ((0.94, 0.3), (0.06, 2.0)),
    "tail of 10 % at time 6": ((0.9, 0.3), (0.1, 6.0)),
}
"""Kind -> shares of the viscosity and their relaxation times."""
INTERVAL, WINDOW, LENGTH, REPLICAS, COMPONENTS = 0.1, 40.0, 2000.0, 8, 5


def of_green_kubo(seed: int, sets: int) -> Iterator[Row]:
    """Running integrals of 8 replicas with 5 components each."""
    lags, samples = round(WINDOW / INTERVAL) + 1, round(LENGTH / INTERVAL)
    times = INTERVAL * np.arange(lags)
    for kind, terms in STRESS.items():
        rng, held = generator(seed, kind), []
        truth = sum(share / tau * INTERVAL * (0.5 + 1 / math.expm1(INTERVAL / tau)) for share, tau in terms)
        for _ in range(sets):
            parts = (
                math.sqrt(share / tau) * relaxing(tau / INTERVAL)(rng, REPLICAS * COMPONENTS, samples)
                for share, tau in terms
            )
            acf = autocorrelation(sum(parts).T, lags)  # type: ignore[union-attr]
            integrals = running_integral(acf, INTERVAL, 1.0, 1.0).T.reshape(REPLICAS, COMPONENTS, lags)
            found = green_kubo(times, integrals, LENGTH)
            held.append(found.low <= truth <= found.high if isinstance(found, GreenKubo) else None)
        slowest = max(tau for _, tau in terms)
        yield row(f"Green-Kubo, {kind}", samples, LENGTH / slowest, held)


RATES, ZERO = np.array([0.005, 0.01, 0.02, 0.05, 0.1]), 6.5
THINNING = {
    "Carreau": carreau(RATES, ZERO, 15.0, 0.5),
    "Carreau-Yasuda, a = 1": carreau(RATES, ZERO, 15.0, 0.5, 1.0),
    "Cross, m = 0.7, time 8": ZERO / (1 + (8 * RATES) ** 0.7),
    "Cross, m = 0.7, time 30": ZERO / (1 + (30 * RATES) ** 0.7),
}
LENGTHS, BULK = np.array([100.0, 200.0, 400.0, 1600.0]), 10.0


def of_zero_shear(seed: int, sets: int) -> Iterator[Row]:
    """Five rates with errors of 3 %, extrapolated to zero; refused: not reliable."""
    for kind, truth in THINNING.items():
        rng, held = generator(seed, kind), []
        for _ in range(sets):
            found = zero_shear(RATES, truth * (1 + 0.03 * rng.normal(size=RATES.size)), 0.03 * truth)  # type: ignore[arg-type]
            held.append(abs(found.viscosity - ZERO) <= NORMAL * found.error if found.reliable else None)
        yield row(f"zero shear, {kind}", RATES.size, None, held)


def of_lengths(seed: int, sets: int) -> Iterator[Row]:
    """Four boxes whose inverse conductivity is a line in a power of the inverse length."""
    for power in (1.0, 0.5):
        for slope in (10.0, 40.0):
            for relative in (0.01, 0.05):
                kind = f"boxes, 1/length^{power:g}, shortest {1 + slope / 100:.1f} below bulk, errors {relative:g}"
                rng, held = generator(seed, kind), []
                truth = BULK / (1 + slope / 100 * (LENGTHS[0] / LENGTHS) ** power)
                for _ in range(sets):
                    drawn = truth * (1 + relative * rng.normal(size=LENGTHS.size))
                    found = lengths(LENGTHS, drawn, relative * truth)  # type: ignore[arg-type]
                    held.append(None if found.refusal else found.low <= BULK <= (found.high or math.inf))
                yield row(kind, LENGTHS.size, None, held)


def drawn(rng: np.random.Generator, truth: float, error: float, freedom: int | None) -> Estimated:
    """A value with that standard error, and the error as so many degrees of freedom estimate it."""
    scatter = 1.0 if freedom is None else math.sqrt(rng.chisquare(freedom) / freedom)
    return Estimated(truth + error * rng.normal(), error * scatter, freedom)


def _differ(rng: np.random.Generator, truths: Pair, errors: Pair, freedoms: tuple[int | None, ...]) -> bool:
    one, other = (drawn(rng, *each) for each in zip(truths, errors, freedoms, strict=True))
    return compare_two(one, other).p_value < SIGNIFICANCE


def of_two_values(seed: int, sets: int) -> Iterator[Row]:
    """Two values with one truth: how often they do not differ; `found`: how often at the detectable difference."""
    for first, second, freedoms in ((1, 1, (2, 2)), (1, 6, (2, 2)), (2, 1, (9, None)), (1, 1, (9, 4))):
        kind = f"two values, errors {first}:{second}, degrees of freedom {freedoms[0]} and {freedoms[1] or 'many'}"
        rng, errors = generator(seed, kind), (0.01 * first, 0.01 * second)
        exact = compare_two(*(Estimated(1.0, e, f) for e, f in zip(errors, freedoms, strict=True)))
        truths = (1.0, 1.0 + exact.detectable_difference)
        same, missed = (
            [not _differ(rng, (1.0, truth), errors, freedoms) for _ in range(10 * sets)] for truth in truths
        )
        yield row(kind, 2, None, [*same]) | {"found": round(1 - sum(missed) / len(missed), 4)}


def of_homogeneity(seed: int, sets: int) -> Iterator[Row]:
    """Two and three values, the last with another error: how often those with one truth do not differ at 0.05.

    rejected_at_0.01: how often they differ at 0.01; found: how often a last value that is off by what is found nine
    times in ten at 0.05 is; pooled_coverage: of the interval of the mean.
    """
    for count, ratio, freedom in itertools.product((2, 3), (1.0, 4.0), (1, 2, 3, 5, 9)):
        kind = f"{count} values, last error {ratio:g} times the others, degrees of freedom {freedom}"
        rng, freedoms, errors = generator(seed, kind), [freedom] * count, np.ones(count)
        errors[-1] = ratio
        values = errors * rng.normal(size=(10 * sets, count))
        stated = errors * np.sqrt(rng.chisquare(freedom, size=values.shape) / freedom)
        same = [homogeneity(*each, freedoms).p_value for each in zip(values, stated, strict=True)]
        pooled = [pooled_mean(*each, freedoms) for each in zip(values, stated, strict=True)]
        values[:, -1] += detectable_shift(errors, SIGNIFICANCE, 0.9, freedoms)  # type: ignore[arg-type]
        off = [homogeneity(*each, freedoms).p_value for each in zip(values, stated, strict=True)]
        held = [holds(one.value, one.error, one.degrees_of_freedom or math.inf) for one in pooled]
        yield row(kind, count, None, [one >= SIGNIFICANCE for one in same]) | {
            "rejected_at_0.01": round(float(np.mean([one < 0.01 for one in same])), 4),
            "found": round(float(np.mean([one < SIGNIFICANCE for one in off])), 4),
            "pooled_coverage": round(float(np.mean(held)), 4),
        }


PARTS = {
    "series": of_series,
    "blocks": of_blocks,
    "mbar": of_mbar,
    "green_kubo": of_green_kubo,
    "zero_shear": of_zero_shear,
    "lengths": of_lengths,
    "two_values": of_two_values,
    "homogeneity": of_homogeneity,
}


def acceptable(one: Row) -> bool:
    """Whether a row meets what is asked for: the coverage, and the refusals if the series is long."""
    covered = one["coverage"] is not None and LOW <= float(one["coverage"]) <= HIGH
    long_enough = one["slow_times"] is not None and float(one["slow_times"]) >= FROM_TIMES
    return covered and (not long_enough or float(one["refused_share"] or 0) <= MOST_REFUSED)


def main() -> None:
    """Run all parts, or one, and record the rows of these in the table; `--freeze` records nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=400, help="synthetic sets of each row")
    parser.add_argument("--freeze", action="store_true", help="draw from the seeds that constants are chosen on")
    parser.add_argument("--only", choices=PARTS)
    asked = parser.parse_args()
    path = RESULTS / "coverage.json"
    before = json.loads(path.read_text())["result"]["rows"] if asked.only and path.exists() else []
    rows = [one for one in before if one["part"] != asked.only]
    for name, part in PARTS.items():
        for one in part(FROZEN if asked.freeze else JUDGED, asked.series) if asked.only in (None, name) else ():
            rows.append({"part": name, **one, "acceptable": acceptable(one)})
            print(json.dumps(rows[-1]), flush=True)
    rows.sort(key=lambda one: [*PARTS].index(str(one["part"])))
    if not asked.freeze:
        limits = {"coverage": [LOW, HIGH], "refused_share": MOST_REFUSED, "from_slow_times": FROM_TIMES}
        record("coverage", {"nominal": 0.95, "limits": limits, "rows": rows})


if __name__ == "__main__":
    main()
