#!/usr/bin/env python3
"""Join repeat units to a chain, embed it, and write SDF and LAMMPS data."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from rdkit import Chem
from rdkit.Chem import AllChem, Descriptors, rdMolDescriptors

DEFAULTS = {"units": None, "sequence": None, "caps": ["[H][*:2]", "[*:1][H]"], "coordinates": True}
HEAD, TAIL = 1, 2


def checked(given):
    """The input with its defaults; ends with a sentence if it is not of the form."""
    for key in given.keys() - DEFAULTS.keys():
        sys.exit(f"input: {key} is unknown; known are {', '.join(DEFAULTS)}")
    about = {**DEFAULTS, **given}
    if not about["units"] or not about["sequence"]:
        sys.exit("input: units and sequence must be there")
    for letter in about["sequence"]:
        if letter not in about["units"]:
            sys.exit(f"input: sequence: {letter} is no unit; known are {', '.join(about['units'])}")
    return about


def piece(smiles, ends):
    """A unit or cap with the open ends that it must have."""
    parser = Chem.SmilesParserParams()
    parser.removeHs = False
    made = Chem.MolFromSmiles(smiles, parser)
    if made is None or sorted(atom.GetAtomMapNum() for atom in made.GetAtoms() if atom.GetAtomicNum() == 0) != sorted(
        ends
    ):
        sys.exit(f"input: {smiles} is not a SMILES with the ends {' and '.join(f'[*:{one}]' for one in ends)}")
    return made


def joined(left, right):
    """The tail of `left` bonded to the head of `right`; their two open ends are gone."""
    both = Chem.RWMol(Chem.CombineMols(left, right))
    cut = left.GetNumAtoms()
    tail = next(
        atom
        for atom in both.GetAtoms()
        if atom.GetIdx() < cut and atom.GetAtomMapNum() == TAIL and not atom.GetAtomicNum()
    )
    head = next(
        atom
        for atom in both.GetAtoms()
        if atom.GetIdx() >= cut and atom.GetAtomMapNum() == HEAD and not atom.GetAtomicNum()
    )
    both.AddBond(tail.GetNeighbors()[0].GetIdx(), head.GetNeighbors()[0].GetIdx(), Chem.BondType.SINGLE)
    for place in sorted((tail.GetIdx(), head.GetIdx()), reverse=True):
        both.RemoveAtom(place)
    return both.GetMol()


def embedded(chain, seed):
    """The chain with coordinates, relaxed; the force field that relaxed it."""
    if AllChem.EmbedMolecule(chain, randomSeed=seed, useRandomCoords=True) != 0:
        sys.exit("no conformation was found; try another seed, or a shorter chain")
    if AllChem.MMFFHasAllMoleculeParams(chain):
        AllChem.MMFFOptimizeMolecule(chain, maxIters=2000)
        return "MMFF94"
    AllChem.UFFOptimizeMolecule(chain, maxIters=2000)
    return "UFF"


def data_file(chain, points):
    """LAMMPS data, atom_style full, typed by element; bonds typed by their pair of elements."""
    elements = sorted({atom.GetSymbol() for atom in chain.GetAtoms()})
    kinds = sorted(
        {tuple(sorted((bond.GetBeginAtom().GetSymbol(), bond.GetEndAtom().GetSymbol()))) for bond in chain.GetBonds()}
    )
    low, high = points.min(0) - 5, points.max(0) + 5
    lines = [
        "polymer-build: atoms and bonds, no force field",
        "",
        f"{chain.GetNumAtoms()} atoms",
        f"{chain.GetNumBonds()} bonds",
    ]
    lines += [f"{len(elements)} atom types", f"{len(kinds)} bond types", ""]
    lines += [f"{low[i]:.6f} {high[i]:.6f} {axis}lo {axis}hi" for i, axis in enumerate("xyz")]
    weights = Chem.GetPeriodicTable()
    lines += ["", "Masses", "", *(f"{n} {weights.GetAtomicWeight(one)} # {one}" for n, one in enumerate(elements, 1))]
    lines += ["", "Atoms # full", ""]
    for atom in chain.GetAtoms():
        x, y, z = points[atom.GetIdx()]
        lines.append(f"{atom.GetIdx() + 1} 1 {elements.index(atom.GetSymbol()) + 1} 0.0 {x:.6f} {y:.6f} {z:.6f}")
    lines += ["", "Bonds", ""]
    for bond in chain.GetBonds():
        pair = tuple(sorted((bond.GetBeginAtom().GetSymbol(), bond.GetEndAtom().GetSymbol())))
        lines.append(
            f"{bond.GetIdx() + 1} {kinds.index(pair) + 1} {bond.GetBeginAtomIdx() + 1} {bond.GetEndAtomIdx() + 1}"
        )
    return "\n".join(lines) + "\n"


def sizes(chain, points):
    """End-to-end distance, radius of gyration and the closest pair that is no neighbour of a neighbour."""
    heavy = [atom.GetIdx() for atom in chain.GetAtoms() if atom.GetAtomicNum() > 1]
    masses = np.array([atom.GetMass() for atom in chain.GetAtoms()])
    away = points - masses @ points / masses.sum()
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    apart[Chem.GetDistanceMatrix(chain) < 3] = np.inf
    return {
        "end_to_end": float(np.linalg.norm(points[heavy[-1]] - points[heavy[0]])),
        "radius_of_gyration": float(np.sqrt(masses @ (away**2).sum(1) / masses.sum())),
        "closest_nonbonded": float(apart.min()) if np.isfinite(apart).any() else None,
    }


def main():
    """Join, embed, write result.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    args = parser.parse_args()
    about = checked(json.loads(args.input.read_text()))
    args.work.mkdir(parents=True, exist_ok=True)
    units = {letter: piece(smiles, (HEAD, TAIL)) for letter, smiles in about["units"].items()}
    chain = piece(about["caps"][0], (TAIL,))
    for letter in about["sequence"]:
        chain = joined(chain, units[letter])
    chain = joined(chain, piece(about["caps"][1], (HEAD,)))
    chain = Chem.RemoveHs(chain)
    Chem.SanitizeMol(chain)
    smiles, chain = Chem.MolToSmiles(chain), Chem.AddHs(chain)
    result = {
        "smiles": smiles,
        "formula": rdMolDescriptors.CalcMolFormula(chain),
        "atoms": chain.GetNumAtoms(),
        "bonds": chain.GetNumBonds(),
        "mass": Descriptors.MolWt(chain),
        "exact_mass": Descriptors.ExactMolWt(chain),
        "units": len(about["sequence"]),
    }
    if about["coordinates"]:
        result["force_field"] = embedded(chain, args.seed)
        points = chain.GetConformer().GetPositions()
        result |= sizes(chain, points)
        (args.work / "polymer.data").write_text(data_file(chain, points))
    with Chem.SDWriter(str(args.work / "polymer.sdf")) as out:
        out.write(chain)
    (args.work / "result.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
