"""Eight steps reserve against one cap at once; what a reservation and a replayed call cost.

Run as: python bench/ledger.py --lines 10000
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

from record import record

from sophron.agents.documents.redact import Redactor
from sophron.agents.gateway.audit import Audit
from sophron.agents.gateway.gateway import Gateway, load_catalogue
from sophron.agents.gateway.ledger import FILE, BudgetError, Cap, Caps, Ledger
from sophron.interfaces.model_backend import Message, Request, Response, Text, Usage

CAP = 2.0
PRICE = 0.003
STEPS = 8
UNBOUND = Caps(Cap(), Cap(), Cap())
MOST_REPLAY_MS = 5
SCHEMA = {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}


def spend(root: Path, step: str) -> None:
    """One step: reserve and settle below the reservation until the cap says no; print how often it got through."""
    ledger, got = Ledger(root, Caps(Cap(), Cap(dollars=CAP), Cap())), 0
    try:
        while True:
            ledger.settle(ledger.reserve(step, "stub", 1000, PRICE), Usage(500, 100), PRICE * 0.9)
            got += 1
    except BudgetError:
        print(got)


def parallel(root: Path) -> dict[str, object]:
    """Eight such steps; the most that was ever reserved or spent at once."""
    begun = time.perf_counter()
    command = [sys.executable, __file__, "--spend", str(root)]
    steps = [subprocess.Popen([*command, f"step-{n}"], stdout=subprocess.PIPE, text=True) for n in range(STEPS)]
    got = [int(step.communicate()[0]) for step in steps]
    held: dict[str, float] = {}
    for_all = most = 0.0
    for line in map(json.loads, (root / FILE).read_text().splitlines()):
        for_all += line["dollars"] - held.pop(line["id"], 0.0)
        if line["event"] == "reserve":
            held[line["id"]] = line["dollars"]
        most = max(most, for_all)
    return {
        "steps": STEPS,
        "cap_dollars": CAP,
        "most_dollars_at_once": round(most, 6),
        "calls": sum(got),
        "calls_of_a_step": got,
        "wall_s": round(time.perf_counter() - begun, 2),
    }


def costs(root: Path, lines: int) -> dict[str, object]:
    """A ledger of `lines` lines: the first sum of a fresh process with and without kept sums, then a reservation."""
    ledger = Ledger(root, UNBOUND)
    for number in range(lines // 2):
        ledger.settle(ledger.reserve(f"step-{number % 100}", "stub", 1000, PRICE), Usage(500, 100), PRICE)
    result = {"lines": lines, "first_sum_ms": _taken_ms(lambda: Ledger(root, UNBOUND).used())}
    for path in (root / FILE.parent).glob("*.sums.json"):
        path.unlink()
    result["first_sum_without_kept_sums_ms"] = _taken_ms(lambda: Ledger(root, UNBOUND).used())
    times = [_taken_ms(lambda: ledger.release(ledger.reserve("step-1", "stub", 1, 0.0))) for _ in range(100)]
    return result | {"reserve_and_release_ms": round(median(times), 3)}


def replayed(root: Path, calls: int = 500) -> dict[str, float]:
    """Milliseconds a replayed call, through the gateway, in one step with `calls` recorded answers."""
    asked = [
        Request("step", "report", turn, "Be brief.", (Message("user", (Text(f"{turn} " + 4000 * "x"),)),), SCHEMA)
        for turn in range(calls)
    ]
    catalogue, audit = load_catalogue(root), Audit(root, Redactor())
    response = Response((Text('{"ok": true}' + 2000 * " "),), "end", Usage(1000, 500), "stub", "stub")
    ledger = Ledger(root, UNBOUND)
    for one in asked:
        audit.answered(one, catalogue.get("claude-haiku"), response, 1.0, 0.001)
    gateway = Gateway(catalogue, ledger, Audit(root, Redactor()), backend="replay")
    first = _taken_ms(lambda: gateway.ask(asked[0], rank=3, role="work"))
    times = [_taken_ms(lambda one=one: gateway.ask(one, rank=3, role="work")) for one in asked[1:]]
    return {
        "answers": calls,
        "first_ms": first,
        "median_ms": round(median(times), 3),
        "mean_ms": sum(times) / len(times),
    }


def _taken_ms(call) -> float:
    begun = time.perf_counter()
    call()
    return round(1000 * (time.perf_counter() - begun), 3)


def main() -> int:
    """Measure, write the record; 1 where a cap was overspent or a replayed call is slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--spend", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.spend:
        spend(Path(args.spend[0]), args.spend[1])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = str(Path(folder) / "state")
        result = {
            "parallel": parallel(Path(folder) / "parallel"),
            "costs": costs(Path(folder) / "costs", args.lines),
            "replay": replayed(Path(folder) / "replay"),
        }
    print(json.dumps(result, indent=2))
    record("ledger", result)
    within = result["parallel"]["most_dollars_at_once"] <= CAP
    return 0 if within and result["replay"]["mean_ms"] < MOST_REPLAY_MS else 1


if __name__ == "__main__":
    sys.exit(main())
