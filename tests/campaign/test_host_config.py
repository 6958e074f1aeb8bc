"""Edits of a host's config values that nobody made yet: drafted, planned, signed, and only then written."""

import json
from pathlib import Path

import host_edits
import pytest
import toy
import warm_snakemake

from sophron import cli
from sophron.agents.step import conversation, host_inputs
from sophron.campaign.approval import amendment_draft, approval_journal
from sophron.campaign.planning import host_config
from sophron.campaign.scaffold import adopt
from sophron.campaign.spec.spec import load
from sophron.records.digests import file_digest
from sophron.records.errors import UserError

WORKFLOW = """\
configfile: "config/config.yaml"


rule all:
    input:
        "results/sum.txt",


rule count:
    output:
        "out/{s}.txt",
    shell:
        "echo {config[camera][frames]} > {output}"


include: "rules/total.smk"
"""
INCLUDED = """\
rule total:
    input:
        expand("out/{s}.txt", s=config["stars"]),
    output:
        "results/sum.txt",
    params:
        gain=config["gain"],
    shell:
        "(cat {input}; echo {params.gain}) > {output}"
"""
CONFIG = """\
stars: [a, b]
camera:
  frames: 4 # of one night
gain: 1.5
"""
KNOWN = {"config/config.yaml": {"stars": ["a", "b"], "camera": {"frames": 4}, "gain": 1.5}, "late.json": {"gain": 2}}


@pytest.fixture
def host(tmp_path, monkeypatch) -> toy.Campaign:
    """A signed workflow that reads a config file, in the folder of this process."""
    folder = tmp_path / "stars"
    (folder / "config").mkdir(parents=True)
    (folder / "Snakefile").write_text(WORKFLOW)
    (folder / "config" / "config.yaml").write_text(CONFIG)
    (folder / "rules").mkdir()
    (folder / "rules" / "total.smk").write_text(INCLUDED)
    monkeypatch.chdir(folder)
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    host_edits.plan_warm(monkeypatch)
    adopt.adopt(folder, None, [], write=True, outer=False)
    made = toy.Campaign(folder / "campaign", toy.make_key(tmp_path / "key"))
    made.edit("UNVERIFIED", "verified")
    made.sign()
    return made


def run(*arguments: str) -> str:
    done = warm_snakemake.run([*toy.BASICS, *arguments], Path.cwd())
    return f"{done.stdout}\nexit {done.returncode}"


def test_a_config_value_is_drafted_planned_and_written_when_it_is_signed(host):
    assert "exit 0" in run("results/sum.txt")
    draft = amendment_draft.draft_amendment(host.root, "too few", ["config.camera.frames=6", "config.stars.1=c"])
    assert draft.changes[:2] == [
        "config/config.yaml: camera.frames: 4 -> 6",
        "config/config.yaml: stars.1: b -> c",
    ]
    assert "rule count: config[camera][frames]" in draft.changes
    assert draft.invalidated_stages == ["outputs"]
    assert Path("config/config.yaml").read_text() == CONFIG
    assert "exit 0" in run("-n", "results/sum.txt")  # what was signed still stands
    host.sign()
    assert Path("config/config.yaml").read_text() == CONFIG.replace("4 #", "6 #").replace("[a, b]", "[a, c]")
    assert sorted(path.name for path in Path("campaign/invalidated/v1").rglob("*.txt")) == ["a.txt", "b.txt", "sum.txt"]
    assert "exit 0" in run("results/sum.txt")
    assert Path("results/sum.txt").read_text() == "6\n6\n1.5\n"
    signed = json.loads(json.loads(host.gate.read_text())["record"])["amendment"]["config"]
    assert signed == {"config/config.yaml": file_digest(Path("config/config.yaml"))}


def _killed(*_):
    raise KeyboardInterrupt


def test_a_kill_between_signature_and_edit_is_made_good(host, monkeypatch):
    amendment_draft.draft_amendment(host.root, "too few", ["config.gain=2"])
    with monkeypatch.context() as patch:
        patch.setattr(approval_journal, "write_text", _killed)
        with pytest.raises(KeyboardInterrupt):
            host.sign()
    assert Path("config/config.yaml").read_text() == CONFIG
    journal = host.root / "approvals" / "journal.json"
    text = journal.read_text()
    journal.write_text(text.replace("gain: 2", "gain: 9"))
    with pytest.raises(UserError, match="is not a signed journal any more"):
        approval_journal.finish(host.root)
    journal.write_text(text)
    assert approval_journal.finish(host.root)
    assert "gain: 2" in Path("config/config.yaml").read_text()


def test_a_draft_grows_and_is_dropped_without_a_trace(host, capsys):
    assert cli.main(["amend", "campaign", "--set", "config.gain=2", "--rationale", "a"]) == 0
    assert cli.main(["amend", "campaign", "--set", "config.camera.frames=5", "--rationale", "b"]) == 0
    said = capsys.readouterr().out
    assert "  config/config.yaml: gain: 1.5 -> 2" in said
    assert "  config/config.yaml: camera.frames: 4 -> 5" in said
    assert "It invalidates (upper bound" in said
    assert cli.main(["amend", "campaign", "--drop"]) == 0
    assert Path("config/config.yaml").read_text() == CONFIG


def test_a_config_file_that_is_an_input_itself_is_left_to_a_person(host):
    listed = 'rule count:\n    input:\n        "config/config.yaml",\n'
    Path("Snakefile").write_text(Path("Snakefile").read_text().replace("rule count:\n", listed))
    with pytest.raises(UserError, match=r"config/config.yaml: is an input itself"):
        amendment_draft.draft_amendment(host.root, "more", ["config.gain=2"])


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("config.camera.shutter", 1, "stands in no config file of the workflow (config/config.yaml, late.json)"),
        ("config.camera.frames", "many", "is 4 in config/config.yaml; give a value of the same type"),
        ("config.gain", True, "is 2 in late.json; give a value of the same type, not True"),
        ("config.stars.7", "d", "stands in no config file"),
    ],
)
def test_an_agent_changes_values_that_are_there_and_nothing_else(path, value, said):
    answer = {"changes": [{"path": path, "value": value}], "rationale": "why"}
    (fault,) = conversation.guardrail_faults("amend", {"workflow": {"config": KNOWN}}, answer)
    assert fault.startswith(f"{path}: {said}")


def test_an_agent_removes_no_config_value_and_may_change_others():
    changes = [{"path": "config.gain"}, {"path": "config.stars", "value": ["a"]}, {"path": "seed", "value": 2}]
    inputs = {"workflow": {"config": KNOWN}}
    against = conversation.guardrail_faults("amend", inputs, {"changes": changes, "rationale": ""})
    assert against == ["config.gain: a config value is not removed; give its new value"]


def test_agents_are_shown_the_rules_their_files_and_the_config(host):
    shown = host_inputs.host_workflow(host.root, load(host.root / "campaign.yaml"), "outputs")
    assert shown["config"] == {"config/config.yaml": KNOWN["config/config.yaml"]}
    assert shown["rules"]["count"]["jobs"] == 2
    assert shown["rules"]["count"]["parts"]["config[camera][frames]"] == 4
    assert shown["files"]["Snakefile"].startswith("configfile:")
    assert shown["files"]["rules/total.smk"].startswith("rule total:")


def test_edits_merge_as_the_file_would():
    edits = {"config/config.yaml": {"camera.frames": 6, "stars.0": "z"}}
    assert host_config.merged(KNOWN, edits) == {"camera": {"frames": 6}, "stars": ["z", "b"]}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["all"], ["all", "--configfile", "x"]),
        (["--configfile", "a", "b", "--config", "k=1"], ["--configfile", "a", "b", "x", "--config", "k=1"]),
        (["--configfile=a", "all"], ["--configfile", "a", "x", "all"]),
        (["--cores", "1", "--", "all"], ["--cores", "1", "--configfile", "x", "--", "all"]),
    ],
)
def test_a_command_line_reads_one_more_config_file(given, wanted):
    assert host_config.with_config(given, Path("x")) == wanted
