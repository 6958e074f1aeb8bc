"""Checks, samples and schemas that a contract brings along: found by name, run only when they are called for."""

import pytest

from sophron.agentbuild import contract, contract_code, curriculum, judge
from sophron.agentbuild.rubric import CaseRun
from sophron.records.errors import UserError

REPORT = {"result": 1.0, "uncertainty": 0.1, "caveats": [], "summary": "One."}
CALL = {
    "number": 1,
    "tool": "describe",
    "arguments": {},
    "ok": True,
    "hint": "",
    "result": {},
    "plot": None,
    "state": None,
}


@pytest.fixture
def made(tmp_path):
    contract.create(tmp_path / "mine", "electron diffraction", "A. Person")
    return tmp_path / "mine"


def test_a_contract_judges_by_its_own_checks_and_schemas(made):
    found = contract.load(made)
    for calls, score in (([CALL], 5), ([], 1)):
        run = CaseRun("first", REPORT, {"calls": calls}, {})
        assert judge.screen(run, found.rubric).passed
        assert judge.computed(run, found.rubric)["T1"].score == score
    broken = CaseRun("first", {"result": 1.0}, {"calls": []}, {})
    assert 'the key "uncertainty" is missing' in judge.screen(broken, found.rubric).reasons[0]


def test_a_contract_draws_its_own_samples(made):
    path = made / "curriculum.yaml"
    drawn = "{name: simulated, parameters: {mean: 3, count: 50, seed: 1}}"
    path.write_text(path.read_text().replace("{name: file, parameters: {file: samples/first.json}}", drawn))
    given = curriculum.sample(made, contract.load(made).curriculum.cases["first"])
    assert sum(given.sample["values"]) / 50 == pytest.approx(3, abs=0.6)
    assert given.task == {"count": 50}


def test_reading_a_contract_runs_nothing_of_it(made):
    (made / "checks.py").write_text("raise SystemExit(3)\n\ndef tools_used(run, parameters):\n    pass\n")
    found = contract.load(made)
    with pytest.raises(SystemExit):
        found.rubric.check("tools_used")
    assert not list(made.rglob("__pycache__"))


def test_an_installed_name_is_not_taken(made):
    (made / "samples.py").write_text("def powder_series(folder, parameters):\n    pass\n")
    with pytest.raises(UserError, match=r"samples\.py: powder_series is a name of the registry"):
        contract.load(made)


def test_what_is_not_python_is_a_sentence(made):
    (made / "checks.py").write_text("def tools_used(:\n")
    with pytest.raises(UserError, match=r"checks\.py: is not Python"):
        contract.load(made)


def test_a_private_function_is_no_check(made):
    (made / "checks.py").write_text("def _tools_used(run, parameters):\n    pass\n")
    assert "tools_used" not in contract_code.names(made, contract_code.CHECKS)
    with pytest.raises(UserError, match='there is no check "tools_used"'):
        contract.load(made)
