"""From the amend agent's answer to a draft on disk. It never signs; nothing changes before a person does."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophron.campaign import amend, amendment_journal, locks
from sophron.campaign.draft import Draft
from sophron.campaign.state import project
from sophron.records import events


def draft(root: Path, answer: Mapping[str, Any]) -> Draft:
    """Draft what the answer proposes. Raises UserError where that is no valid spec or changes nothing."""
    settings = [f"{one['path']}={json.dumps(one['value'])}" for one in answer["changes"] if "value" in one]
    removed = [one["path"] for one in answer["changes"] if "value" not in one]
    with locks.signing(root):
        amendment_journal.finish_locked(root)
        drafted = amend.draft(root, answer["rationale"], settings, removed=removed)
        about = {"rationale": drafted.rationale, "invalidated_stages": drafted.invalidated_stages}
        events.append(root, "amend agent", "drafted", version=drafted.version, **about)
        project(root)
    return drafted
