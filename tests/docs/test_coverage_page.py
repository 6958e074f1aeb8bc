"""The page on coverage shows the recorded rows, all of them."""

import json
from pathlib import Path

TOP = Path(__file__).parents[2]
ROWS = json.loads((TOP / "bench" / "results" / "coverage.json").read_text())["result"]["rows"]
PAGE = (TOP / "docs" / "reference" / "coverage.md").read_text()


def line(row):
    times = "" if row["slow_times"] is None else f"{row['slow_times']:,.0f}"
    shares = f"{row['refused_share']:.3f} | {row['coverage']:.3f}"
    limits = "yes" if row["acceptable"] else "no"
    return f"| {row['kind']} | {row['length']:,} | {times} | {row['series']:,} | {shares} | {limits} |"


def test_the_page_has_the_rows_that_were_recorded():
    shown = [one for one in PAGE.splitlines() if one.startswith("|") and one.endswith(("| yes |", "| no |"))]
    assert shown == [line(row) for row in ROWS]


def test_series_from_100_slow_times_on_hold_what_they_state():
    rows = [row for row in ROWS if row["part"] == "series" and row["slow_times"] >= 100]
    assert min(row["coverage"] for row in rows) >= 0.92
    assert max(row["coverage"] for row in rows if not row["kind"].startswith("oscillating")) <= 0.98
    assert all(row["refused_share"] <= 0.10 for row in rows if row["slow_times"] >= 200)
