"""A draft reads as the example does: its comments and its one-line parts, where they are true of the draft."""

import json

import pytest

from sophron.campaign.scaffold import campaign_folder, yaml_comments
from sophron.records.files import read_text, resource
from sophron.records.strict_yaml import parse

EXAMPLE = """\
# What the example is.
a: 1 # one

# Above the part,
# in two lines.
part: # what it is
  # of the part before
  list: [1, 2] # short
  text: "with # inside" # behind

# Above the last.
last: {x: 1}
"""


def test_comments_go_where_they_are_true():
    draft = 'a: 2\npart:\n  list: [1, 2]\n  text: "with # inside"\nlast: {x: 2}\nmore: 1\n'
    assert yaml_comments.carried_over(draft, EXAMPLE) == (
        "a: 2\n\n# Above the part,\n# in two lines.\npart: # what it is\n  # of the part before\n  list: [1, 2] # short\n"
        '  text: "with # inside" # behind\n\n# Above the last.\nlast: {x: 2}\n\nmore: 1\n'
    )


@pytest.mark.parametrize(
    "draft",
    [
        "a: 1\n",
        "part:\n  text: >-\n    with\n    # inside\n",
        "part: 3\nlast:\n  x: 1\n",
        "part:\n  list: [1,\n    2]\n",
        "b: 'no\n",
    ],
)
def test_no_draft_means_another_thing_with_comments(draft):
    commented = yaml_comments.carried_over(draft, EXAMPLE)
    if draft.endswith("'no\n"):
        assert commented == draft
    else:
        assert parse(commented.encode(), "")[0] == parse(draft.encode(), "")[0]


@pytest.mark.parametrize("name", ["lj-liquid-viscosity", "kg-melt-viscosity", "rietveld-pbso4", "sampl4-cb7"])
def test_a_shuffled_example_gets_order_form_and_comments_back(name, tmp_path):
    text = read_text(resource("campaigns", name, "campaign.yaml"))
    shuffled = json.loads(json.dumps(parse(text.encode(), "")[0], sort_keys=True))
    made = campaign_folder.draft_text(tmp_path / name, shuffled)
    assert parse(made.encode(), "")[0] == {**shuffled, "campaign": name.lower()}
    assert list(parse(made.encode(), "")[0]) == list(parse(text.encode(), "")[0])
    assert made.count("\n\n") == text[text.index("\ncampaign:") :].replace("\n\n\n", "\n\n").count("\n\n")
    form = {line for line in text.splitlines() if line.endswith(("]", "{}")) or line.strip().startswith("- id")}
    assert form <= set(made.splitlines())
