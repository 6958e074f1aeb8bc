"""1,000 requests through the gateway and the real Anthropic client, while one attempt in five meets a fault.

None may be lost, and none may be charged twice: each attempt is reserved once and closed once, what the service
answered is counted as it was counted there, and what it may have worked on is never counted below that.

Run as: python bench/model_faults.py --requests 1000
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from record import record

from sophron.agents.documents.answers import AgentError
from sophron.agents.documents.redact import Redactor
from sophron.agents.gateway.audit import Audit, path_of
from sophron.agents.gateway.gateway import Catalogue, Gateway, load_catalogue
from sophron.agents.gateway.ledger import FILE, Cap, Caps, Ledger
from sophron.interfaces.model_backend import Message, Request, Text

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "agents" / "loopback"))
from loopback_anthropic import serve_anthropic
from loopback_peer import Peer, seeded

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["ok"],
    "properties": {"ok": {"type": "boolean"}},
}
STEPS = 10  # the requests are of so many steps, as in a campaign
RATE = 0.2
TIMEOUT_S = 0.5
UNBOUND = Caps(Cap(), Cap(), Cap())


def asked(number: int) -> Request:
    """One request among many, each with its own text."""
    messages = (Message("user", (Text(f"Request {number}: is it done?"),)),)
    return Request(
        f"step-{number % STEPS}", "report", 1 + number // STEPS, "Be brief.", messages, SCHEMA, max_tokens=200
    )


def closings(root: Path) -> tuple[dict[str, int], Counter[str]]:
    """Reservation id -> how often it was closed; and how many ended in which way."""
    lines = [json.loads(line) for line in (root / FILE).read_text().splitlines()]
    closed = {line["id"]: 0 for line in lines if line["event"] == "reserve"}
    for line in lines:
        if line["event"] != "reserve":
            closed[line["id"]] += 1
    return closed, Counter(line["event"] for line in lines)


def run(root: Path, peer: Peer, requests: int) -> dict[str, object]:
    """Ask them all; what was lost, and what ledger, audits and service say of it."""
    os.environ |= {"ANTHROPIC_BASE_URL": peer.url, "ANTHROPIC_API_KEY": "loopback-no-real-key"}
    model = replace(load_catalogue(root).get("claude-haiku"), timeout_s=TIMEOUT_S)
    ledger = Ledger(root, UNBOUND)
    gateway = Gateway(Catalogue((model,)), ledger, Audit(root, Redactor()), sleep=lambda _: None)
    lost = []
    for number in range(requests):
        try:
            gateway.ask(asked(number), rank=3, role="work")
        except AgentError as failure:
            lost.append(failure.reason)
    closed, ends = closings(root)
    calls = peer.asked("/messages")
    audited = sum(len(path_of(root, f"step-{number}").read_text().splitlines()) for number in range(STEPS))
    return {
        "requests": requests,
        "attempts": len(calls),
        "faults": dict(sorted(Counter(seen.fault for seen in calls if seen.fault).items())),
        "lost": len(lost),
        "reserved": len(closed),
        "audited": audited,
        "closed_other_than_once": sum(1 for times in closed.values() if times != 1),
        "ends": dict(sorted(ends.items())),
        "tokens_counted": ledger.used()["campaign"]["tokens"],
        "tokens_answered": sum(sum(seen.usage) for seen in calls if seen.answered and not seen.fault),
        "tokens_worked_on": sum(sum(seen.usage) for seen in calls),
    }


def main() -> int:
    """Run, write the record; 1 where a request was lost or a charge is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serve_anthropic(seeded(7, RATE)) as peer:
        os.environ["XDG_STATE_HOME"] = str(Path(folder) / "state")
        begun, used = time.perf_counter(), time.process_time()
        result = run(Path(folder) / "campaign", peer, args.requests)
        result["wall_s"] = round(time.perf_counter() - begun, 1)
        # The service runs in threads of this process.
        result["cpu_ms_a_request_with_the_service"] = round(1000 * (time.process_time() - used) / args.requests, 1)
    print(json.dumps(result, indent=2))
    record("model_faults", result)
    right = (
        result["lost"] == result["closed_other_than_once"] == 0
        and result["attempts"] == result["reserved"] == result["audited"]
        and result["ends"]["settle"] == args.requests
        and result["tokens_counted"] >= result["tokens_worked_on"]
    )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
