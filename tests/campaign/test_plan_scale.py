"""A long plan: every step is listed once and found by bisection, and what is signed does not grow with it."""

import json
import shlex
import shutil

import pytest
import toy

from sophron.campaign.planning import plan
from sophron.campaign.spec import spec
from sophron.records import approvals
from sophron.records.digests import SHELL_FIELD, is_listed, step_identity
from sophron.records.errors import Refused
from sophron.records.typed_json import to_json

REPLICAS = 60


def campaign(folder, monkeypatch, replicas: int) -> toy.Campaign:
    """The smoke campaign, with more replicas and limits that fit."""
    toy.plan_here(monkeypatch)
    for variable, value in toy.settings(folder).items():
        monkeypatch.setenv(variable, value)
    root = folder / "smoke"
    shutil.copytree(toy.DATA / "arithmetic", root)
    shutil.copy(toy.DATA / "smoke" / "campaign.yaml", root / "campaign.yaml")
    made = toy.Campaign(root, toy.make_key(folder / "key"))
    made.edit("replicas: 2,", f"replicas: {replicas},")
    made.edit("{core_hours: 1000}", "{core_hours: 1000000}")
    return made


def statement(folder, monkeypatch, replicas: int) -> str:
    """What would be signed."""
    folder.mkdir()
    here = campaign(folder, monkeypatch, replicas)
    return json.dumps(plan.make(here.root, spec.load(here.spec)).statement(here.root))


def test_each_step_of_a_long_plan_is_found_and_one_beyond_it_is_refused(tmp_path, monkeypatch):
    here = campaign(tmp_path, monkeypatch, REPLICAS)
    made = plan.make(here.root, spec.load(here.spec))
    assert len(made.steps) == len(set(made.listing.split())) == 4 * REPLICAS + 13
    assert made.excess() == []
    signed = here.sign()
    listing = approvals.gate_path(here.root).parent / "plans" / f"{signed['steps']}.steps"
    assert all(is_listed(listing, step.identity) for step in made.steps)
    shell, digest = signed["rules"]["produce"], spec.load(here.spec).definition_digest("produce")
    assert not is_listed(listing, step_identity("produce", shell, digest, {"replica": str(REPLICAS)}))
    argv = [SHELL_FIELD.sub("1", word) for word in shlex.split(shell)[1:]]
    last = approvals.Claim("produce", digest, "produce", {"replica": str(REPLICAS - 1)}, argv)
    assert to_json(approvals.require_approved(last, here.root).record) == signed
    with pytest.raises(Refused, match=f"the step produce-{REPLICAS} is not in the signed plan"):
        approvals.require_approved(last._replace(wildcards={"replica": str(REPLICAS)}), here.root)


def test_what_is_signed_stays_short(tmp_path, monkeypatch):
    short, long = (statement(tmp_path / str(count), monkeypatch, count) for count in (2, REPLICAS))
    assert len(long) - len(short) < 20
