"""Build and minimise all 33 complexes in OBC2, and one of each host in water: charges, warnings, energies, seconds.

    python bench/host_guest_build.py DATA [--boxes]

DATA: the folder with `sampl4_cb7`, `sampl4_oah` and `sampl5_cbclip`; without files there they are fetched. --boxes:
one complex of each host in TIP3P and in OPC too.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from record import record

from sophron.records import documents
from sophron.science.host_guest.preparation.complex_builder import Solvent, build
from sophron.science.host_guest.sampling import equilibration
from sophron.science.host_guest.systems import data, tasks

BENCHMARKS = ("sampl4-cb7", "sampl4-oah", "sampl5-cbclip")


def one(found: data.Benchmark, index: int, folder: Path, solvent: Solvent) -> dict[str, Any]:
    """Build and minimise one complex; wall and CPU seconds are of building alone."""
    with tempfile.TemporaryDirectory() as work:
        inputs = Path(work) / "inputs"
        inputs.mkdir()
        remarks = tasks.write(found, index, folder, inputs, solvent)
        begun = time.monotonic()
        built = build(inputs, Path(work) / "built")
        seconds = time.monotonic() - begun
        _, energy = equilibration.minimise(built, equilibration.start(built))
        task = documents.load_json(inputs / "task_metadata.json")
    return {
        "guest": found.guests[index],
        "solvent": solvent,
        "host_e": task["host_charge_e"],
        "guest_e": task["guest_charge_e"],
        "charge_off_e": abs(built.charge_sum_e - task["host_charge_e"] - task["guest_charge_e"]),
        "renormalised_by_e": round(built.renormalised_by_e, 6),
        "type_changes": list(built.type_changes),
        "warnings": list(built.warnings),
        "remarks": list(remarks),
        "minimised_kcal_per_mol": round(energy, 2),
        "build_wall_s": round(seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--boxes", action="store_true")
    args = parser.parse_args()
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in BENCHMARKS:
        found = data.benchmark(name)
        if not (args.data / found.folder).is_dir():
            data.fetch(found, args.data)
        rows[name] = [one(found, index, args.data, "obc2") for index in range(len(found.guests))]
        if args.boxes:
            rows[name] += [one(found, found.training[0], args.data, water) for water in ("tip3p", "opc")]
        print(name, "built", len(rows[name]), flush=True)
    every = [row for each in rows.values() for row in each]
    record(
        "host_guest_build",
        {
            "complexes": len(every),
            "largest_charge_off_e": max(row["charge_off_e"] for row in every),
            "median_build_wall_s": sorted(row["build_wall_s"] for row in every)[len(every) // 2],
            "benchmarks": rows,
        },
    )


if __name__ == "__main__":
    main()
