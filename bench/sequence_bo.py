"""Regret of searches for the best sequence: Bayesian optimisation, random search and TPE, replayed on a table.

    python bench/sequence_bo.py [--seeds N] [--arm ARM]... [--live CAMPAIGN] [--agent CAMPAIGN]

The table (`bench/sequence_table.py`) has measured values with errors. An arm may propose rows of the table only. An
evaluation is the row's value plus noise: that of the row's own error, for a run of 25,000 tau. Regret is the value of
the best row less that of the sequence recommended. Values are the table's, so their errors are in the regret.

Arms `free_*` may propose any of the 92,504 sequences, for which a surrogate answers: ridge regression on products of
pairs of beads and features of blocks, fitted to the table with weights of its errors, at the penalty that predicts
left-out rows best. It is linear in these and is not the Gaussian process that searches, though features of blocks are
known to both. Their regret is that by the surrogate, from its best of all sequences.

Batches have five evaluations up to 35, where the arms are compared, and thirteen after that. Each replay is written as
soon as it is there, under the digest of the table, so that a run that is stopped goes on where it was. The prior of the
hyperparameters was written down before there was a table, and neither it nor the settings of the arms were tuned on
one.
`bench/results/sequence_bo.svg` has the curves, with the standard errors of their means.
"""

import argparse
import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from record import RESULTS, record
from scipy import stats
from sequence_table import COUNT_B, LENGTH, STEPS, TABLE, bead_model, planned, radii, read

from sophron.records.digests import file_digest
from sophron.science.figures import BLUE, VERMILION, saved_figure
from sophron.science.sequence_bo.features import block_features
from sophron.science.sequence_bo.gaussian_process import merged
from sophron.science.sequence_bo.proposals import Fit, Observation, Settings, propose
from sophron.science.sequence_bo.sequences import blocks, expand, forward, random_sequence

REPLAYS = Path(tempfile.gettempdir()) / "sophron-sequence-replays"
EVALUATION_TAU = 25_000.0
WARM_UP, BATCH, LATER_BATCH, COMPARED_AT, MOST = 20, 5, 13, 35, 100
LOOKED_AT = (20, 25, 30, 35, 48, 61, 74, 87, 100)
CANDIDATES = {"mutations": 20, "block_moves": 40, "recombinations": 20, "random": 20}
NEAR = 0.002
"""Regret in sigma under which a recommended sequence is as good as the best known."""
PENALTIES = np.geomspace(10.0, 3000.0, 12)
BLOCK_SCALE = np.array([10.0, 4.0, 4.0, 2.0, 1.0, 0.1, 0.05])
BLOCK_WEIGHT = 5.0
"""A feature of blocks counts as much as some twenty pairs."""
CONSTANT = 100.0
"""Column of the mean: so large that the penalty does not matter for it, so a left-out row is left out of it."""
PAPER = {"best_of_evaluations": 1.4725, "validated": 1.4672, "validated_error": 0.0016, "best_of_warm_up": 1.4643}
KNOWN = {"sequence": "A5B10A5", "radius": 1.474, "error": 0.003}


def columns(sequence: str) -> np.ndarray:
    """Products s_i s_j and sums s_i over the chain and its reverse, s +1 for B, and features of blocks."""
    signs = np.array([1.0 if bead == "B" else -1.0 for bead in sequence])
    both = np.outer(signs, signs)
    both = both + both[::-1, ::-1]
    upper = both[np.triu_indices(len(signs), 1)]
    of_blocks = BLOCK_WEIGHT * np.array(block_features(sequence)) / BLOCK_SCALE
    return np.concatenate([upper, signs + signs[::-1], of_blocks])


@dataclass(frozen=True, eq=False)
class Truth:
    """What an evaluation gives: the measured values of rows, and ridge regression for `free` arms.

    errors: of an evaluation of each row; own_error: of any other sequence.
    """

    measured: dict[str, float]
    coefficients: np.ndarray
    level: float
    errors: dict[str, float]
    own_error: float
    explained: float
    penalty: float

    def value(self, sequence: str, *, free: bool) -> float:
        """Return the radius of a sequence in sigma."""
        return self.by_surrogate(sequence) if free else self.measured[sequence]

    @lru_cache(maxsize=200_000)  # noqa: B019 - one surrogate a run
    def by_surrogate(self, sequence: str) -> float:
        """Return the radius that the regression predicts, in sigma."""
        return self.level + float(columns(sequence) @ self.coefficients)

    def error(self, sequence: str) -> float:
        """Return the standard error of one evaluation in sigma."""
        return self.errors.get(sequence, self.own_error)


def ridge(rows: np.ndarray, values: np.ndarray, weights: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients of weighted ridge regression and the predictions of each value from all others."""
    root = np.sqrt(weights)[:, None]
    scaled = rows * root
    inner = scaled.T @ scaled + penalty * np.eye(rows.shape[1])
    solved = np.linalg.solve(inner, scaled.T)
    coefficients = solved @ (values * root[:, 0])
    leverage = np.einsum("ij,ji->i", scaled, solved)
    fitted = rows @ coefficients
    return coefficients, values - (values - fitted) / (1.0 - leverage)


@lru_cache(maxsize=1)
def truth() -> Truth:
    """Read the table, and fit the surrogate: the penalty with the least weighted error of prediction."""
    table = radii(TABLE)
    names, (values, errors) = list(table), np.array(list(table.values())).T
    weights = errors**-2.0 / np.mean(errors**-2.0)
    raw = np.array([columns(name) for name in names])
    rows, centre = np.column_stack([raw, np.full(len(raw), CONSTANT)]), float(np.average(values, weights=weights))
    centred = values - centre

    def missed(penalty: float) -> float:
        return float(np.sum(weights * (centred - ridge(rows, centred, weights, penalty)[1]) ** 2))

    penalty = min(PENALTIES, key=missed)
    coefficients, _ = ridge(rows, centred, weights, penalty)
    measured = len({row["pass"] for row in read()}) * STEPS * bead_model()["timestep"]
    scaled = errors * math.sqrt(measured / EVALUATION_TAU)
    explained = 1.0 - missed(penalty) / float(np.sum(weights * centred**2))
    level = centre + CONSTANT * float(coefficients[-1])
    return Truth(
        dict(zip(names, values.tolist(), strict=True)), coefficients[:-1], level,
        dict(zip(names, scaled.tolist(), strict=True)), float(np.median(scaled)), explained, float(penalty),
    )  # fmt: skip


def batch_size(done: int) -> int:
    """Return how many evaluations come next."""
    return BATCH if done < COMPARED_AT else LATER_BATCH


def settings(done: int, acquisition: str = "noisy_ei", repeats: int = 1) -> Settings:
    """Settings of an arm after `done` evaluations; repeats: of a batch of five."""
    batch = batch_size(done)
    return Settings(batch, repeats * batch // BATCH, acquisition, draws=64, parents=6, candidates=CANDIDATES)


@dataclass(frozen=True)
class Arm:
    """choose: (observations, pool, rng) -> sequences of the next batch; by_model: whether a model recommends."""

    choose: Callable[[Sequence[Observation], Sequence[str], np.random.Generator], list[str]]
    by_model: bool
    free: bool = False


def at_random(known: Sequence[Observation], pool: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Draw new sequences."""
    seen, batch = {one.sequence for one in known}, batch_size(len(known))
    if not pool:
        drawn: dict[str, None] = {}
        while len(drawn) < batch:
            one = random_sequence(LENGTH, COUNT_B, rng)
            if one not in seen:
                drawn[one] = None
        return list(drawn)
    fresh = [one for one in pool if one not in seen]
    return [fresh[int(place)] for place in rng.choice(len(fresh), batch, replace=False)]


def by_model(**about: object) -> Callable[..., list[str]]:
    """Return what chooses by the Gaussian process."""

    def choose(known: Sequence[Observation], pool: Sequence[str], rng: np.random.Generator) -> list[str]:
        found = propose(known, settings(len(known), **about), rng, pool or None)
        return [one.sequence for one in found.proposals]

    return choose


def tpe(known: Sequence[Observation], pool: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Ask optuna's TPE for beads one by one, and take the nearest new row: it knows no composition."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {f"bead{place}": optuna.distributions.CategoricalDistribution(["A", "B"]) for place in range(LENGTH)}
    sampler = optuna.samplers.TPESampler(seed=int(rng.integers(2**31)), n_startup_trials=WARM_UP, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for one in known:
        beads = {f"bead{place}": bead for place, bead in enumerate(one.sequence)}
        study.add_trial(optuna.create_trial(params=beads, distributions=space, value=one.value))
    fresh = dict.fromkeys(one for one in pool if one not in {row.sequence for row in known})
    chosen = []
    for _ in range(batch_size(len(known))):
        asked = study.ask(space)
        text = "".join(asked.params[f"bead{place}"] for place in range(LENGTH))
        nearest = min(fresh, key=lambda one: min(distance(one, text), distance(one, text[::-1])))
        del fresh[nearest]
        chosen.append(nearest)
    return chosen


def distance(first: str, second: str) -> int:
    """Return the number of beads that differ."""
    return sum(one != other for one, other in zip(first, second, strict=True))


ARMS = {
    "random": Arm(at_random, by_model=False),
    "random_model": Arm(at_random, by_model=True),
    "tpe": Arm(tpe, by_model=False),
    "noisy_ei": Arm(by_model(), by_model=True),
    "thompson": Arm(by_model(acquisition="thompson"), by_model=True),
    "free_random": Arm(at_random, by_model=False, free=True),
    "free_noisy_ei": Arm(by_model(), by_model=True, free=True),
}


def recommended(known: Sequence[Observation], arm: Arm) -> str:
    """Return the sequence with the largest expected value by the model, or with the largest mean of its values."""
    if arm.by_model:
        fit = Fit.of(known)
        return fit.sequences[fit.order[0]]
    names, values, _, _ = merged([(one.sequence, one.value, one.error) for one in known])
    return names[int(values.argmax())]


def replay(arm: Arm, seed: int) -> dict[str, str]:
    """Return the recommended sequence after each number of evaluations in `LOOKED_AT`."""
    rng = np.random.default_rng([seed, 20_261])  # arms of one seed begin with the same sequences and noise
    known: list[Observation] = []
    rows = [one for one, _ in planned()]

    def evaluate(batch: Sequence[str]) -> None:
        for one in batch:
            error = truth().error(one)
            value = truth().value(one, free=arm.free) + error * rng.standard_normal()
            known.append(Observation(one, value, error, "warm_up/0"))

    if arm.free:
        evaluate([random_sequence(LENGTH, COUNT_B, rng) for _ in range(WARM_UP)])
    else:
        start = [one for one, family in planned() if family == "random"]
        evaluate([start[int(place)] for place in rng.choice(len(start), WARM_UP, replace=False)])
    said = {str(WARM_UP): recommended(known, arm)}
    while len(known) < MOST:
        evaluate(arm.choose(known, [] if arm.free else rows, rng))
        if len(known) in LOOKED_AT:
            said[str(len(known))] = recommended(known, arm)
    return said


def run(names: Sequence[str], seeds: int) -> None:
    """Add the replays that are missing, seed by seed, so that arms have equally many at any time."""
    REPLAYS.mkdir(parents=True, exist_ok=True)
    done = {name: set(load(name)) for name in names}
    for seed in range(seeds):
        for name in names:
            if seed not in done[name]:
                said = replay(ARMS[name], seed)
                with path(name).open("a") as stream:
                    stream.write(json.dumps({"seed": seed, "recommended": said}) + "\n")


def path(name: str) -> Path:
    """Return where the replays of an arm on the table as it is are."""
    return REPLAYS / f"{digest()}_{name}.jsonl"


@lru_cache(maxsize=1)
def digest() -> str:
    """Return eight digits of the digest of the table."""
    return file_digest(TABLE)[:8]


def load(name: str) -> dict[int, dict[str, str]]:
    """Return the replays of an arm by seed."""
    there = path(name)
    lines = [json.loads(line) for line in there.read_text().splitlines()] if there.exists() else []
    return {one["seed"]: one["recommended"] for one in lines}


def summary() -> dict[str, object]:
    """Return regret curves of each arm, and comparisons with random search at 35 evaluations."""
    about = truth()
    best = max(about.measured, key=lambda one: about.measured[one])
    top_of_all = best_of_all()
    tops = {False: about.measured[best], True: about.by_surrogate(top_of_all)}
    replays = {name: runs for name in ARMS if (runs := load(name))}
    found = {name: curve(runs, tops[ARMS[name].free], free=ARMS[name].free) for name, runs in replays.items()}
    versus = {
        name: compared(runs, replays["free_random" if ARMS[name].free else "random"], free=ARMS[name].free)
        for name, runs in replays.items()
        if name not in {"random", "free_random"}
    }
    families = dict(planned())
    return {
        "table": {
            "digest": digest(),
            "rows": len(about.measured),
            "random": sum(families[one] == "random" for one in about.measured),
            "structured": sum(families[one] == "structured" for one in about.measured),
            "median_error_of_a_row": float(np.median([error for _, error in radii(TABLE).values()])),
            "evaluation_tau": EVALUATION_TAU,
            "median_error_of_an_evaluation": about.own_error,
            "best_row": blocks(best),
            "its_value": tops[False],
        },
        "surrogate": {
            "explained_variance_of_prediction": about.explained,
            "penalty": about.penalty,
            "best_of_all": blocks(top_of_all),
            "its_value_of_all": tops[True],
        },
        "arms": found,
        "against_random_at_35": versus,
        "paper": PAPER,
        "best_known_before": KNOWN,
    }


def best_of_all() -> str:
    """Climb from block sequences and the rows to the sequence that the surrogate thinks largest, by exchanges."""
    a = LENGTH - COUNT_B
    starts = [expand(f"A{i}B{COUNT_B}A{a - i}") for i in range(1, a)] + list(truth().measured)
    value = truth().by_surrogate
    return max((climbed(forward(one)) for one in sorted(starts, key=value)[-20:]), key=value)


def climbed(sequence: str) -> str:
    """Exchange beads as long as that makes the value larger."""
    while True:
        near = [
            forward(sequence[:i] + sequence[j] + sequence[i + 1 : j] + sequence[i] + sequence[j + 1 :])
            for i in range(len(sequence))
            for j in range(i + 1, len(sequence))
            if sequence[i] != sequence[j]
        ]
        best = max(near, key=truth().by_surrogate)
        if truth().by_surrogate(best) <= truth().by_surrogate(sequence):
            return sequence
        sequence = best


def curve(runs: dict[int, dict[str, str]], top: float, *, free: bool) -> dict[str, object]:
    """Return mean regret with its standard error and quartiles, and what was found at the end."""
    rows = []
    for count in LOOKED_AT:
        regret = np.array([top - truth().value(run[str(count)], free=free) for run in runs.values()])
        low, middle, high = np.quantile(regret, [0.1, 0.5, 0.9])
        rows.append({
            "evaluations": count, "mean": float(regret.mean()), "error": float(stats.sem(regret)),
            "q10": float(low), "median": float(middle), "q90": float(high),
        })  # fmt: skip
    last, families = [run[str(MOST)] for run in runs.values()], dict(planned())
    return {
        "replays": len(runs),
        "regret": rows,
        "at_100": {
            "within_0.002_of_the_best": float(np.mean([top - truth().value(one, free=free) < NEAR for one in last])),
            "structured": float(np.mean([families.get(one) == "structured" for one in last])),
            "at_most_four_blocks": float(np.mean([count_blocks(one) <= 4 for one in last])),
            "one_block_of_B_between_A": float(np.mean([count_blocks(one) == 3 and one[0] == "A" for one in last])),
            "most_often": blocks(max(set(last), key=last.count)),
        },
    }


def count_blocks(sequence: str) -> int:
    """Return the number of blocks."""
    return 1 + sum(one != other for one, other in pairwise(sequence))


def compared(runs: dict[int, dict[str, str]], others: dict[int, dict[str, str]], *, free: bool) -> dict[str, float]:
    """Compare with random search, seed by seed: Wilcoxon's signed ranks, one-sided."""
    seeds, at = sorted(set(runs) & set(others)), str(COMPARED_AT)
    gain = np.array(
        [truth().value(runs[seed][at], free=free) - truth().value(others[seed][at], free=free) for seed in seeds]
    )
    p_value = stats.wilcoxon(gain, alternative="greater").pvalue if np.any(gain) else 1.0
    return {"seeds": len(seeds), "mean_gain": float(gain.mean()), "p_value": float(p_value)}


def draw(found: dict[str, object], place: Path) -> None:
    """Mean regret of each arm within the table, with a band of two standard errors."""
    colours = dict(zip(ARMS, (BLUE, "#56B4E9", "#009E73", VERMILION, "#CC79A7"), strict=False))
    with saved_figure(place) as figure:
        axes = figure.subplots()
        for name, arm in found.items():
            if not ARMS[name].free:
                count, mean, error = np.array([[row[key] for key in ("evaluations", "mean", "error")]
                                               for row in arm["regret"]]).T  # fmt: skip
                label = f"{name.replace('_', ' ')} ({arm['replays']} replays)"
                axes.plot(count, 1000 * mean, "o-", color=colours[name], label=label)
                low, high = 1000 * (mean - 2 * error), 1000 * (mean + 2 * error)
                axes.fill_between(count, low, high, color=colours[name], alpha=0.2, linewidth=0)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("evaluations")
        axes.set_ylabel("regret (0.001 \N{GREEK SMALL LETTER SIGMA}), band: mean ± 2 s.e.")
        axes.legend(loc="upper right")


def campaign(root: Path) -> dict[str, object]:
    """Return what a finished campaign found, and how its rounds went."""
    compared, rounds = (
        json.loads((root / "results" / stage / "outcome.json").read_text())["result"] for stage in ("compare", "rounds")
    )
    about = {name: rounds[name] for name in ("evaluations", "repeats", "rounds", "failed")}
    return {**about, "compare": compared, "first_of_the_ranking": rounds["ranked"][:5]}


def main() -> None:
    """Replay what is missing, and write the summary and the curves."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--seeds", type=int, default=300)
    given.add_argument("--arm", action="append", choices=ARMS)
    given.add_argument("--live", type=Path, help="a finished campaign, whose answer is kept beside the replays")
    given.add_argument("--agent", type=Path, help="a finished campaign in which an agent proposed")
    args = given.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run(args.arm or list(ARMS), args.seeds)
    kept = json.loads((RESULTS / "sequence_bo.json").read_text())["result"]
    lives = {"live_campaign": args.live, "agent_campaign": args.agent}
    found = summary() | {name: campaign(root) if root else kept.get(name) for name, root in lives.items()}
    draw(found["arms"], RESULTS / "sequence_bo.svg")
    print(record("sequence_bo", found))


if __name__ == "__main__":
    main()
