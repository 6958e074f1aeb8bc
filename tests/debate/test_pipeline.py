import pytest

from sophron.debate.pipelines.pipeline import Pipeline, PipelineFormatError

CODE = 'x = """\nRATIONALE\nENTRY\n"""\n'
GOOD = Pipeline(
    "Attach-pull-release, 10.1021/acs.jctc.5b00405.",
    20,
    {f"{name}.py": f"# {name}\n{CODE}" for name in ("01_prep", "02_equilibrate", "03_production", "04_analysis")},
)


def test_a_reply_is_read_as_it_was_written():
    assert Pipeline.parse(GOOD.reply) == GOOD
    assert Pipeline.parse(f"\n{GOOD.reply}\n").digest == GOOD.digest


def test_the_digest_is_that_of_what_runs():
    assert Pipeline("another", GOOD.windows, GOOD.files).digest == GOOD.digest
    assert Pipeline(GOOD.rationale, 21, GOOD.files).digest != GOOD.digest
    assert Pipeline(GOOD.rationale, 20, {**GOOD.files, "04_analysis.py": "y = 1\n"}).digest != GOOD.digest


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("RATIONALE\nAttach", "Attach", "text before the first block"),
        ("Attach-pull-release, 10.1021/acs.jctc.5b00405.", "", "RATIONALE is empty"),
        ("ENTRY\n01_prep.py\n", "ENTRY\n", "ENTRY must hold the lines"),
        (" windows=20", "", "ENTRY must hold the lines"),
        (" windows=20", " windows=1", "declares 1 windows"),
        (" windows=20", " windows=101", "declares 101 windows"),
        ("FILE 04_analysis.py", "FILE 05_analysis.py", "the blocks are"),
        ("FILE 02_equilibrate.py\n```python", "FILE 02_equilibrate.py\n```", "must hold one fence"),
        ("FILE 02_equilibrate.py\n", "FILE 02_equilibrate.py\nHere it is:\n", "must hold one fence"),
    ],
)
def test_a_reply_that_does_not_keep_to_the_form_is_none(old, new, said):
    assert GOOD.reply.count(old) >= 1
    with pytest.raises(PipelineFormatError, match=said):
        Pipeline.parse(GOOD.reply.replace(old, new, 1))


def test_a_fence_that_is_not_closed_is_named():
    with pytest.raises(PipelineFormatError, match=r"04_analysis\.py is not closed"):
        Pipeline.parse(GOOD.reply.rstrip().removesuffix("```"))


def test_files_stand_in_their_order():
    swapped = GOOD.reply.replace("FILE 01_prep.py", "FILE x").replace("FILE 02_equilibrate.py", "FILE 01_prep.py")
    with pytest.raises(PipelineFormatError, match="the blocks are"):
        Pipeline.parse(swapped.replace("FILE x", "FILE 02_equilibrate.py"))
