"""The mean is that of the table that lies beside this file."""

import csv
import json
import os
import pathlib
import sys

with (pathlib.Path(__file__).parent / "data.csv").open() as stream:
    values = [float(row["current"]) for row in csv.DictReader(stream)]
path = pathlib.Path("mean.json")
if not path.is_file():
    sys.exit("mean.json is not there")
mean = json.loads(path.read_text())["mean"]
print("mean", mean)
sys.exit(abs(mean - sum(values) / len(values)) > float(os.environ["TOLERANCE"]))
