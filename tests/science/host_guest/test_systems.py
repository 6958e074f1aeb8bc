"""The dimers as a system: tasks that hold no reference, and references that are exact."""

import json

import pytest

from sophron.records.documents import Document, validate
from sophron.records.errors import UserError
from sophron.science.host_guest.protocols.lj_dimer import WALL, LennardJones
from sophron.science.host_guest.systems import exact_reference, systems

SETTINGS = {"sigma_a": 3.4, "temperature_k": 298.15, "epsilon_kcal_per_mol": {"weak": 1.0, "strong": 3.0}}


def test_a_task_fits_its_schema_and_holds_no_reference(tmp_path):
    system = systems.find("dimers")
    values = system.references(SETTINGS, tmp_path)
    for guest in system.guests(SETTINGS):
        task = system.task(SETTINGS, guest, tmp_path)
        validate(Document(task.metadata, tmp_path), "debate/task_metadata")
        text = json.dumps(task.metadata)
        assert guest not in text
        assert not any(f"{value:.4f}" in text for value in values.values())


def test_references_are_the_integrals(tmp_path):
    found = systems.DIMERS.references(SETTINGS, tmp_path)
    assert found["strong"] == exact_reference.binding(LennardJones(3.0, 3.4), WALL, 298.15)
    assert found["strong"] == pytest.approx(-1.5083, abs=1e-4)


def test_what_lacks_is_named():
    with pytest.raises(UserError, match='lack "sigma_a"'):
        systems.DIMERS.guests({"epsilon_kcal_per_mol": {}})
    with pytest.raises(UserError, match="not installed in the registry"):
        systems.find("cb9")
