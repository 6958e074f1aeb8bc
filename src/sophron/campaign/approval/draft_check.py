"""A draft is tried before it is offered: can it be planned, does it keep to its limits, is a pitfall in it."""

from pathlib import Path

from sophron.campaign.approval import approve
from sophron.campaign.planning.plan import make
from sophron.campaign.spec import amendment_draft
from sophron.campaign.spec.pitfalls import ProbeSpec
from sophron.campaign.spec.spec import load
from sophron.records.approvals import FOLDER
from sophron.records.errors import UserError
from sophron.records.files import write_text


def amendment_faults(root: Path, probe: ProbeSpec) -> list[str]:
    """Return why the draft that waits could not be signed whatever a person verified, one sentence each.

    A campaign that is part of another pipeline has no Snakefile of its own to plan with: nothing is known of it here.
    """
    if not (root / "Snakefile").is_file():
        return []
    try:
        return approve.faults(approve.propose(root, probe=probe))
    except UserError as error:
        return [str(error)]


def spec_faults(root: Path, text: str, probe: ProbeSpec) -> list[str]:
    """Return the same for the text of a spec that is not in place yet; `root` has a Snakefile."""
    path = root / FOLDER / amendment_draft.CANDIDATE_NAME
    write_text(path, text)
    try:
        spec = load(path)
        return approve.faults(approve.Proposal(root, make(root, spec), "", None, probe(spec)))
    except UserError as error:
        return [str(error)]
    finally:
        path.unlink()
