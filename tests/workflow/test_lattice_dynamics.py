"""The conductivity of silicon carbide by its phonons, run whole from the shipped campaign on coarse meshes."""

import json
import shutil

import pytest
import toy
import yaml

from sophron.campaign.approval.approve import propose
from sophron.cli import main
from sophron.records.files import resource


@pytest.mark.slow
def test_the_shipped_campaign_answers_on_coarse_meshes(tmp_path, monkeypatch):
    pytest.importorskip("phono3py")
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)
    root = tmp_path / "sic"
    shutil.copytree(resource("campaigns", "sic-phonons"), root)
    campaign = toy.Campaign(root, toy.make_key(tmp_path / "key"))
    spec = yaml.safe_load(campaign.spec.read_text())
    spec["stages"]["displace"]["definition"]["harmonic_cells"] = 2
    spec["stages"]["forces"]["definition"]["batches"] = 2
    spec["stages"]["transport"]["definition"]["meshes"] = [3, 5, 7]
    (meshes, *others) = spec["stages"]["transport"]["criteria"]
    spec["stages"]["transport"]["criteria"] = others  # meshes as coarse as these leave half of it open
    assert meshes["id"] == "meshes"
    campaign.spec.write_text(yaml.safe_dump(spec, sort_keys=False))
    digest = propose(root).digest
    assert main(["approve", str(root), "--key", str(campaign.key), "--digest", digest, "--as", "alex"]) == 0
    campaign.complete()
    assert campaign.verdicts() == dict.fromkeys(["build", "displace", "forces", "transport"], "pass")
    result = json.loads((root / "results" / "transport" / "outcome.json").read_text())["result"]
    assert [row["mesh"] for row in result["meshes"]] == [3, 5, 7]
    assert result["meshes"][-1]["classical"] > 100
    assert "Lattice dynamics" in (root / "results" / "report.html").read_text()
