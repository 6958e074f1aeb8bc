"""The probes of a spec as the verbs run them: a probe that fails has found out nothing."""

import toy

from sophron.campaign.spec import load
from sophron.cli import _probes, main
from sophron.interfaces.probe import Finding
from sophron.records import registry

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
    real = registry.load
    monkeypatch.setattr(registry, "load", lambda group, name: PROBES[name] if name in PROBES else real(group, name))
    spec = load(campaign.spec)
    found = {pitfall.id: finding for pitfall, finding in _probes.findings(campaign.root, spec)}
    assert found["hit"] == Finding("hit", "arithmetic 3")
    assert found["broken"] == Finding("unknown", "the probe broken failed (ZeroDivisionError: division by zero)")
    assert found["wrong"] == Finding("unknown", "the probe wrong gave no finding")
    assert found["missing"].status == "unknown"
    assert '"missing" is not installed in the registry sophron.probes' in found["missing"].evidence
    assert _probes.hits(campaign.root, spec) == ["the pitfall hit was found: arithmetic 3"]
    key = ["--key", str(campaign.key)]
    assert main(["approve", str(campaign.root), *key, "--digest", "0" * 12]) == 2
    assert "the pitfall hit was found: arithmetic 3" in capsys.readouterr().err
