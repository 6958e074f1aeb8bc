"""Plant errors in shipped campaigns, a reviewer's twenty first, and mutate every criterion of these: what is caught.

python bench/planted_errors.py

Writes bench/results/planted_errors.json: each error with what caught it, the hits on campaigns as they are shipped, and
for each criterion whether a wrong result fails it, with the least change that does and the planted faults that do.
"""

import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from record import record

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "toy"))

import planted_errors

from sophron.campaign.spec import mutation, pitfalls, spec
from sophron.records.files import resource


def errors(name: str) -> list[dict[str, Any]]:
    """Return each planted error with what caught it."""
    rows = []
    for one in planted_errors.listed(name):
        with TemporaryDirectory() as folder:
            said = planted_errors.caught(one, Path(folder))
        by = "schema" if "campaign.yaml:" in said else "probe"
        caught = one["caught"] in said
        rows.append(
            {"error": one["error"], "campaign": one["campaign"], "caught": caught, "by": by, "with": one["caught"]}
        )
    return rows


def campaigns() -> dict[str, dict[str, Any]]:
    """Return, for each shipped campaign, its hits, the mutation of its criteria, and faults that no criterion fails."""
    found = {}
    examples = Path(__file__).parents[1] / "examples"
    for path in [*sorted(resource("campaigns").glob("*/campaign.yaml")), *examples.glob("*/*/campaign.yaml")]:
        made = spec.load(path)
        judged = mutation.judge_all(made)
        found[path.parent.name] = {
            "hits": [one.id for one, finding in pitfalls.findings(path.parent, made) if finding.status == "hit"],
            "criteria": [asdict(one) for one in judged],
            "uncaught_faults": [fault.id for fault in mutation.uncaught(made, judged)],
        }
    return found


def main() -> int:
    """Run both and record them."""
    planted, more, shipped = errors("planted_errors"), errors("planted_errors_of_kinds"), campaigns()
    criteria = [one for about in shipped.values() for one in about["criteria"]]
    totals = {
        "errors": len(planted),
        "errors_caught": sum(one["caught"] for one in planted),
        "more_errors": len(more),
        "more_errors_caught": sum(one["caught"] for one in more),
        "campaigns": len(shipped),
        "campaigns_hit": [name for name, about in shipped.items() if about["hits"]],
        "criteria": len(criteria),
        "criteria_that_can_fail": sum(one["status"] == mutation.FAILS for one in criteria),
        "criteria_that_hold_by_construction": sum(one["status"] == mutation.HOLDS for one in criteria),
    }
    print(
        record(
            "planted_errors", {"totals": totals, "planted_errors": planted, "more_errors": more, "campaigns": shipped}
        )
    )
    print(totals)
    return 0


if __name__ == "__main__":
    sys.exit(main())
