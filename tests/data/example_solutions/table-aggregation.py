import subprocess
import sys
from pathlib import Path

Path("aggregate.py").write_text("""
import csv
import sys

groups = {}
with open(sys.argv[1]) as stream:
    rows = {(row["station"], row["time"], row["temperature_C"]) for row in csv.DictReader(stream)}
for station, time, value in rows:
    if value and float(value) != -99.9:
        groups.setdefault((station, time[:7]), []).append(float(value))
with open(sys.argv[2], "w", newline="") as stream:
    out = csv.writer(stream)
    out.writerow(["station", "month", "readings", "mean_C", "max_C"])
    for key, values in sorted(groups.items()):
        out.writerow([*key, len(values), f"{sum(values) / len(values):.2f}", f"{max(values):.2f}"])
""")
subprocess.run([sys.executable, "aggregate.py", "readings.csv", "monthly.csv"], check=True)
