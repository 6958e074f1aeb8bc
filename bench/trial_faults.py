"""What becomes of faults that are planted in pipelines: in whole trial loops, or before a panel that never saw them.

Loops: the first pipeline has a fault of a family, drawn by seed; what becomes of it, and how long it takes.

The author is a scripted transcript on a loopback server that speaks the Messages API, asked through the real SDK: its
first reply is our pipeline with the fault, every later one is its last pipeline with the edit that the panel proposed.
Experts and Engineer are rules of thumb, everything else is the real loop under Snakemake.

    python bench/trial_faults.py --seeds 1

Panel (`--panel`): the faults of `tests/debate/pipeline_faults.yaml` in pipelines that others wrote, each run on one
guest through the real sandbox; which stage the rule-based experts name, and what they find in sound ones and in
harmless edits of these. What the harness measured is kept in `tests/debate/panel_evidence/`, from which
`tests/debate/test_panel_table.py` makes the table again; `--judge` does the same without running anything.

    python bench/trial_faults.py --panel --work /tmp/panel --workers 2
    python bench/trial_faults.py --judge
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "agents" / "loopback"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "debate"))
import foreign
from kills import campaign, finish
from loopback_anthropic import serve_anthropic
from loopback_peer import Turn
from mutations import FAMILIES, mutate
from record import record

from sophron.agents.rule_based import pipeline_agents
from sophron.debate.pipelines.pipeline import Pipeline
from sophron.science.host_guest.pipelines import reference_pipelines

AGENTS = "agents: {backend: heuristic, by_name: {pipeline-author: {backend: anthropic}}}\n"
LIMITS = "limits: # signed with the plan: the ceilings of all steps must fit in\n"
TIMEOUT_S = 3000.0


class ScriptedAuthor:
    """Stands in for a model: a planted fault first, then the edit that the panel's critique holds."""

    def __init__(self, root: Path, first: Pipeline) -> None:
        self.root, self.last, self.asked = root, first.reply, 0

    def __call__(self, body: object) -> Turn:
        """The next reply of the transcript."""
        del body
        if self.asked:
            path = self.root / "results" / "trials" / "review" / str(self.asked - 1) / "outcome.json"
            critique = json.loads(path.read_text())["result"]["critique"] if path.is_file() else {}
            told = {"pipeline": self.last, "critiques": {"post": critique}, "task": {}}
            self.last = pipeline_agents.author(told)["reply"]
        self.asked += 1
        return Turn(json.dumps({"reply": self.last, "summary": f"Reply {self.asked} of the transcript."}))


def tried(base: Path, family: str, seed: int) -> dict[str, object]:
    """One campaign with one fault."""
    sound = Pipeline.parse(reference_pipelines.lj_dimer())
    first, file = mutate(sound, family, seed)
    spec = (Path(__file__).parent / "trials.campaign.yaml").read_text()
    limits = f"{LIMITS}  model_calls: 2000\n  tokens: 900000000\n  dollars: 100000\n"
    root = base / f"{family}-{seed}"
    begun = time.monotonic()
    with serve_anthropic(ScriptedAuthor(root, first)) as server:
        os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_API_KEY"] = server.url, "a-key-for-the-loopback"
        campaign(root, spec.replace(LIMITS, limits) + AGENTS, base / "key")
        code, said = finish(root, TIMEOUT_S)
    closed = sorted(
        (root / "results" / "trials" / "close").glob("*/outcome.json"), key=lambda path: int(path.parts[-2])
    )
    ends = [json.loads(path.read_text())["result"]["failure"] for path in closed]
    reviews = {
        path.parts[-2]: json.loads(path.read_text())["result"]["critique"]
        for path in (root / "results" / "trials" / "review").glob("*/outcome.json")
    }
    final = root / "results" / "trials" / "pipeline.txt"
    mended = final.is_file() and final.read_text() and Pipeline.parse(final.read_text()).files == sound.files
    return {
        "family": family,
        "seed": seed,
        "file": file,
        "exit_code": code,
        "trials": ends,
        "focus": {number: critique["focus"] for number, critique in sorted(reviews.items())},
        "fixes": len(list((root / "results" / "trials" / "engineer").glob("*/*/answer.json"))),
        "mended": bool(mended),
        "wall_s": round(time.monotonic() - begun, 1),
        "said": said[-400:] if code else "",
    }


def panel(work: Path, workers: int, only: list[str]) -> None:
    """Run what the table holds, sound ones first, and keep what a panel is told of each."""
    foreign.EVIDENCE.mkdir(exist_ok=True)
    known = foreign.cases()
    for name, (base, made, _) in known.items():
        kept = foreign.EVIDENCE / f"{name}.json"
        if (only and name not in only) or kept.exists():
            continue
        like = None if name == base else (known[base][1], work / base)
        begun = time.monotonic()
        documents = foreign.through(base, made, work / name, like, workers)
        kept.write_text(json.dumps(foreign.results(made, documents), indent=1, sort_keys=True) + "\n")
        print(name, documents[max(documents)][0]["result"]["status"], round(time.monotonic() - begun), "s", flush=True)


def main() -> int:
    """Run, and record after each campaign; 1 where a planted fault of the analysis was not mended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--keep", type=Path, help="keep the campaigns here")
    parser.add_argument("--panel", action="store_true", help="run the panel's table, what is missing of it")
    parser.add_argument("--judge", action="store_true", help="judge what is kept of the panel's table, and record it")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "sophron-panel")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[], help="names of the panel's table")
    args = parser.parse_args()
    if args.panel:
        panel(args.work, args.workers, args.only)
    if args.panel or args.judge:
        table = foreign.table()
        record("panel_faults", table)
        print(json.dumps(table["totals"], indent=2))
        return int(not foreign.good(table["totals"]))
    base = args.keep or Path(tempfile.mkdtemp(prefix="sophron-trials-"))
    base.mkdir(exist_ok=True)
    os.environ["XDG_CONFIG_HOME"], os.environ["XDG_STATE_HOME"] = str(base / "config"), str(base / "state")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / "key")], check=True)
    runs = []
    for family in args.families:
        for seed in range(args.seeds):
            runs.append(tried(base, family, seed))
            print(runs[-1], flush=True)
            record("trial_faults", {"runs": runs})
    return int(not all(run["mended"] for run in runs if run["family"] != "does_not_run"))


if __name__ == "__main__":
    sys.exit(main())
