"""The mass of aspirin, 180.159 g/mol; and the two scripts of the skill that read SMILES."""

import json
import os
import subprocess
import sys
from pathlib import Path

from rdkit import Chem
from rdkit.Chem.Descriptors import MolWt

scripts, aspirin = Path(os.environ["SKILL"]) / "scripts", "CC(=O)Oc1ccccc1C(=O)O"
Path("known.smi").write_text(f"{aspirin} aspirin\nOc1ccccc1C(=O)O salicylic\n")
runs = {
    "similarity_script": [scripts / "similarity_search.py", aspirin, "known.smi"],
    "properties_script": [scripts / "molecular_properties.py", aspirin],
}
codes = {
    name: subprocess.run([sys.executable, *line], check=False, stdout=subprocess.DEVNULL).returncode
    for name, line in runs.items()
}
print(json.dumps({"mass": MolWt(Chem.MolFromSmiles(aspirin)), **codes}))
