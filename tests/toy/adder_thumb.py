"""Rule of thumb of the toy agent `adder`: it adds numbers, and takes as long as it is told."""

import time


def answer(inputs):
    """The sum of `numbers.terms` in the units of its recipe; `numbers.wait_s` stands for work that takes time."""
    numbers = inputs["numbers"]
    time.sleep(numbers.get("wait_s", 0))
    if numbers.get("crash"):
        raise SystemExit(3)
    return {"sum": sum(numbers["terms"]) * inputs["recipe"]["factor"], "note": inputs.get("remark", "").strip()}
