"""Remarks on the data of guests, as the report tells them."""

from sophron.campaign.execution.outcome_store import Outcome
from sophron.campaign.report import report
from sophron.interfaces.kind import StageKind
from sophron.kinds.host_guest import report_sections


def whole(tmp_path, remarks):
    """A report of one stage `tasks`; None: a step that failed."""
    steps = []
    for guest, told in remarks.items():
        outcome = Outcome("done", None, {} if told is None else {"metadata": {}, "remarks": told}, {}, {})
        steps.append(report.Finished("tasks", {"guest": guest}, tmp_path / "outcome.json", outcome, "0" * 64))
    stage = report.StageReport(StageKind("tasks", (), "", ""), steps, {}, {})
    return report.Report(tmp_path, None, [stage], [], [], [])


def test_a_remark_stands_once_with_all_its_guests(tmp_path):
    host = "host.mol2: the charges sum to -0.0018 e; they are renormalised to 0 e"
    believed = "guest.yaml says +1 e and the charges say +2 e; the charges are believed"
    many = {f"g{number}": [host] for number in range(10)}
    (section,) = report_sections.data_remarks(whole(tmp_path, {"phm": [host, believed], **many, "broken": None}))
    (table,) = section.tables
    assert section.title == "Remarks on the data"
    assert table.rows == [[host, "phm, g0, g1, g2, g3, g4, g5, g6 and others", "11"], [believed, "phm", "1"]]


def test_more_remarks_than_a_page_holds_are_counted(tmp_path):
    (section,) = report_sections.data_remarks(
        whole(tmp_path, {f"g{number}": [f"remark {number}"] for number in range(50)})
    )
    assert len(section.tables[0].rows) == 40
    assert "10 more are in the outcomes of tasks" in section.tables[0].caption


def test_without_remarks_there_is_no_section(tmp_path):
    assert report_sections.data_remarks(whole(tmp_path, {"weak": []})) == []
