"""Workflows of others under a gate: adopted, refused unsigned, signed, killed and gone on with, judged, amended.

FOLDER holds clones of the repositories in public_workflows.yaml, each in a folder with the repository's own name and at
a commit of your choice; what they need (R, Jupyter, bgzip) is installed. Each is walked through in a copy. Snakemake is
a fork of one that is warm, and signing happens in this process; `--typed` types each command as a person does instead,
which takes minutes more. `--slurm NAME` walks one of them with Snakemake's executor for Slurm.

    python bench/public_workflows.py FOLDER [--only NAME...] [--slurm NAME]

The record is merged by name: what was not walked now stays as it was recorded.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from record import RESULTS, record

TOP = Path(__file__).parents[1]
sys.path.insert(0, str(TOP / "tests" / "toy"))

import host_edits  # noqa: E402 - found beside the tests that share it
import toy  # noqa: E402
import warm_snakemake  # noqa: E402

from sophron.campaign.approval import amendment_draft  # noqa: E402
from sophron.campaign.planning import host_plan  # noqa: E402

NAME = "public_workflows"
WORKFLOWS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
LOCAL = ("--cores", "2", "--nocolor")
SLURM = (
    *("--executor", "slurm", "--jobs", "4", "--nocolor", "--latency-wait", "20"),
    *("--default-resources", "slurm_account=none", "slurm_partition=debug", "mem_mb=300", "runtime=5"),
    *("--slurm-init-seconds-before-status-checks", "2", "--slurm-status-command", "squeue"),
)
JOB = re.compile(r"^(?:local)?(?:rule|checkpoint) (\S+):\n((?: {4}.*\n)+)", re.MULTILINE)
ENDED = re.compile(r"^Finished jobid: (\d+)", re.MULTILINE)
NOT_SIGNED, NOT_ACCEPTED, WELL = 2, 1, 0


@dataclass(frozen=True)
class Job:
    """A job of the workflow itself, as Snakemake's log names it."""

    rule: str
    output: str
    ended: bool


def jobs(said: str) -> list[Job]:
    """Jobs with outputs that a log says were begun, without Sophron's."""
    ended = set(ENDED.findall(said))
    made = []
    for rule, block in JOB.findall(said):
        fields = dict(re.findall(r"^ {4}(\w+): (.*)$", block, re.MULTILINE))
        if "output" in fields and not rule.startswith("sophron_"):
            made.append(Job(rule, fields["output"], fields["jobid"] in ended))
    return made


def by_rule(made: Sequence[Job]) -> dict[str, int]:
    """Rule -> number of jobs."""
    return dict(sorted(Counter(job.rule for job in made).items()))


class Walk:
    """One workflow in a copy, and what held."""

    def __init__(self, name: str, clones: Path, scratch: Path, *, slurm: bool, warm: bool) -> None:
        """Copy the workflow, without what it had made."""
        self.name, self.about, self.scratch = name, WORKFLOWS[name], scratch
        self.slurm, self.warm = slurm, warm
        self.clone = (clones / self.about["repository"].partition("/")[2]).resolve()
        ignored = shutil.ignore_patterns(".git", ".snakemake", "expected-results")
        parts = Path(self.about.get("folder", "."))
        inner = "snakefile" not in self.about
        shutil.copytree(self.clone / parts if inner else self.clone, scratch / "source", ignore=ignored)
        self._tidy(self.source)
        self.change(self.about.get("repair", []), self.source)
        shutil.copytree(scratch / "source", scratch / "live")
        self.live = scratch / "live" / ("." if inner else parts)
        self.given = [word.replace("{clones}", str(clones.resolve())) for word in self.about.get("arguments", [])]
        self.key = toy.make_key(scratch / "key")
        self.held: dict[str, Any] = {}

    @property
    def source(self) -> Path:
        """Where the workflow stands that never ran."""
        return self.scratch / "source"

    @property
    def spec(self) -> Path:
        """Where its campaign.yaml is."""
        return self.live / "campaign" / "campaign.yaml"

    def _tidy(self, folder: Path) -> None:
        for place in self.about.get("clear", []):
            shutil.rmtree(folder / place)
        for place, names in self.about.get("keep", {}).items():
            for path in (folder / place).iterdir():
                if path.name not in names:
                    path.unlink()

    def typed(self, *words: str, expect: int = WELL) -> str:
        """Run a command in the workflow's folder; what it said. AssertionError if it does not end as expected."""
        if words[0] == "snakemake" and self.warm and not self.slurm:
            done = warm_snakemake.run(words[1:], self.live)
        else:
            command = [sys.executable, "-m", *words] if words[0] == "snakemake" else list(words)
            done = subprocess.run(
                command, cwd=self.live, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
        print(f"{self.name}: {' '.join(words)[:150]} -> {done.returncode}", flush=True)
        assert done.returncode == expect, f"{self.name}: {words} ended in {done.returncode}\n{done.stdout[-4000:]}"
        return done.stdout

    def call(self) -> list[str]:
        """Return how Snakemake is called for it."""
        outer = ["-s", "campaign/Snakefile"] if self.about.get("adopt") == "--outer" else []
        inner = ["-s", self.about["snakefile"]] if "snakefile" in self.about else []
        return ["snakemake", *outer, *inner, *self.given, *(SLURM if self.slurm else LOCAL)]

    def refused(self) -> str:
        """Call Snakemake, which must refuse and run nothing; its sentence."""
        said = self.typed(*self.call(), expect=NOT_SIGNED)
        assert not jobs(said), said
        return said[said.index("sophron: ") + len("sophron: ") :].splitlines()[0].replace(str(self.live), ".")

    def edited(self) -> str:
        """Call Snakemake after an edit; its refusal, or that nothing ran: it tracks no script that shell lines call."""
        unseen = self.about.get("unseen", False)
        if not unseen:
            return self.refused()
        said = self.typed(*self.call())
        assert not jobs(said), said
        return "Snakemake sees no edit, so nothing ran"

    def sign(self) -> None:
        """Review and sign."""
        if self.warm:
            toy.Campaign(self.spec.parent, self.key).sign()
            return
        digest = re.findall(r"digest ([0-9a-f]{64})", self.typed("sophron", "review"))[-1]
        self.typed("sophron", "approve", "--key", str(self.key), "--digest", digest)

    def amend(self) -> list[str]:
        """Draft and sign an amendment; what the draft says is other."""
        if self.warm:
            changes = list(amendment_draft.draft_amendment(self.spec.parent, "a trial").changes)
        else:
            changes = re.findall(r"^  (\S.*)$", self.typed("sophron", "amend", "--rationale", "a trial"), re.MULTILINE)
        self.sign()
        return changes

    def change(self, edits: Sequence[Mapping[str, str]], folder: Path | None = None) -> None:
        """Edit files of the workflow, here or in another copy."""
        for edit in edits:
            path = (folder or self.live) / edit["file"]
            text = path.read_text()
            assert edit["old"] in text, edit
            path.write_text(text.replace(edit["old"], edit["new"], 1))

    def adopt(self) -> None:
        """Adopt, and state what is judged: by the strict criterion first, if it is to run."""
        before = self._snakefile().read_text().splitlines()
        given = ["--snakefile", self.about["snakefile"]] if "snakefile" in self.about else []
        how = self.about.get("adopt", "--write")
        self.typed("sophron", "adopt", how, *given, *(["--", *self.given] if self.given else []))
        added = self._snakefile().read_text().splitlines()[len(before) :]
        self.held["lines_added"] = sum(bool(line) for line in added)
        text = self.spec.read_text().replace("UNVERIFIED", "verified")
        text = text.replace("templates: {}", f"templates: {self.about.get('templates', '{}')}")
        if "strict" in self.about:
            criterion = f"{{id: asked, expression: {json.dumps(self.about['strict'])}, statement: What is asked.}}"
            text = re.sub("results: {}.*", lambda _: f"results: {{{self.about['results']}}}", text)
            text = re.sub(r"criteria: \[\].*", lambda _: f"criteria: [{criterion}]", text)
        self.spec.write_text(text)

    def _snakefile(self) -> Path:
        given = [self.about["snakefile"]] if "snakefile" in self.about else ["Snakefile", "workflow/Snakefile"]
        return next(self.live / path for path in given if (self.live / path).is_file())

    def killed(self) -> list[Job]:
        """Kill the driver, and its jobs if they are local, when a job has ended; jobs that had ended."""
        log = self.scratch / "killed.log"
        with log.open("w") as stream:
            command = [sys.executable, "-m", *self.call()]
            driver = subprocess.Popen(command, cwd=self.live, stdout=stream, stderr=stream, start_new_session=True)
            while driver.poll() is None and not ENDED.search(log.read_text()):
                time.sleep(0.05)
            assert driver.poll() is None, log.read_text()[-3000:]
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
        while self.slurm and subprocess.run(["squeue", "-h"], capture_output=True, check=True).stdout:
            time.sleep(1)
        return [job for job in jobs(log.read_text()) if job.ended]

    def go_on(self, expect: int) -> list[Job]:
        """Call Snakemake again after a kill, as its documentation says; jobs that ran."""
        self.typed(*self.call(), "--unlock")
        return jobs(self.typed(*self.call(), "--rerun-incomplete", expect=expect))

    def verdict(self) -> str:
        """Return what the last stage was judged."""
        return json.loads((self.live / "campaign/results/outputs/verdict.json").read_text())["verdict"]

    def run(self) -> None:
        """From a signed plan with a strict criterion to results that are accepted."""
        ended = self.killed()
        mends = self.about.get("slurm", []) if self.slurm else []
        after = self.go_on(1)
        self.held["killed"] = {
            "ended_before": len(ended),
            "repeated": sorted({job.output for job in ended} & {job.output for job in after}),
        }
        if mends:
            self.change(mends)
            self.held["mended"] = {"refused": self.refused(), "drafted": self.amend()}
            self.held["mended"]["ran"] = by_rule(jobs(self.typed(*self.call(), expect=NOT_ACCEPTED)))
        self.held["strict"] = self.verdict()
        self.change([{"file": "campaign/campaign.yaml", "old": self.about["strict"], "new": self.about["criterion"]}])
        self.amend()
        self.held["criterion_repeats"] = by_rule(jobs(self.typed(*self.call())))
        self.held["verdict"] = self.verdict()

    def amended(self) -> None:
        """Edit the workflow, sign, run, and compare with a clean run of the edited workflow without a gate."""
        edit = self.about["edit"]
        self.change([edit])
        self.held["edited_refused"] = self.edited()
        self.held["drafted"] = self.amend()
        if "again" not in self.about:
            return
        self.held["amended_ran"] = by_rule(jobs(self.typed(*self.call())))
        self.held["verdict_after"] = self.verdict()
        self.held["compared"], self.held["stale"] = self.stale()
        self.held["nothing_left"] = not jobs(self.typed(*self.call()))
        if "report:" in self.about["has"]:
            self.typed(*self.call(), "--report", "report.html")
            self.held["report_bytes"] = (self.live / "report.html").stat().st_size

    def stale(self) -> tuple[int, list[str]]:
        """How many files of a clean run were compared, and which of the gated one are not the same."""
        clean = self.scratch / "clean"
        shutil.copytree(self.source, clean)
        self.change([self.about["edit"]], clean)
        command = [sys.executable, "-m", "snakemake", *self.given, *LOCAL]
        subprocess.run(command, cwd=clean, check=True, capture_output=True)
        given = {*host_edits.contents(self.source)}
        made = {path: text for path, text in host_edits.contents(clean).items() if path not in given}
        varies = self.about.get("varies", [])
        made = {path: text for path, text in made.items() if not any(path.match(one) for one in varies)}
        found = host_edits.contents(self.live)
        return len(made), sorted(str(path) for path in made if found.get(path) != made[path])

    def whole(self) -> dict[str, Any]:
        """Walk, and return what held."""
        begun = time.monotonic()
        self.adopt()
        self.held["unsigned_refused"] = self.refused()
        self.sign()
        self.held["jobs"] = len(host_plan.in_force(self.spec.parent).steps)
        if "strict" in self.about:
            self.run()
        self.amended()
        self.held["wall_s"] = round(time.monotonic() - begun)
        return self.held


def holds(about: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    """Return whether a walk shows all that it can."""
    planned = bool(held["unsigned_refused"] and held["edited_refused"] and held["drafted"])
    if "planned" in about:
        return planned
    return planned and (
        held["killed"]["ended_before"] > 0
        and not held["killed"]["repeated"]
        and (held["strict"], held["verdict"], held["verdict_after"]) == ("fail", "pass", "pass")
        and not held["criterion_repeats"]
        and held["amended_ran"] == about["again"]
        and not held["stale"]
        and held["nothing_left"]
    )


def walked(name: str, clones: Path, *, slurm: bool, warm: bool) -> dict[str, Any]:
    """Walk through one workflow in a scratch folder; its row."""
    about = WORKFLOWS[name]
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as monkeypatch:
        for variable, value in {**toy.settings(Path(scratch)), "HOME": scratch}.items():
            monkeypatch.setenv(variable, value)
        if warm:
            host_edits.plan_warm(monkeypatch)
        walk = Walk(name, clones, Path(scratch).resolve(), slurm=slurm, warm=warm)
        monkeypatch.chdir(walk.live)
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=walk.clone, capture_output=True, text=True, check=True
        )
        row = {key: about[key] for key in ("repository", "licence", "has", "planned") if key in about}
        row |= {"commit": commit.stdout.strip(), "folder": about.get("folder", ".")}
        row |= {"executor": "slurm" if slurm else "local"}
        held = walk.whole()
    return {**row, "holds": holds(about, held), **held}


def recorded() -> dict[str, Any]:
    """Return the rows that are there."""
    path = RESULTS / f"{NAME}.json"
    return json.loads(path.read_text())["result"] if path.is_file() else {}


def main() -> None:
    """Walk, and record; exit code 1 if something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clones", type=Path, metavar="FOLDER")
    parser.add_argument("--only", nargs="+", choices=WORKFLOWS, default=list(WORKFLOWS), metavar="NAME")
    parser.add_argument("--slurm", choices=WORKFLOWS, metavar="NAME")
    parser.add_argument("--typed", action="store_true", help="type each command as a person does")
    args = parser.parse_args()
    held, clones = [], args.clones.resolve()
    for name in args.only:
        row = walked(name, clones, slurm=name == args.slurm, warm=not args.typed)
        rows = recorded() | {name: row}
        record(NAME, {known: rows[known] for known in WORKFLOWS if known in rows})
        print(name, json.dumps(row, indent=1), flush=True)
        held.append(row["holds"])
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
