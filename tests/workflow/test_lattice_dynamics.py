"""The conductivity of silicon carbide by its phonons, run whole from the shipped campaign: coarse meshes, tiny boxes."""

import json
import re
import shutil

import pytest
import toy
import yaml

from sophron.campaign.approval.approve import propose
from sophron.campaign.rendering.formatting import with_error
from sophron.cli import main
from sophron.records.files import resource


@pytest.mark.slow
def test_the_shipped_campaign_answers_on_coarse_meshes(tmp_path, monkeypatch, capsys):
    pytest.importorskip("phono3py")
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)
    root = tmp_path / "sic"
    shutil.copytree(resource("campaigns", "sic-phonons"), root)
    campaign = toy.Campaign(root, toy.make_key(tmp_path / "key"))
    spec = yaml.safe_load(campaign.spec.read_text())
    spec["stages"]["build"]["definition"]["cells"] = [2, 2, 8]
    boxes = {
        "copies": [1, 2, 3],
        "settle_steps": 200,
        "discard_steps": 500,
        "steps": 5000,
        "swap_every": 10,
        "block_steps": 500,
    }
    spec["stages"]["equilibrate"]["definition"] |= {"damping": 0.05, "discard_steps": 200, "steps": 1000}
    spec["stages"]["mueller_plathe"]["definition"] |= boxes
    for name in ("equilibrate", "mueller_plathe"):
        spec["stages"][name]["criteria"] = []  # nothing is concluded from boxes as small as this
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
    assert set(campaign.verdicts()) == set(spec["stages"])
    assert set(campaign.verdicts().values()) == {"pass"}
    result = json.loads((root / "results" / "transport" / "outcome.json").read_text())["result"]
    assert [row["mesh"] for row in result["meshes"]] == [3, 5, 7]
    assert result["meshes"][-1]["classical"] > 100
    assert "Lattice dynamics" in (root / "results" / "report.html").read_text()
    capsys.readouterr()
    assert main(["answer", str(root)]) == 0
    said = capsys.readouterr().out
    assert f"thermal conductivity: {with_error(result['conductivity'], result['conductivity_standard_error'])}" in said
    assert "above the published 8.81 to 8.93" in said
    assert "a straight line through shorter boxes ends below the crystal" in said
    assert "thermal conductivity: no number, because" in said
    assert re.search(r"Boxes with an imposed flux, in W/\(m K\): .* at 34.6 .*, .* at 104 ", said)
