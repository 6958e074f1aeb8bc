import csv
from pathlib import Path

noisy = {int(line) for line in Path("skills/strip-calibration/noisy.txt").read_text().split()}
with Path("readings.csv").open() as source, Path("calibrated.csv").open("w") as target:
    target.write("strip,charge_fC\n")
    for row in csv.DictReader(source):
        strip = int(row["strip"])
        charge = (int(row["adc"]) - (36.5 if strip % 2 else 41)) * (0.118 if strip > 63 else 0.125)
        charge = 60 + 1.6 * (charge - 60) if charge > 60 else max(charge, 0)
        if strip not in noisy:
            target.write(f"{strip},{charge:.3f}\n")
