"""What steps ask of a queue: never above the signed ceilings, never what a profile cannot give; the plan knows neither."""

import pytest
import toy
from ruamel.yaml import YAML

from sophron.campaign.approval import approve
from sophron.campaign.planning import profiles, resource_limits
from sophron.campaign.snakefile import snakefile_api
from sophron.campaign.spec import spec
from sophron.campaign.spec.resource_requests import Mechanical
from sophron.cli import main
from sophron.records.digests import canonical_bytes
from sophron.records.errors import UserError
from sophron.records.files import resource

ONE = "results/a/outcome.json"
SHIPPED = profiles.names()


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    (campaign.root / "Snakefile").write_text(resource("campaign", "templates", "new", "Snakefile").read_text())
    return campaign


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--set-resources", "a:mem_mb=601"], "memory_mb 601, above the signed ceiling 600"),
        (["--set-resources", "a:mem_mb=250*attempt"], "memory_mb 750, above the signed ceiling 600"),
        (["--set-resources", "a:runtime=11"], "runtime_min 11, above the signed ceiling 10"),
        (["--set-resources", "a:tasks=3"], "cores 3, above the signed ceiling 2"),
        (["-c", "4", "--set-threads", "a=3"], "cores 3, above the signed ceiling 2"),
    ],
)
def test_more_than_was_signed_is_refused_before_anything_starts(words, sentence, campaign):
    campaign.sign()
    done = campaign.snakemake(*words, "--", ONE)
    assert done.returncode == 2
    assert f"sophron: the stage a would reserve {sentence}; lower it in your profile" in done.stdout
    assert campaign.tries() == {}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["a:gpu=8"], "the stage a would reserve gpus 8, above the signed ceiling 0"),
        (["a:nodes=100"], "the stage a would reserve nodes 100, above the signed ceiling 1"),
        (["a:slurm_extra='--mem=0'"], "the stage a would ask for slurm_extra, which is not among the resources"),
        (["a:shell_exec='bash'"], "the stage a would ask for shell_exec, which is not among the resources"),
        (["verify:mem_mb=999999"], "the rule verify would reserve memory_mb 999999, above the signed ceiling 4000"),
        (["accept:runtime=99999"], "the rule accept would reserve runtime_min 99999, above the signed ceiling 60"),
    ],
)
def test_what_was_not_signed_is_refused_whatever_asks_for_it(words, sentence, campaign):
    campaign.sign()
    done = campaign.snakemake("--set-resources", *words, "--", "results/a/passed")
    assert done.returncode == 2
    assert f"sophron: {sentence}" in done.stdout
    assert campaign.tries() == {}


def test_a_service_rule_takes_one_core(campaign):
    campaign.sign()
    done = campaign.snakemake("-c", "64", "--set-threads", "accept=64", "--", "results/a/passed")
    assert "sophron: the rule accept would reserve cores 64, above the signed ceiling 1" in done.stdout


def test_where_a_queue_runs_a_step_is_the_users_own_affair(campaign):
    campaign.sign()
    campaign.complete("--default-resources", "slurm_partition='short'", "slurm_account='me'", "--", ONE)
    assert campaign.tries() == {"a": 1}


def test_less_than_was_signed_is_the_users_own_affair(campaign):
    campaign.sign()
    campaign.complete("--set-resources", "a:mem_mb=150*attempt", "--", ONE)
    assert campaign.tries() == {"a": 1}


@pytest.fixture
def planned(tmp_path, monkeypatch):
    return toy.campaign(tmp_path, monkeypatch)


@pytest.mark.slow
def test_plan_and_statement_are_the_same_bytes_under_every_profile(planned, monkeypatch):
    monkeypatch.delenv("SNAKEMAKE_PROFILE", raising=False)
    before = canonical_bytes(approve.propose(planned.root).plan.statement(planned.root))
    for name in SHIPPED:
        monkeypatch.setenv("SNAKEMAKE_PROFILE", str(profiles.install(name, planned.root.parent / "user")[0]))
        assert canonical_bytes(approve.propose(planned.root).plan.statement(planned.root)) == before, name


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_profile_ships_is_installed_whole_and_its_scripts_can_be_started(name, tmp_path):
    target, _ = profiles.install(name, tmp_path)
    assert sorted(path.name for path in target.iterdir()) == sorted(
        path.name for path in resource("profiles", name).iterdir() if path.is_file()
    )
    settings = YAML(typ="safe").load(target / "config.v8+.yaml")
    for key, value in settings.items():
        if str(value).endswith(".py"):
            assert (target / value).stat().st_mode & 0o111, key
    assert resource_limits.limits(str(target)).data["gpus"] == 0  # until somebody says that there are some


def test_a_review_knows_the_wall_time_that_a_block_ships_with():
    settings = YAML(typ="safe").load(resource("profiles", "parsl") / "config.v8+.yaml")
    assert resource_limits.limits("parsl").data["runtime_min"] == settings["parsl-walltime-min"]


def test_each_line_of_a_profile_says_what_it_is_for():
    for name in SHIPPED:
        for line in (resource("profiles", name) / "config.v8+.yaml").read_text().splitlines():
            assert not line.strip() or "#" in line, f"{name}: {line}"


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("cores: 1", ":1: cores: the profile gives a step 1 at most, and the stage b may ask for 2; lower its"),
        (
            "memory_mb: 599",
            ":1: memory_mb: the profile gives a step 599 at most, and the stage a may ask for 600; lower its",
        ),
        (
            "runtime_min: 9",
            ":1: runtime_min: the profile gives a step 9 at most, and the stage a may ask for 10; lower its",
        ),
        ("gpus: 0", ":1: gpus: the profile gives a step 0 at most, and the stage c may ask for 1; lower its"),
        ("memory_mb_least: 500", "stages.a.mechanical.memory_mb: is 200, and a job of the profile"),
        ("fans: 2", ":1: fans: "),
    ],
)
def test_what_a_queue_cannot_give_is_one_sentence_at_review_time(limit, sentence, planned, capsys):
    text = planned.spec.read_text()
    stages = text.split("  b:\n")
    stages[1] = stages[1].replace("memory_mb: 200", "memory_mb: 200\n      threads: 2", 1)
    head, tail = stages[1].split("  c:\n")
    planned.spec.write_text(
        f"{stages[0]}  b:\n{head}  c:\n{tail.replace('memory_mb: 200', 'memory_mb: 200' + chr(10) + '      accelerator: gpu', 1)}"
    )
    profile = planned.root.parent / "mine"
    profile.mkdir()
    (profile / "config.v8+.yaml").write_text("cores: 1\n")
    (profile / "limits.yaml").write_text(f"{limit}\n")
    assert main(["review", str(planned.root), "--profile", str(profile), "--digest"]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_a_profile_that_is_nowhere_is_refused(planned):
    with pytest.raises(UserError, match='there is no profile "nowhere"; see: sophron profile list'):
        resource_limits.check_profile(spec.load(planned.spec), planned.root, "nowhere")


BLOCK = {
    "memory_mb": 500,
    "runtime_min": 10,
    "retries": 2,
    "ceilings": {"cores": 8, "memory_mb": 900, "runtime_min": 25},
}


def test_inside_a_job_a_step_is_not_repeated(planned):
    outside, inside = (snakefile_api.RuleView.open(str(planned.root), in_job=flag) for flag in (False, True))
    assert outside.retries("a") == 2
    assert inside.retries("a") == 0


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ({}, {}),
        ({"threads": 4}, {}),
        ({"ranks": 4, "threads": 2}, {"mpi": "mpiexec", "tasks": 4, "cpus_per_task": 2}),
        ({"accelerator": "gpu"}, {"gpu": 1}),
        ({"accelerator": "kk", "ranks": 2}, {"gpu": 1, "mpi": "mpiexec", "tasks": 2, "cpus_per_task": 1}),
        ({"accelerator": "omp"}, {}),
    ],
)
def test_ranks_and_gpus_become_requests(shape, expected, planned, monkeypatch):
    view = snakefile_api.RuleView.open(str(planned.root))
    monkeypatch.setattr(snakefile_api.RuleView, "mechanical", lambda self, stage: Mechanical.of(BLOCK | shape))
    assert view.requests("a") == expected
