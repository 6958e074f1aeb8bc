"""What the model calls of a campaign have cost so far, from its ledger alone; nothing is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.agents.gateway.ledger import FILE, LedgerLine, Sums
from sophron.campaign.planning.agent_costs import KEYS
from sophron.campaign.rendering.formatting import of_a_model
from sophron.records import approvals, jsonl
from sophron.records.errors import Refused
from sophron.records.structure import structure

Amounts = dict[str, float]


def spent(root: Path) -> Amounts | None:
    """What is spent or reserved, by limit of a campaign; None where no model was ever asked."""
    sums = Sums()
    for record in jsonl.read(root / FILE)[0] if (root / FILE).is_file() else ():
        sums.add(structure(LedgerLine, record), "step")
    return {limit: sums.total[kind] for limit, kind in KEYS.items()} if sums.total["calls"] else None


def beside_the_caps(root: Path) -> dict[str, Amounts | None] | None:
    """`{spent, signed}`, the latter None without an approval in force; None if no model was ever asked."""
    amounts = spent(root)
    return None if amounts is None else {"spent": amounts, "signed": _signed(root)}


def sentence(found: Mapping[str, Amounts | None]) -> str:
    """What `beside_the_caps` gives, in words."""
    amounts, caps = found["spent"], found["signed"]
    most = f"; signed are at most {of_a_model(caps)}" if caps else ""
    return f"Models took {of_a_model(amounts or {})}{most}"


def _signed(root: Path) -> Amounts | None:
    try:
        envelope: Mapping[str, Any] = approvals.signed_gate(root).record["envelope"]
    except (Refused, OSError):
        return None
    return {limit: envelope.get(limit, 0) for limit in KEYS}
