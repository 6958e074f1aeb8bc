"""Regret of searches for the best sequence: Bayesian optimisation, random search and TPE, replayed on a table.

    python bench/sequence_bo.py [--seeds N] [--arm ARM]... [--live CAMPAIGN]

The table (`bench/sequence_table.py`) has measured values with errors. An arm may propose rows of the table only. An
evaluation is the row's value by the surrogate plus noise: that of the row's own error, for a run of 25,000 tau.

The surrogate is ridge regression on products of pairs of beads and features of blocks, fitted to the table with weights
of its errors, at the penalty that predicts left-out rows best. It is linear in these and is not the Gaussian process
that searches, though features of blocks are known to both. Arms `free_*` may propose any of the 92,504 sequences, which
this surrogate then answers for.

Regret is the surrogate's value of the best row (of all sequences, for `free_*`) less that of the sequence recommended.
Each replay is written as soon as it is there, under the digest of the table, so that a run that is stopped goes on
where it was. The prior of the hyperparameters was written down before there was a table, and neither it nor the
settings of the arms were tuned on one; `--chain tuned`, of 16 beads and another interaction, is where to try others.
"""

import argparse
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from record import record
from scipy import stats
from sequence_table import CHAINS, DATA, read

from sophron.records.digests import file_digest
from sophron.science.sequence_bo.features import block_features
from sophron.science.sequence_bo.gaussian_process import merged
from sophron.science.sequence_bo.proposals import Fit, Observation, Settings, propose
from sophron.science.sequence_bo.sequences import blocks, expand, forward, random_sequence

REPLAYS = Path(tempfile.gettempdir()) / "sophron-sequence-replays"
EVALUATION_TAU = 25_000.0
WARM_UP, BATCH, MOST = 20, 5, 100
LOOKED_AT = (20, 25, 30, 35, 40, 50, 60, 80, 100)
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
class Surrogate:
    """Ridge regression; errors: of an evaluation of each row; own_error: of any other sequence."""

    coefficients: np.ndarray
    level: float
    errors: dict[str, float]
    own_error: float
    explained: float
    penalty: float

    @lru_cache(maxsize=200_000)  # noqa: B019 - one surrogate a run
    def value(self, sequence: str) -> float:
        """Return the radius of a sequence in sigma."""
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


def surrogate(chain: str) -> Surrogate:
    """Fit to the table; the penalty with the least weighted error of prediction, each row left out once."""
    table = read(chain)
    names, values, errors, _ = merged(
        [(row["sequence"], float(row["radius_of_gyration"]), float(row["radius_of_gyration_error"])) for row in table]
    )
    steps = defaultdict(float)
    for row in table:
        steps[row["sequence"]] += float(row["steps"])
    weights = errors**-2.0 / np.mean(errors**-2.0)
    raw = np.array([columns(name) for name in names])
    rows, centre = np.column_stack([raw, np.full(len(raw), CONSTANT)]), float(np.average(values, weights=weights))
    centred = values - centre

    def missed(penalty: float) -> float:
        return float(np.sum(weights * (centred - ridge(rows, centred, weights, penalty)[1]) ** 2))

    penalty = min(PENALTIES, key=missed)
    coefficients, _ = ridge(rows, centred, weights, penalty)
    timestep = CHAINS[chain]["model"]["timestep"]
    scaled = {
        name: float(error * (steps[name] * timestep / EVALUATION_TAU) ** 0.5)
        for name, error in zip(names, errors, strict=True)
    }
    explained = 1.0 - missed(penalty) / float(np.sum(weights * centred**2))
    level = centre + CONSTANT * float(coefficients[-1])
    return Surrogate(coefficients[:-1], level, scaled, float(np.median(list(scaled.values()))), explained, penalty)


def settings(acquisition: str = "noisy_ei", repeats: int = 1) -> Settings:
    """Settings of an arm."""
    return Settings(BATCH, repeats, acquisition, draws=64, parents=6, candidates=CANDIDATES)


@dataclass(frozen=True)
class Arm:
    """choose: (observations, pool, rng) -> sequences of the next batch; by_model: whether a model recommends."""

    choose: Callable[[Sequence[Observation], Sequence[str], np.random.Generator], list[str]]
    by_model: bool
    free: bool = False


def at_random(known: Sequence[Observation], pool: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Draw new sequences."""
    seen = {one.sequence for one in known}
    if not pool:
        length, count_b = len(known[0].sequence), known[0].sequence.count("B")
        drawn: dict[str, None] = {}
        while len(drawn) < BATCH:
            one = random_sequence(length, count_b, rng)
            if one not in seen:
                drawn[one] = None
        return list(drawn)
    fresh = [one for one in pool if one not in seen]
    return [fresh[int(place)] for place in rng.choice(len(fresh), min(BATCH, len(fresh)), replace=False)]


def by_model(**about: object) -> Callable[..., list[str]]:
    """Return what chooses by the Gaussian process."""
    chosen = settings(**about)

    def choose(known: Sequence[Observation], pool: Sequence[str], rng: np.random.Generator) -> list[str]:
        limited = pool or None
        return [one.sequence for one in propose(known, chosen, rng, limited).proposals]

    return choose


def tpe(known: Sequence[Observation], pool: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Ask optuna's TPE for beads one by one, and take the nearest new row: it knows no composition."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    length = len(known[0].sequence)
    space = {f"bead{place}": optuna.distributions.CategoricalDistribution(["A", "B"]) for place in range(length)}
    sampler = optuna.samplers.TPESampler(seed=int(rng.integers(2**31)), n_startup_trials=WARM_UP, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for one in known:
        beads = {f"bead{place}": bead for place, bead in enumerate(one.sequence)}
        study.add_trial(optuna.create_trial(params=beads, distributions=space, value=one.value))
    fresh = dict.fromkeys(one for one in pool if one not in {row.sequence for row in known})
    chosen = []
    for _ in range(min(BATCH, len(fresh))):
        asked = study.ask(space)
        text = "".join(asked.params[f"bead{place}"] for place in range(length))
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
    "noisy_ei_no_repeats": Arm(by_model(repeats=0), by_model=True),
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


def replay(arm: Arm, truth: Surrogate, pool: Sequence[str], seed: int, chain: str) -> dict[str, str]:
    """Return the recommended sequence after each number of evaluations in `LOOKED_AT`."""
    rng = np.random.default_rng([seed, 20_261])  # arms of one seed begin with the same sequences and noise
    known: list[Observation] = []

    def evaluate(batch: Sequence[str]) -> None:
        for one in batch:
            error = truth.error(one)
            known.append(Observation(one, truth.value(one) + error * rng.standard_normal(), error, "warm_up/0"))

    about = CHAINS[chain]
    start = [one for one, family in pool_families(chain) if family == "random"]
    if arm.free:
        evaluate([random_sequence(about["length"], about["count_b"], rng) for _ in range(WARM_UP)])
    else:
        evaluate([start[int(place)] for place in rng.choice(len(start), WARM_UP, replace=False)])
    said = {str(WARM_UP): recommended(known, arm)}
    while len(known) < MOST:
        evaluate(arm.choose(known, [] if arm.free else pool, rng))
        if len(known) in LOOKED_AT:
            said[str(len(known))] = recommended(known, arm)
    return said


@lru_cache(maxsize=4)
def pool_families(chain: str) -> tuple[tuple[str, str], ...]:
    """Return the rows of the table with their families."""
    return tuple(dict.fromkeys((row["sequence"], row["family"]) for row in read(chain)))


def run(names: Sequence[str], seeds: int, chain: str, share: tuple[int, int]) -> None:
    """Add the replays that are missing, seed by seed, so that arms have equally many at any time."""
    truth, pool = surrogate(chain), [one for one, _ in pool_families(chain)]
    REPLAYS.mkdir(parents=True, exist_ok=True)
    done = {name: set(load(name, chain)) for name in names}
    for seed in range(share[0], seeds, share[1]):
        for name in names:
            if seed not in done[name]:
                said = replay(ARMS[name], truth, pool, seed, chain)
                with path(name, chain).open("a") as stream:
                    stream.write(json.dumps({"seed": seed, "recommended": said}) + "\n")


def path(name: str, chain: str) -> Path:
    """Return where the replays of an arm on the table as it is are."""
    return REPLAYS / f"{chain}_{digest(chain)}_{name}.jsonl"


@lru_cache(maxsize=4)
def digest(chain: str) -> str:
    """Return eight digits of the digest of the table."""
    return file_digest(DATA / f"sequences_{chain}.csv")[:8]


def load(name: str, chain: str) -> dict[int, dict[str, str]]:
    """Return the replays of an arm by seed."""
    there = path(name, chain)
    lines = [json.loads(line) for line in there.read_text().splitlines()] if there.exists() else []
    return {one["seed"]: one["recommended"] for one in lines}


def summary(chain: str) -> dict[str, object]:
    """Return regret curves of each arm, and comparisons with random search at 35 evaluations."""
    truth, pool = surrogate(chain), [one for one, _ in pool_families(chain)]
    best = max(pool, key=truth.value)
    tops = {False: truth.value(best), True: truth.value(best_of_all(truth, chain))}
    replays = {name: load(name, chain) for name in ARMS}
    found: dict[str, object] = {}
    for name, runs in replays.items():
        if runs:
            found[name] = curve(runs, truth, tops[ARMS[name].free])
    versus = {name: compared(runs, replays["free_random" if ARMS[name].free else "random"], truth)
              for name, runs in replays.items() if runs and name not in {"random", "free_random"}}  # fmt: skip
    errors = [float(row["radius_of_gyration_error"]) for row in read(chain)]
    return {
        "chain": chain,
        "table": {
            "digest": digest(chain),
            "rows": len(pool),
            "random": sum(family == "random" for _, family in pool_families(chain)),
            "structured": sum(family == "structured" for _, family in pool_families(chain)),
            "median_error_of_a_row": float(np.median(errors)),
            "evaluation_tau": EVALUATION_TAU,
            "median_error_of_an_evaluation": truth.own_error,
        },
        "surrogate": {
            "explained_variance_of_prediction": truth.explained,
            "penalty": float(truth.penalty),
            "best_row": blocks(best),
            "its_value": truth.value(best),
            "best_of_all": blocks(best_of_all(truth, chain)),
            "its_value_of_all": tops[True],
        },
        "arms": found,
        "against_random_at_35": versus,
        "paper": PAPER,
        "best_known_here": KNOWN,
    }


@lru_cache(maxsize=2)
def best_of_all(truth: Surrogate, chain: str) -> str:
    """Climb from block sequences and the rows to the sequence with the largest value, by exchanges of two beads."""
    about = CHAINS[chain]
    a, b = about["length"] - about["count_b"], about["count_b"]
    starts = [expand(f"A{i}B{b}A{a - i}") for i in range(1, a)] + [one for one, _ in pool_families(chain)]
    return max((climbed(forward(one), truth) for one in sorted(starts, key=truth.value)[-20:]), key=truth.value)


def climbed(sequence: str, truth: Surrogate) -> str:
    """Exchange beads as long as that makes the value larger."""
    while True:
        near = [
            forward(sequence[:i] + sequence[j] + sequence[i + 1 : j] + sequence[i] + sequence[j + 1 :])
            for i in range(len(sequence))
            for j in range(i + 1, len(sequence))
            if sequence[i] != sequence[j]
        ]
        best = max(near, key=truth.value)
        if truth.value(best) <= truth.value(sequence):
            return sequence
        sequence = best


def curve(runs: dict[int, dict[str, str]], truth: Surrogate, top: float) -> dict[str, object]:
    """Return mean regret with its standard error and quartiles, and what was found at the end."""
    rows = []
    for count in LOOKED_AT:
        regret = np.array([top - truth.value(run[str(count)]) for run in runs.values()])
        low, middle, high = np.quantile(regret, [0.1, 0.5, 0.9])
        rows.append({
            "evaluations": count, "mean": float(regret.mean()), "error": float(stats.sem(regret)),
            "q10": float(low), "median": float(middle), "q90": float(high),
        })  # fmt: skip
    last = [run[str(MOST)] for run in runs.values()]
    return {
        "replays": len(runs),
        "regret": rows,
        "at_100": {
            "within_0.002_of_the_best": float(np.mean([top - truth.value(one) < NEAR for one in last])),
            "at_most_four_blocks": float(np.mean([count_blocks(one) <= 4 for one in last])),
            "A_block_A_ends": float(np.mean([count_blocks(one) == 3 and one[0] == "A" for one in last])),
            "most_often": blocks(max(set(last), key=last.count)),
        },
    }


def count_blocks(sequence: str) -> int:
    """Return the number of blocks."""
    return 1 + sum(one != other for one, other in pairwise(sequence))


def compared(runs: dict[int, dict[str, str]], others: dict[int, dict[str, str]], truth: Surrogate) -> dict[str, float]:
    """Compare with random search, seed by seed: Wilcoxon's signed ranks, one-sided."""
    seeds = sorted(set(runs) & set(others))
    gain = np.array([truth.value(runs[seed]["35"]) - truth.value(others[seed]["35"]) for seed in seeds])
    p_value = stats.wilcoxon(gain, alternative="greater").pvalue if np.any(gain) else 1.0
    return {"seeds": len(seeds), "mean_gain": float(gain.mean()), "p_value": float(p_value)}


def campaign(root: Path) -> dict[str, object]:
    """Return what a finished campaign found, and how its rounds went."""
    compared, rounds = (
        json.loads((root / "results" / stage / "outcome.json").read_text())["result"] for stage in ("compare", "rounds")
    )
    about = {name: rounds[name] for name in ("evaluations", "repeats", "rounds", "failed")}
    return {**about, "compare": compared, "first_of_the_ranking": rounds["ranked"][:5]}


def main() -> None:
    """Replay what is missing, and write the summary."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seeds", type=int, default=300)
    given.add_argument("--chain", choices=CHAINS, default="judged")
    given.add_argument("--arm", action="append", choices=ARMS)
    given.add_argument("--share", type=int, nargs=2, default=(0, 1), help="this process does seeds I, I+N, ...")
    given.add_argument("--live", type=Path, help="a finished campaign, whose answer is kept beside the replays")
    args = given.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run(args.arm or list(ARMS), args.seeds, args.chain, tuple(args.share))
    if args.chain == "judged":
        live = {"live_campaign": campaign(args.live)} if args.live else {}
        print(record("sequence_bo", summary(args.chain) | live))
    else:
        print(json.dumps(summary(args.chain), indent=1))


if __name__ == "__main__":
    main()
