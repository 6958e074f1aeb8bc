"""A gate on a workflow of somebody else: identity of its jobs, refusals, exact amendments, results that are read."""

import json
import os
import random
import shutil
from pathlib import Path

import host_edits
import html_page
import pytest
import toy
import warm_snakemake

from sophron import cli
from sophron.campaign.approval import amendment_draft, approval_journal, invalidation
from sophron.campaign.planning import host_plan
from sophron.campaign.review import review, review_page, review_text
from sophron.campaign.scaffold import adopt
from sophron.records.errors import UserError

HOST = toy.DATA / "host_workflow"
BEHIND = ["out/agg.txt", "out/nb.txt", "out/sets.txt"]
"""Outputs that no judged stage stands before; one of them is made behind the checkpoint."""
STAGE = """\
  counts:
    depends_on: []
    definition:
      rules: [count]
      holds: [scripted]
      results:
        smallest: {file: "out/{s}.count", size: true, over: min, unit: byte}
    criteria:
      - {id: there, expression: "smallest > 2", statement: "Every count has something in it."}
    mechanical: {ranks: 1, threads: 1, accelerator: none, memory_mb: 500, runtime_min: 5, retries: 2, choices: {},
      ceilings: {cores: 1, memory_mb: 2000, runtime_min: 10}}
"""


@pytest.fixture(scope="module")
def adopted(tmp_path_factory) -> Path:
    """The workflow with its campaign, as `sophron adopt` leaves it."""
    folder = tmp_path_factory.mktemp("adopted") / "words"
    shutil.copytree(HOST, folder)
    adopt.adopt(folder, None, [], write=True, outer=False)
    return folder


@pytest.fixture
def cold(tmp_path, monkeypatch, adopted) -> toy.Campaign:
    """A workflow in a folder of its own with a campaign beside it, not yet signed; planned as a person's would be."""
    folder = tmp_path / "words"
    shutil.copytree(adopted, folder, ignore=shutil.ignore_patterns(".snakemake"))
    monkeypatch.chdir(folder)
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    made = toy.Campaign(folder / "campaign", toy.make_key(tmp_path / "key"))
    text = made.spec.read_text()
    head = text[: text.index("  outputs:\n")].replace("UNVERIFIED", "verified")
    made.spec.write_text(
        head.replace("templates: {}", 'templates: {part: {wildcards: {i: "[0-9]"}, at_most: 2}}') + STAGE
    )
    return made


@pytest.fixture
def host(cold, monkeypatch) -> toy.Campaign:
    """The same, planned once and by a warm Snakemake."""
    host_edits.plan_warm(monkeypatch)
    return cold


def run(*arguments: str) -> str:
    """What Snakemake says here, with its exit code."""
    done = warm_snakemake.run([*toy.BASICS, *arguments], Path.cwd())
    return f"{done.stdout}\nexit {done.returncode}"


def replace(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text, old
    Path(path).write_text(text.replace(old, new, 1))


def config(old: str, new: str):
    return lambda: replace("config.yaml", old, new)


def rules(old: str, new: str):
    return lambda: replace("Snakefile", old, new)


def file(path: str, old: str, new: str):
    return lambda: replace(path, old, new)


MUTATIONS = {
    "config through params": (config("through: thru", "through: other"), {"count"}),
    "config in a params function": (config("a: 1", "a: 2"), {"count"}),
    "config in a run body": (config("used_in_run: u", "used_in_run: v"), {"running"}),
    "config in a shell line": (config("pattern: x", "pattern: y"), {"count"}),
    "constant in a shell line": (rules('"grep -c"', '"grep -ci"'), {"count"}),
    "config that only a script reads": (config("hidden: h", "hidden: i"), {"scripted"}),
    "config of a checkpoint": (config("nparts: 2", "nparts: 3"), {"split"}),
    "function that a run body calls": (rules("text.upper()", "text.lower()"), {"running"}),
    "config in that function": (config('suffix: "!"', 'suffix: "?"'), {"running"}),
    "params function of inputs": (rules("len(input) + 1", "len(input) + 2"), {"scripted"}),
    "script": (file("scripts/scripted.py", "shout(Path", 'shout("z" + Path'), {"scripted"}),
    "script touched": (lambda: os.utime("scripts/scripted.py"), set()),
    "module of a script": (file("scripts/helpers.py", "upper", "lower"), {"scripted"}),
    "file that a shell script sources": (file("scripts/inner.sh", "inner", "outer"), {"nb"}),
    "wrapper beside the workflow": (file("wrap/wrapper.py", '"w"', '"v"'), {"wrapped"}),
    "environment file": (file("envs/one.yaml", "python", "python=3.12"), {"nb"}),
    "container": (rules('conda:\n        "envs/one.yaml"', 'container:\n        "docker://debian:12"'), {"nb"}),
    "comment in a run body": (rules("        text = helper", "        # words\n        text = helper"), set()),
    "other code, same value": (
        rules('    return config["by_sample"].get', '    found = config["by_sample"]\n    return found.get'),
        set(),
    ),
    "threads": (rules("threads: 2", "threads: 1"), set()),
    "config that no rule uses": (config("unused: 1", "unused: 2"), set()),
    "run body": (rules("+ PREFIX", '+ PREFIX + "1"'), {"running"}),
    "constant of a run body": (config("prefix: p", "prefix: q"), {"running"}),
    "shell text": (rules("cat {input}", "cat -u {input}"), {"agg"}),
    "rule behind a checkpoint": (rules("cp {input}", "cp -p {input}"), {"part"}),
    "source file": (file("data/a.txt", "xx", "xy"), {"data/a.txt"}),
    "source touched": (lambda: os.utime("data/a.txt"), set()),
    "new sample": (
        lambda: (config("samples: [a, b]", "samples: [a, b, c]")(), Path("data/c.txt").write_text("c\n")),
        {"count", "scripted", "running", "split", "data/c.txt"},
    ),
}
"""What is changed -> rules and source files that are other ones then."""


def planned(folder: Path, monkeypatch) -> dict:
    """The plan of the workflow in a folder, by one forced dry run."""
    path = folder / "plan.json"
    monkeypatch.setenv(host_plan.PLAN_VARIABLE, str(path))
    warm_snakemake.run(["--dry-run", "--forceall", "--quiet", "all", "--nolock", "--cores", "1"], folder)
    return json.loads(path.read_text())["host"]


def different(before: dict, now: dict) -> set[str]:
    old, new = (
        {(step["rule"], step["code"], step["job"], step["wildcards"].get("s")) for step in one["steps"]}
        for one in (before, now)
    )
    found = {rule for rule, *_ in old ^ new}
    for key in ("sources", "unplanned"):
        found |= {name for name in {*before[key], *now[key]} if before[key].get(name) != now[key].get(name)}
    return found


@pytest.mark.slow
def test_a_change_of_what_a_job_does_is_another_step_and_no_other_change_is(host, tmp_path, monkeypatch):
    folder = Path.cwd()
    before = planned(folder, monkeypatch)
    wrong = {}
    for name, (mutate, wanted) in MUTATIONS.items():
        copy = tmp_path / "copies" / name.replace(" ", "-")
        shutil.copytree(folder, copy)
        os.chdir(copy)
        mutate()
        found = different(before, planned(copy, monkeypatch))
        if found != wanted:
            wrong[name] = found
    assert not wrong


def test_nothing_unsigned_runs_and_a_signed_workflow_runs_judged(cold):
    assert "not approved yet" in run()
    assert "exit 0" in run("-n")
    assert not Path("out").exists()
    cold.sign()
    assert "exit 0" in run()
    verdict = json.loads((cold.root / "results/counts/verdict.json").read_text())
    assert verdict["criteria"][0]["steps"][0]["comparisons"] == [{"left": 9.0, "right": 2, "text": "smallest > 2"}]
    assert (cold.root / "results/report.html").is_file()
    for change, target, said in (
        (
            config("hidden: h", "hidden: i"),
            "all",
            "the rule scripted is not the signed one (changed: config.hidden)",
        ),
        (config("hidden: i", "hidden: h"), "out/a.count", "exit 0"),
        (lambda: Path("data/a.txt").write_text("other\n"), "all", "data/a.txt: is not the file that was signed"),
    ):
        change()
        assert said in run("--forcerun", "count", "--", target)


def test_an_amendment_moves_what_the_edit_makes_invalid_and_nothing_else(host):
    host.sign()
    assert "exit 0" in run(*BEHIND)
    before = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*") if path.is_file()}
    rules("cat {input}", "sort {input}")()
    with pytest.raises(UserError, match="rule agg: shell: not as signed; draft the change"):
        host.sign()
    drafted = amendment_draft.draft_amendment(host.root, "sorted")
    assert (drafted.changes, drafted.invalidated_stages) == (["rule agg: shell"], [])
    host.sign()
    assert {path for path in before if not path.exists()} == {Path("out/agg.txt")}
    assert len(list((host.root / "invalidated/v1").rglob("agg.txt"))) == 1
    assert "exit 0" in run(*BEHIND)
    after = {path: path.stat().st_mtime_ns for path in before}
    assert {path for path in before if before[path] != after[path]} <= {Path("out/agg.txt"), Path("out/sets.txt")}


def test_a_review_shows_each_rule_of_the_workflow_and_what_is_not_signed(host):
    rules("echo {params.s}", "echo $WHO {params.s}")()
    looked = review.collect(host.root, None, lambda _: [])
    words, page = review_text.render(looked), html_page.Page(review_page.render(looked)).words
    for said in (
        "2 source files",
        "a first try at most: cores 2",
        "shell: {GREP} {config[pattern]}",
        "not signed: $WHO",
    ):
        assert said in " ".join(words.split())
        assert said in page
    assert "part: no job in the plan; at most 2 jobs" in page


def test_a_job_process_that_is_started_by_hand_is_refused_too(host):
    host.sign()
    Path("out").mkdir()
    Path("out/a.scripted").write_text("made before\n")
    rules("text.upper()", "text.lower()")()
    job = [
        "--target-jobs",
        "running:s=a",
        "--mode",
        "remote",
        "--no-hooks",
        "--force",
        "--nolock",
        "--allowed-rules",
        "running",
    ]
    assert "the rule running is not the signed one (changed: function helper)" in run(*job)


@pytest.mark.parametrize(("named", "ours"), [("None", False), ("rules.sophron_report.output", True)])
def test_a_job_process_parses_our_rules_only_if_the_host_names_one(host, named, ours):
    with Path("Snakefile").open("a") as file:
        file.write(
            f'late = lambda: {named}\nprint("ours:", "sophron_report" in {{rule.name for rule in workflow.rules}})\n'
        )
    host.sign()
    job = ["--target-jobs", "count:s=a", "--mode", "remote", "--no-hooks", "--nolock", "--allowed-rules", "count"]
    said = run("--force", *job)
    assert f"ours: {ours}" in said
    assert "exit 0" in said


@pytest.mark.slow
def test_a_job_behind_a_checkpoint_is_one_of_the_bounded_ones_and_a_refusal_costs_nothing(host):
    host.spec.write_text(host.spec.read_text().replace("at_most: 2", "at_most: 1"))
    host.sign()
    said = run("--keep-going")
    assert "is beyond what campaign.yaml says of part: at most 1 with i [0-9]; look at it and sign" in said
    assert "exit 1" in said
    made = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*") if path.is_file()}
    assert not Path("out/part").exists()
    host.edit("at_most: 1", "at_most: 2")
    host.amend()
    words = ["-c", "2", "--nolock", "--nocolor"]  # without --rerun-incomplete
    done = warm_snakemake.run(words, Path.cwd())
    assert done.returncode == 0, done.stdout
    assert Path("out/part/2.done").is_file()
    assert {path for path in made if path.stat().st_mtime_ns != made[path]} <= set()


def test_adopt_shows_the_lines_or_leaves_the_workflow_untouched(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "words"
    shutil.copytree(HOST, folder)
    monkeypatch.chdir(folder)
    text = Path("Snakefile").read_text()
    assert cli.main(["adopt", "--outer"]) == 0
    assert Path("Snakefile").read_text() == text
    assert "sophron.HOST" in Path("campaign/Snakefile").read_text()
    assert cli.main(["adopt"]) == 2
    assert "campaign.yaml: is there already" in capsys.readouterr().err


@pytest.mark.slow
def test_a_workflow_is_gated_from_outside_with_its_target_its_workdir_and_its_scripts(tmp_path, monkeypatch):
    folder = tmp_path / "outer"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    Path("config.yaml").write_text("name: a\n")
    Path("words.py").write_text("ONE = 1\n")
    Path("one.py").write_text("from words import ONE\nprint(ONE)\n")
    Path("Snakefile").write_text(
        'workdir: "work"\n\n\nrule second:\n    input:\n        f"{config[\'name\']}.txt",\n\n\n'
        'rule first:\n    """Count.\n\n    Twice."""\n    output:\n        "{name}.txt",\n    log:\n        "{name}.log",\n'
        '    shell:\n        "python ../one.py > {output} 2> {log}"\n'
    )
    adopt.adopt(folder, None, ["--configfile", "config.yaml"], write=False, outer=True)
    made = toy.Campaign(folder / "campaign", toy.make_key(tmp_path / "key"))
    made.edit("UNVERIFIED", "verified")
    assert 'rules: ["first"]' in made.spec.read_text()
    outer = ("-s", "campaign/Snakefile", "--configfile", "config.yaml")
    assert "not approved yet" in run(*outer)
    made.sign()
    assert "exit 0" in run(*outer)
    assert Path("work/a.txt").read_text() == "1\n"
    Path("one.py").write_text("from words import ONE\nprint(ONE + 1)\n")
    made.amend()
    assert not Path("work/a.txt").exists()
    assert {path.name for path in (made.root / "invalidated/v1").rglob("work/*")} == {"a.txt", "a.log"}


def test_outputs_are_moved_once_though_the_move_is_cut_off(host, monkeypatch):
    host.sign()
    made = host_plan.in_force(host.root).outputs(["count", "split", "sets"])
    for path in map(Path, made):
        path.parent.mkdir(parents=True, exist_ok=True)
        (path / "1.txt" if path.name == "parts" else path).parent.mkdir(exist_ok=True)
        (path / "1.txt" if path.name == "parts" else path).write_text("made before\n")
    Path("out/a.count").chmod(0o444)
    config("pattern: x", "pattern: y")()
    amendment_draft.draft_amendment(host.root, "another pattern")
    moved, move = [], invalidation.move

    def cut_off(source, target):
        if len(moved) == 1:
            raise KeyboardInterrupt
        moved.append(source)
        move(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(invalidation, "move", cut_off)
        with pytest.raises(KeyboardInterrupt):
            host.sign()
    approval_journal.finish(host.root)
    assert [path for path in made if Path(path).exists()] == ["out/sets.txt"]
    manifest = json.loads((host.root / "invalidated/v1/manifest.json").read_text())
    assert {Path(one["file"]).name for one in manifest["files"]} == {"a.count", "b.count", "1.txt"}


def test_outputs_of_a_removed_sample_are_moved_though_its_data_stay(host):
    host.sign()
    kept, gone = (
        [
            path
            for path in host_plan.in_force(host.root).outputs(["count", "scripted", "running"])
            if f"/{sample}." in path
        ]
        for sample in "ab"
    )
    Path("out").mkdir()
    for path in kept + gone:
        Path(path).write_text("made before\n")
    Path("data/c.txt").write_text("c\n")
    config("samples: [a, b]", "samples: [a, c]")()
    host.amend()
    assert [path for path in kept + gone if Path(path).exists()] == kept
    assert {step.wildcards.get("s") for step in host_plan.in_force(host.root).steps} == {None, "a", "c"}


def step(rule: str, code: str, inputs: str = "", outputs: str = "", logs: str = "") -> host_plan.HostStep:
    return host_plan.HostStep(rule, code, "", {}, *(tuple(paths.split()) for paths in (inputs, outputs, logs)))


@pytest.mark.parametrize(
    ("new", "ran", "stale"),
    [
        ([step("a", "1", "s", "x", "x.log"), step("b", "1", "x.log", "y")], [], set()),
        ([step("a", "2", "s", "x", "x.log"), step("b", "1", "x.log", "y")], [], {"x", "x.log", "y"}),
        ([step("a", "1", "s", "x", "x.log"), step("b", "2", "x.log", "y")], [("c", "z", ["y"])], {"y", "z"}),
        ([step("a", "1", "s", "x", "x.log")], [], {"y"}),
        (
            [step("a", "1", "s", "x", "x.log"), step("b", "1", "x.log", "y"), step("d", "1", "s", "old")],
            [],
            {"old"},
        ),
    ],
    ids=[
        "nothing",
        "what reads a log",
        "what ran behind it",
        "a removed step",
        "a file that was there before its step",
    ],
)
def test_what_an_amendment_makes_invalid_is_closed_over_all_that_builds_on_it(new, ran, stale):
    signed = host_plan.HostPlan((step("a", "1", "s", "x", "x.log"), step("b", "1", "x.log", "y")), {}, {"s": ""}, {})
    assert signed.stale(host_plan.HostPlan(tuple(new), {}, {"s": ""}, {}), ran) == stale


def test_no_file_is_asked_of_a_stage_that_a_rule_without_a_job_could_make_too():
    paired = host_plan.HostStep("paired", "1", "1", {}, outputs=("trimmed/a_R1.fq", "trimmed/a.json"))
    other = host_plan.HostStep("other", "1", "1", {}, outputs=("trimmed/b.json",))
    plan = host_plan.HostPlan(
        (paired, other), {}, {}, {}, patterns={"single": ("trimmed/{s}.fq.gz", "trimmed/{s}.json")}
    )
    assert plan.requests(["paired"]) == ["trimmed/a_R1.fq"]
    assert plan.requests(["other", "paired"]) == ["trimmed/a_R1.fq", "trimmed/b.json"]
    assert plan.outputs(["paired"]) == ["trimmed/a.json", "trimmed/a_R1.fq"]


def test_more_that_a_rule_asks_for_is_a_change_to_sign_which_moves_nothing():
    steps = (step("a", "1", "s", "x"),)
    signed = host_plan.HostPlan(steps, {"a": {}}, {}, {"a": {"memory_mb": 100, "runtime_min": 5, "cores": 1}})
    asked = host_plan.HostPlan(steps, {"a": {}}, {}, {"a": {"memory_mb": 400, "cores": 1}})
    assert signed.changes(asked) == ["rule a: memory_mb 100 -> 400", "rule a: runtime_min 5 -> no ceiling"]
    assert not signed.changes(signed)
    assert not asked.changes(signed)
    assert not signed.stale(asked)


@pytest.mark.slow
def test_random_edits_leave_nothing_stale_and_repeat_what_was_moved_alone(tmp_path, monkeypatch):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    host_edits.plan_warm(monkeypatch)
    gated = host_edits.Gated(HOST, tmp_path, [], '{part: {wildcards: {i: "[0-9]+"}, at_most: 99}}')
    found = list(host_edits.edits(random.Random(18), gated, 12, at_once=3))
    assert sum(len(one.kinds) for one in found) >= 12
    assert not [one for one in found if one.stale or one.left]
