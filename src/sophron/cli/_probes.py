"""The pitfall probes of a spec: campaign knows the pitfalls, science the probes, and here they meet."""

from pathlib import Path

from sophron.campaign.spec.pitfalls import Pitfall, ProbeSpec, applicable, catalogue
from sophron.campaign.spec.spec import Spec
from sophron.interfaces.probe import Finding
from sophron.records import entry_points
from sophron.records.errors import UserError

GROUP = "sophron.probes"
STATUSES = ("clear", "hit", "unknown")


def findings(root: Path, spec: Spec) -> list[tuple[Pitfall, Finding]]:
    """Return what the probes say of every pitfall that `spec` could fall into. UserError for a broken catalogue."""
    return [(pitfall, _look(pitfall, spec)) for pitfall in applicable(catalogue(root), spec.data)]


def of(root: Path) -> ProbeSpec:
    """Return `findings` for the specs of one campaign folder."""
    return lambda spec: findings(root, spec)


def _look(pitfall: Pitfall, spec: Spec) -> Finding:
    """Run one probe. A probe that fails, for whatever reason, has found out nothing: that is what is shown."""
    try:
        finding = entry_points.load(GROUP, pitfall.probe)(spec.data, pitfall.parameters)
    except UserError as error:
        return Finding("unknown", str(error))
    except Exception as error:  # noqa: BLE001 - a probe is somebody's plugin, and a review must not end in its traceback
        return Finding("unknown", f"the probe {pitfall.probe} failed ({type(error).__name__}: {error})")
    if not isinstance(finding, Finding) or finding.status not in STATUSES:
        return Finding("unknown", f"the probe {pitfall.probe} gave no finding")
    return finding
