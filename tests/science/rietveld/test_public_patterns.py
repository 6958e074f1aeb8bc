"""Pinned files: taken from a folder, never trusted by name alone."""

import public_patterns
import pytest

from sophron.records.errors import UserError


def test_a_file_that_is_not_the_pinned_one(tmp_path, monkeypatch):
    monkeypatch.delenv(public_patterns.VARIABLE, raising=False)
    with pytest.raises(UserError, match="name that in SOPHRON_XRD_DATA"):
        public_patterns.take("PBSO4.XRA")
    monkeypatch.setenv(public_patterns.VARIABLE, str(tmp_path))
    with pytest.raises(UserError, match="there is no such file; put it there, from https://raw"):
        public_patterns.take("PBSO4.XRA")
    (tmp_path / "PBSO4.XRA").write_text("another")
    for found in (public_patterns.take, lambda name: public_patterns.download(name, tmp_path)):
        with pytest.raises(UserError, match="is not the file that was pinned"):
            found("PBSO4.XRA")


def test_the_fluorapatite_of_the_embedded_engine_is_the_pinned_one(examples):
    assert public_patterns.take("FAP.XRA", examples).is_file()


def test_a_file_is_downloaded_once_and_checked(examples, tmp_path, monkeypatch):
    served = tmp_path / "served"
    served.mkdir()
    (served / "FAP.XRA").write_bytes((examples / "FAP.XRA").read_bytes())
    digest = public_patterns.FILES["FAP.XRA"][1]
    monkeypatch.setattr(
        public_patterns, "FILES", {"FAP.XRA": (f"file://{served}/", digest), "none": (f"file://{served}/", "")}
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    assert public_patterns.download("FAP.XRA", folder).read_bytes() == (served / "FAP.XRA").read_bytes()
    (served / "FAP.XRA").unlink()
    public_patterns.download("FAP.XRA", folder)
    with pytest.raises(UserError, match=r"file://.*/none: could not be downloaded"):
        public_patterns.download("none", folder)
