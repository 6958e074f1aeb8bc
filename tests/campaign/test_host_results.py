"""Judged stages between the rules of a host: tables, held rules, what an amendment repeats, and what is refused."""

import json
import shutil
from pathlib import Path

import host_edits
import pytest
import toy
import warm_snakemake
from rocrate.rocrate import ROCrate

from sophron import cli
from sophron.campaign.approval import amendment_draft
from sophron.campaign.planning import plan
from sophron.campaign.scaffold import adopt
from sophron.campaign.spec import mutation
from sophron.campaign.spec.spec import load
from sophron.records.digests import file_digest
from sophron.records.errors import UserError

SNAKEFILE = """\
rule all:
    input:
        "out/final.txt",


rule measure:
    output:
        "out/{s}.tsv",
    shell:
        "printf 'row\\\\tqc\\\\n007\\\\t35\\\\n008\\\\t40\\\\n' > {output}; echo {wildcards.s} >> ran.txt"


rule gather:
    input:
        expand("out/{s}.tsv", s=["a", "b"]),
    output:
        "out/gathered.txt",
    shell:
        "cat {input} > {output}; echo gather >> ran.txt"


rule final:
    input:
        "out/gathered.txt",
    output:
        "out/final.txt",
    shell:
        "wc -l < {input} > {output}; echo final >> ran.txt"
"""
STAGES = """\
  measured:
    depends_on: []
    definition:
      rules: [measure]
      holds: [gather]
      results:
        row: {file: "out/{sample}.tsv", rows: {qc: {type: number, unit: "1"}, row: {type: text}}}
        smallest: {file: "out/{sample}.tsv", size: true, over: min}
    criteria:
      - {id: quality, expression: "all(row.qc > 30)", statement: "Every row is good."}
      - {id: samples, expression: "all(count(row.qc, row.sample) == 2) and row == 4", statement: "None is lost."}
      - {id: sized, expression: "smallest > 5", statement: "There is something in it."}
    mechanical: &mechanical {ranks: 1, threads: 1, accelerator: none, memory_mb: 500, runtime_min: 5, retries: 0, choices: {},
      ceilings: {cores: 1, memory_mb: 2000, runtime_min: 10}}
  ended:
    depends_on: [measured]
    definition:
      rules: [final]
      results: {lines: {file: out/final.txt, column: n, columns: [n], type: integer, unit: "1"}}
    criteria: [{id: lines, expression: "lines == 6", statement: "All lines are there."}]
    mechanical: {ranks: 1, threads: 1, accelerator: none, memory_mb: 500, runtime_min: 5, retries: 0, choices: {},
      ceilings: {cores: 1, memory_mb: 2000, runtime_min: 10}}
""".replace("&mechanical ", "")


@pytest.fixture(scope="module")
def adopted(tmp_path_factory) -> Path:
    """The workflow with its campaign, as `sophron adopt` leaves it."""
    folder = tmp_path_factory.mktemp("adopted")
    (folder / "Snakefile").write_text(SNAKEFILE)
    adopt.adopt(folder, None, [], write=True, outer=False)
    return folder


@pytest.fixture
def host(tmp_path, monkeypatch, adopted) -> toy.Campaign:
    folder = tmp_path / "host"
    shutil.copytree(adopted, folder, ignore=shutil.ignore_patterns(".snakemake"))
    monkeypatch.chdir(folder)
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    host_edits.plan_warm(monkeypatch)
    made = toy.Campaign(folder / "campaign", toy.make_key(tmp_path / "key"))
    text = made.spec.read_text()
    made.spec.write_text(text[: text.index("  outputs:\n")].replace("UNVERIFIED", "verified") + STAGES)
    return made


def run(*arguments: str) -> str:
    done = warm_snakemake.run([*toy.BASICS, *arguments], Path.cwd())
    return f"{done.stdout}\n{done.stderr}\nexit {done.returncode}"


def ran() -> list[str]:
    """What of the host ran since it was asked last."""
    path = Path("ran.txt")
    lines = sorted(path.read_text().split()) if path.is_file() else []
    path.unlink(missing_ok=True)
    return lines


def amend(host: toy.Campaign, old: str, new: str) -> amendment_draft.Draft:
    text = host.spec.read_text()
    assert old in text
    host.spec.write_text(text.replace(old, new))
    drafted = amendment_draft.draft_amendment(host.root, "why")
    host.sign()
    return drafted


def verdict(host: toy.Campaign, stage: str) -> dict:
    return json.loads((host.root / f"results/{stage}/verdict.json").read_text())


@pytest.mark.slow
def test_rows_are_judged_between_the_rules_and_an_amendment_of_how_repeats_none_of_them(host):
    host.sign()
    assert "exit 0" in run()
    assert ran() == ["a", "b", "final", "gather"]
    quality = verdict(host, "measured")["criteria"][0]["steps"][0]
    assert quality["values"] == {"row.qc": "4 rows, 35 to 40"}
    assert quality["comparisons"] == [{"left": 35.0, "right": 30.0, "text": "row.qc > 30"}]
    assert (host.root / "results/ended/passed").is_file()
    assert cli.main(["rederive", "campaign"]) == 0
    shutil.copy("out/a.tsv", "kept.tsv")
    Path("out/a.tsv").write_text(Path("out/a.tsv").read_text().replace("35", "99"))
    assert cli.main(["rederive", "campaign"]) == 1
    shutil.copy2("kept.tsv", "out/a.tsv")
    crate = ROCrate(host.root / "results")
    assert {"measured/outcome.json", "measured/tables.json"} <= {one.id for one in crate.get_entities()}
    here = {Path(name).absolute().as_uri() for name in ("Snakefile", "out/a.tsv", "out/gathered.txt", "out/final.txt")}
    assert here <= {one.id for one in crate.root_dataset["hasPart"]}
    made = crate.dereference("#rule-gather")
    assert {Path(one.id).name for one in made["object"]} == {"Snakefile", "a.tsv", "b.tsv"}
    assert made["result"].id == Path("out/gathered.txt").absolute().as_uri()
    assert made["result"]["sha256"] == file_digest(Path("out/gathered.txt"))
    amend(host, "row.qc > 30", "row.qc > 34")
    assert "exit 0" in run()
    assert ran() == []
    assert verdict(host, "measured")["criteria"][0]["expression"] == "all(row.qc > 34)"
    amend(
        host,
        "      results:\n        row:",
        '      results:\n        most: {file: "out/{x}.tsv", column: qc, over: max, unit: "1"}\n        row:',
    )
    assert "exit 0" in run()
    assert ran() == []
    assert json.loads((host.root / "results/measured/outcome.json").read_text())["result"]["most"] == 40
    (host.root / "results/measured/accepted.json").unlink()
    assert "exit 0" in run()
    assert ran() == []


@pytest.mark.slow
def test_what_fails_holds_the_rules_behind_it_and_is_judged_again_once_it_is_mended(host):
    host.spec.write_text(host.spec.read_text().replace("row.qc > 30", "row.qc > 36"))
    host.sign()
    assert "exit 1" in run()
    said = (host.root / "logs/measured/accept.log").read_text()
    assert "stage measured failed its criteria (quality: all(row.qc > 36) is not so" in said
    assert ran() == ["a", "b"]
    amend(host, "row.qc > 36", "row.qc > 30")
    assert "exit 0" in run()
    assert ran() == ["final", "gather"]
    amend(host, "row.qc > 30", "row.qc > 36")
    assert "exit 1" in run()
    amend(host, "row.qc > 36", "row.qc > 30")
    assert "exit 0" in run()
    assert ran() == []


def test_a_looser_criterion_that_nobody_signed_judges_nothing(host):
    host.spec.write_text(host.spec.read_text().replace("row.qc > 30", "row.qc > 36"))
    host.sign()
    assert "exit 1" in run()
    host.spec.write_text(host.spec.read_text().replace("row.qc > 36", "row.qc > 30"))
    assert "campaign.yaml" in run()
    assert not (host.root / "results/measured/passed").exists()
    assert ran() == ["a", "b"]


MUTATED = {
    "all(row.qc > 30)": (mutation.FAILS, "in one row"),
    "row >= 0": (mutation.HOLDS, ""),
    "count(row.qc) == 4": (mutation.FAILS, "a row of row is lost"),
    "median(row.qc) > 30": (mutation.FAILS, "in every row"),
    "smallest > 5": (mutation.FAILS, "smallest"),
    "all(row.qc * row.qc > -1)": (mutation.HOLDS, ""),
    "all(row.qc > 30 or row.qc <= 30)": (mutation.HOLDS, ""),
}


@pytest.mark.parametrize("expression", MUTATED)
def test_a_criterion_over_declared_results_that_nothing_fails_holds_by_construction(host, expression):
    host.spec.write_text(host.spec.read_text().replace("all(row.qc > 30)", expression))
    spec = load(host.spec)
    judged = mutation.judge(spec, "measured", spec.criteria("measured")[0])
    status, why = MUTATED[expression]
    assert (judged.status, why in judged.why) == (status, True), judged.why


WRONG = {
    "row.qc > 30": "it is a truth for each row; say for which with all(...)",
    "all(row.qcc > 30)": 'the result has no "row.qcc"',
    "all(smallest > 30)": "all goes over the rows of a column",
    "mean(row.row) > 3": "mean cannot go over texts; only count can",
    "all(row.row > 3)": "is a column of texts",
    "abs(row.qc) > 3": "it is a truth for each row",
    "mean(row.qc, smallest) > 3": "the second column of mean must be one of the same table",
}


@pytest.mark.parametrize("expression", WRONG)
def test_a_column_that_is_used_as_a_number_is_refused_when_the_file_is_read(host, expression):
    host.spec.write_text(host.spec.read_text().replace("all(row.qc > 30)", expression))
    with pytest.raises(UserError) as error:
        load(host.spec)
    assert WRONG[expression] in str(error.value)
    assert "campaign.yaml:" in str(error.value)


MIXED = """\
rule all:
    input:
        "out/doubled.txt",


rule double:
    input:
        total="campaign/results/a/outcome.json",
        passed="campaign/results/a/passed",
    output:
        "out/doubled.txt",
    run:
        import json

        total = json.loads(open(input.total).read())["result"]["total"]
        print(2 * total, file=open(output[0], "w"))


import sophron


module sophron_gate:
    snakefile:
        sophron.HOST
    config:
        {"campaign": "campaign"}


use rule * from sophron_gate as sophron_*
"""
DOUBLED = """\
  doubled:
    depends_on: [a]
    definition:
      rules: [double]
      results: {twice: {file: out/doubled.txt, column: n, columns: [n], type: integer, unit: "1"}}
    criteria: [{id: twice, expression: "twice == 20", statement: "It is twice the sum."}]
    mechanical: {ranks: 1, threads: 1, accelerator: none, memory_mb: 500, runtime_min: 5, retries: 0, choices: {},
      ceilings: {cores: 1, memory_mb: 2000, runtime_min: 10}}
"""


@pytest.fixture
def mixed(tmp_path, monkeypatch) -> toy.Campaign:
    """A workflow with a rule of its own behind the stage a of our kind, and a stage that judges it."""
    folder = tmp_path / "mixed"
    (folder / "campaign").mkdir(parents=True)
    monkeypatch.chdir(folder)
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    host_edits.plan_warm(monkeypatch)
    Path("Snakefile").write_text(MIXED)
    made = toy.Campaign(folder / "campaign", toy.make_key(tmp_path / "key"))
    text = (toy.DATA / "arithmetic/campaign.yaml").read_text()
    workflow = "workflow: {snakefile: ../Snakefile}\n"
    made.spec.write_text(
        text.replace("question:", f"{workflow}question:", 1).replace("stages:\n", f"stages:\n{DOUBLED}", 1)
    )
    return made


def test_a_new_campaign_of_this_kind_is_made_where_the_workflow_is(tmp_path, capsys):
    assert cli.main(["new", "workflow", str(tmp_path / "new")]) == 2
    assert "sophron adopt" in capsys.readouterr().err


def test_a_stage_of_ours_and_a_judged_rule_of_theirs_are_one_plan(mixed):
    stages = [stage.name for stage in load(mixed.spec).stages]
    assert stages == ["a", "b", "c", "d", "e", "f", "doubled"]
    found = plan.make(mixed.root, load(mixed.spec))
    assert {"a", "b", "doubled", "verify", "accept"} <= set(found.rules)
    assert [step.rule for step in found.host.steps] == ["double"]


@pytest.mark.slow
def test_a_mixed_workflow_is_signed_once_and_refused_for_a_change_of_either_part(mixed):
    assert "not approved yet" in run()
    mixed.sign()
    target = ["campaign/results/doubled/passed", "out/doubled.txt"]
    said = run(*target)
    assert "exit 0" in said, said
    assert verdict(mixed, "doubled")["verdict"] == "pass"
    assert not (mixed.root / "results/c").exists()
    text = Path("Snakefile").read_text()
    Path("Snakefile").write_text(text.replace("2 * total", "3 * total"))
    assert "the rule double is not the signed one" in run(*target)
    Path("Snakefile").write_text(text)
    mixed.edit("first: 1", "first: 2")
    assert "campaign.yaml" in run(*target)
