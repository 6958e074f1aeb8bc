"""Whether this part is right for the tables that are there."""

from pathlib import Path

from thermistor import check_metrics

check_metrics(Path())
