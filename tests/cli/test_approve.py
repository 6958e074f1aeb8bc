"""`sophron approve`: what a person has to name before anything is signed."""

import io

import pytest
import toy

from sophron.campaign.approval import approve
from sophron.cli import main


class Terminal(io.StringIO):
    """Standard input of a person who sits there."""

    def isatty(self):
        return True


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    return toy.campaign(tmp_path, monkeypatch)


def call(campaign, *words):
    return main(["approve", str(campaign.root), "--key", str(campaign.key), *words])


def test_twelve_digits_are_not_enough_where_nothing_was_shown(campaign, capsys):
    """They can be hit by another spec within minutes."""
    whole = approve.propose(campaign.root).digest
    assert call(campaign, "--digest", whole[:12]) == 2
    assert "--digest: wants all 64 digits of the statement's sha256" in capsys.readouterr().err
    assert call(campaign, "--digest", f"{whole[:-1]}{'0' if whole[-1] != '0' else '1'}") == 2
    assert "these are not the digits of the statement as it is now" in capsys.readouterr().err
    assert not campaign.gate.exists()
    assert call(campaign, "--digest", whole) == 0


def test_without_a_terminal_and_without_a_digest_nothing_is_signed(campaign, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert call(campaign) == 2
    assert "a statement is signed by its whole digest" in capsys.readouterr().err


def test_a_person_is_shown_spec_and_statement_and_types_twelve_digits(campaign, capsys, monkeypatch):
    campaign.edit("# A campaign of plain sums", "# A campaign \u202e of plain sums")
    proposal = approve.propose(campaign.root)
    monkeypatch.setattr("sys.stdin", Terminal(f"{proposal.digest[:12]}\n"))
    assert call(campaign) == 0
    said = capsys.readouterr().out
    assert proposal.statement in said
    assert "# A campaign  of plain sums" in said
    assert proposal.digest in said
