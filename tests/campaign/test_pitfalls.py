"""The pitfall catalogue: shipped files are valid, a campaign's own override them, and conditions choose."""

from pathlib import Path

import pytest

from sophron.campaign.spec.pitfalls import Condition, applicable, catalogue, load
from sophron.records.entry_points import names
from sophron.records.errors import UserError

OWN = """\
id: {id}
title: Own rule
what: What people do.
why: Why it is wrong.
applies_to: {applies}
probe: {{name: density, parameters: {{tolerance: 0.5}}}}
safeguard: What to do.
sources: [{{doi: 10.1063/1.458541, about: Something.}}]
"""


def own(root, name="density-contradicts-volume", *, applies="{}", called=None):
    folder = root / "agents" / "pitfalls"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(OWN.format(id=called or name, applies=applies))
    return path


def test_shipped_catalogue(tmp_path):
    shipped = catalogue(tmp_path)
    assert len(shipped) >= 10
    assert [entry.id for entry in shipped] == sorted(entry.id for entry in shipped)
    known = names("sophron.probes")
    for entry in shipped:
        assert entry.probe in known
        assert entry.sources
        assert entry.path.stem == entry.id


def test_no_two_shipped_pitfalls_share_a_probe(tmp_path):
    probes = [entry.probe for entry in catalogue(tmp_path)]
    assert len(probes) == len(set(probes))


def test_a_campaign_overrides_by_id_and_adds(tmp_path):
    before = catalogue(tmp_path)
    own(tmp_path)
    own(tmp_path, "house-rule")
    after = catalogue(tmp_path)
    assert len(after) == len(before) + 1
    (changed,) = [entry for entry in after if entry.id == "density-contradicts-volume"]
    assert (changed.title, changed.parameters) == ("Own rule", {"tolerance": 0.5})
    assert changed.path.is_relative_to(tmp_path)


@pytest.mark.parametrize(
    ("applies", "expected"),
    [
        ("{}", True),
        ("{kinds: [viscosity]}", True),
        ("{kinds: [conductivity, sequence_bo]}", False),
        ("{stages: [build, produce]}", True),
        ("{stages: [build, shear]}", False),
        ("{when: [{key: stages.build.definition.chain_length, at_least: 2}]}", True),
        ("{when: [{key: stages.build.definition.chain_length, at_least: 11}]}", False),
        ("{when: [{key: stages.build.definition.model.bonds, present: true}]}", True),
        ("{when: [{key: stages.build.definition.model.angles, present: false}]}", True),
        ("{when: [{key: stages.build.definition.model.angles, present: true}]}", False),
        ("{when: [{key: stages.build.definition.model.pair, equals: lj}]}", True),
        ("{when: [{key: stages.build.definition.model.pair, equals: sw}]}", False),
        ("{when: [{mentions: [nowhere, fene]}]}", True),
        ("{when: [{key: stages.produce, mentions: [fene]}]}", False),
        ("{when: [{key: stages.build, mentions: [bonds]}]}", True),
        ("{kinds: [viscosity], when: [{mentions: [fene]}, {key: kind, equals: other}]}", False),
    ],
)
def test_conditions(tmp_path, applies, expected):
    entry = load(own(tmp_path, "house-rule", applies=applies))
    definition = {"chain_length": 10, "model": {"pair": "lj", "bonds": {"style": "fene"}}}
    spec = {"kind": "viscosity", "stages": {"build": {"definition": definition}, "produce": {"definition": {}}}}
    assert applicable([entry], spec) == ([entry] if expected else [])


def test_a_condition_on_something_that_is_no_number():
    assert not Condition("at_least", 2, "question.n").holds({"question": {"n": "many"}})
    assert not Condition("at_least", 2, "question.n.m").holds({"question": {"n": 3}})


def test_a_misnamed_file(tmp_path):
    with pytest.raises(UserError, match="make them the same"):
        load(own(tmp_path, "house-rule", called="other-rule"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("safeguard", "safegard", "safeguard"),
        ("doi: 10.1063/1.458541", "doi: https://doi.org/10.1063/1.458541", "does not have the form"),
        ("title: Own rule\n", "", '"title" is missing'),
        ("applies_to: {}", "applies_to: {when: [{key: a.b}]}", "applies_to"),
        ("sources: [{doi", "sources: [{dio", "doi"),
    ],
)
def test_a_malformed_file_is_one_sentence_with_its_place(tmp_path, old, new, said):
    path = own(tmp_path, "house-rule")
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UserError) as caught:
        catalogue(tmp_path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_reader_knows_no_science():
    text = Path(load.__code__.co_filename).read_text()
    assert "sophron.science" not in text
