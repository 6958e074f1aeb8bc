"""Silicon in the Materials Project, which wants a key and a network."""

import json

from mp_api.client import MPRester

with MPRester() as client:
    print(json.dumps({"answered": len(client.materials.summary.search(formula="Si", fields=["material_id"]))}))
