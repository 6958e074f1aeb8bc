"""Many tasks at once at the endpoint of a packaged toy agent, and kills of its server at random moments.

Each kill is `kill -9` on the server while tasks wait and work, at a moment drawn by seed; then it is started again.
What must hold: every task that a caller knows of ends as completed, with its own answer. Wall times are those of a
machine with the load that is given beside them.

    PYTHONPATH=tests/toy python bench/a2a_endpoint.py --kills 5
"""

import argparse
import asyncio
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import toy_build
from record import record
from toy_endpoint import BINDINGS, Endpoint, answer, client, got, request, state, task_of

from sophron.agentbuild.release import package

AT_ONCE = 50
A_KILL = 8
WAIT_S = 0.5


def children_cpu_s() -> float:
    """CPU seconds of servers that have ended, without the processes of their tasks."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def many(endpoint: Endpoint) -> dict:
    """Fifty tasks of no work, over both bindings."""
    of = [await client(endpoint.url, "alice", binding) for binding in BINDINGS]
    begun = time.monotonic()
    asked = [task_of(of[n % len(of)], request({"terms": [n, 1]})) for n in range(AT_ONCE)]
    tasks = await asyncio.gather(*asked)
    right = sum(answer(task)["sum"] == n + 1 for n, task in enumerate(tasks))
    return {"tasks": AT_ONCE, "right": right, "wall_s": round(time.monotonic() - begun, 2)}


async def begin(endpoint: Endpoint) -> list[str]:
    """Ids of tasks that are accepted and not waited for."""
    of = await client(endpoint.url, "alice", "JSONRPC")
    asked = [request({"terms": [n, 1], "wait_s": WAIT_S}, at_once=True) for n in range(A_KILL)]
    return [(await task_of(of, one))["id"] for one in asked]


async def ended(endpoint: Endpoint, tasks: list[str]) -> list[dict]:
    """All of them, when all have ended."""
    of = await client(endpoint.url, "alice", "HTTP+JSON")
    while True:
        found = [await got(of, task) for task in tasks]
        if all(state(task) not in ("submitted", "working") for task in found):
            return found
        await asyncio.sleep(0.2)


def killed(endpoint: Endpoint, rng: random.Random) -> dict:
    """One kill."""
    tasks = asyncio.run(begin(endpoint))
    after_s = rng.uniform(0.0, A_KILL * WAIT_S / 2)
    time.sleep(after_s)
    endpoint.kill()
    begun = time.monotonic()
    endpoint.start()
    answering_s = time.monotonic() - begun
    found = asyncio.run(ended(endpoint, tasks))
    return {
        "after_s": round(after_s, 2),
        "taken_up_again": sum("taken up again" in str(task["history"]) for task in found),
        "right": sum(state(task) == "completed" and answer(task)["sum"] == n + 1 for n, task in enumerate(found)),
        "lost": sum(state(task) != "completed" for task in found),
        "restart_s": round(answering_s, 2),
    }


def main() -> int:
    """Measure, write the record; 1 where a task was lost or answered wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=20261122)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(package.release(toy_build.make(Path(folder) / "build"), "v1.0").folder)
        endpoint.start()
        at_once = asyncio.run(many(endpoint))
        endpoint.stop()
        at_once["server_cpu_s"] = round(children_cpu_s(), 2)
        endpoint.start()
        rng = random.Random(args.seed)
        kills = [killed(endpoint, rng) for _ in range(args.kills)]
        endpoint.stop()
    load = [round(one, 1) for one in os.getloadavg()]
    about = {"load": load, "seed": args.seed, "tasks_a_kill": A_KILL}
    record("a2a_endpoint", about | {"at_once": at_once, "kills": kills})
    lost = at_once["right"] != AT_ONCE or any(one["right"] != A_KILL for one in kills)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
