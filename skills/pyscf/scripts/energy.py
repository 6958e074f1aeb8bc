#!/usr/bin/env python3
"""One single-point energy of a molecule with PySCF, checked for convergence and stability."""

import argparse
import json
import sys
from pathlib import Path

import pyscf
from pyscf import cc, dft, gto, mp, scf

DEFAULTS = {
    "atoms": None,
    "unit": "angstrom",
    "basis": None,
    "method": "hf",
    "functional": None,
    "charge": 0,
    "unpaired": 0,
}
METHODS = ("hf", "dft", "mp2", "ccsd", "ccsd(t)")
STEPS = 6
EV = 27.211386245988


def checked(given):
    """The input with its defaults; ends with a sentence if it is not of the form."""
    for key in given.keys() - DEFAULTS.keys():
        sys.exit(f"input: {key} is unknown; known are {', '.join(DEFAULTS)}")
    about = {**DEFAULTS, **given}
    if not about["atoms"] or not about["basis"]:
        sys.exit("input: atoms and basis must be there")
    if about["unit"] not in ("angstrom", "bohr"):
        sys.exit("input: unit is angstrom or bohr")
    if about["method"] not in METHODS:
        sys.exit(f"input: method: {about['method']} is unknown; known are {', '.join(METHODS)}")
    if (about["method"] == "dft") != bool(about["functional"]):
        sys.exit("input: functional goes with the method dft, and with no other")
    return about


def converged(mf):
    """The mean field, converged, in second order if need be; ends with a sentence if it does not."""
    mf.kernel()
    if not mf.converged:
        mf = mf.newton()
        mf.kernel()
    if not mf.converged:
        sys.exit("the SCF did not converge; try another start, a smaller basis first, or look at the geometry and spin")
    return mf


def stabilised(mf, may_break):
    """The mean field after steps down from unstable solutions; whether it is a minimum now; what was seen.

    may_break: let spin up and spin down part where one of both is lower, as in a bond that breaks.
    """
    seen, before = [], mf.e_tot
    for _ in range(STEPS):
        closed = isinstance(mf, scf.hf.RHF) and not isinstance(mf, scf.rohf.ROHF)
        orbitals, outer, inside, outside = mf.stability(external=closed, return_status=True)
        if inside and (outside or not closed):
            return mf, True, seen
        if inside and not may_break:
            return mf, False, ["a lower solution with broken spin symmetry exists; one determinant may not be enough"]
        if inside:
            mf, orbitals = mf.to_uhf(), outer
        mf.kernel(mf.make_rdm1(orbitals, mf.mo_occ))
        seen = [f"the first solution was unstable ({before:.8f}); the energy is that of a lower one"]
        if isinstance(mf, scf.uhf.UHF):
            seen[0] += f", <S^2> = {mf.spin_square()[0]:.3f}"
    return mf, False, seen


def main():
    """Compute, check, write result.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True, help="taken, not used")
    args = parser.parse_args()
    about = checked(json.loads(args.input.read_text()))
    args.work.mkdir(parents=True, exist_ok=True)
    try:
        molecule = gto.M(
            atom=about["atoms"],
            basis=about["basis"],
            unit=about["unit"],
            charge=about["charge"],
            spin=about["unpaired"],
            verbose=0,
        )
    except (RuntimeError, KeyError, ValueError) as error:
        sys.exit(f"input: {error}")
    mf = dft.KS(molecule) if about["method"] == "dft" else scf.HF(molecule)
    if about["functional"]:
        mf.xc = about["functional"]
    mf, stable, warnings = stabilised(converged(mf), about["method"] in ("hf", "dft"))
    energy = reference = float(mf.e_tot)
    if about["method"] == "mp2":
        energy += float(mp.MP2(mf).run().e_corr)
    elif about["method"] in ("ccsd", "ccsd(t)"):
        coupled = cc.CCSD(mf).run()
        if not coupled.converged:
            sys.exit("the coupled-cluster equations did not converge; one determinant may not be enough here")
        energy += float(coupled.e_corr) + (float(coupled.ccsd_t()) if about["method"] == "ccsd(t)" else 0.0)
    levels = [
        (float(e), float(n))
        for es, ns in zip(*([mf.mo_energy], [mf.mo_occ]) if mf.mo_occ.ndim == 1 else (mf.mo_energy, mf.mo_occ))
        for e, n in zip(es, ns)
    ]
    empty = [e for e, n in levels if n == 0]
    result = {
        "energy": energy,
        "reference_energy": reference,
        "correlation_energy": energy - reference,
        "converged": True,
        "stable": stable,
        "homo_ev": EV * max(e for e, n in levels if n > 0),
        "lumo_ev": EV * min(empty) if empty else None,
        "dipole_debye": [float(one) for one in mf.dip_moment(verbose=0)],
        "electrons": int(molecule.nelectron),
        "functions": int(molecule.nao),
        "warnings": warnings,
        "pyscf": pyscf.__version__,
    }
    (args.work / "result.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
