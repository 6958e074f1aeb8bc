"""A library of a user's own: two small guests of a small host, as files that anybody could bring."""

import json
from dataclasses import replace

import pytest

from sophron.interfaces.kind import StepContext
from sophron.records.documents import Document, validate
from sophron.records.errors import UserError
from sophron.science.host_guest.preparation import ambertools, mol2
from sophron.science.host_guest.preparation.complex_builder import build
from sophron.science.host_guest.systems import library_system, systems, tasks
from sophron.science.host_guest.systems.library_system import LIBRARY

from .conftest import CHEM, from_smiles

CONDITIONS = {"temperature_k": 310.0, "ph": 7.4, "solvent": "tip3p", "ionic_strength_molar": 0.05}
GUESTS = {"amine": "CC[NH3+]", "ether": "CCOC"}


@pytest.fixture
def library(tmp_path):
    """A folder as the module's docstring has it; residues are called as users call them."""
    folder = tmp_path / "library"
    host = from_smiles("C1C2CC3CC1CC(C2)C3", "CAGE")
    for name, smiles in GUESTS.items():
        guest = from_smiles(smiles, name[:3].upper(), offset=(0.0, 0.0, 6.5))
        (folder / name).mkdir(parents=True)
        (folder / name / "complex.pdb").write_text(tasks._pdb(replace(host, residue="CAG"), guest))
        guest.moved(guest.positions_a + 50.0).write(folder / name / "guest.mol2")  # the pose says where it lies
    host.write(folder / "host.mol2")
    return folder


def settings(folder, **more):
    return {**CONDITIONS, "folder": str(folder), **more}


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_each_guest_is_a_task_that_does_not_name_it(library, tmp_path):
    system = systems.find("library")
    assert system.guests(settings(library)) == ["amine", "ether"]
    pinned = system.pinned(settings("library"), ["amine", "ether"], tmp_path)
    for name, charge in (("amine", 1), ("ether", 0)):
        made = system.task(pinned, name, tmp_path / "work" / name)
        validate(Document(made.metadata, tmp_path), "debate/task_metadata")
        assert made.metadata["guest_charge_e"] == charge
        assert made.metadata["temperature_k"] == 310.0
        assert not any("pins" in remark for remark in made.remarks)
        assert sorted(made.files) == ["complex.pdb", "guest.mol2", "host.mol2"]
        for path in made.files.values():
            assert not any(word in path.read_text() for word in ("CAG", "AMI", "ETH", name))
        assert name not in json.dumps(made.metadata)
        guest = mol2.read(made.files["guest.mol2"])
        assert 4.0 < guest.positions_a[:, 2].mean() < 9.0


def test_a_task_of_a_library_can_be_built(library, tmp_path):
    """As a pipeline's first stage does, with anchors that shape alone gives."""
    pytest.importorskip("parmed", reason=f"ParmEd {CHEM}")
    try:
        ambertools.find("tleap")
    except UserError:
        pytest.skip(f"AmberTools {CHEM}")
    made = LIBRARY.task(settings(library, solvent="obc2"), "ether", tmp_path / "work")
    folder = made.files["host.mol2"].parent
    (folder / "task_metadata.json").write_text(json.dumps(made.metadata))
    built = build(folder, tmp_path / "built")
    assert abs(built.charge_sum_e) < 1e-6
    assert all(anchor >= built.host_atoms for anchor in built.anchors.guest)


def test_a_step_of_tasks_carries_it_out(library, tmp_path):
    from sophron.debate.trials import trial_setup

    definition = {"system": "library", "guests": list(GUESTS), "settings": settings(library)}
    validate(Document(definition, tmp_path), "host_guest/tasks", "definition")
    ctx = StepContext("tasks", {"guest": "amine"}, definition, {}, tmp_path / "step", tmp_path, 1)
    ctx.workdir.mkdir()
    made = trial_setup.tasks(ctx)
    validate(Document(made.result, tmp_path), "host_guest/tasks", "result")
    assert "no digest in settings.sha256 pins the files of this guest" in made.result["remarks"]


def test_a_guest_says_what_differs(library, tmp_path):
    about = "temperature_k: 298.15\nprotonation: {pka: 9.8, simulated_protonated: true}\n"
    (library / "amine" / "guest.yaml").write_text(
        about + "anchors: {host: [':1@C1', ':1@C3', ':1@C5'], guest: [':2@C1', ':2@N1']}\n"
    )
    found = LIBRARY.task(settings(library), "amine", tmp_path / "work").metadata
    assert (found["temperature_k"], found["ph"]) == (298.15, 7.4)
    assert found["protonation"] == {"pka": 9.8, "simulated_protonated": True}
    assert found["anchors"]["guest"] == [":2@C1", ":2@N1"]


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ("colour: red\n", r"guest\.yaml:1: colour: unknown key; known are temperature_k"),
        ("guest_charge_e: 2\n", r"guest\.yaml:1: guest_charge_e: unknown key"),
        ("ph: 7\nsolvent: water\n", r'guest\.yaml:2: solvent: "?water"? is not one of'),
        (
            "anchors: {host: [':1@C1', ':1@C3', ':1@C99'], guest: [':2@C1', ':2@N1']}\n",
            r"guest\.yaml: anchors\.host names",
        ),
        ("- 1\n", r"guest\.yaml: holds no keys"),
    ],
)
def test_what_a_guest_says_wrongly_is_one_sentence(library, tmp_path, about, said):
    (library / "amine" / "guest.yaml").write_text(about)
    with pytest.raises(UserError, match=said):
        LIBRARY.pinned(settings(library), ["ether", "amine"], tmp_path)


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("amine/guest.mol2", ("C2 ", "C1 "), r"guest\.mol2: C1 is the name of several atoms; give each a name"),
        ("amine/guest.mol2", ("N1 ", "X1 "), r"guest\.mol2: the atom X1 of type N\.4 is not named after its element"),
        (
            "amine/guest.mol2",
            ("N1      ", "NITRO1  "),
            r"guest\.mol2: the atom name NITRO1 is longer than 4 characters",
        ),
        ("amine/complex.pdb", (" N1 ", " N7 "), r"complex\.pdb: 0 residues have the atoms of guest\.mol2"),
        ("amine/complex.pdb", ("AMI", "CAG"), r"complex\.pdb holds 1 residues; a complex has one host and one guest"),
    ],
)
def test_files_that_do_not_fit_are_named(library, tmp_path, file, change, said):
    edit(library / file, *change)
    with pytest.raises(UserError, match=said):
        LIBRARY.pinned(settings(library), ["amine"], tmp_path)


def test_charges_are_wanted(library, tmp_path):
    guest = mol2.read(library / "amine" / "guest.mol2")
    replace(guest, atoms=tuple(replace(atom, charge=0.0) for atom in guest.atoms)).write(
        library / "amine" / "guest.mol2"
    )
    with pytest.raises(UserError, match=r"guest\.mol2: all partial charges are 0; give it charges"):
        LIBRARY.pinned(settings(library), ["amine"], tmp_path)
    replace(guest, atoms=guest.atoms[:3] + guest.atoms[4:], bonds=()).write(library / "amine" / "guest.mol2")
    with pytest.raises(UserError, match=r"guest\.mol2: the partial charges sum to .* which is no integer"):
        LIBRARY.pinned(settings(library), ["amine"], tmp_path)


def test_a_missing_file_a_missing_guest_and_a_missing_key_are_named(library, tmp_path):
    with pytest.raises(UserError, match=r"ghost/guest\.mol2: there is no such file; put it there, or leave ghost out"):
        LIBRARY.pinned(settings(library), ["ghost"], tmp_path)
    (library / "host.mol2").rename(library / "kept.mol2")
    with pytest.raises(UserError, match=r"host\.mol2: there is no such file"):
        LIBRARY.task(settings(library), "amine", tmp_path / "work")
    with pytest.raises(UserError, match='settings of a library lack "ph"'):
        LIBRARY.guests({"folder": str(library), "temperature_k": 300})
    with pytest.raises(UserError, match='settings of a library have no "solvents"'):
        LIBRARY.guests(settings(library, solvents="opc"))
    (library / "kept.mol2").rename(library / "host.mol2")
    with pytest.raises(UserError, match=r"campaign\.yaml: settings\.solvent: .*water"):
        LIBRARY.pinned(settings(library, solvent="water"), ["amine"], tmp_path)


def test_a_file_that_changed_after_signing_is_refused(library, tmp_path):
    pinned = LIBRARY.pinned(settings(library), list(GUESTS), tmp_path)
    edit(library / "amine" / "guest.mol2", "SMALL", "LARGE")
    with pytest.raises(UserError, match=r"amine: .* not those that settings\.sha256\.amine pins; put those back"):
        LIBRARY.task(pinned, "amine", tmp_path / "work")
    assert LIBRARY.task(pinned, "ether", tmp_path / "work").metadata["guest_charge_e"] == 0


def test_references_are_read_where_somebody_measured(library, tmp_path):
    with pytest.raises(UserError, match=r"references\.csv: there is no such file; a screen needs none"):
        LIBRARY.references(settings(library), tmp_path)
    path = library / "references.csv"
    path.write_text("guest,delta_g_kcal_per_mol\namine,-5.1\nether,-3\n")
    assert LIBRARY.references(settings(library), tmp_path) == {"amine": -5.1, "ether": -3.0}
    path.write_text("guest,delta_g_kcal_per_mol\namine,-5.1\nether,strong\n")
    with pytest.raises(UserError, match=r"references\.csv:3: delta_g_kcal_per_mol is no number"):
        LIBRARY.references(settings(library), tmp_path)
    path.write_text("name,value\n")
    with pytest.raises(UserError, match=r"references\.csv: its first line does not name the columns"):
        LIBRARY.references(settings(library), tmp_path)


def test_a_folder_with_its_conditions_is_a_definition(library):
    (library / "library.yaml").write_text("temperature_k: 310.0\nph: 7.4\nsolvent: tip3p\n")
    found = library_system.definition(library)
    assert found["guests"] == ["amine", "ether"]
    assert found["settings"]["folder"] == str(library)
    (library / "amine").rename(library / "Amine-2")
    with pytest.raises(UserError, match=r"library/Amine-2: guests have names of a-z, 0-9 and _; rename this folder"):
        library_system.definition(library)
