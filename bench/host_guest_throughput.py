"""A window step of CB7 with a guest in OBC2 against the same system stepped by a bare OpenMM script, taking turns.

    python bench/host_guest_throughput.py DATA [--rounds N] [--steps N]

DATA: the folder with `sampl4_cb7`. Times are of this process on the CPU, one thread, so that other load counts little;
the window step samples every 250 steps and keeps its segment, as production does.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from record import record

from sophron.science.host_guest.preparation.complex_builder import build
from sophron.science.host_guest.protocols import apr_setup, restrained_system
from sophron.science.host_guest.sampling import equilibration, replica_exchange_block, window_sampling
from sophron.science.host_guest.sampling.openmm_system import openmm, platform
from sophron.science.host_guest.systems import data, tasks

GUEST = 5
T = 298.15
INTERVAL = 250


def bare(made: apr_setup.Experiment, window: int, state: window_sampling.State) -> tuple[object, object]:
    """What a script of a few lines would run."""
    module = openmm()
    integrator = module.LangevinMiddleIntegrator(T, equilibration.FRICTION_PER_PS, equilibration.TIME_STEP_PS)
    chosen, properties = platform("CPU")
    context = module.Context(made.system, integrator, chosen, properties)
    context.setPositions(state.positions_a * 0.1)
    context.setVelocitiesToTemperature(T, 3)
    restrained_system.apply(context, made.windows[window])
    return context, integrator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=2500)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        inputs = Path(work) / "inputs"
        inputs.mkdir()
        found = data.benchmark("sampl4-cb7")
        tasks.write(found, GUEST, args.data, inputs, "obc2")
        built = build(inputs, Path(work) / "built")
        begun, _ = equilibration.minimise(built, equilibration.start(built), "CPU")
        made = apr_setup.prepare(built, begun, apr_setup.Protocol(), T, locked=True)
        window = len(apr_setup.Protocol().strengths)
        engine = window_sampling.Engine(made, asked="CPU")
        plan = window_sampling.Plan(args.steps // INTERVAL, INTERVAL, 0, args.steps // INTERVAL)
        state = window_sampling.State(made.positions_a)
        context, integrator = bare(made, window, state)
        integrator.step(200)
        ours: list[float] = []
        theirs: list[float] = []
        for turn in range(args.rounds):
            for ours_now in (turn % 2 == 0, turn % 2 == 1):  # who is first changes, for the machine is not idle
                at = time.process_time()
                if ours_now:
                    where = Path(work) / f"turn{turn}"
                    replica_exchange_block.run(
                        engine, range(window, window + 1), [state], plan, seed=turn + 1, folder=where
                    )
                else:
                    integrator.step(args.steps)
                    context.getState(getPositions=True)
                (ours if ours_now else theirs).append(time.process_time() - at)
    ratios = np.array(theirs) / np.array(ours)
    nanoseconds = args.steps * equilibration.TIME_STEP_PS * 1e-3
    record(
        "host_guest_throughput",
        {
            "guest": found.guests[GUEST],
            "particles": len(made.positions_a),
            "rounds": args.rounds,
            "steps": args.steps,
            "window_cpu_s": [round(each, 3) for each in ours],
            "bare_cpu_s": [round(each, 3) for each in theirs],
            "ratio_median": round(statistics.median(ratios), 4),
            "ratio_least": round(float(ratios.min()), 4),
            "window_ns_per_cpu_day": round(nanoseconds / statistics.median(ours) * 86400, 1),
        },
    )


if __name__ == "__main__":
    main()
