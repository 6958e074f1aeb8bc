"""The ledger: reserved before a call, never overspent by parallel processes, whole after a kill at any moment."""

import json
import os
import signal
import subprocess
import sys

import pytest

from sophron.agents.gateway import ledger
from sophron.agents.gateway.ledger import BudgetError, Cap, Caps, Ledger, day_cap
from sophron.interfaces.model_backend import Usage
from sophron.records.errors import Refused, UserError

NONE = Cap()
SPENDER = """
import sys
from pathlib import Path
from sophron.agents.gateway.ledger import Cap, Caps
from sophron.agents.gateway.ledger import Ledger, BudgetError
from sophron.interfaces.model_backend import Usage
root, name = Path(sys.argv[1]), sys.argv[2]
ledger = Ledger(root, Caps(Cap(), Cap(calls=None, tokens=None, dollars=1.0), Cap()))
got = 0
print("ready", flush=True)
sys.stdin.readline()
for turn in range(20):
    try:
        held = ledger.reserve(name, "stub", 100, 0.03)
    except BudgetError:
        continue
    got += 1
    if turn % 3 == 0:
        ledger.release(held)
        got -= 1
    elif turn % 3 == 1:
        ledger.settle(held, Usage(50, 10), 0.02)
print(got)
"""
HOLDER = """
import sys, time
from pathlib import Path
from sophron.agents.gateway.ledger import Cap, Caps
from sophron.agents.gateway.ledger import Ledger
Ledger(Path(sys.argv[1]), Caps(Cap(), Cap(), Cap())).reserve("debug-1", "stub", 900, 0.5)
print("reserved", flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def caps(step=NONE, campaign=NONE, day=NONE):
    return Caps(step, campaign, day)


def lines_of(root):
    return [json.loads(line) for line in (root / ledger.FILE).read_text().splitlines()]


def test_eight_processes_never_overspend_a_cap_and_the_sum_is_what_they_took(tmp_path):
    command = [sys.executable, "-c", SPENDER, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    spenders = [subprocess.Popen([*command, f"step-{number}"], **pipes) for number in range(8)]
    for one in spenders:
        assert one.stdout.readline() == "ready\n"
    for one in spenders:
        one.stdin.write("go\n")
        one.stdin.flush()
    kept = sum(int(one.communicate()[0]) for one in spenders)
    reserved, spent, most = {}, 0.0, 0.0
    for line in lines_of(tmp_path):
        if line["event"] == "reserve":
            reserved[line["id"]] = line["dollars"]
            spent += line["dollars"]
        else:
            spent += line.get("dollars", 0.0) - reserved.pop(line["id"])
        most = max(most, spent)
    assert 0.9 < most <= 1.0 + 1e-9
    used = Ledger(tmp_path, caps()).used()
    assert used["campaign"]["calls"] == kept
    assert used["campaign"]["dollars"] == pytest.approx(spent)
    assert used["day"] == used["campaign"]


def test_a_reservation_whose_process_was_killed_stays_charged_and_the_ledger_goes_on(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"reserved\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    later = Ledger(tmp_path, caps(campaign=Cap(tokens=1000)))
    assert later.used()["campaign"] == {"calls": 1, "tokens": 900, "dollars": 0.5}
    with pytest.raises(BudgetError) as over:
        later.reserve("debug-1", "stub", 101, 0.0)
    assert (over.value.cap, over.value.on) == ("campaign", "tokens")
    later.reserve("debug-1", "stub", 100, 0.0)


def test_a_torn_last_line_is_closed_by_the_next_append_and_counts_nothing(tmp_path):
    Ledger(tmp_path, caps()).reserve("a", "stub", 10, 0.1)
    path = tmp_path / ledger.FILE
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    again = Ledger(tmp_path, caps())
    again.release(again.reserve("a", "stub", 5, 0.2))
    assert again.used()["campaign"] == {"calls": 1, "tokens": 10, "dollars": 0.1}
    assert Ledger(tmp_path, caps()).used()["campaign"]["calls"] == 1


@pytest.mark.parametrize(
    ("limits", "cap", "on"),
    [
        (caps(step=Cap(calls=1)), "step", "calls"),
        (caps(step=Cap(tokens=150)), "step", "tokens"),
        (caps(campaign=Cap(dollars=0.15)), "campaign", "dollars"),
        (caps(day=Cap(calls=1)), "day", "calls"),
        (caps(day=Cap(dollars=0.15)), "day", "dollars"),
    ],
)
def test_each_cap_is_named_with_its_remedy(tmp_path, limits, cap, on):
    book = Ledger(tmp_path, limits)
    book.reserve("a", "stub", 100, 0.1)
    with pytest.raises(BudgetError) as over:
        book.reserve("a", "stub", 100, 0.1)
    assert (over.value.cap, over.value.on) == (cap, on)
    assert {"step": "limits.", "campaign": "sophron amend", "day": "budget.yaml"}[cap] in over.value.reason
    assert len(lines_of(tmp_path)) == 1


def test_a_cap_of_a_step_is_its_own_and_a_cap_of_zero_lets_nothing_through(tmp_path):
    book = Ledger(tmp_path, caps(step=Cap(calls=1)))
    book.reserve("a", "stub", 1, 0.0)
    book.reserve("b", "stub", 1, 0.0)
    with pytest.raises(BudgetError):
        Ledger(tmp_path, caps(campaign=Cap.of_envelope({}))).reserve("c", "stub", 0, 0.0)


def test_the_day_is_shared_by_campaigns_and_survives_their_removal(tmp_path):
    for name in ("one", "two"):
        Ledger(tmp_path / name, caps(day=Cap(calls=2))).reserve("a", "stub", 1, 0.0)
    with pytest.raises(BudgetError, match="go on tomorrow"):
        Ledger(tmp_path / "three", caps(day=Cap(calls=2))).reserve("a", "stub", 1, 0.0)


def test_what_was_settled_released_or_charged_counts_once(tmp_path):
    book = Ledger(tmp_path, caps())
    settled, released, charged = (book.reserve("a", "stub", 1000, 1.0) for _ in range(3))
    book.settle(settled, Usage(300, 20), 0.25)
    book.release(released)
    book.charge(charged)
    assert book.used()["campaign"] == {"calls": 2, "tokens": 1320, "dollars": 1.25}
    for close in (book.release, book.charge, lambda one: book.settle(one, Usage(1, 1), 0.0)):
        with pytest.raises(ValueError, match="closed already"):
            close(settled)
    assert Ledger(tmp_path, caps()).used()["campaign"]["tokens"] == 1320


@pytest.mark.parametrize(("tokens", "dollars"), [(-1, 0.0), (1, -0.1), (1, float("nan")), (1, float("inf"))])
def test_what_is_no_amount_is_not_reserved(tmp_path, tokens, dollars):
    with pytest.raises(ValueError, match="cannot be reserved"):
        Ledger(tmp_path, caps()).reserve("a", "stub", tokens, dollars)


def test_a_missing_ledger_beside_audits_is_refused(tmp_path):
    Ledger(tmp_path, caps())
    (tmp_path / "records" / "caveats").mkdir()
    (tmp_path / "records" / "caveats" / "audit.jsonl").write_text("{}\n")
    Ledger(tmp_path, caps())
    (tmp_path / ledger.FILE).unlink()
    with pytest.raises(Refused, match=r"ledger.jsonl: is missing beside the audits"):
        Ledger(tmp_path, caps())


def test_a_ledger_that_is_cut_under_a_running_step_is_refused(tmp_path):
    book = Ledger(tmp_path, caps())
    book.reserve("a", "stub", 1, 0.0)
    book.used()
    os.truncate(tmp_path / ledger.FILE, 10)
    with pytest.raises(Refused, match="was cut or removed"):
        book.reserve("a", "stub", 1, 0.0)


def test_kept_sums_agree_with_the_lines_and_are_dropped_where_a_line_was_edited(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "LONGEST_TAIL", 2000)
    book = Ledger(tmp_path, caps())
    for number in range(40):
        book.settle(book.reserve(f"s-{number % 3}", "stub", 100, 0.001), Usage(number, 1), 0.000123)
    kept = tmp_path / "records" / "ledger.sums.json"
    assert json.loads(kept.read_text())["sums"]["offset"] > 2000
    expected = {"calls": 40, "tokens": sum(range(40)) + 40, "dollars": pytest.approx(40 * 0.000123)}
    assert Ledger(tmp_path, caps()).used()["campaign"] == expected
    path = tmp_path / ledger.FILE
    path.write_text(path.read_text().replace('"tokens":4,', '"tokens":5,', 1))
    assert Ledger(tmp_path, caps()).used()["campaign"]["tokens"] == expected["tokens"] + 1
    kept.write_text("{")
    assert Ledger(tmp_path, caps()).used()["campaign"]["tokens"] == expected["tokens"] + 1


def test_the_cap_of_a_day_has_stated_defaults_and_the_users_file_changes_them(tmp_path):
    assert day_cap() == Cap(1000, 5_000_000, 15)
    folder = tmp_path / "config" / "sophron"
    folder.mkdir(parents=True)
    (folder / "budget.yaml").write_text("dollars: 0.5\n")
    assert day_cap() == Cap(1000, 5_000_000, 0.5)
    (folder / "budget.yaml").write_text("dollar: 0.5\n")
    with pytest.raises(UserError, match=r'budget.yaml:1: dollar: unknown key; did you mean "dollars"'):
        day_cap()


def test_a_state_folder_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(UserError, match="XDG_STATE_HOME"):
        Ledger(tmp_path, caps()).reserve("a", "stub", 1, 0.0)
