"""Contracts: a scaffolded one is sound, and each fault is one sentence with file and key."""

import pytest

from sophron import cli
from sophron.agentbuild import aud, contract
from sophron.records.errors import UserError


@pytest.fixture
def made(tmp_path):
    contract.create(tmp_path / "mine", "electron diffraction", "A. Person")
    return tmp_path / "mine"


def test_a_scaffolded_contract_is_sound_and_its_blank_agent_could_be_asked(made, capsys):
    found = contract.load(made)
    aud.check(found.blank, found)
    assert (found.version, found.curriculum.active(1), found.curriculum.held_out) == ("0.1.0", ("first",), ("second",))
    assert found.rubric.thresholds == {"D1": 3, "D2": 2, "T1": 3}
    assert cli.main(["build", "check", str(made)]) == 0
    assert found.digest in capsys.readouterr().out


def test_the_digest_is_that_of_every_file(made):
    before = contract.load(made).digest
    (made / "knowledge" / "more.md").write_text("# More\n")
    assert contract.load(made).digest != before


FAULTS = {
    "rubric.yaml": [
        ("pass: 3", "pass: 9", "9 is no threshold on the scale 1 to 5"),
        ("code: D2", "code: D1", "D1 stands there twice"),
        ("lowest: 1, highest: 5", "lowest: 5, highest: 1", "is no scale"),
        ("asks: Does the result", "checks: [nothing]\n    asks: Does the result", 'there is no check "nothing"'),
        ("authors:", "author:", "unknown key"),
    ],
    "curriculum.yaml": [
        ("cases: [first]", "cases: [fist]", 'there is no case "fist"'),
        ("name: file,", "name: fil,", 'there is no source "fil"'),
        ("references/first.yaml", "references/absent.yaml", "there is no such file"),
        ("references/first.yaml", "../first.yaml", "does not have the form"),
    ],
    "boundary.yaml": [
        ("limits:", "opened: [engine]\nlimits:", "is no surface with the envelope case"),
        ("paths: [recipe.yaml]", "paths: [wiring.yaml]", "a file has one owner"),
        (", paths: [recipe.yaml]", "", 'the key "paths" is missing'),
    ],
    "tools.yaml": [("read_file:", "engine__refine:", "there is no server engine")],
    "models.yaml": [("score:", "scor:", "unknown key")],
    "VERSION": [("0.1.0", "first", "holds no version")],
    "blank/wiring.yaml": [("sample__describe", "run_command", "is not in the inventory")],
    "blank/agent.md": [("name: aud", "nam: aud", "unknown key")],
}


@pytest.mark.parametrize(
    "fault", [(file, *fault) for file, faults in FAULTS.items() for fault in faults], ids=lambda fault: fault[3]
)
def test_a_fault_is_one_sentence_with_its_file(made, capsys, fault):
    file, old, new, sentence = fault
    path = made / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    assert cli.main(["build", "check", str(made)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert file.split("/")[-1].split(".")[0] in said or "absent" in said
    assert said.count("\n") == 1


def test_a_contract_without_knowledge_is_refused(made):
    (made / "knowledge" / "procedures.md").unlink()
    with pytest.raises(UserError, match="holds no knowledge"):
        contract.load(made)


def test_a_folder_with_something_in_it_is_left_alone(made):
    with pytest.raises(UserError, match="is not an empty folder"):
        contract.create(made, "anything", "anybody")


def test_a_sample_outside_of_the_contract_is_refused(made):
    from sophron.agentbuild import curriculum

    path = made / "curriculum.yaml"
    path.write_text(path.read_text().replace("samples/first.json", "../first.json"))
    found = contract.load(made)
    with pytest.raises(UserError, match="outside of the contract"):
        curriculum.sample(made, found.curriculum.cases["first"])
