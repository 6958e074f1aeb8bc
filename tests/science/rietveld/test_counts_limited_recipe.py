"""A climb by counts: what is supported is freed, what no sample can have is taken back, weights settle."""

import numpy as np
import pytest
import rietveld_recipes
from crystals import CIF, SALT
from refinable_groups import RequiredEsd
from rietveld_recipes import Recipe, Rung, Step

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, Setup
from sophron.science.rietveld.refinement import Refinement

X = np.arange(25.0, 80.0, 0.03)
ATOMS = "Na1 Na 0 0 0 1 {u_iso}\nCl1 Cl 0.5 0.5 0.5 1 {u_iso}"


def recipe(u_iso_needs):
    return Recipe(
        (
            Step(Rung("scale", ("scale", "background"))),
            Step(Rung("cell", ("cell",)), {"cell": RequiredEsd(1e-3, relative=True)}),
            Step(Rung("atoms", ("u_iso",)), {"u_iso": RequiredEsd(u_iso_needs)}),
        ),
        ("cell", "u_iso"),
    )


def setup(pattern, edge, u_iso):
    phase = Phase("salt", CIF.format(edge=edge, **(SALT | {"atoms": ATOMS.format(u_iso=u_iso)})))
    return Setup(pattern, (phase,), Instrument((1.5406,), profile_w=0.02), Background(count=2, start=5.0))


@pytest.fixture
def climbed(engine, tmp_path):
    def climb(true_u_iso, counts, by):
        order = Pattern("order", X, 5.0 + counts * np.exp(-(((X - 40) / 3) ** 2)))
        mean = 5.0 + engine.calculate(engine.start(setup(order, 5.64, true_u_iso)), X.tolist(), limit_s=300)
        pattern = Pattern("simulated salt", X, np.random.default_rng(4).poisson(np.maximum(mean, 0.1)).astype(float))
        refinement = Refinement.begin(engine, setup(pattern, 5.641, 0.015), tmp_path / "refinement")
        return refinement, rietveld_recipes.climb(refinement, "salt", by, limit_s=300)

    return climb


def test_everything_that_the_counts_support_is_freed(climbed):
    refinement, found = climbed(0.02, 400.0, recipe(0.01))
    assert found.freed == ("scale", "cell", "atoms")
    assert found.held == {}
    fit = found.last.fit
    assert refinement.current.fit is fit
    assert abs(fit.parameter("cell/salt/a").value - 5.64) < 4 * fit.parameter("cell/salt/a").esd_counting
    assert abs(fit.parameter("u_iso/salt/Cl1").value - 0.02) < 4 * fit.parameter("u_iso/salt/Cl1").esd_counting
    assert refinement.current.label.startswith("settled")
    assert np.allclose(fit.curves.sigma**2, np.maximum(fit.curves.calculated, 0.01), rtol=0.05)


def test_what_the_counts_do_not_support_is_held_with_the_reason(climbed):
    refinement, found = climbed(0.02, 4.0, recipe(1e-4))
    assert found.freed == ("scale", "cell")
    assert "is expected with an esd of 0.0" in found.held["atoms"]
    assert all(kept.label != "atoms" for kept in refinement.kept)
    assert not any(name.startswith("u_iso") for name in (one.name for one in found.last.fit.parameters))


def test_a_rung_that_ends_where_no_sample_is_is_taken_back(climbed):
    refinement, found = climbed(-0.02, 400.0, recipe(0.01))
    assert found.freed == ("scale", "cell")
    assert "below zero" in found.held["atoms"]
    assert any(kept.label == "atoms" for kept in refinement.kept)
    assert refinement.current.state.values["u_iso/salt/Cl1"] == pytest.approx(0.015)


def test_the_recipe_begins_with_scale_and_background_and_ends_with_atoms():
    steps = rietveld_recipes.recipe().steps
    assert steps[0].rung.groups == ("scale", "background")
    assert not steps[0].needs
    assert all(set(step.needs) == set(step.rung.groups) for step in steps[1:])
    assert steps[-1].rung.name == "atoms"
    assert set(rietveld_recipes.recipe().main) == {"cell", "position", "u_iso"}
