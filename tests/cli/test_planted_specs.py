"""Specs with a planted fault: edits of shipped campaigns that the review, without any agent, keeps from being signed."""

import pytest

from sophron.campaign.approval import approve
from sophron.campaign.planning.plan import Plan
from sophron.campaign.spec import pitfalls
from sophron.campaign.spec.spec import load
from sophron.records.errors import UserError
from sophron.records.files import resource

LIQUID, MELT, SIC = "lj-liquid-viscosity", "kg-melt-viscosity", "sic-conductivity"
PLACE = '      - id: error\n        expression: "viscosity_relative_error < 0.02"'
NEAR_PUBLISHED = ("holds the answer against a constant", "a published value is never a criterion")


def criterion(expression):
    """An edit that adds a criterion to green_kubo of the liquid."""
    return PLACE, f'      - id: planted\n        expression: "{expression}"\n        statement: "Right."\n{PLACE}'


def fragment(*lines):
    """An edit that adds free lines to the production of the liquid."""
    begin = "      restart_every: 20000\n"
    return begin, begin + "      fragments:\n" + "".join(f"        - '{line}'\n" for line in lines)


PLANTED = {
    "a thermostat in production": (
        LIQUID,
        fragment("fix heat all langevin 0.722 0.722 1.0 48291"),
        "free engine text is",
    ),
    "64 atoms": (LIQUID, ("atoms: 256", "atoms: 64"), "cutoff-exceeds-half-box"),
    "another temperature": (LIQUID, ("temperature: 0.722\n      timestep", "temperature: 1.5\n      timestep"), "1.5"),
    "one replica": (LIQUID, ("replicas: 8", "replicas: 1"), "too-few-replicas"),
    "special bonds": (MELT, ("special_bonds: fene", "special_bonds: coulomb"), "special_bonds"),
    "a volume": (LIQUID, ("atoms: 256\n", "atoms: 256\n      volume: 400.0\n"), "density-contradicts-volume"),
    "Tersoff": (SIC, ("", ""), "many-body-heat-flux"),
    "near the published value": (LIQUID, criterion("abs(viscosity - 3.24) < 0.05 * 3.24"), *NEAR_PUBLISHED),
    "around the published value": (LIQUID, criterion("viscosity > 3.078 and viscosity < 3.402"), *NEAR_PUBLISHED),
    "a time step": (LIQUID, fragment("timestep 0.05"), "free engine text is UNVERIFIED"),
    "an include": (LIQUID, fragment("include keep.lmp"), "free engine text is UNVERIFIED"),
    "a fix whose style is a variable": (
        LIQUID,
        fragment("variable f string langevin", "fix keep all ${f} 0.722 0.722 1.0 48291"),
        "free engine text is UNVERIFIED",
    ),
}


def reasons(folder, campaign, old="", new=""):
    """Why an edited campaign may not be signed, its plan and limits apart: refused when it is read, or at the gate."""
    text = resource("campaigns", campaign, "campaign.yaml").read_text()
    assert old in text
    (folder / "campaign.yaml").write_text(text.replace(old, new, 1))
    try:
        spec = load(folder / "campaign.yaml")
    except UserError as error:
        return [str(error)]
    return approve.closed(approve.Proposal(folder, Plan(spec, ()), "", None, pitfalls.findings(folder, spec)))


def test_twelve_faults_are_planted_in_campaigns_that_are_open_without_them(tmp_path):
    assert len(PLANTED) == 12
    assert reasons(tmp_path, LIQUID) == reasons(tmp_path, MELT) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_keeps_the_gate_closed(tmp_path, name):
    campaign, edit, *words = PLANTED[name]
    said = "\n".join(reasons(tmp_path, campaign, *edit))
    assert said
    for word in words:
        assert word in said


def test_an_assumption_that_a_person_verified_justifies_a_criterion(tmp_path):
    assumption = (
        "    - id: known\n      criterion: green_kubo.planted\n      statement: The machinery is tested, not the answer.\n"
        "      verified_by: A. Person\n      status: {}\n"
    )
    old, new = criterion("abs(viscosity - 3.24) < 0.5")
    text = resource("campaigns", LIQUID, "campaign.yaml").read_text().replace(old, new)

    def with_assumption(added):
        path = tmp_path / "campaign.yaml"
        path.write_text(text.replace("  assumptions:\n", f"  assumptions:\n{added}", 1))
        spec = load(path)
        return approve.closed(approve.Proposal(tmp_path, Plan(spec, ()), "", None, []))

    (refused,) = with_assumption("")
    assert "campaign.yaml:" in refused
    assert "stages.green_kubo.criteria[2].expression: the criterion green_kubo.planted holds the answer" in refused
    assert with_assumption(assumption.format("verified")) == []
    (unverified,) = with_assumption(assumption.format("UNVERIFIED"))
    assert "the assumption known is UNVERIFIED" in unverified
    with pytest.raises(UserError, match=r'no criterion "green_kubo.plante"; did you mean "green_kubo.planted"'):
        with_assumption(assumption.format("verified").replace("green_kubo.planted", "green_kubo.plante"))
