"""Files of the benchmarks: pinned, fetched, read; each of their traps met. What needs the published files skips."""

import functools
import hashlib
import http.server
import re
import threading
from collections import Counter
from dataclasses import replace

import pytest

from sophron.records.errors import UserError
from sophron.science.host_guest.preparation import mol2, pdb
from sophron.science.host_guest.systems import data, tasks

from .conftest import CHEM

CB7, OAH, CLIP = (data.benchmark(name) for name in ("sampl4-cb7", "sampl4-oah", "sampl5-cbclip"))


def formula_of(molecule):
    """Return the elements and counts in Hill's order, without the charge."""
    counts = Counter(atom.element for atom in molecule.atoms)
    order = [each for each in ("C", "H") if each in counts] + sorted(set(counts) - {"C", "H"})
    return "".join(f"{each}{counts[each] if counts[each] > 1 else ''}" for each in order)


def guest(found, code, folder):
    return tasks.read(found, found.guests.index(code), folder)


def test_splits_are_those_of_the_paper():
    assert [len(each.guests) for each in (CB7, OAH, CLIP)] == [14, 9, 10]
    assert CB7.held_out == (0, 2, 3, 4, 6, 7, 9, 11, 12, 13)
    assert OAH.held_out == (1, 2, 4, 6, 7)
    assert CLIP.held_out == (1, 5, 6, 7, 8, 9)


def test_no_measured_value_is_shipped_or_fetched_with_a_task():
    assert "measurement" not in " ".join([*CB7.files, *OAH.files, *CLIP.files])
    assert "measurement.yaml" in " ".join(CB7.references.files)
    text = data.SOURCES.read_text()
    assert "-9.9" not in text
    assert "delta_G" not in text


def test_an_unknown_benchmark_is_named():
    with pytest.raises(UserError, match="no benchmark sampl9; take one of sampl4-cb7, sampl4-oah, sampl5-cbclip"):
        data.benchmark("sampl9")


class TestFetching:
    """From a server of this machine, which stands for the public one."""

    @pytest.fixture
    def server(self, tmp_path):
        root = tmp_path / "public"
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=root)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
            threading.Thread(target=serving.serve_forever, daemon=True).start()
            self.root = root / CB7.address
            self.root.mkdir(parents=True)
            yield f"http://127.0.0.1:{serving.server_port}"
            serving.shutdown()

    def test_a_file_is_fetched_once_and_whole(self, server, tmp_path):
        (self.root / "a.mol2").write_text("atoms")
        small = replace(CB7, files={"a.mol2": hashlib.sha256(b"atoms").hexdigest()})
        folder = data.fetch(small, tmp_path, server)
        assert (folder / "a.mol2").read_text() == "atoms"
        (self.root / "a.mol2").unlink()
        assert data.fetch(small, tmp_path, server) == folder
        (folder / "a.mol2").write_text("another")
        with pytest.raises(UserError, match=r"cannot be fetched .* folder data/sampl4_cb7 .* settings\.data of both"):
            data.fetch(small, tmp_path, server)

    def test_another_file_than_the_pinned_one_is_not_kept(self, server, tmp_path):
        (self.root / "a.mol2").write_text("atoms, changed")
        small = replace(CB7, files={"a.mol2": hashlib.sha256(b"atoms").hexdigest()})
        with pytest.raises(UserError, match="is not the pinned file"):
            data.fetch(small, tmp_path, server)
        assert not (tmp_path / CB7.folder / "a.mol2").exists()


class TestPublished:
    """One test a trap, on the published files."""

    def test_files_are_the_pinned_ones(self, sampl):
        for each in (CB7, OAH, CLIP):
            data.check(each, sampl)

    @pytest.mark.parametrize("code", ["phm", "axm", "cha"])
    def test_charges_are_believed_where_guest_yaml_says_another(self, sampl, code):
        found = guest(CB7, code, sampl)
        assert found.guest.integer_charge(code) == 2
        assert "guest.yaml says +1 e and the charges say +2 e; the charges are believed" in found.remarks

    def test_prm_is_simulated_with_one_ammonium_and_that_is_said(self, sampl):
        found = guest(CB7, "prm", sampl)
        assert found.guest.integer_charge("prm") == 1
        assert any("SAMPL4's own SMILES has three" in each for each in found.remarks)

    @pytest.mark.parametrize(("code", "formula"), [("adz", "C9H16N"), ("c6m", "C6H14N")])
    def test_names_that_mislead_are_said(self, sampl, code, formula):
        found = guest(CB7, code, sampl)
        assert formula_of(found.guest) == formula
        assert any("whatever its long name says" in each for each in found.remarks)

    def test_the_host_cb7_is_renormalised(self, sampl):
        found = guest(CB7, "chm", sampl)
        assert found.host.charge == pytest.approx(-0.0018)
        assert found.host.renormalised(0).charge == 0.0
        assert any(each.startswith("host.mol2: the charges sum to -0.0018 e") for each in found.remarks)

    def test_hosts_of_acids_are_charged(self, sampl):
        assert guest(OAH, "ben", sampl).host.integer_charge("oah") == -8
        assert guest(CLIP, "G1", sampl).host.integer_charge("clip") == -4

    def test_g10_comes_from_its_topology(self, sampl):
        pytest.importorskip("parmed", reason=f"ParmEd {CHEM}")
        found = guest(CLIP, "G10", sampl)
        assert formula_of(found.guest) == "C16H18N3S"
        assert any("without a mol2 file" in each for each in found.remarks)

    def test_a_task_says_nothing_measured(self, sampl, tmp_path):
        remarks = tasks.write(CB7, 1, sampl, tmp_path, "obc2")
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "complex.pdb",
            "guest.mol2",
            "host.mol2",
            "task_metadata.json",
        ]
        text = "".join(path.read_text() for path in tmp_path.iterdir())
        assert "-9.6" not in (tmp_path / "task_metadata.json").read_text()
        assert "delta_G" not in text
        assert "-9.6" not in " ".join(remarks)

    @pytest.mark.parametrize(("found", "index"), [(CB7, 9), (CB7, 12), (OAH, 3), (CLIP, 0), (CLIP, 9)])
    def test_no_file_of_a_task_names_its_guest(self, sampl, tmp_path, found, index):
        if found is CLIP:
            pytest.importorskip("parmed", reason=f"ParmEd {CHEM}")
        tasks.write(found, index, sampl, tmp_path, "obc2")
        published = re.compile(rf"\b({found.guests[index]}|{found.host})\b", re.IGNORECASE)
        for path in tmp_path.iterdir():
            about = path.read_text().replace(found.name, "")  # which benchmark it is may be known
            assert not published.search(about), path.name
        assert mol2.read(tmp_path / "guest.mol2").residue == "GST"

    def test_molecules_lie_as_in_the_published_pose(self, sampl, tmp_path):
        tasks.write(CB7, 12, sampl, tmp_path, "obc2")
        host, guest = mol2.read(tmp_path / "host.mol2"), mol2.read(tmp_path / "guest.mol2")
        posed = pdb.read_positions(sampl / "sampl4_cb7" / "adz" / "cb7-adz-p.pdb")
        for molecule, residue in ((host, "CB7"), (guest, "ADZ")):
            assert [posed[residue][name] for name in molecule.names] == pytest.approx(molecule.positions_a, abs=1e-3)
        placed = pdb.placed(host, guest, pdb.read_positions(tmp_path / "complex.pdb"), tmp_path / "complex.pdb")
        assert placed[0] == pytest.approx(host.positions_a, abs=1e-3)


def test_charges_against_the_word_of_a_file():
    """The trap of guest.yaml, without the published files."""
    from .test_mol2 import AMMONIUM

    remarks = tasks._charges(AMMONIUM.renormalised(1), AMMONIUM.renormalised(2), "+1e")
    assert remarks == ["guest.yaml says +1 e and the charges say +2 e; the charges are believed"]
