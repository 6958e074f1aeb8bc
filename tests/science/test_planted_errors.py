"""Twenty errors of a reviewer, each planted in a shipped campaign: all are caught at review, and no sound one is."""

import planted_errors
import pytest

from sophron.campaign.spec import pitfalls, spec
from sophron.records.files import resource

ERRORS = planted_errors.listed()
OF_KINDS = planted_errors.listed("planted_errors_of_kinds")
OF_DIALOGUE = planted_errors.listed("planted_errors_of_dialogue")
ALL = ERRORS + OF_KINDS + OF_DIALOGUE
SHIPPED = sorted(resource("campaigns").glob("*/campaign.yaml"))


def test_there_are_twenty():
    assert len({one["error"] for one in ERRORS}) == 20


@pytest.mark.parametrize("planted", ALL, ids=[one["error"] for one in ALL])
def test_a_planted_error_is_caught(planted, tmp_path):
    assert planted["caught"] in planted_errors.caught(planted, tmp_path)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_no_probe_is_hit_by_a_sound_campaign(path):
    found = pitfalls.findings(path.parent, spec.load(path))
    hits = [pitfall.id for pitfall, finding in found if finding.status == "hit"]
    assert hits == (["many-body-heat-flux"] if path.parent.name == "sic-conductivity" else [])  # its flaw is its story
