"""The rule of thumb of a pipeline's author."""

import pytest

from sophron.agents.rule_based import pipeline_agents
from sophron.science.host_guest.pipelines import reference_pipelines

WIDE = {"critiques": {"post": {"focus": "production"}}}


def first(**task):
    return pipeline_agents.author({"task": {"form": "molecules", "most_windows": 48} | task})


@pytest.mark.parametrize(
    ("form", "protocol", "draft"),
    [
        ("molecules", None, reference_pipelines.apr),
        ("molecules", "attach_pull_release", reference_pipelines.apr),
        ("molecules", "replica_exchange", reference_pipelines.replica_exchange),
        ("molecules", "double_decoupling", reference_pipelines.double_decoupling),
        ("particles", "attach_pull_release", reference_pipelines.lj_dimer),
    ],
)
def test_it_begins_with_the_protocol_that_the_campaign_names(form, protocol, draft):
    assert first(form=form, protocol=protocol)["reply"] == draft()


def test_it_says_which_reference_pipeline_there_is_not():
    with pytest.raises(ValueError, match="no reference pipeline for particles_double_decoupling"):
        first(form="particles", protocol="double_decoupling")


@pytest.mark.parametrize(("steps", "most", "wanted"), [(11, 48, 16), (44, 48, 48)])
def test_more_windows_up_to_what_is_signed(steps, most, wanted):
    draft = reference_pipelines.replica_exchange() if steps == 11 else reference_pipelines.apr()
    said = pipeline_agents.author({"task": {"most_windows": most}, "pipeline": draft, **WIDE})
    assert f"03_production.py windows={wanted}\n" in said["reply"]
    assert said["summary"] == f"{wanted} windows instead of {steps}."
