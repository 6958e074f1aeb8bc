"""The SAMPL benchmarks as a campaign sees them."""

import pytest
import yaml

from sophron.records.errors import UserError
from sophron.records.files import resource
from sophron.science.host_guest.systems import data
from sophron.science.host_guest.systems.sampl_system import CLIP_TABLE, SAMPL, _measured

SETTINGS = {"benchmark": "sampl4-cb7", "solvent": "obc2"}


def test_codes_are_in_the_order_of_the_benchmark():
    assert SAMPL.guests(SETTINGS)[:3] == ["phm", "dpm", "hxm"]
    assert SAMPL.guests(SETTINGS | {"benchmark": "sampl5-cbclip"})[-1] == "g10"
    assert "cb7" in SAMPL.names(SETTINGS)
    with pytest.raises(UserError, match='lack "solvent"'):
        SAMPL.guests({"benchmark": "sampl4-cb7"})


def test_a_task_does_not_name_its_guest(sampl, tmp_path):
    made = SAMPL.task(SETTINGS | {"data": str(sampl)}, "adz", tmp_path)
    assert made.metadata["task"] == "sampl4-cb7 12"
    assert made.metadata["guest_charge_e"] == 1
    assert all(path.is_file() for path in made.files.values())
    assert any("C9H16N+ by its files" in each for each in made.remarks)


def test_the_folder_data_of_a_campaign_is_enough(sampl, tmp_path, monkeypatch):
    """Without a network the step stops, and goes on once the files are there; no signed word changes."""
    monkeypatch.setattr(data, "RAW", "http://127.0.0.1:9")
    monkeypatch.setattr(data.fetch, "__defaults__", (data.RAW,))
    monkeypatch.setattr(data.fetch_references, "__defaults__", (data.RAW,))
    (tmp_path / "campaign.yaml").touch()
    work = tmp_path / "scratch" / "tasks"
    with pytest.raises(UserError, match="cannot be fetched"):
        SAMPL.task(SETTINGS, "dpm", work)
    with pytest.raises(UserError, match="cannot be fetched"):
        SAMPL.references(SETTINGS, work)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sampl4_cb7").symlink_to(sampl / "sampl4_cb7")
    assert SAMPL.task(SETTINGS, "dpm", work).metadata["guest_charge_e"] == 1
    assert SAMPL.references(SETTINGS, work)["adz"] == pytest.approx(-14.10, abs=0.01)


def test_published_values(sampl, tmp_path):
    values = SAMPL.references(SETTINGS | {"data": str(sampl)}, tmp_path)
    assert values["adz"] == pytest.approx(-14.10, abs=0.01)
    clip = SAMPL.references({"benchmark": "sampl5-cbclip", "solvent": "obc2", "data": str(sampl)}, tmp_path)
    assert clip["g10"] == pytest.approx(-10.35, abs=0.02)


def test_constants_become_free_energies(tmp_path):
    rows = "".join(f"{10**place}\t{10**place}\n" for place in range(1, 11))
    (tmp_path / CLIP_TABLE).write_text(rows.replace("\n1000\t", "\n\t\n1000\t"))
    values = _measured(data.benchmark("sampl5-cbclip"), tmp_path)
    assert values["g3"] == pytest.approx(-4.091, abs=1e-3)
    (tmp_path / CLIP_TABLE).write_text("1 1\n")
    with pytest.raises(UserError, match="holds 1 measured values for 10 guests"):
        _measured(data.benchmark("sampl5-cbclip"), tmp_path)


@pytest.mark.parametrize("name", ["sampl4-cb7", "sampl4-oah", "sampl5-cbclip"])
@pytest.mark.parametrize("size", ["", "-bench", "-smoke"], ids=["full", "bench", "smoke"])
def test_campaigns_have_the_splits_of_the_paper(name, size):
    found = data.benchmark(name)
    spec = yaml.safe_load(resource("campaigns", f"{name}{size}", "campaign.yaml").read_text(encoding="utf-8"))
    tasks, trials = (spec["stages"][stage]["definition"] for stage in ("tasks", "trials"))
    code = [each.lower() for each in found.guests]
    assert set(trials["training"]) <= {code[index] for index in found.training}
    assert not set(trials["training"]) & set(trials["held_out"])
    if size != "-smoke":
        assert len(trials["training"]) + len(trials["held_out"]) == len(code)
    assert (trials["platform"] == "CUDA") == (tasks["settings"]["solvent"] == "tip3p") == (size == "")
