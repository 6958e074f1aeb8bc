"""What agents draft is tried before it is offered; its faults go back once, and a person is told those that are left."""

import pytest
import toy

from sophron.agents.documents.answers import AmendAnswer
from sophron.agents.supervisor import design_dialogue, dialogue, supervisor
from sophron.campaign.approval import amendment_draft
from sophron.campaign.scaffold import campaign_folder
from sophron.cli import _dialogue, main
from sophron.records.documents import load_yaml
from sophron.records.errors import UserError
from sophron.records.typed_json import from_json

MORE = {"path": "stages.b.mechanical.ceilings.runtime_min", "value": 600}
ROOM = {"path": "limits.core_hours", "value": 200}
NONSENSE = {"path": "stages.c.definition.replicas", "value": "many"}


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    return toy.campaign(tmp_path, monkeypatch)


def offer(campaign, *answers):
    """What is offered after these answers of the agent, each a list of changes; what it was told before each."""
    told, left = [], iter(answers)

    def ask(faults):
        told.append(list(faults))
        changes = next(left, None)
        content = {"changes": changes, "rationale": "The error was too large."}
        return None if changes is None else from_json(AmendAnswer, content)

    return supervisor.offer(campaign.root, ask, lambda _: []), told


def test_a_fault_goes_back_to_the_agent_once(campaign):
    campaign.sign()
    offered, (first, second) = offer(campaign, [MORE], [MORE, ROOM])
    assert first == []
    assert second[0].startswith("limits.core_hours: the ceilings add up to")
    assert offered.faults == []
    assert [one.split(":")[0] for one in amendment_draft.read_draft(campaign.root).changes] == [
        ROOM["path"],
        MORE["path"],
    ]
    assert len(campaign.events("drafted")) == 1


@pytest.mark.parametrize("second", [[MORE], [NONSENSE], [], None])
def test_a_draft_with_a_fault_that_is_left_is_told_and_not_offered(campaign, second):
    campaign.sign()
    offered, told = offer(campaign, [MORE], second, [MORE, ROOM])
    assert len(told) == 2
    assert offered.faults[0].startswith("limits.core_hours: the ceilings add up to")
    assert offered.draft is None
    assert "sophron amend --set stages.b.mechanical.ceilings.runtime_min=600 --rationale" in offered.why
    assert amendment_draft.read_draft(campaign.root) is None
    assert campaign.events("drafted") == []


def test_what_is_not_a_spec_is_no_draft(campaign):
    campaign.sign()
    offered, (_, second) = offer(campaign, [NONSENSE], [NONSENSE])
    assert "is not of type integer" in second[0]
    assert offered.draft is None
    assert "is not of type integer" in offered.why
    assert amendment_draft.read_draft(campaign.root) is None


@pytest.mark.parametrize(
    "change",
    [
        {"path": "method.assumptions.finite.criterion", "value": "f.total"},
        {"path": "method.assumptions", "value": [{"id": "known", "criterion": "f.total", "status": "verified"}]},
    ],
)
def test_no_agent_justifies_a_criterion_against_a_published_value(campaign, change):
    campaign.sign()
    _, (_, second) = offer(campaign, [change], [change])
    assert "only a person may write an assumption that justifies a criterion" in second[0]
    assert amendment_draft.read_draft(campaign.root) is None
    data = load_yaml(campaign.spec).data
    data["method"]["assumptions"][0]["criterion"] = "f.total"
    assert "status: UNVERIFIED" in campaign_folder.draft_text(campaign.root, data)
    assert "status: verified" in campaign.spec.read_text()
    assert "method: 3" in campaign_folder.draft_text(campaign.root, {"method": 3})


def test_a_persons_draft_is_not_replaced(campaign):
    campaign.sign()
    own = amendment_draft.draft_amendment(campaign.root, "because", ["seed=9"])
    with pytest.raises(
        UserError, match=r"a draft of version 2 waits for a signature \(seed: 7 -> 9\) and is not replaced"
    ):
        offer(campaign, [MORE])
    assert amendment_draft.read_draft(campaign.root) == own


def test_a_drafted_spec_is_tried_before_it_is_put_in_place(campaign, tmp_path, monkeypatch, capsys):
    data, told, root = load_yaml(campaign.spec).data, [], tmp_path / "designed"

    def turn(*_, **__):
        told.append(design_dialogue.inputs(root)["refusals"])
        limits = {"core_hours": 1 if len(told) == 1 else 100}
        return {"status": "draft", "text": "Here it is.", "draft": data | {"limits": limits}, "pitfalls": []}

    monkeypatch.setattr(_dialogue, "_turn", turn)
    request = tmp_path / "request.md"
    request.write_text("A sum.")
    assert main(["design", str(root), "--from", str(request), "--answer", "yes"]) == 0
    first, second = told
    assert first == dialogue.NO_DRAFT
    assert second.startswith("- limits.core_hours: the ceilings add up to")
    assert '"limits": {"core_hours": 1}' in second.partition("The draft:")[2]
    assert "The draft cannot be signed; it goes back once:\n  - limits.core_hours" in capsys.readouterr().out
    assert load_yaml(root / "campaign.yaml").data["limits"] == {"core_hours": 100}
    assert not (root / "approvals" / amendment_draft.CANDIDATE_NAME).exists()
