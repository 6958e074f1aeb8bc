"""Three agent steps with two seconds of model latency each, in one round of Snakemake, against the same with none.

The model is a loopback server that speaks the Messages API, asked through the real SDK; the steps are three attempts of
the checkpoint-management agent, whose answer is the same each time. The difference is what models cost a round.

One round only: a second would ask beyond what the agent's own limits allow a step.

    python bench/three_experts.py
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "agents" / "loopback"))

from agent_step import cpu_of
from kills import campaign, finish
from loopback_anthropic import serve_anthropic
from loopback_peer import Turn, queue
from record import record

LATENCY_S, LIMIT_S = 2.0, 2.5
TARGETS = [f"results/restart-files-{number}.json" for number in (1, 2, 3)]
RUN = ["snakemake", "--cores", "3", "--nolock", "--rerun-incomplete", "--quiet", "all"]
AGENTS = "agents: {by_name: {checkpoint-management: {backend: anthropic}}}\n"


def round_of(root: Path) -> float:
    """Wall seconds of one round; what an earlier one left is gone first."""
    for number in (1, 2, 3):
        shutil.rmtree(root / "records" / f"checkpoint_management-{number}", ignore_errors=True)
        (root / TARGETS[number - 1]).unlink(missing_ok=True)
    begun = time.perf_counter()
    subprocess.run([*RUN, "--", *TARGETS], cwd=root, check=True, capture_output=True)
    return time.perf_counter() - begun


def made(base: Path, name: str, extra: str) -> Path:
    """A finished campaign."""
    spec = (Path(__file__).parent / "kills.campaign.yaml").read_text()
    limits = "limits: {model_calls: 1000, tokens: 100000000, dollars: 1000, "
    root = campaign(base / name, spec.replace("limits: {", limits) + extra, base / "key")
    code, said = finish(root)
    if code:
        raise RuntimeError(said)
    return root


def main() -> int:
    """Measure, and record; 1 where the models cost more than the limit."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(base / "config"), str(base / "state")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
        thumb, model = made(base, "thumb", ""), made(base, "model", AGENTS)
        round_of(thumb)
        answer = json.loads((thumb / TARGETS[0]).read_text())["answer"]
        with serve_anthropic(queue(then=Turn(json.dumps(answer), latency_s=LATENCY_S))) as server:
            os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_API_KEY"] = server.url, "a-key-for-the-loopback"
            shown = {"thumb": round(round_of(thumb), 2), "model": round(round_of(model), 2)}
    client = [round(cpu_of([sys.executable, "-c", "import anthropic"], Path())[0], 2) for _ in range(5)]
    added = round(shown["model"] - shown["thumb"], 2)
    payload = {"latency_s": LATENCY_S, "wall_s": shown, "added_s": added, "limit_s": LIMIT_S}
    payload["import_of_the_client_cpu_s"] = median(client)
    record("three_experts", payload)
    print(payload)
    return int(added > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
