"""Workflows with what a gate might trip over: names like its own, flags of files, other rules of order, odd folders."""

from pathlib import Path

import host_edits
import pytest
import toy
import warm_snakemake

from sophron.campaign.approval import amendment_draft
from sophron.campaign.scaffold import adopt
from sophron.records.errors import UserError

STAGE = """\
  made:
    depends_on: []
    definition: {rules: [sophron_x, piped], holds: [second], results: {size: {file: out/x.txt, size: true, unit: byte}}}
    criteria: [{id: there, expression: "size > 1", statement: "It has something in it."}]
    mechanical: {ranks: 1, threads: 1, accelerator: none, memory_mb: 500, runtime_min: 5, retries: 2, choices: {},
      ceilings: {cores: 1, memory_mb: 2000, runtime_min: 10}}
"""
ODD = """\
envvars:
    "HOME",


shell.prefix("set -e; ")


ruleorder: sophron_x > never


onstart:
    open("started.txt", "w").write("s")


class Names:
    suffix = "é"


rule never:
    output:
        "out/x.txt",
    shell:
        "exit 1"


rule sophron_x:
    input:
        ancient("data dir/ä b.txt"),
        workflow.source_path("to öl.sh"),
    output:
        ensure("out/x.txt", non_empty=True),
    threads: lambda wildcards, input: workflow.cores
    params:
        sophron="sophron stage x",
    shell:
        "cat {input:q} > {output}; echo {params.sophron} >> {output}"


rule second:
    input:
        "out/x.txt",
    output:
        temp("out/second.txt"),
    params:
        n=lambda wildcards, input: len(input),
        d=lambda wildcards, input: dict(input.items()),
    shell:
        "echo {params.n} {params.d} {input} > {output}"


rule piped:
    output:
        pipe("out/stream"),
    shell:
        "echo s > {output}"


rule drained:
    input:
        "out/stream",
    output:
        "out/drained.txt",
    shell:
        "cat {input} > {output}"


rule third:
    input:
        "out/second.txt",
    output:
        update("out/log.txt"),
        protected("out/third.txt"),
    run:
        with open(output[0], "a") as stream:
            stream.write(Names.suffix)
        shell("cp {input} {output[1]}")


rule everything:
    default_target: True
    input:
        "out/log.txt",
        "out/third.txt",
        "out/drained.txt",
"""


@pytest.fixture
def odd(tmp_path, monkeypatch) -> toy.Campaign:
    """The workflow in a folder with a blank and an umlaut, adopted and not yet signed."""
    folder = tmp_path / "my wörk"
    (folder / "data dir").mkdir(parents=True)
    (folder / "data dir" / "ä b.txt").write_text("x\n")
    (folder / "to öl.sh").write_text("y\n")
    (folder / "tool.sh").write_text("true\n")
    (folder / "Snakefile").write_bytes(ODD.replace("\n", "\r\n").encode())
    monkeypatch.chdir(folder)
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    adopt.adopt(folder, None, [], write=True, outer=False)
    made = toy.Campaign(folder / "campaign", toy.make_key(tmp_path / "key"))
    text = made.spec.read_text().replace("UNVERIFIED", "verified")
    made.spec.write_text(text[: text.index("  outputs:\n")] + STAGE)
    return made


def run(*words: str) -> str:
    done = warm_snakemake.run(["--nocolor", "--nolock", *words], Path.cwd())
    return f"{done.stdout}\nexit {done.returncode}"


def test_an_odd_workflow_runs_signed_with_its_hooks_and_sees_nothing_of_the_gate(odd):
    odd.sign()
    said = run("-c", "3")  # the plan was made with other cores
    assert "exit 0" in said, said
    assert Path("out/third.txt").read_text() == "1 {} out/x.txt\n"  # without what the rule waited for
    assert Path("out/drained.txt").read_text() == "s\n"
    assert Path("started.txt").is_file()
    assert (odd.root / "results/report.html").is_file()
    assert "Nothing to be done" in run("-c", "1")
    snakefile = Path("Snakefile")
    snakefile.write_bytes(snakefile.read_bytes().replace(b"cat {input:q}", b"tac {input:q}"))
    said = run("-c", "1", "--force", "out/x.txt")
    assert "the rule sophron_x is not the signed one (changed: shell)" in said
    assert Path("out/x.txt").is_file()


def test_files_that_source_path_names_count_by_content_though_each_driver_copies_them(odd, monkeypatch):
    host_edits.plan_warm(monkeypatch)
    named = (
        b"    params:\r\n        tool=workflow.source_path('tool.sh'),\r\n"  # Snakemake repeats such a rule each time
    )
    Path("Snakefile").write_bytes(Path("Snakefile").read_bytes().replace(b"    params:\r\n", named, 1))
    odd.sign()
    for name, told in [
        ("tool.sh", "rule sophron_x: file <workdir>/tool.sh"),
        ("to öl.sh", "source <workdir>/to öl.sh"),
    ]:
        before = Path(name).read_text()
        Path(name).write_text(f"{before}# other\necho\n")
        assert told in amendment_draft.draft_amendment(odd.root, "why").changes
        amendment_draft.drop_draft(odd.root)
        Path(name).write_text(before)


def test_one_campaign_gates_a_workflow(odd, monkeypatch):
    host_edits.plan_warm(monkeypatch)
    with Path("Snakefile").open("a") as stream:
        stream.write(
            adopt.LINES.format(folder="other").replace("sophron_gate", "again").replace("sophron_*", "again_*")
        )
    with pytest.raises(
        UserError, match="is gated by the campaign campaign and by other; one campaign gates a workflow"
    ):
        odd.sign()


def test_a_host_that_another_workflow_imports_is_signed_there(odd, monkeypatch):
    host_edits.plan_warm(monkeypatch)
    odd.sign()
    outer = Path("Outer.smk")
    outer.write_text('module inner:\n    snakefile:\n        "Snakefile"\n\n\nuse rule * from inner as inner_*\n')
    said = run("-c", "1", "-s", "Outer.smk", "out/x.txt")
    assert "the rule inner_sophron_x is not in the signed plan" in said, said
    assert not Path("out/x.txt").exists()
