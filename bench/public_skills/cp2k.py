"""H2 at 0.74 angstrom with LDA and DZVP-GTH-PADE: the SCF converges, to about -1.13 hartree."""

import json
import re
import subprocess
from pathlib import Path

Path("h2.inp").write_text("""\
&GLOBAL
  PROJECT h2
  RUN_TYPE ENERGY
&END GLOBAL
&FORCE_EVAL
  METHOD QS
  &DFT
    BASIS_SET_FILE_NAME BASIS_SET
    POTENTIAL_FILE_NAME GTH_POTENTIALS
    &MGRID
      CUTOFF 280
    &END MGRID
    &XC
      &XC_FUNCTIONAL PADE
      &END XC_FUNCTIONAL
    &END XC
    &POISSON
      PERIODIC NONE
      PSOLVER WAVELET
    &END POISSON
  &END DFT
  &SUBSYS
    &CELL
      ABC 8 8 8
      PERIODIC NONE
    &END CELL
    &COORD
      H 4.0 4.0 3.63
      H 4.0 4.0 4.37
    &END COORD
    &KIND H
      BASIS_SET DZVP-GTH-PADE
      POTENTIAL GTH-PADE-q1
    &END KIND
  &END SUBSYS
&END FORCE_EVAL
""")
said = subprocess.run(["cp2k.psmp", "h2.inp"], text=True, capture_output=True, check=True).stdout
energy = re.findall(r"Total FORCE_EVAL.*?(-?\d+\.\d+)", said)
print(json.dumps({"converged": int("SCF run converged" in said), "hartree": float(energy[-1])}))
