"""`sophron ask`: the page that answers is among the three that are shown, for questions put before the search was there."""

import pytest

from sophron import cli
from sophron.records import doc_passages, strict_yaml
from sophron.records.files import resource

QUESTIONS = {
    "my job was killed for memory on slurm, what now": "docs/how-to/slurm.md",
    "how are error bars computed for correlated series": "docs/explanation/viscosity.md",
    "can I use my own Snakefile": "docs/how-to/reuse.md",
    "what does UNVERIFIED mean": "docs/reference/glossary.md",
    "how do I refine a powder pattern with my own instrument": "docs/how-to/refine-a-pattern.md",
    "where are API keys stored": "docs/how-to/slurm.md",
    "run on PBS": "docs/how-to/pbs.md",
    "add a skill to my campaign": "docs/how-to/skills.md",
    "what happens if I kill snakemake": "docs/tutorial.md",
    "write my own kind": "docs/how-to/write-a-kind.md",
    "how much does a model cost per day": "docs/how-to/agents.md",
    "verify criteria on a CSV": "docs/how-to/gate-your-workflow.md",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_page_that_answers_is_among_three(question):
    assert QUESTIONS[question] in {one.page for one in doc_passages.search(question, 3)}


def test_a_passage_is_shown_with_page_and_heading(capsys):
    assert cli.main(["ask", "--most", "1", "run", "on", "PBS"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("docs/how-to/pbs.md: Run on PBS Pro\n")
    assert "    sophron review my-melt --profile pbs" in said


@pytest.mark.parametrize("question", ["xyzzy", "???", "what is the", '" OR 1', "NEAR(a b"])
def test_nothing_is_found_without_a_word_of_the_pages(question, capsys):
    code = cli.main(["ask", question])
    assert code == (0 if doc_passages.search(question, 3) else 1)
    assert "Traceback" not in capsys.readouterr().err


def test_a_page_is_found_by_words_of_strangers_that_it_does_not_have():
    pages = {one.page.removeprefix("docs/") for one in doc_passages.passages(resource("docs"))}
    words = strict_yaml.parse(resource("docs", doc_passages.WORDS).read_bytes(), doc_passages.WORDS)[0]
    assert set(words) <= pages
    (found,) = doc_passages.search("bsub", 1)
    assert (found.page, found.heading) == ("docs/how-to/lsf.md", "Run on LSF")
    (found,) = doc_passages.search("ChatGPT", 1)
    assert found.page == "docs/how-to/agents.md"
    assert "ChatGPT" not in found.text


def test_headings_in_code_are_text(tmp_path):
    (tmp_path / "page.md").write_text("# Top\n\n```\n# a comment\n```\n\n## Below\n\nwords\n")
    found = list(doc_passages.passages(tmp_path))
    assert [one.heading for one in found] == ["Top", "Top > Below"]
    assert "# a comment" in found[0].text
