"""Green-Kubo analysis of one long replica: 2,000,000 samples x 6 components in under 5 s and 500 MB.

Each case runs in a fresh process: the analysis alone (read, components, autocorrelation, running integral), and the
whole stage with its plateau rule, figures and imports. The limits hold for the analysis. Peak memory is that of the
process, interpreter and libraries included.

    python bench/green_kubo_throughput.py --samples 2000000 --rounds 3
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from record import record

INTERVAL, VOLUME, TEMPERATURE = 0.02, 303.2, 0.722
LAGS = (501, 5001, 50_001)
LIMITS = {"wall_s": 5.0, "peak_mb": 500.0}


def write_stress(path: Path, samples: int) -> None:
    """Stress of a made-up liquid that relaxes in 0.5 tau."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(1)
    decay = np.exp(-INTERVAL / 0.5)
    pressure = lfilter([np.sqrt(1 - decay**2)], [1.0, -decay], rng.normal(size=(samples, 6)), axis=0)
    scalars = {"interval_tau": INTERVAL, "volume": VOLUME, "temperature_target": TEMPERATURE}
    np.savez(path, pressure=pressure, first_step=0, every_steps=4, **scalars)


def analyse(path: Path, lags: int) -> None:
    """Read in pieces, autocorrelate, integrate."""
    from sophron.science.estimators.autocorrelation import StreamedAutocorrelation
    from sophron.science.estimators.green_kubo import running_integral, stress_components
    from sophron.science.viscosity import npz_stream

    streamed = StreamedAutocorrelation(lags, 5)
    for piece in npz_stream.rows(path, "pressure", streamed.block):
        streamed.add(stress_components(piece))
    running_integral(streamed.result(), INTERVAL, VOLUME, TEMPERATURE)


def stage(path: Path, lags: int) -> None:
    """The whole stage."""
    from sophron.interfaces.kind import StepContext, UpstreamStep
    from sophron.science.viscosity.green_kubo import run

    result = {"temperature_mean": TEMPERATURE, "temperature_error": 0.001}
    step = UpstreamStep("produce", {"replica": "0"}, result, {"stress": path})
    definition = {"replicas": 1, "max_lag_tau": (lags - 1) * INTERVAL}
    run(StepContext("green_kubo", {}, definition, {"produce": [step]}, path.parent, path.parent, seed=1))


def child(case: str, path: Path, lags: int) -> None:
    """One case in this process; prints its figures as JSON."""
    began, cpu = time.perf_counter(), time.process_time()
    (analyse if case == "analysis" else stage)(path, lags)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_mb": peak}))


def measure(case: str, path: Path, lags: int, rounds: int) -> dict[str, float]:
    """Medians of time and memory over fresh processes."""
    command = [sys.executable, __file__, "--child", case, "--stress", str(path), "--lags", str(lags)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(rounds)]
    return {name: round(median(run[name] for run in runs), 3) for name in runs[0]}


def main() -> None:
    """Measure all cases and record them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", choices=["analysis", "stage"])
    parser.add_argument("--stress", type=Path)
    parser.add_argument("--lags", type=int)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.stress, options.lags)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stress.npz"
        write_stress(path, options.samples)
        cases = [(case, lags) for case in ("analysis", "stage") for lags in LAGS]
        results = [{"case": case, "lags": lags, **measure(case, path, lags, options.rounds)} for case, lags in cases]
    analyses = [result for result in results if result["case"] == "analysis"]
    met = all(result[name] < limit for result in analyses for name, limit in LIMITS.items())
    payload = {
        "samples": options.samples,
        "components": 6,
        "limits_of_the_analysis": LIMITS,
        "met": met,
        "load_average": round(os.getloadavg()[0], 1),
        "cases": results,
    }
    print(record("green_kubo_throughput", payload).read_text())


if __name__ == "__main__":
    main()
