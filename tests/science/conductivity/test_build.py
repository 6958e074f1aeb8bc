"""The crystals: right neighbours, right planes, and a potential that is pinned."""

from collections import Counter

import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure
from sophron.science.conductivity.build import crystal


def neighbours(atoms, reach):
    """Number of atoms within `reach` of each, in the periodic box."""
    box = np.array(atoms.box)
    apart = atoms.positions[:, None] - atoms.positions[None]
    apart -= box * np.rint(apart / box)
    distance = np.sqrt((apart**2).sum(axis=-1))
    return (distance < reach).sum(axis=1) - 1, distance


def test_zincblende_has_four_neighbours_of_the_other_species():
    atoms = crystal("zincblende", 4.36, [3, 3, 4])
    assert len(atoms.positions) == 8 * 36
    count, distance = neighbours(atoms, 4.36 * 0.45)
    assert set(count) == {4}
    assert np.isclose(distance[distance > 0.1].min(), 4.36 * np.sqrt(3) / 4)
    pairs = np.argwhere((distance < 4.36 * 0.45) & (distance > 0.1))
    assert np.all(atoms.species[pairs[:, 0]] != atoms.species[pairs[:, 1]])


def test_fcc_has_twelve_neighbours():
    count, _ = neighbours(crystal("fcc", 1.6, [3, 3, 3]), 1.6 * 0.8)
    assert set(count) == {12}


@pytest.mark.parametrize("style", ["fcc", "zincblende"])
def test_no_plane_lies_on_a_border_between_cells(style):
    heights = crystal(style, 1.0, [2, 2, 2]).positions[:, 2] % 1.0
    assert heights.min() > 0.1
    assert heights.max() < 0.9
    assert len(set(Counter(np.round(heights, 6)).values())) == 1


def test_the_potential_is_pinned(silicon_carbide, tmp_path):
    model = silicon_carbide.results["build"].result["model"]
    assert model["potential"] == "SiC.tersoff"
    assert len(model["potential_sha256"]) == 64
    step = silicon_carbide.context(tmp_path, "equilibrate")
    changed = dict(step.one("build").result) | {"model": model | {"potential_sha256": "0" * 64}}
    silicon_carbide_of_another = type(silicon_carbide)(silicon_carbide.definitions, dict(silicon_carbide.results))
    result = type(silicon_carbide.results["build"])(changed, silicon_carbide.results["build"].files)
    silicon_carbide_of_another.results["build"] = result
    with pytest.raises(EngineFailure, match="not the potential that build found"):
        silicon_carbide_of_another.run(tmp_path, "equilibrate")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"species": [{"element": "Ar", "mass": 1.0}] * 2}, "a fcc lattice has 1 species, not 2"),
        ({"cutoff": 3.0}, "over half the shortest edge 4.8"),
        ({"potential": "none.tersoff"}, "has no potential none.tersoff"),
    ],
)
def test_contradictions_are_said(argon, tmp_path, changes, message):
    with pytest.raises(EngineFailure, match=message):
        argon.run(tmp_path, "build", changes)
