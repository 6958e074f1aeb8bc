"""Errors planted in shipped campaigns, and what catches each before anything runs."""

from pathlib import Path

import yaml

from sophron.campaign.spec import criteria_review, pitfalls, spec
from sophron.records.errors import UserError
from sophron.records.files import resource

DATA = Path(__file__).parents[1] / "data"


def listed(name="planted_errors"):
    """Return the errors of a file as plain data: the reviewer's twenty, or `planted_errors_of_kinds`."""
    return yaml.safe_load((DATA / f"{name}.yaml").read_text())


def caught(planted, folder):
    """Return what catches an error: ids of pitfalls that are hit, else the sentences that refuse it, as one text."""
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(of(planted)))
    try:
        made = spec.load(path)
    except UserError as error:
        return str(error)
    hits = [pitfall.id for pitfall, finding in pitfalls.findings(folder, made) if finding.status == "hit"]
    return " ".join(hits + criteria_review.closed(made))


def of(planted):
    """Return the shipped spec with an error, as plain data."""
    data = yaml.safe_load(resource("campaigns", planted["campaign"], "campaign.yaml").read_text())
    if "amended" in planted:
        change = yaml.safe_load(resource("workflow", "agents", "pitfalls", f"{planted['amended']}.yaml").read_text())
        for name in change["amendment"]["remove_stages"]:
            del data["stages"][name]
        data["stages"] |= change["amendment"]["add_stages"]
    for key, value in planted["set"].items():
        *above, last = key.split(".")
        here = data
        for part in above:
            here = here[part]
        here[last] = value
    return data
