"""A campaign whose agents ask a model: at the cap the science goes on, the report says what it lacks, and gets it later."""

import json

import pytest
import toy
from loopback_anthropic import serve_anthropic
from loopback_peer import Turn, queue

from sophron.agents.step import step_wiring
from sophron.cli import _campaign_status

pytest.importorskip("anthropic")
CAVEATS = json.dumps({"caveats": [], "summary": "Nothing stands against the number.", "suspicious_text": []})


@pytest.fixture
def asking(tmp_path, monkeypatch):
    """A campaign answered by a language model, and the service that the model is at."""
    toy.plan_here(monkeypatch)
    campaign = toy.campaign(tmp_path, monkeypatch)
    campaign.edit("limits:", "agents: {backend: anthropic}\nlimits:")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")
    with serve_anthropic(queue(Turn(CAVEATS))) as peer:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", peer.url)
        yield campaign


def page(campaign) -> str:
    return " ".join((campaign.root / "results" / "report.html").read_text().split())


@pytest.mark.slow
def test_at_the_cap_the_report_goes_without_caveats_says_so_and_gets_them_later(asking, capsys):
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
    lack = "its report has no caveats (budget); to ask again: sophron agent reask caveats, then snakemake"
    assert toy.cli.main(["answer", str(asking.root)]) == 0
    assert lack in capsys.readouterr().out
    assert (
        _campaign_status._with_what_lacks(asking.root, _campaign_status.COMPLETED)
        == f"{_campaign_status.COMPLETED}; {lack}"
    )

    asking.amend("limits.dollars=1")
    assert toy.cli.main(["agent", "reask", "caveats", str(asking.root)]) == 0
    asking.complete()
    assert "Nothing stands against the number." in page(asking)
    assert "No caveats were written." not in page(asking)
    assert asking.tries() == before
    _check_spent(asking, capsys)


def test_a_key_and_an_address_are_looked_for_before_the_first_step(asking, monkeypatch, capsys):
    with (asking.root / "Snakefile").open("a") as snakefile:
        snakefile.write("\n\nfrom sophron.campaign.snakefile.onstart import begin\n\n\nonstart:\n    begin('.')\n")
    asking.sign()
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    refused = asking.snakemake()
    assert refused.returncode != 0
    assert "set the environment variable ANTHROPIC_API_KEY" in refused.stdout
    assert asking.tries() == {}
    for verb in ("run", "review"):
        assert toy.cli.main([verb, str(asking.root)]) == (2 if verb == "run" else 0)
        said = capsys.readouterr()
        assert "set the environment variable ANTHROPIC_API_KEY" in " ".join((said.out + said.err).split())
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback-no-real-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert toy.cli.main(["run", str(asking.root)]) == 2
    assert "nothing answers at 127.0.0.1, the address in ANTHROPIC_BASE_URL" in capsys.readouterr().err
    monkeypatch.setenv("SOPHRON_AGENTS", "heuristic")
    step_wiring.require_models(asking.root)


def _check_spent(campaign, capsys):
    """Report, `answer` and `status` show what the ledger has."""
    ledger = [json.loads(line) for line in (campaign.root / "records" / "ledger.jsonl").read_text().splitlines()]
    (settled,) = (line for line in ledger if line["event"] == "settle")
    took = f"took 1 call, {settled['tokens']:,} tokens, {settled['dollars']:,.12g} dollars; signed "
    assert f"Language models {took}were at most 60 calls, 2,000,000 tokens, 1 dollars." in page(campaign)
    capsys.readouterr()
    for verb in ("answer", "status"):
        assert toy.cli.main([verb, str(campaign.root)]) == 0
        assert f"Models {took}are at most 60 calls, 2,000,000 tokens, 1 dollars" in capsys.readouterr().out
    assert toy.cli.main(["status", "--json", str(campaign.root)]) == 0
    live = json.loads(capsys.readouterr().out)["live"]
    assert live["models"]["spent"] == {"model_calls": 1, "tokens": settled["tokens"], "dollars": settled["dollars"]}
