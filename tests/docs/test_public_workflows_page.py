"""The page on workflows of others shows the recorded walks, all of them, and each walk held."""

import json
from pathlib import Path

TOP = Path(__file__).parents[2]
ROWS = json.loads((TOP / "bench" / "results" / "public_workflows.json").read_text())["result"]
PAGE = (TOP / "docs" / "reference" / "public-workflows.md").read_text()


def line(row: dict) -> str:
    about = f"{row['repository']}, `{Path(row['folder']).name}`" if row["folder"] != "." else row["repository"]
    cells = [about, f"{row['commit'][:7]}, {row['licence']}", ", ".join(row["has"]), str(row["jobs"])]
    if "planned" in row:
        return f"| {' | '.join(cells)} | signed, not run: {row['planned']} | | |"
    again = ", ".join(f"{rule} {count}" for rule, count in row["amended_ran"].items())
    stale = f"{len(row['stale'])} of {row['compared']}" if row["compared"] else "differ in each run"
    return f"| {' | '.join(cells)} | {len(row['killed']['repeated'])} | {again} | {stale} |"


def test_the_page_has_the_rows_that_were_recorded():
    shown = [one for one in PAGE.splitlines() if one.startswith("| ") and "repository" not in one]
    assert shown == [line(row) for row in ROWS.values()]


def test_eight_workflows_went_the_whole_way_and_one_of_them_through_slurm():
    whole = [row for row in ROWS.values() if "planned" not in row]
    assert all(row["holds"] for row in ROWS.values())
    assert len(whole) >= 8
    assert "slurm" in [row["executor"] for row in whole]
    every = {one for row in whole for one in row["has"]}
    assert every >= {"script", "notebook", "wrapper", "checkpoint", "module", "R", "report:"}
