"""What the model calls of a campaign have cost so far, from its ledger alone; nothing is written."""

from collections.abc import Mapping
from pathlib import Path

from sophron.records import LEDGER, approvals, files
from sophron.records.errors import Refused

Amounts = dict[str, float]


def spent(root: Path) -> Amounts | None:
    """What is spent or reserved, by limit of a campaign; None where no model was ever asked."""
    if not (root / LEDGER).is_file():
        return None
    from sophron.agents.gateway.ledger import LedgerLine, Sums
    from sophron.campaign.planning.agent_costs import KEYS
    from sophron.records.typed_json import from_json

    sums = Sums()
    for record in files.read_json_lines(root / LEDGER)[0]:
        sums.add(from_json(LedgerLine, record), "step")
    return {limit: sums.total[kind] for limit, kind in KEYS.items()} if sums.total["calls"] else None


def beside_the_caps(root: Path) -> dict[str, Amounts | None] | None:
    """`{spent, signed}`, the latter None without an approval in force; None if no model was ever asked."""
    amounts = spent(root)
    return None if amounts is None else {"spent": amounts, "signed": _signed(root)}


def sentence(found: Mapping[str, Amounts | None]) -> str:
    """What `beside_the_caps` gives, in words."""
    from sophron.campaign.rendering.formatting import of_a_model

    amounts, caps = found["spent"], found["signed"]
    most = f"; signed are at most {of_a_model(caps)}" if caps else ""
    return f"Models took {of_a_model(amounts or {})}{most}"


def _signed(root: Path) -> Amounts | None:
    from sophron.campaign.planning.agent_costs import KEYS

    try:
        envelope: Mapping[str, float] = approvals.signed_gate(root).record.envelope
    except (Refused, OSError):
        return None
    return {limit: envelope.get(limit, 0) for limit in KEYS}
