"""Start configurations: what was asked for is there, and chains have the melt's shape."""

import numpy as np
import pytest

from sophron.interfaces.kind import EngineFailure
from sophron.science.viscosity import build


@pytest.mark.parametrize("atoms", [108, 256, 300, 500])
def test_a_lattice_has_all_its_atoms_and_no_overlap(atoms):
    length = (atoms / 0.8442) ** (1 / 3)
    system = build.lattice(atoms, length, np.random.default_rng(1))
    assert system.positions.shape == (atoms, 3)
    between = system.positions[:, None] - system.positions
    distances = np.linalg.norm(between - length * np.round(between / length), axis=-1) + 9 * np.eye(atoms)
    assert distances.min() > 1.0


def test_a_whole_lattice_is_face_centred():
    system = build.lattice(108, 3.0, np.random.default_rng(1))
    between = system.positions[:, None] - system.positions
    distances = np.linalg.norm(between - 3.0 * np.round(between / 3.0), axis=-1)
    assert ((distances > 0) & (distances < 0.5**0.5 + 1e-9)).sum(axis=1).tolist() == [12] * 108


@pytest.mark.parametrize("chain_length", [10, 20, 50])
def test_walks_have_the_bonds_and_distances_of_the_melt(chain_length):
    system = build.walks(2000, chain_length, 20.0, np.random.default_rng(2))
    bonds = np.linalg.norm(np.diff(system.chains, axis=1), axis=-1)
    assert bonds == pytest.approx(0.97)
    second = np.linalg.norm(system.chains[:, 2:] - system.chains[:, :-2], axis=-1)
    assert second.min() > 1.02 - 1e-9
    ratios = build.internal_distances(system) / build.melt_internal_distances(chain_length)
    assert ratios == pytest.approx(1.0, abs=0.07)


def test_melt_distances_agree_with_published_ones():
    # Kremer and Grest 1990, table II: <R^2> of N = 50, 100, 200.
    for chain_length, squared in ((50, 81.2), (100, 164.2), (200, 331.6)):
        assert build.melt_internal_distances(chain_length)[-1] == pytest.approx(squared, rel=0.05)


def test_freely_rotating_distances_are_those_of_a_rigid_pair():
    cosine = (1 + build.COS_MIN) / 2
    assert build.melt_internal_distances(3) == pytest.approx([0.97**2, 2 * 0.97**2 * (1 + cosine)])


def test_a_melt_is_what_was_asked_for(melt, tmp_path):
    result = melt.run(tmp_path, "build")
    assert {key: result.result[key] for key in ("atoms", "chains", "bonds", "chain_length")} == {
        "atoms": 200,
        "chains": 20,
        "bonds": 180,
        "chain_length": 10,
    }
    assert result.result["density"] == pytest.approx(0.85)
    assert result.result["volume"] == pytest.approx(200 / 0.85)
    assert result.result["box_length"] ** 3 == pytest.approx(200 / 0.85)


def test_the_same_seed_gives_the_same_bytes(melt, tmp_path):
    files = [melt.run(tmp_path / name, "build", seed=seed) for name, seed in (("a", 5), ("b", 5), ("c", 6))]
    first, again, other = (result.files["system"].read_bytes() for result in files)
    assert first == again != other


def test_positions_survive_the_data_file(tmp_path):
    system = build.walks(3, 4, 5.0, np.random.default_rng(3))
    build.write_data(tmp_path / "system.data", system)
    text = (tmp_path / "system.data").read_text()
    assert "12 atoms" in text
    assert "9 bonds" in text
    rows = text.split("Atoms # bond\n\n")[1].split("\n\n")[0].splitlines()
    assert [row.split()[1] for row in rows] == [str(1 + i // 4) for i in range(12)]
    assert np.array([row.split()[3:] for row in rows], float) == pytest.approx(system.positions, abs=0)
    bonds = text.split("Bonds\n\n")[1].split("\n\n")[0].splitlines()
    assert [bond.split()[2:] for bond in bonds] == [[str(i), str(i + 1)] for i in range(1, 12) if i % 4]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"volume": 100.0}, "a density of 2, not 0.85"),
        ({"chain_length": 7}, "do not make whole chains of 7"),
        ({"chain_length": 1}, "single beads have none"),
        ({"model": {"pair": "lj", "cutoff": 2.5, "shift": True}}, "chains need bonds"),
        (
            {"atoms": 40, "model": {"pair": "lj", "cutoff": 2.5, "shift": True, "bonds": {"k": 30.0, "r0": 1.5}}},
            "over half the box edge",
        ),
    ],
)
def test_contradictions_are_refused(melt, tmp_path, changes, said):
    with pytest.raises(EngineFailure, match=said):
        melt.run(tmp_path, "build", changes)


def test_a_volume_that_agrees_is_accepted(melt, tmp_path):
    assert melt.run(tmp_path, "build", {"volume": 235.29}).result["atoms"] == 200
