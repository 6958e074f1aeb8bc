"""Votes for tests: written out, and drawn."""

from hypothesis import settings
from hypothesis import strategies as st

from sophron.debate.panel.votes import Concern, Focus, Label, Severity, Vote

BRIEF = settings(max_examples=40, deadline=None)  # the first example loads a schema
EXPERTS = ("analysis", "force-field", "sampling")
LABELS = st.sampled_from(Label)
CONFIDENCES = st.floats(0, 1)
REPUTATIONS = st.floats(0, 1, exclude_min=True)
CONCERNS = st.builds(Concern, st.sampled_from(Severity), st.sampled_from(Focus), st.text(min_size=1, max_size=5))
VOTES = st.builds(
    Vote,
    LABELS,
    CONFIDENCES,
    st.text(min_size=1, max_size=5),
    st.lists(CONCERNS, max_size=3).map(tuple),
    st.just("because"),
)
ROUNDS = st.fixed_dictionaries(dict.fromkeys(EXPERTS, VOTES))
STANDINGS = st.fixed_dictionaries(dict.fromkeys(EXPERTS, REPUTATIONS))


def vote(label, confidence=1.0, *concerns, insight="an insight"):
    written = tuple(Concern(Severity(severity), Focus(focus), text) for severity, focus, text in concerns)
    return Vote(Label(label), confidence, insight, written, "reasons")
