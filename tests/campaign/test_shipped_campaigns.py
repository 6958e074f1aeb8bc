"""Every campaign that is shipped, as a person meets it: copied, reviewed, signed with a new key, or refused and why."""

import re
import shutil

import pytest
import toy

from sophron.cli import main
from sophron.records.files import resource

# Whether a guest threads the open clip is for a person to look at.
OPEN_CLIP = ("sophron approve: the assumption symmetry is UNVERIFIED; verify it and say so in campaign.yaml",)
REFUSED = {
    "sampl5-cbclip": OPEN_CLIP,
    "sampl5-cbclip-bench": OPEN_CLIP,
    "sampl5-cbclip-smoke": OPEN_CLIP,
    # LAMMPS itself was asked; the paper's story begins with this refusal.
    "sic-conductivity": (
        "the pitfall many-body-heat-flux was found: pair_style tersoff with compute centroid/stress/atom would stop",
        "Pair style does not support compute centroid/stress/atom",
    ),
}
SHIPPED = sorted(path.name for path in resource("campaigns").iterdir())


def test_there_are_campaigns_and_each_refused_one_is_among_them():
    assert len(SHIPPED) >= 18
    assert set(REFUSED) < set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_campaign_is_signed_as_it_stands_or_refused_with_its_reason(name, tmp_path, monkeypatch, capsys):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    toy.plan_here(monkeypatch)
    root = tmp_path / name
    shutil.copytree(resource("campaigns", name), root)
    key = toy.make_key(tmp_path / "key")
    assert main(["review", str(root)]) == 0
    assert main(["review", str(root), "--digest"]) == 0
    (*_, digest) = re.findall(r"^[0-9a-f]{12,}$", capsys.readouterr().out, flags=re.MULTILINE)
    code = main(["approve", str(root), "--key", str(key), "--digest", digest])
    said = capsys.readouterr().err
    assert code == (2 if name in REFUSED else 0), said
    assert (root / "approvals" / "gate.json").is_file() is (name not in REFUSED)
    for sentence in REFUSED.get(name, ()):
        assert sentence in said
