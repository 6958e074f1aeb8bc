"""The registries: what is installed is found by name, and a wrong name is one sentence."""

import pytest

from sophron.interfaces.kind import Kind
from sophron.records import entry_points
from sophron.records.errors import UserError


def test_an_installed_kind_is_found_by_name():
    assert "viscosity" in entry_points.names("sophron.kinds")
    kind = entry_points.load("sophron.kinds", "viscosity")
    assert isinstance(kind, Kind)
    assert kind.name == "viscosity"


def test_a_kind_of_another_distribution_needs_only_its_entry_point(tmp_path, monkeypatch):
    (tmp_path / "own_kind.py").write_text('KIND = "any object"\n')
    about = tmp_path / "own_kind-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-kind\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[sophron.kinds]\nown = own_kind:KIND\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "own" in entry_points.names("sophron.kinds")
    assert entry_points.load("sophron.kinds", "own") == "any object"


@pytest.mark.parametrize(("name", "hint"), [("viscosty", 'did you mean "viscosity"?'), ("zzz", "known are")])
def test_an_unknown_name_says_which_are_known(name, hint):
    with pytest.raises(UserError) as caught:
        entry_points.load("sophron.kinds", name)
    assert hint in str(caught.value)
    assert name in str(caught.value)


def test_an_empty_registry_says_so():
    assert entry_points.names("sophron.nothing") == []
    with pytest.raises(UserError, match="known are none"):
        entry_points.load("sophron.nothing", "x")
