"""A campaign of plain sums that has run and was amended, its steps executed in this process."""

import sys
from pathlib import Path

import pytest
import toy

from sophron.campaign.planning import campaign_agents
from sophron.campaign.spec import spec
from sophron.cli import main

SERVICE = ["--gate", "approvals/gate.json"]


def verb(*words: str) -> int:
    """Run a verb as its rule would: a step is checked against its own command line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sophron", *words])
        return main(words)


def stage(campaign: toy.Campaign, name: str, memory_mb: int = 200) -> list[int]:
    """Run all steps of a stage, verify and accept it; their exit codes."""
    loaded = spec.load(campaign.spec)
    digest, criteria = loaded.definition_digest(name), loaded.criteria_digest(name)
    codes = []
    for wildcards in loaded.steps(name):
        place = "/".join([name, *wildcards.values()])
        given = [word for key, value in wildcards.items() for word in ("--wildcard", f"{key}={value}")]
        shape = ["--cores", "1", "--memory-mb", str(memory_mb), "--runtime-min", "5"]
        paths = ["--outcome", f"results/{place}/outcome.json", "--log", f"logs/{place}.log"]
        codes.append(verb("stage", name, *SERVICE, *given, *paths, *shape, "--digest", digest))
    verdict = f"results/{name}/verdict.json"
    codes.append(verb("verify", name, *SERVICE, "--verdict", verdict, "--log", "logs/v.log", "--digest", criteria))
    accepted = ["--accepted", f"results/{name}/accepted.json", "--passed", f"results/{name}/passed"]
    codes.append(
        verb("accept", name, *SERVICE, "--verdict", verdict, *accepted, "--log", "logs/a.log", "--digest", digest)
    )
    return codes


def report(campaign: toy.Campaign, digest: str | None = None) -> int:
    """Run the report's agent and the report step; the exit code of the last."""
    agent = campaign_agents.digest_of(campaign.root, spec.load(campaign.spec), "caveats")
    answer = ["--answer", "results/caveats.json", "--log", "logs/caveats.log"]
    code = verb("agent", "run", "caveats", *SERVICE, *answer, "--digest", agent)
    if code:
        return code
    paths = [
        "--caveats",
        "results/caveats.json",
        "--html",
        "results/report.html",
        "--crate",
        "results/ro-crate-metadata.json",
        "--log",
        "logs/report.log",
    ]
    return verb("report", *SERVICE, *paths, "--digest", digest or spec.load(campaign.spec).report_digest())


def make(folder: Path, patch: pytest.MonkeyPatch) -> toy.Campaign:
    """Sign, refuse one step, run everything, amend stage c, and run what that invalidated."""
    campaign = toy.campaign(folder, patch)
    patch.chdir(campaign.root)
    campaign.sign()
    wrong = ["--outcome", "results/a/outcome.json", "--log", "logs/a.log", "--cores", "1", "--memory-mb", "200"]
    assert verb("stage", "a", *SERVICE, *wrong, "--runtime-min", "5", "--digest", "0" * 64) == 2
    for name in "abcdef":
        assert not any(stage(campaign, name)), name
    campaign.amend("stages.c.definition.weight=0.49")
    for name in "cdf":
        assert not any(stage(campaign, name)), name
    return campaign
