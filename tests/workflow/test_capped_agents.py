"""A campaign whose agents ask a model: at the cap the science goes on, the report says what it lacks, and gets it later."""

import json

import pytest
import toy
from loopback_anthropic import serve_anthropic
from loopback_peer import Turn, queue

pytest.importorskip("anthropic")
CAVEATS = json.dumps({"caveats": [], "summary": "Nothing stands against the number."})


@pytest.fixture
def asking(tmp_path, monkeypatch):
    """A campaign answered by a language model, and the service that the model is at."""
    campaign = toy.campaign(tmp_path, monkeypatch)
    campaign.edit("limits:", "agents: {backend: anthropic}\nlimits:")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")
    with serve_anthropic(queue(Turn(CAVEATS))) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        yield campaign


def page(campaign) -> str:
    return " ".join((campaign.root / "results" / "report.html").read_text().split())


def test_at_the_cap_the_report_goes_without_caveats_says_so_and_gets_them_later(asking):
    asking.edit("core_hours: 100", "core_hours: 100, dollars: 0.03")
    asking.sign()
    done = asking.complete().stdout
    assert "caveats: claude-sonnet: the campaign may take 0.03 dollars" in done
    assert "the report is written without caveats; to ask again: sophron agent reask caveats, then snakemake" in done
    assert asking.verdicts() == dict.fromkeys("abcdef", "pass")
    answer = json.loads((asking.root / "results" / "caveats.json").read_text())
    assert (answer["failure"]["kind"], answer["model"]) == ("budget", "none")
    assert "No caveats were written." in page(asking)
    assert "This does not mean that there are none" in page(asking)
    before = asking.tries()

    asking.amend("limits.dollars=1")
    assert toy.cli.main(["agent", "reask", "caveats", str(asking.root)]) == 0
    asking.complete()
    assert "Nothing stands against the number." in page(asking)
    assert "No caveats were written." not in page(asking)
    assert asking.tries() == before
