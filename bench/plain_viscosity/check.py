"""Stop unless the result meets its criteria: python check.py RESULT"""

import json
import sys

result = json.load(open(sys.argv[1]))
relative = result["standard_error"] / result["viscosity"]
if not relative < 0.2:
    sys.exit(f"standard error {100 * relative:.1f} % of the viscosity; less than 20 % is wanted")
if not abs(result["temperature"] - 0.722) < 0.015:
    sys.exit(f"mean temperature {result['temperature']:.4f}; 0.722 is wanted")
