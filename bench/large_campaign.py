"""The smoke campaign with so many replicas that its plan has about 10,000 steps: four a replica and twelve more."""

import shutil
from pathlib import Path

from kills import SNAKEFILE

SMOKE = Path(__file__).parent.parent / "tests" / "data" / "smoke" / "campaign.yaml"
REPLICAS = 2497


def steps(replicas: int) -> int:
    """Steps of the plan: build to produce a replica; Green-Kubo, five times verify and accept, caveats and report."""
    return 4 * replicas + 1 + 2 * 5 + 2


def spec(replicas: int) -> str:
    """The spec, without a limit: what its plan comes to is signed."""
    text = SMOKE.read_text().replace("replicas: 2,", f"replicas: {replicas},")
    return text.replace("limits: {core_hours: 1000}\n", "")


def unsigned(folder: Path, replicas: int) -> Path:
    """A campaign whose gate file is there and empty, which is all that a dry run looks at."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "approvals").mkdir(parents=True)
    (folder / "approvals" / "gate.json").touch()
    (folder / "campaign.yaml").write_text(spec(replicas))
    (folder / "Snakefile").write_text(SNAKEFILE)
    return folder
