"""The probes of a spec as the verbs run them: a probe that fails has found out nothing."""

import re
import shutil

import pytest
import toy

from sophron.campaign.approval import approve
from sophron.campaign.planning.plan import Plan
from sophron.campaign.spec import pitfalls
from sophron.campaign.spec.pitfalls import hits
from sophron.campaign.spec.spec import load
from sophron.cli import main
from sophron.interfaces.probe import Finding
from sophron.records import entry_points
from sophron.records.files import resource

PITFALL = """\
id: {id}
title: A pitfall of this campaign
what: What it is.
why: Why it matters.
applies_to: {{kinds: [arithmetic]}}
probe: {{name: {id}, parameters: {{least: 3}}}}
safeguard: Do that.
sources: [{{doi: 10.1000/182, about: Everything.}}]
"""


def hit(spec, parameters):
    return Finding("hit", f"{spec['kind']} {parameters['least']}")


def broken(spec, parameters):
    return 1 / 0


def wrong(spec, parameters):
    return "clear"


PROBES = {"hit": hit, "broken": broken, "wrong": wrong}


def test_each_probe_answers_or_is_unknown(tmp_path, monkeypatch, capsys):
    campaign = toy.campaign(tmp_path, monkeypatch)
    folder = campaign.root / "agents" / "pitfalls"
    folder.mkdir(parents=True)
    for name in (*PROBES, "missing"):
        (folder / f"{name}.yaml").write_text(PITFALL.format(id=name))
    real = entry_points.load
    monkeypatch.setattr(entry_points, "load", lambda group, name: PROBES[name] if name in PROBES else real(group, name))
    spec = load(campaign.spec)
    found = {pitfall.id: finding for pitfall, finding in pitfalls.findings(campaign.root, spec)}
    assert found["hit"] == Finding("hit", "arithmetic 3")
    assert found["broken"] == Finding("unknown", "the probe broken failed (ZeroDivisionError: division by zero)")
    assert found["wrong"] == Finding("unknown", "the probe wrong gave no finding")
    assert found["missing"].status == "unknown"
    assert '"missing" is not installed in the registry sophron.probes' in found["missing"].evidence
    assert hits(pitfalls.findings(campaign.root, spec)) == ["the pitfall hit was found: arithmetic 3"]
    key = ["--key", str(campaign.key)]
    assert main(["approve", str(campaign.root), *key, "--digest", "0" * 12]) == 2
    assert "the pitfall hit was found: arithmetic 3" in capsys.readouterr().err


def reasons(root):
    """Why a viscosity campaign may not be signed, its plan and limits apart."""
    spec = load(root / "campaign.yaml")
    return approve.closed(approve.Proposal(root, Plan(spec, ()), "", None, pitfalls.findings(root, spec)))


def with_fragments(root, *lines):
    """The shipped liquid in `root` with free lines in its production."""
    shutil.copyfile(resource("campaigns", "lj-liquid-viscosity", "campaign.yaml"), root / "campaign.yaml")
    begin = "      restart_every: 20000\n"
    edit(root, begin, begin + "      fragments:\n" + "".join(f"        - '{line}'\n" for line in lines))


def vouch(root, needed):
    stated = f"{{id: {needed}, statement: Only a sum, verified_by: A. Person, status: verified}}"
    edit(root, "  assumptions:\n", f"  assumptions:\n    - {stated}\n")


def edit(root, old, new):
    text = (root / "campaign.yaml").read_text()
    assert old in text
    (root / "campaign.yaml").write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    "lines",
    [
        ["timestep 0.05"],
        ["include keep.lmp"],
        ["variable f string langevin", "fix keep all ${f} 0.722 0.722 2.0 4711"],
        ["compute msd all msd"],
    ],
)
def test_free_engine_lines_close_the_gate(tmp_path, lines):
    with_fragments(tmp_path, *lines)
    assert "produce.definition.fragments: free engine text is UNVERIFIED" in reasons(tmp_path)[0]


def test_read_engine_lines_open_the_gate_until_they_are_edited(tmp_path):
    with_fragments(tmp_path, "compute msd all msd")
    needed = re.search(r"id (fragments-produce-[0-9a-f]{8})", reasons(tmp_path)[0])[1]
    vouch(tmp_path, needed)
    assert reasons(tmp_path) == []
    edit(tmp_path, "compute msd all msd", "timestep 0.05")
    assert "is UNVERIFIED" in reasons(tmp_path)[0]


def test_a_person_cannot_vouch_for_what_a_step_refuses(tmp_path):
    with_fragments(tmp_path, "include keep.lmp")
    needed = load(tmp_path / "campaign.yaml").unread_fragments()["produce"]
    vouch(tmp_path, needed)
    (told,) = reasons(tmp_path)
    assert "the command `include` reads another input, which is not checked; remove it" in told
