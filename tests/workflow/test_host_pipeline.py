"""The shipped example of a pipeline that imports Sophron's rules: dry run, plan, real run, and what a host may change."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import toy
import warm_snakemake

from sophron.campaign.planning.plan import Plan, make
from sophron.campaign.spec.spec import load
from sophron.cli import main
from sophron.records.errors import UserError

EXAMPLE = Path(__file__).parents[2] / "examples" / "host-pipeline"
RESOURCES = "    resources:\n        mem_mb=600,\n        runtime=20,\n"
COMPUTE = {"build": 4, "relax": 4, "equilibrate": 4, "produce": 4, "green_kubo": 1}


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A copy of the example, for a user without any configuration."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    folder = tmp_path / "host"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".snakemake", "results", "logs"))
    monkeypatch.chdir(folder)
    return folder


def snakemake(*words: str) -> subprocess.CompletedProcess[str]:
    return warm_snakemake.run(words, Path.cwd())


def approve(folder: Path, capsys, monkeypatch) -> None:
    toy.plan_here(monkeypatch)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    capsys.readouterr()
    assert main(["review", "liquid", "--snakefile", "Snakefile", "--digest"]) == 0
    digits = capsys.readouterr().out.strip()
    assert main(["approve", "liquid", "--snakefile", "Snakefile", "--key", "key", "--digest", digits]) == 0
    assert capsys.readouterr().out.endswith("Next: snakemake\n")


def test_it_dry_runs_and_lints_before_approval(host):
    shown = snakemake("-n")
    assert shown.returncode == 0, shown.stdout
    assert "liquid_green_kubo" in shown.stdout
    linted = snakemake("--lint")
    assert linted.returncode == 0, linted.stdout
    assert "localrules" not in linted.stdout


def test_the_plan_has_our_rules_under_their_own_names_and_not_the_hosts(host, monkeypatch):
    toy.plan_here(monkeypatch)
    plan = make(host / "liquid", load(host / "liquid" / "campaign.yaml"), host / "Snakefile")
    counted = {rule: count for (stage, rule), count in plan.counts().items() if stage == rule}
    assert counted == COMPUTE
    assert set(plan.rules) == {*COMPUTE, "verify", "accept"}


def test_nothing_of_ours_runs_unapproved(host):
    done = snakemake("--cores", "1")
    assert done.returncode != 0
    assert "the plan is not approved yet" in done.stdout
    assert not (host / "results").exists()


def plan_with(host: Path, override: str) -> Plan:
    """The plan after the host's override of resources was replaced by another one."""
    text = (host / "Snakefile").read_text()
    assert RESOURCES in text
    (host / "Snakefile").write_text(text.replace(RESOURCES, override))
    return make(host / "liquid", load(host / "liquid" / "campaign.yaml"), host / "Snakefile")


def test_an_overridden_param_is_refused(host):
    with pytest.raises(UserError, match="the rule produce has another digest than its stage"):
        plan_with(host, "    params:\n        digest='0' * 64,\n")


def test_an_overridden_shell_line_is_refused(host):
    with pytest.raises(UserError, match="Unexpected keyword shell"):
        plan_with(host, "    shell:\n        'echo {output}'\n")


def test_an_overridden_input_is_refused(host):
    with pytest.raises(UserError, match="the rule produce has other inputs"):
        plan_with(host, '    input:\n        gate=ancient("liquid/approvals/gate.json"),\n')


def test_overridden_resources_do_not_change_the_plan(host, monkeypatch):
    toy.plan_here(monkeypatch)
    before = plan_with(host, RESOURCES)
    assert plan_with(host, RESOURCES.replace("600", "900")).hash == before.hash


@pytest.mark.slow
def test_it_runs_to_its_table_and_then_has_nothing_to_do(host, capsys, monkeypatch):
    approve(host, capsys, monkeypatch)
    done = snakemake("--cores", "2")
    assert done.returncode == 0, done.stdout[-2000:]
    rows = list(csv.DictReader((host / "results" / "liquids.tsv").open(), delimiter="\t"))
    assert [row["liquid"] for row in rows] == ["argon", "krypton", "xenon"]
    # Liquid argon near 87 K: about 0.26 mPa s; the model differs a little, and the small run has an error of a tenth.
    assert 0.2 < float(rows[0]["viscosity_mPa_s"]) < 0.4
    assert "Job stats" not in snakemake("-n").stdout
    assert main(["status", "liquid"]) == 0
    assert "completed" in capsys.readouterr().out


def test_a_resource_above_the_ceiling_is_refused_by_the_step(host, capsys, monkeypatch):
    text = (host / "Snakefile").read_text()
    (host / "Snakefile").write_text(
        text.replace("use rule produce", "use rule build")
        .replace("liquid_produce", "liquid_build")
        .replace("mem_mb=600", "mem_mb=99000")
    )
    approve(host, capsys, monkeypatch)
    done = snakemake("--cores", "1", "results/liquid/build/0/outcome.json", "--retries", "0")
    assert done.returncode != 0
    assert "above the signed ceiling" in done.stdout
    assert not (host / "results" / "liquid" / "build" / "0" / "outcome.json").exists()
