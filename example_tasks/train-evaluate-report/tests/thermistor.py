"""Tables of a thermistor, and what is right for them. python thermistor.py FOLDER writes the given ones."""

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np

GIVEN = 42


def write(folder: Path, seed: int) -> None:
    """Write train.csv and test.csv."""
    draw = np.random.default_rng(seed)
    a, b, c = draw.normal([1.28e-3, 2.36e-4, 9.1e-8], [1e-5, 2e-6, 1e-9])
    for name, rows in (("train.csv", 60), ("test.csv", 25)):
        log = draw.uniform(6.5, 10.5, rows)
        celsius = 1 / (a + b * log + c * log**3) - 273.15 + draw.normal(0.05, 0.3, rows)
        lines = [f"{np.exp(x):.2f},{value:.3f}" for x, value in zip(log, celsius, strict=True)]
        (folder / name).write_text("\n".join(["resistance_ohm,temperature_C", *lines]) + "\n")


def table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of resistances, and temperatures."""
    rows = list(csv.DictReader(path.read_text().splitlines()))
    return (
        np.log([float(row["resistance_ohm"]) for row in rows]),
        np.array([float(row["temperature_C"]) for row in rows]),
    )


def right_model(folder: Path) -> np.ndarray:
    """The coefficients a, b, c."""
    log, celsius = table(folder / "train.csv")
    terms = np.column_stack([np.ones_like(log), log, log**3])
    return np.linalg.lstsq(terms, 1 / (celsius + 273.15), rcond=None)[0]


def check_model(folder: Path) -> None:
    """AssertionError if model.json is not the fit to train.csv."""
    told = json.loads((folder / "model.json").read_text())
    assert np.allclose([told[name] for name in "abc"], right_model(folder), rtol=1e-5, atol=0), "the coefficients"


def check_metrics(folder: Path) -> None:
    """AssertionError if metrics.json is not what the right model gives."""
    log, celsius = table(folder / "test.csv")
    a, b, c = right_model(folder)
    error = 1 / (a + b * log + c * log**3) - 273.15 - celsius
    told = json.loads((folder / "metrics.json").read_text())
    assert abs(told["rmse_C"] - np.sqrt(np.mean(error**2))) < 1e-4, "rmse_C"
    assert abs(told["bias_C"] - error.mean()) < 1e-4, "bias_C"
    assert told["worst_row"] == int(np.abs(error).argmax()), "worst_row"


def check_report(folder: Path) -> None:
    """AssertionError if the report does not say what metrics.json and test.csv say."""
    told = json.loads((folder / "metrics.json").read_text())
    first, second, *words = [line for line in (folder / "report.txt").read_text().splitlines() if line.strip()]
    numbers = re.fullmatch(r"RMSE (\d+\.\d{3}) C, bias (-?\d+\.\d{3}) C", first.strip())
    assert numbers, "the first line"
    assert abs(float(numbers[1]) - told["rmse_C"]) < 0.00051, "the RMSE"
    assert abs(float(numbers[2]) - told["bias_C"]) < 0.00051, "the bias"
    row = (folder / "test.csv").read_text().splitlines()[1 + told["worst_row"]]
    assert second.strip() == f"worst: row {told['worst_row']}, {row.split(',')[0]} ohm", "the second line"
    assert len(" ".join(words).split()) >= 10, "no sentences"


if __name__ == "__main__":
    write(Path(sys.argv[1]), GIVEN)
