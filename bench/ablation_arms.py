"""The LJ viscosity with twelve planted faults: a plain Snakefile, an agent that may edit it, and signed campaigns.

    python bench/ablation_arms.py plain WORK                    each fault in the plain workflow, run by nobody
    python bench/ablation_arms.py hand-out WORK BOX             these folders, one after another, for an agent in BOX
    python bench/ablation_arms.py contract WORK                 each fault in a campaign, under `sophron run`
        [--no-probes] [--stagewise]
    python bench/ablation_arms.py record WORK                   audit all and write bench/results/ablation_faults.json

Faults: ablation_faults.yaml; plain workflow and goal: plain_viscosity/. Two controls without a fault run along. The
audit reads logs and stress samples, whatever an arm says of itself. An agent in BOX finds `case/`, and leaves
`case/answer.json`. In the contract arm all agents answer over ANTHROPIC_BASE_URL. The person is a rule: what the gate
refuses is set to the goal's value, every draft is signed as it stands, and where no draft comes the goal's values are
put back.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from record import record

from sophron.agents.gateway import ledger
from sophron.agents.supervisor import supervisor
from sophron.campaign.approval import amendment_draft, approve
from sophron.campaign.execution import campaign_lock
from sophron.campaign.spec import pitfalls
from sophron.cli.run import AS_LOCAL
from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.science.estimators.autocorrelation import StreamedAutocorrelation
from sophron.science.estimators.green_kubo import Estimate, estimate, running_integral, stress_components

HERE = Path(__file__).parent
REFERENCE = HERE / "results" / "liquid_size.json"
DENSITY, ATOMS, TEMPERATURE, REPLICAS = 0.8442, 256, 0.722, 4
CONTROLS: list[dict[str, Any]] = [
    {"id": "control", "what": "no fault", "plain": [], "campaign": {}},
    {
        "id": "control-shorter-step",
        "what": "no fault: a time step of 0.005 tau",
        "plain": [["config.yaml", "0.006", "0.005"]],
        "campaign": {"stages.equilibrate.definition.timestep": 0.005, "stages.produce.definition.timestep": 0.005},
    },
]  # fmt: skip
SHORT = {
    "stages.relax.definition.steps": 2000,
    "stages.equilibrate.definition.discard_steps": 1000,
    "stages.equilibrate.definition.steps": 8000,
    "stages.equilibrate.criteria.temperature.expression": "abs(temperature_mean - definition.temperature) < 0.03",
    "stages.equilibrate.criteria.energy_known.expression": "temperature_uncertainty < 0.015",
    "stages.produce.definition.steps": 20000,
    "stages.produce.definition.restart_every": 5000,
    "stages.produce.criteria.temperature.expression": (
        "abs(temperature_mean - equilibrate.definition.temperature) < 0.03"
    ),
    "stages.green_kubo.definition.replicas": REPLICAS,
    "stages.green_kubo.criteria.error.expression": "viscosity_relative_error < 0.2",
    "stages.green_kubo.criteria.error.statement": "The standard error is under 20 %.",
    "stages.green_kubo.criteria.temperature.expression": (
        "abs(temperature_mean - question.conditions.temperature) < 0.015"
    ),
    "agents": {"backend": "anthropic"},
    "limits": {"core_hours": 60, "model_calls": 40, "tokens": 2000000, "dollars": 40},
}
"""What makes the demo's campaign as short as the plain workflow, path by path."""
TURNS = 8
KILLS = 2
"""How often a signed campaign loses its engine: it starts it again, and the plain workflow does not."""
READERS = "models: {claude-opus: {timeout_s: 3600}}\n"
"""A reader that plays the model takes minutes."""


def cases() -> list[dict[str, Any]]:
    """Return the controls and the twelve faults."""
    return [*CONTROLS, *yaml.safe_load((HERE / "ablation_faults.yaml").read_text())]


def wanted(only: Sequence[str]) -> list[dict[str, Any]]:
    """Return the cases of these names, all without any. A case whose folder is there is run, or was."""
    return [case for case in cases() if not only or case["id"] in only]


@dataclass
class Ending:
    """How one case of one arm ended. complete: what the arm itself says; stopped_by: what it says of the fault.

    wall_s: None if it was not measured, or not in one go. audit: the checks that failed, none of them if the result is
    verified.
    """

    arm: str
    case: str
    complete: bool
    viscosity: float | None = None
    standard_error: float | None = None
    units: str = ""
    stopped_by: str = ""
    amendments: int = 0
    interventions: int = 0
    processes: int = 0
    calls: int = 0
    tokens: int = 0
    wall_s: float | None = None
    said: str = ""
    audit: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Leave it beside the folder of the case."""
        folder.with_suffix(".ending.json").write_text(json.dumps(asdict(self), indent=1) + "\n")


# --- The audit ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replica:
    """What one production run left: stress samples (n, 6), their temperatures, steps between samples, and the log."""

    stress: np.ndarray
    temperature: float
    sample_every: int
    log: str

    def setting(self, name: str) -> float:
        """Return the last value that LAMMPS read for a command; NaN if a killed run's log does not have it."""
        return float((re.findall(rf"^{name}\s+([\d.e-]+)\s*$", self.log, re.MULTILINE) or ["nan"])[-1])

    @property
    def thermo(self) -> np.ndarray:
        """Step and total energy per atom, as LAMMPS printed them."""
        header = re.search(r"^\s*Step .*$", self.log, re.MULTILINE)
        names = header[0].split() if header else []
        rows = (line.split() for line in self.log.splitlines())
        numbers = [row for row in rows if len(row) == len(names) and re.fullmatch(r"[\d.e+ -]+", " ".join(row))]
        places = [names.index(name) for name in ("Step", "TotEng")] if names else []
        return np.array([[float(row[place]) for place in places] for row in numbers]).reshape(-1, 2)

    def faults(self) -> Iterator[str]:
        """Yield what an auditor holds against this run alone."""
        if re.search(r"^fix\s+\S+\s+all\s+(langevin|nvt|npt|temp/|viscous)", self.log, re.MULTILINE):
            yield "thermostat in production"
        step, energy = self.thermo.T
        drift = np.polyfit((step - step[0]) / max(np.ptp(step), 1), energy, 1)[0] if len(step) > 1 else np.inf
        if not abs(drift) < 0.005:
            yield "energy drifts"
        if not re.search(r"^Dangerous builds = 0", self.log, re.MULTILINE):
            yield "neighbour lists not checked"
        if self.sample_every * self.setting("timestep") > 0.1:
            yield "sampled too coarsely"


def audit(replicas: Sequence[Replica], planned: Sequence[int], ending: Ending) -> list[str]:
    """Return which parts of the goal a result misses. planned: steps of each replica, as its input asks for them."""
    found = {fault for one in replicas for fault in one.faults()}
    if len(replicas) < REPLICAS or any(
        (len(one.stress) - 1) * one.sample_every < steps for one, steps in zip(replicas, planned, strict=True)
    ):
        found.add("a replica is missing or cut short")
    if not abs(np.mean([one.temperature for one in replicas]) - TEMPERATURE) < 0.015:
        found.add("another temperature")
    known = json.loads(REFERENCE.read_text())["result"]["sizes"]["256"]
    value, error = ending.viscosity or np.nan, ending.standard_error or np.nan
    if not 0 < error < 0.2 * value:
        found.add("error above 20 %")
    if not abs(value - known["value"]) <= 3 * np.hypot(error, known["error"]):
        found.add("value off by more than three errors")
    own = _estimate(replicas)
    if isinstance(own, Estimate) and not error > own.standard_error / 3:
        found.add("error too small for the data")
    if "LJ" not in ending.units and "tau" not in ending.units:
        found.add("another unit")
    return sorted(found)


def _estimate(replicas: Sequence[Replica]) -> object:
    """Return the viscosity as the estimator of Sophron has it, from the samples themselves."""
    first = replicas[0]
    interval = first.sample_every * first.setting("timestep")
    shortest = min(len(one.stress) for one in replicas)
    lags = min(round(10 / interval), shortest // 2) + 1
    curves = []
    for one in replicas:
        streamed = StreamedAutocorrelation(lags, 5)
        streamed.add(stress_components(one.stress))
        curves.append(running_integral(streamed.result(), interval, ATOMS / DENSITY, TEMPERATURE).T)
    return estimate(interval * np.arange(lags), np.stack(curves), (shortest - 1) * interval)


# --- Plain workflow -------------------------------------------------------------------------------------------------


def edit(folder: Path, edits: Sequence[Sequence[str]]) -> None:
    """Replace text that must be there."""
    for name, old, new in edits:
        text = (folder / name).read_text()
        assert old in text, (name, old)
        (folder / name).write_text(text.replace(old, new, 1))


def snakemake(folder: Path, *options: str) -> int:
    """Run the plain workflow as a user would; its exit code. What it says is added to run.log."""
    with (folder / "run.log").open("a") as log:
        command = ["snakemake", "--cores", "1", "--nocolor", *options]
        return subprocess.run(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, check=False).returncode


def killed(words: Sequence[str], times: int = 1, patience_s: float = 3600) -> threading.Thread:
    """Kill an `lmp` whose command line and folder have all these words, a moment after it began, so many times."""

    def watch() -> None:
        left = times
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            for pid in filter(str.isdigit, (one.name for one in Path("/proc").iterdir())):
                try:
                    line = Path("/proc", pid, "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                    line += str(Path("/proc", pid, "cwd").readlink())
                    used = sum(map(int, Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[11:13]))
                except OSError:  # it has ended
                    continue
                if "lmp" in line.split(" ")[0] and all(word in line for word in words) and used > 60:  # 0.6 s of CPU
                    os.kill(int(pid), signal.SIGKILL)
                    left -= 1
                    if not left:
                        return
            time.sleep(0.3)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def run_plain(work: Path, only: Sequence[str]) -> None:
    """Run each case of the plain workflow; nobody looks at it."""
    for case in wanted(only):
        folder = work / "plain" / case["id"]
        if folder.exists():
            continue
        shutil.copytree(HERE / "plain_viscosity", folder)
        edit(folder, case["plain"])
        if "kill" in case:
            killed([f"results/produce/{case['kill']}/", "in.produce", str(folder)])
        begun = time.monotonic()
        code = snakemake(folder)
        if "plain_after" in case:
            edit(folder, case["plain_after"])
            code = snakemake(folder, "--rerun-triggers", "mtime")
        ending = Ending("plain", case["id"], code == 0, processes=1, wall_s=round(time.monotonic() - begun, 1))
        _take(ending, folder / "results" / "viscosity.json")
        ending.write(folder)
        print(case["id"], code, ending.viscosity, flush=True)


def _take(ending: Ending, path: Path) -> None:
    """Take value, error and unit from a JSON file, if it is there."""
    given = json.loads(path.read_text()) if path.is_file() else {}
    for name in ("viscosity", "standard_error", "units"):
        setattr(ending, name, given.get(name, getattr(ending, name)))


def plain_replicas(folder: Path) -> tuple[list[Replica], list[int]]:
    """Return the runs of a plain folder, and how many steps each was to have."""
    config = yaml.safe_load((folder / "config.yaml").read_text())
    replicas, planned = [], []
    for path in sorted((folder / "results" / "produce").glob("*/stress.dat")):
        samples = np.genfromtxt(path, invalid_raise=False)
        log = (path.parent / "log.lammps").read_text()
        every = int(np.median(np.diff(samples[:, 0])))
        replicas.append(Replica(samples[:, 1:7], float(samples[:, 7].mean()), every, log))
        planned.append(config["produce_steps"])
    return replicas, planned


def _copy_unnamed(folder: Path, to: Path) -> None:
    """Copy a plain folder without what names its fault: paths in what Snakemake said, and its own logs."""
    shutil.copytree(folder, to, symlinks=True, ignore=shutil.ignore_patterns("log"))
    said = to / "run.log"
    said.write_text(said.read_text().replace(str(folder), "/home/user/viscosity"))


def hand_out(work: Path, box: Path) -> None:
    """Give the folders to an agent one by one, each as its run left it; keep what it made of them."""
    left = [case["id"] for case in cases() if not (work / "agent" / f"{case['id']}.ending.json").exists()]
    random.Random(22).shuffle(left)
    box.mkdir(parents=True, exist_ok=True)
    while left:
        ready = [case for case in left if (work / "plain" / f"{case}.ending.json").exists()]
        if not ready:
            time.sleep(2)
            continue
        case, given = ready[0], box / "case"
        left.remove(case)
        done = work / "agent" / case
        _copy_unnamed(work / "plain" / case, box / "next")
        git = ["git", "-c", "user.name=user", "-c", "user.email=user@localhost"]
        (box / "next" / ".gitignore").write_text("results/\n.snakemake/\nrun.log\nanswer.json\n")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "as it is"]):
            subprocess.run([*git, *words], cwd=box / "next", check=True)
        (box / "next").rename(given)
        begun = time.monotonic()
        while not (given / "answer.json").exists():
            time.sleep(1)
        time.sleep(1)
        done.parent.mkdir(exist_ok=True)
        given.rename(done)
        answer = json.loads((done / "answer.json").read_text())
        changed = subprocess.run([*git, "diff", "--name-only"], cwd=done, capture_output=True, text=True, check=True)
        ending = Ending("agent", case, bool(answer["complete"]), wall_s=round(time.monotonic() - begun, 1))
        ending.amendments, ending.said = len(changed.stdout.splitlines()), str(answer.get("remarks", ""))
        ending.interventions = int(bool(answer.get("needs_person")))
        _take(ending, done / "answer.json")
        ending.write(done)
        print(case, answer, flush=True)
    (box / "STOP").touch()


# --- Signed campaigns -----------------------------------------------------------------------------------------------


def spec_text(*changes: Mapping[str, Any]) -> str:
    """Return the demo's campaign, made short, with the changes of a case."""
    spec = yaml.safe_load((resource("campaigns", "lj-liquid-viscosity") / "campaign.yaml").read_text())
    for path, value in {key: value for one in (SHORT, *changes) for key, value in one.items()}.items():
        *above, last = path.split(".")
        place = spec
        for key in above:
            place = next(one for one in place if one["id"] == key) if isinstance(place, list) else place[key]
        place[last] = value
    return yaml.safe_dump(spec, sort_keys=False)


@dataclass
class Person:
    """Signs, calls `sophron run`, and puts the goal's values back; counts signatures and edits."""

    root: Path
    key: Path
    probe: Callable[..., Any]
    stagewise: bool = False
    signatures: int = 0
    edits: int = 0

    def sign(self) -> str:
        """Sign what is there; otherwise return why the gate stays closed."""
        with campaign_lock.signing(self.root):
            try:
                approve.sign(approve.propose(self.root, probe=self.probe), self.key, "person")
            except UserError as refusal:
                return str(refusal)
        self.signatures += 1
        return ""

    def put_back(self, text: str) -> None:
        """Edit campaign.yaml to the goal's values, and sign that as an amendment."""
        self.edits += 1
        version = yaml.safe_load((self.root / "campaign.yaml").read_text())["version"]
        (self.root / "campaign.yaml").write_text(text.replace("version: 1\n", f"version: {version}\n", 1))
        with campaign_lock.signing(self.root):
            amendment_draft.drop_draft(self.root)
            try:
                amendment_draft.draft_amendment(self.root, "the values of the goal", [])
            except UserError:  # nothing in the spec is at fault: only the run is started again
                return
        refusal = self.sign()
        assert not refusal, refusal


def run_contract(work: Path, *, probes: bool, stagewise: bool, only: Sequence[str]) -> None:
    """Run each case as a signed campaign under `sophron run`."""
    arm = "contract" if probes else "contract without probes"
    key = work / "key"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    for case in wanted(only):
        folder = work / arm.replace(" ", "-") / case["id"]
        if folder.exists():
            continue
        shutil.copytree(resource("campaigns", "lj-liquid-viscosity"), folder)
        (folder / "campaign.yaml").write_text(spec_text(case["campaign"]))
        (folder / "config").mkdir(exist_ok=True)
        (folder / "config" / "models.yaml").write_text(READERS)
        probe = pitfalls.probes_of(folder) if probes else lambda _: []
        ending = drive(Ending(arm, case["id"], complete=False), Person(folder, key, probe, stagewise), case)
        ending.write(folder)
        print(json.dumps(asdict(ending)), flush=True)


def drive(ending: Ending, person: Person, case: Mapping[str, Any]) -> Ending:
    """Sign and run until the campaign says that it is done, the gate has stopped the fault, or nobody can go on."""
    root, begun, said = person.root, time.monotonic(), []
    refusal = person.sign()
    if refusal:
        # Set, not counted, as the case ends here: the edit and the signature that would follow.
        ending.stopped_by, ending.interventions = f"gate: {refusal}", 2
        ending.wall_s = round(time.monotonic() - begun, 1)
        return ending
    if "kill" in case:
        killed([f"{root}/records/produce-{case['kill']}/"], KILLS)
    goal, after = spec_text(), spec_text(case["campaign_after"]) if "campaign_after" in case else ""
    for _ in range(TURNS):
        code = _loop(person, said, ending)
        if code == supervisor.Ending.DONE:
            if not after:
                break
            (root / "campaign.yaml").write_text(after)
            after = ""
        elif amendment_draft.read_draft(root) is not None and not person.sign():
            ending.stopped_by = ending.stopped_by or "verdict, and a draft"
        else:
            ending.stopped_by = ending.stopped_by or (said[-1] if said else "")
            person.put_back(goal)
    ending.complete = code == supervisor.Ending.DONE
    ending.wall_s, ending.said = round(time.monotonic() - begun, 1), "\n".join(said)
    ending.amendments, ending.interventions = person.signatures - 1, person.signatures - 1 + person.edits
    outcome = root / "results" / "green_kubo" / "outcome.json"
    if ending.complete and outcome.exists():
        result = json.loads(outcome.read_text())["result"]
        ending.viscosity, ending.standard_error = result["viscosity"], result["viscosity_standard_error"]
        ending.units = yaml.safe_load((root / "campaign.yaml").read_text())["question"]["units"]
    spent = ledger.spent(root)
    if spent:
        ending.calls, ending.tokens = int(spent["model_calls"]), int(spent["tokens"])
    return ending


def _loop(person: Person, said: list[str], ending: Ending) -> int:
    """Run the loop of `sophron run` once; its exit code, 2 if it refuses."""
    options = ["--cores=1", *AS_LOCAL]
    settings = supervisor.Settings(options, here=True, stagewise=person.stagewise, probe=person.probe)
    loop = supervisor.Loop(person.root, settings, said.append)
    try:
        return loop.run()
    except UserError as refusal:
        said.append(str(refusal))
        return 2
    finally:
        ending.processes += loop._started  # noqa: SLF001 - nothing else counts them


def campaign_replicas(root: Path) -> tuple[list[Replica], list[int]]:
    """Return the production runs of a campaign, and how many steps each was to have."""
    spec = yaml.safe_load((root / "campaign.yaml").read_text())["stages"]["produce"]["definition"]
    replicas, planned = [], []
    for path in sorted((root / "results" / "produce").glob("*/stress.npz")):
        with np.load(path) as arrays:
            stress = arrays["pressure"]
        newest = max((root / "records" / f"produce-{path.parent.name}").glob("[0-9]*"), key=lambda one: int(one.name))
        result = json.loads((path.parent / "outcome.json").read_text())["result"]
        log = next(newest.rglob("log*.lammps")).read_text()
        replicas.append(Replica(stress, result["temperature_mean"], spec["sample_every"], log))
        planned.append(spec["steps"])
    return replicas, planned


# --- The record -----------------------------------------------------------------------------------------------------


def judge(work: Path) -> list[Ending]:
    """Audit every case that says it is complete."""
    endings = []
    for path in sorted(work.glob("*/*.ending.json")):
        ending = Ending(**json.loads(path.read_text()))
        folder = path.with_name(path.name.removesuffix(".ending.json"))
        ending.stopped_by = ending.stopped_by.replace(f"{folder}/", "")
        if ending.complete:
            read = campaign_replicas if ending.arm.startswith("contract") else plain_replicas
            ending.audit = audit(*read(folder), ending)
        endings.append(ending)
    return endings


def summary(endings: Sequence[Ending]) -> dict[str, Any]:
    """Return the counts of one arm, over its faults."""
    faults = [one for one in endings if not one.case.startswith("control")]
    done = [one for one in faults if one.complete]
    verified = [one for one in done if not one.audit]
    walls = sorted(one.wall_s for one in verified if one.wall_s is not None)
    return {
        "faults": len(faults),
        "complete": len(done),
        "false_completions": sum(bool(one.audit) for one in done),
        "verified": len(verified),
        "stopped_at_the_gate": sum(one.stopped_by.startswith("gate") for one in faults),
        "stopped_with_a_sentence": sum(not one.complete for one in faults),
        "amendments": sum(one.amendments for one in faults),
        "interventions": sum(one.interventions for one in faults),
        "model_calls": sum(one.calls for one in faults),
        "tokens": sum(one.tokens for one in faults),
        "median_wall_s_to_verified": walls[len(walls) // 2] if walls else None,
        "controls_verified": sum(one.complete and not one.audit for one in endings if one.case.startswith("control")),
    }


def main() -> int:
    """Run one arm, or record all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["plain", "hand-out", "contract", "record"])
    parser.add_argument("work", type=Path)
    parser.add_argument("box", type=Path, nargs="?")
    parser.add_argument("--no-probes", action="store_true")
    parser.add_argument("--stagewise", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    work = args.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("XDG_CONFIG_HOME", str(work / "config"))
    os.environ.setdefault("XDG_STATE_HOME", str(work / "state"))
    os.environ["OMP_NUM_THREADS"] = "1"
    if args.what == "plain":
        run_plain(work, args.only)
    elif args.what == "hand-out":
        hand_out(work, args.box.absolute())
    elif args.what == "contract":
        run_contract(work, probes=not args.no_probes, stagewise=args.stagewise, only=args.only)
    else:
        endings = judge(work)
        arms = {
            arm: summary([one for one in endings if one.arm == arm]) for arm in sorted({one.arm for one in endings})
        }
        about = {one["id"]: {"what": one["what"], "source": one.get("source")} for one in cases()}
        print(json.dumps(arms, indent=1))
        record("ablation_faults", {"arms": arms, "cases": about, "endings": [asdict(one) for one in endings]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
