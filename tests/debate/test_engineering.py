"""The Engineer's edits on the real pipeline of the dimer: what appendix D allows, and what it forbids."""

import pytest

from sophron.debate.engineering import Edit, Refusal, Refused, apply, compare, repeated
from sophron.debate.pipeline import Pipeline

from . import dimers

PREP = """
import os, subprocess
subprocess.run(["antechamber", "-i", "guest.mol2", "-c", "bcc", "-at", "gaff2"], check=True)
subprocess.run(["tleap", "-f", "in.leap"], check=True)
assert charge_of("N") > 0
"""


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("01_prep.py", "from pathlib import Path\n", "import json\nfrom pathlib import Path\n"),
        ("01_prep.py", 'Path("chain.json")', 'Path("out/chain.json")'),
        ("02_equilibrate.py", "        kinetic = []", '        Path("out").mkdir(parents=True, exist_ok=True)\n        kinetic = []'),
        ("03_production.py", 'np.savez_compressed("samples.npz"', 'np.savez("samples.npz"'),
        ("04_analysis.py", '"samples.npz") as samples', '"samples.npz", allow_pickle=False) as samples'),
        ("04_analysis.py", "        _, windows =", "        if not windows_there():\n            raise FileNotFoundError\n        _, windows ="),
    ],
)  # fmt: skip
def test_a_mechanical_fix_is_made(file, old, new):
    made = apply(dimers.pipeline(), [Edit(file, old, new)])
    assert isinstance(made, Pipeline), made
    assert new in made.files[file]


@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("01_prep.py", "SPRING_KCAL_PER_MOL_A2 = 1.0", "SPRING_KCAL_PER_MOL_A2 = 2.0", Refusal.METHODOLOGY),
        ("03_production.py", "INTERVAL_STEPS = 50", "INTERVAL_STEPS = 2", Refusal.METHODOLOGY),
        ("03_production.py", "length_ps = ns_per_window()", "length_ps = 0.1 * ns_per_window()", Refusal.METHODOLOGY),
        ("03_production.py", "length_ps = ns_per_window()", "length_ps = short()", Refusal.PRODUCTION),
        ("04_analysis.py", "min(overlaps) >= LEAST_OVERLAP", "True", Refusal.FLAG),
        ("04_analysis.py", "        if isinstance(found, Refusal):\n            raise Refused(found)\n", "", Refusal.GUARD),
        ("04_analysis.py", "if isinstance(found, Refusal):", "if False:", Refusal.GUARD),
        ("04_analysis.py", "_error_kcal_per_mol = found.error", "_error_kcal_per_mol = 0.0", Refusal.UNCERTAINTY),
        ("04_analysis.py", "-(found.difference + released)", "-(found.difference - released)", Refusal.UNCERTAINTY),
        ("04_analysis.py", "rt(temperature_k) * math.log", "rt(temperature_k) + math.log", Refusal.METHODOLOGY),
        ("04_analysis.py", "        _, windows =", "        return\n        _, windows =", Refusal.SWALLOWED),
        ("02_equilibrate.py", "        kinetic = []\n", "        kinetic = []\n        try:\n            risky()\n        except Exception:\n            kinetic = []\n", Refusal.SWALLOWED),
        ("02_equilibrate.py", "this is not there", "x", Refusal.NOT_FOUND),
        ("02_equilibrate.py", "for place in places:", "for place in places", Refusal.NOT_PYTHON),
    ],
)  # fmt: skip
def test_what_is_not_mechanical_is_refused_whoever_asks(file, old, new, reason):
    refused = apply(dimers.pipeline(), [Edit(file, old, new)])
    assert isinstance(refused, Refused), refused
    assert refused.reason is reason
    assert file in refused.sentence


def test_a_misspelt_read_of_the_length_may_be_spelt_right():
    sound = dimers.pipeline()
    wrong = sound.files["03_production.py"].replace("length_ps = ns_per_window()", "length_ps = ns_per_windwo()")
    assert compare(wrong, sound.files["03_production.py"], early=False) is None
    assert compare(sound.files["03_production.py"], wrong, early=False).reason is Refusal.PRODUCTION


def test_one_refused_edit_refuses_all():
    good = Edit("01_prep.py", "from pathlib import Path\n", "import json\nfrom pathlib import Path\n")
    bad = Edit("01_prep.py", "PULL_LENGTH_A = 10.0", "PULL_LENGTH_A = 5.0")
    assert isinstance(apply(dimers.pipeline(), [good, bad]), Refused)


def test_the_exceptions_that_the_paper_names():
    assert compare(PREP, PREP.replace('"bcc"', '"rc"'), early=True) is None
    assert compare(PREP, PREP.replace('assert charge_of("N") > 0\n', ""), early=True) is None
    assert compare(PREP, PREP.replace('assert charge_of("N") > 0\n', ""), early=False).reason is Refusal.GUARD
    assert compare(PREP, PREP.replace("gaff2", "gaff"), early=True).reason is Refusal.METHODOLOGY
    assert compare(PREP, PREP.replace('"bcc"', '"resp"'), early=True).reason is Refusal.METHODOLOGY


def test_a_file_that_is_no_python_may_be_made_one():
    assert compare("def main(:\n", "def main():\n    pass\n", early=False) is None


def test_the_same_fix_twice_ends_the_work():
    fix, other = Edit("01_prep.py", "a", "b"), Edit("01_prep.py", "a", "c")
    assert not repeated([])
    assert not repeated([fix, other])
    assert repeated([fix, other, fix])
