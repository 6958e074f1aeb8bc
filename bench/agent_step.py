"""What an agent step costs: `sophron agent run` with rules of thumb, and what a replayed call adds; CPU seconds.

`forked` is the same step as a local run starts it, forked from the driver's warm process: client, handler and step.

`libraries` is a Python that imports what every step needs of others (jsonschema, PyYAML and of the standard library),
and nothing of Sophron: below that no step can be.

python bench/agent_step.py --rounds 15
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from kills import campaign, finish
from record import record

from sophron.campaign.planning.campaign_agents import digest_of
from sophron.campaign.spec.spec import load
from sophron.records.process_identity import stat_fields
from sophron.warm_workers import fork_server

LIMIT_CPU_S = 0.1
LIBRARIES = "import argparse, importlib.metadata, jsonschema, subprocess, yaml"
FORBIDDEN = ("anthropic", "openai", "mcp", "numpy")
STEP = (
    "sophron agent run checkpoint_management --gate approvals/gate.json --wildcard attempt=1 --answer {answer} --log l"
    " --digest {digest}"
)


def cpu_of(command: list[str], root: Path, **environment: str) -> tuple[float, float]:
    """CPU and wall seconds of a command and its children."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before, begun = os.times(), time.perf_counter()
    subprocess.run(command, cwd=root, env=clean | environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.perf_counter() - begun


def children_cpu_s(pid: int) -> float:
    """CPU seconds of the ended children of a process, and theirs."""
    fields = stat_fields(Path("/proc") / str(pid))
    return sum(int(fields[place]) for place in (13, 14)) / os.sysconf("SC_CLK_TCK")


def forked(root: Path, command: list[str], rounds: int) -> dict[str, float]:
    """Mean cost of a forked step: what its client and, beyond the start, the server's children used."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    fork_server.start(root, ["sophron.agents.gateway.backends.rule_based_backend"])
    server = fork_server.SERVERS[-1].pid
    times, before = [], 0.0
    for number in range(rounds + 2):  # the server adds up what a step used when the next one comes
        if number == 2:
            before = children_cpu_s(server)
        forget(root)
        times.append(cpu_of(command, root))
    of_steps = (children_cpu_s(server) - before) / rounds
    fork_server.SERVERS.pop().stdin.close()
    return {
        "cpu_s": round(median(cpu for cpu, _ in times) + of_steps, 3),
        "wall_s": round(median(wall for _, wall in times), 3),
    }


def forget(root: Path) -> None:
    """Remove the answers that are kept: else nobody is asked at all."""
    for kept in (root / "records" / "checkpoint_management-1").glob("answer*.json"):
        kept.unlink()


def imported() -> list[str]:
    """Heavy packages that importing the agents' modules brings along."""
    code = (
        "import pkgutil, importlib, sys, sophron.agents\n"
        "for one in pkgutil.walk_packages(sophron.agents.__path__, 'sophron.agents.'):\n"
        "    importlib.import_module(one.name)\n"
        f"print(*[name for name in {FORBIDDEN} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def main() -> int:
    """Measure and record; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(base / "config"), str(base / "state")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
        spec = (Path(__file__).parent / "kills.campaign.yaml").read_text()
        root = campaign(base / "campaign", spec, base / "key")
        code, said = finish(root)
        if code:
            print(said)
            return 1
        digest = digest_of(root, load(root / "campaign.yaml"), "checkpoint_management")
        command = shlex.split(STEP.format(answer="results/restart-files-1.json", digest=digest))
        times: dict[str, list[tuple[float, float]]] = {"heuristic": [], "replay": [], "libraries": [], "python": []}
        for _ in range(args.rounds):
            forget(root)
            times["heuristic"].append(cpu_of(command, root))
            times["replay"].append(cpu_of(command, root, SOPHRON_AGENTS="replay"))
            times["libraries"].append(cpu_of([sys.executable, "-c", LIBRARIES], root))
            times["python"].append(cpu_of([sys.executable, "-c", "pass"], root))
        forked_step = forked(root, command, args.rounds)
    shown = {
        way: {"cpu_s": round(median(one[0] for one in found), 3), "wall_s": round(median(one[1] for one in found), 3)}
        for way, found in times.items()
    }
    heavy = imported()
    payload = {
        "rounds": args.rounds,
        "limit_cpu_s": LIMIT_CPU_S,
        **shown,
        "forked": forked_step,
        "heavy_imports": heavy,
    }
    record("agent_step", payload)
    print(payload)
    return 1 if heavy or forked_step["cpu_s"] > LIMIT_CPU_S else 0


if __name__ == "__main__":
    sys.exit(main())
