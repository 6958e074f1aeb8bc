"""Three agent steps with two seconds of model latency each, in one round of Snakemake, against the same with none.

The model is a loopback server that speaks the Messages API, asked through the real SDK; the steps are three attempts of
the checkpoint-management agent, whose answer is the same each time. The difference is what models cost a round.

In turn: each step is a new Python that imports the SDK (`cold`); a fork of the driver's warm process, which imports it
when the driver has read the workflow (`forked`, as `snakemake` does it); the same, but imported while Snakemake starts
(`driven`, as every round of `sophron run` does it, the first like the later ones). The limit is for `driven`.

    python bench/three_experts.py --rounds 3
"""

import argparse
import itertools
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

from sophron.agents.supervisor import supervisor

LATENCY_S, LIMIT_S = 2.0, 2.5
TARGETS = [f"results/restart-files-{number}.json" for number in (1, 2, 3)]
RUN = ["snakemake", "--cores", "3", "--nolock", "--rerun-incomplete", "--quiet", "all"]
WAYS = {"cold": "off", "forked": "", "driven": ""}
DRIVEN = supervisor.Settings(options=RUN[1:], here=True)
AGENTS = "agents: {by_name: {checkpoint-management: {backend: anthropic}}}\n"


def round_of(root: Path, way: str = "forked") -> float:
    """Wall seconds of one round; what an earlier one left is gone first."""
    for number in (1, 2, 3):
        shutil.rmtree(root / "records" / f"checkpoint_management-{number}", ignore_errors=True)
        (root / TARGETS[number - 1]).unlink(missing_ok=True)
    begun = time.perf_counter()
    if way == "driven":
        if supervisor.snakemake(root, DRIVEN, TARGETS).code:
            raise RuntimeError("the round failed")
    else:
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    runs: dict[str, dict[str, list[float]]] = {way: {"thumb": [], "model": []} for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(base / "config"), str(base / "state")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
        os.environ["ANTHROPIC_API_KEY"] = "a-key-for-the-loopback"
        roots = {"thumb": made(base, "thumb", ""), "model": made(base, "model", AGENTS)}
        round_of(roots["thumb"])
        answer = json.loads((roots["thumb"] / TARGETS[0]).read_text())["answer"]
        with serve_anthropic(queue(then=Turn(json.dumps(answer), latency_s=LATENCY_S))) as server:
            os.environ["ANTHROPIC_BASE_URL"] = server.url
            for _ in range(args.rounds):
                for way, who in itertools.product(WAYS, roots):
                    os.environ["SOPHRON_FORK_SERVER"] = WAYS[way]
                    # A copy: a second round would ask beyond what the agent's own limits allow a step.
                    shutil.copytree(roots[who], base / "run")
                    runs[way][who].append(round(round_of(base / "run", way), 2))
                    shutil.rmtree(base / "run")
                    print(way, who, runs[way][who][-1], flush=True)
    client = [round(cpu_of([sys.executable, "-c", "import anthropic"], Path())[0], 2) for _ in range(5)]
    added = {way: round(median(found["model"]) - median(found["thumb"]), 2) for way, found in runs.items()}
    payload = {"latency_s": LATENCY_S, "wall_s": runs, "added_s": added, "limit_s": LIMIT_S}
    payload["load"] = round(os.getloadavg()[0], 1)
    payload["import_of_the_client_cpu_s"] = median(client)
    record("three_experts", payload)
    print(payload)
    return int(added["driven"] > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
