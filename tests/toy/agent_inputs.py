"""Inputs of agents as the workflow gives them, and the check of an answer against its schema."""

import copy
from pathlib import Path

import yaml

from sophron.campaign.scaffold import kind_catalogue
from sophron.records import documents
from sophron.records.files import resource

KINDS = {"viscosity": kind_catalogue.kinds()["viscosity"]}
PITFALLS = kind_catalogue.pitfalls(Path("/nonexistent"))
MELT = yaml.safe_load(resource("campaigns", "kg-melt-viscosity", "campaign.yaml").read_text())
LIQUID = yaml.safe_load(resource("campaigns", "lj-liquid-viscosity", "campaign.yaml").read_text())


def fitting(answer, name):
    """The answer, if it fits the agent's schema; its backend adds the text that tries to instruct."""
    if "suspicious_text" in documents.schema(f"agents/{name}")["properties"]:
        answer = {"suspicious_text": [], **answer}
    documents.validate(documents.Document(answer, Path("answer")), f"agents/{name}")
    return answer


def melt(**changes):
    """The melt's spec, with stages replaced or taken out (None)."""
    spec = copy.deepcopy(MELT)
    for name, block in changes.items():
        if block is None:
            del spec["stages"][name]
        else:
            spec["stages"][name] = block
    return spec


def judged(criterion, text, left, right, *, passed, expression=None, step="s-1"):
    """A criterion as `sophron.campaign.execution.verdict.judge` leaves it, with one comparison in one step."""
    comparison = {"text": text, "left": left, "right": right}
    one = {
        "step": step,
        "passed": passed,
        "reason": None if passed else "is not so",
        "values": {},
        "comparisons": [comparison],
    }
    return {
        "id": criterion,
        "expression": expression or text,
        "statement": f"{criterion} holds.",
        "passed": passed,
        "steps": [one],
    }


def verdict(*criteria, stage="green_kubo", failed=None):
    """A verdict over these criteria."""
    passed = not failed and all(one["passed"] for one in criteria)
    return {
        "stage": stage,
        "verdict": "pass" if passed else "fail",
        "definition_digest": "d",
        "criteria_digest": "c",
        "failed_steps": failed or {},
        "criteria": list(criteria),
        "outcomes": {},
    }


def stage_block(**choices):
    """A stage's block with these mechanical choices."""
    block = copy.deepcopy(MELT["stages"]["produce"])
    block["mechanical"]["choices"] = choices
    return block
