"""Markdown as people write it: 30 odd files, ten in the released spelling, and the paper's three styles.

Each is given with what must come of it: how many checks each sentence is bound to, 0 for one that is UNVERIFIED, or
the beginning of its refusal.
"""

import pytest

from sophron.records.errors import UserError
from sophron.tasks import scifi_markdown

HEAD = "## To-do\n\nDo it.\n\n"
ODD = {
    "a heading in a fence": (HEAD + "```\n## Expect\n```\n\n## Expect\n\na.txt exists\n", [1]),
    "headings underlined": ("To-do\n-----\nDo it.\n\nExpectation\n-----------\na.txt exists\n", [1]),
    "closed headings": ("## Todo ##\nDo it.\n## Expect ##\n- a.txt exists\n", [1]),
    "windows lines": (HEAD.replace("\n", "\r\n") + "## Expect\r\n\r\n- a.txt exists\r\n- b.txt exists\r\n", [1, 1]),
    "a byte order mark": ("\ufeff## Todo\nDo it.\n## Expect\na.txt exists\n", [1]),
    "blank lines before the key-values": ("\n\n---\nRank: 1\n---\n" + HEAD + "## Expect\na.txt exists\n", [1]),
    "a list with check boxes": (HEAD + "## Expect\n- [ ] a.txt exists\n- [x] b.txt exists\n", [1, 1]),
    "numbers with a bracket": (HEAD + "## Expect\n1) a.txt exists\n2) b.txt exists\n", [1, 1]),
    "emphasis": (HEAD + "## Expect\n- **fit.png** *exists*, __valid PNG__\n", [2]),
    "a dunder in backticks": (HEAD + "## Expect\n- `pkg/__init__.py` exists\n", [1]),
    "escaped underscores": (HEAD + "## Expect\n- fit\\_params.json exists\n", [1]),
    "entities": (HEAD + "## Expect\n- fit.png &gt; 1 KB\n", [1]),
    "a link": (HEAD + "## Expect\n- [fit.png](fit.png) exists\n", [1]),
    "a sentence over three lines": (HEAD + "## Expect\n- a.json exists\n  with keys\n  mean, sigma\n", [2]),
    "a file above its items": (HEAD + "## Expect\n- fit.json:\n  - mean in [1, 2]\n  - has key sigma\n", [1, 1]),
    "a file as a small heading": (HEAD + "## Expect\n### `fit.json`\n- mean in [1, 2]\n", [1]),
    "the file of one item is not that of the next": (HEAD + "## Expect\n- a.json:\n  - x > 1\n- y > 1\n", [1, 0]),
    "a comment": (HEAD + "## Expect\n<!-- b.txt is beautiful -->\n- a.txt exists <!-- and good -->\n", [1]),
    "a block of HTML": (HEAD + "## Expect\n<p>b.txt is beautiful</p>\n\n- a.txt exists\n", [0, 1]),
    "a table": (HEAD + "## Expect\n| file | is |\n|---|---|\n| a.txt | right |\n", [0]),
    "a quotation": (HEAD + "## Expect\n> a.txt exists\n", [1]),
    "curly quotes": (HEAD + "## Expect\n- report.txt contains “≥ 2 must be”\n", [1]),
    "modal verbs": (HEAD + "## Expect\n- a.json must exist; mean should be in [1, 2]\n", [2]),
    "two sentences in an item, one vague": (HEAD + "## Expect\n- a.txt exists. It is nice.\n", [0]),
    "a file that looks like a key": (HEAD + "## Expect\n- a.json exists with keys mean and b.png exists\n", [3]),
    "a number with commas": (HEAD + "## Expect\n- a.csv has at least 1,000 rows\n", [1]),
    "a path that leads out": (HEAD + "## Expect\n- `../a.txt` exists\n- /etc/passwd exists\n", [0, 0]),
    "a line of dashes in the to-do": ("## Todo\nDo it.\n\n---\n\nAll.\n\n## Expect\na.txt exists\n", [1]),
    "a third heading": (HEAD + "## Notes\nNone.\n## Expect\na.txt exists\n", "top.md:5: a task has no section Notes"),
    "only a title": ("# Fit\n", "top.md: has no section To-do"),
}
FRONT = "---\nRank: 1\nTimeout: 900\nBashTime: -1\nSkills: common_env, root_env\nNoMemory: on\n---\n"
RELEASED = {
    "basic": (FRONT + "# t\n## Todo\n1. Write.\n## Expect\n- hello.txt exists, contains `hello`\n", [2]),
    "without context": ("# t\n\n## Todo\nx\n\n## Expect\n- out.csv exists with columns a, b and 4 rows\n", [3]),
    "plain lines": ("## Context\n\n## Todo\nx\n## Expect\nsummary.json exists\n\nplot.png exists, > 5 KB\n", [1, 2]),
    "stars": (FRONT + "## Todo\nx\n## Expect\n* test.log contains PASSED\n* `make test` passes\n", [1, 1]),
    "two files": ("## Todo\nx\n## Expect\n- nopause.log and paused.log both contain PASSED: All\n", [2]),
    "only a file": ("## Todo\nx\n## Expect\n- Only sim/src/a.v modified under sim/ (if needed)\n", [1]),
    "arrays": ("## Todo\nx\n## Expect\n- gen.h5 exists with keys showers (1000, 6480) and energies (1000, 1)\n", [4]),
    "in brackets": (
        "## Todo\nx\n## Expect\n- model.pkl (> 100 KB), vae.pt (> 5 KB)\n- a.json with auc > 0.78\n",
        [4, 1],
    ),
    "each": (
        "## Todo\nx\n## Expect\n- roc.png and score.png (> 5 KB each)\n- notes.md exists with a summary\n",
        [4, 0],
    ),
    "a job": (
        "## Todo\nx\n## Expect\n- Generation ran via SLURM (sbatch was used)\n- `sbatch run.sh` was run\n",
        [0, 1],
    ),
}
EXPECT = """\
## Expect

- fit_params.json exists with keys const, mean, sigma; mean ∈ [2.4, 2.6], sigma ∈ [0.6, 0.8]
- fit.png exists, valid PNG, > 1 KB
"""
STYLES = {
    "NL": "## Context\n\n## Todo\n\nSample 10 000 from N(2.5, 0.7), fill a histogram, fit, write fit_params.json.\n\n",
    "ST": "## Context\n\nUse the root_env skill.\n\n## Todo\n\n1. Use the skill.\n2. Write gauss_fit.py.\n3. Run.\n\n",
    "EX": (
        "---\nTimeout: 600\n---\n# Fit\n\n## Context\n\nRule: reuse or create.\n\n## Todo\n\n1. Check .../bin/python.\n"
        '2. Write gauss_fit.py:\n   - Seed: 1234\n   - TH1F("h", "Gaussian", 100, -1, 6)\n   - Fit "gaus"\n3. Run.\n\n'
    ),
}


@pytest.mark.parametrize(("text", "wanted"), [*ODD.values(), *RELEASED.values()], ids=[*ODD, *RELEASED])
def test_odd_files(tmp_path, text, wanted):
    (tmp_path / "top.md").write_bytes(text.encode())
    if isinstance(wanted, str):
        with pytest.raises(UserError) as caught:
            scifi_markdown.read(tmp_path)
        assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(wanted)
    else:
        task = scifi_markdown.read(tmp_path)
        assert [len(one.checks) for one in task.expectations] == wanted, task.expectations
        lines = text.splitlines()
        assert all(one.text.split()[0].strip("`[]*_<>|")[:3] in lines[one.line - 1] for one in task.expectations)


@pytest.mark.parametrize("style", STYLES)
def test_the_three_styles_of_the_paper(tmp_path, style):
    (tmp_path / "top.md").write_text(STYLES[style] + EXPECT)
    task = scifi_markdown.read(tmp_path)
    assert [len(one.checks) for one in task.expectations] == [4, 3]
    assert task.todo


def test_there_are_as_many_as_said():
    assert (len(ODD), len(RELEASED), len(STYLES)) == (30, 10, 3)
