"""python3 score/score.py FILE prints the share of predictions that are right."""

import sys
from pathlib import Path

told = Path(sys.argv[1]).read_text().split()[1:]
right = Path(__file__).with_name("answers.csv").read_text().split()[1:]
print(sum(float(one) == float(other) for one, other in zip(told, right, strict=True)) / len(right))
