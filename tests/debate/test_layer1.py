"""Layer-1 on the real pipeline of the dimer, and on what an author might do to it."""

import importlib
import importlib.util
import pkgutil
import re
import subprocess
import sys

import pytest

from sophron.agents.tools import literature
from sophron.debate.panel.votes import Label
from sophron.debate.pipelines.pipeline import Pipeline
from sophron.debate.pipelines.static_check import import_policy, layer1
from sophron.records.documents import Document, validate
from sophron.science.host_guest.pipelines import reference_pipelines
from sophron.science.host_guest.systems import systems

from . import dimers

NOTES = literature.load()
NAMES = ["cb7", "chm", "adz"]


def verdict(made):
    found = layer1.verify(made.reply, NAMES, NOTES)
    validate(Document(found.as_document(), "layer1"), "host_guest/layer1", "result")
    return found


def test_our_own_pipeline_passes():
    found = verdict(dimers.pipeline())
    assert found.faults == ()
    assert found.label is Label.PASS
    assert found.pipeline == dimers.pipeline()


@pytest.mark.parametrize(
    "draft", [reference_pipelines.apr, reference_pipelines.replica_exchange, reference_pipelines.double_decoupling]
)
def test_our_pipelines_for_molecules_pass_and_know_no_guest(draft):
    benchmark = {"benchmark": "sampl4-cb7", "solvent": "obc2"}
    found = layer1.verify(draft(), systems.find("sampl").names(benchmark), NOTES)
    assert found.faults == ()


@pytest.mark.parametrize(
    ("file", "pattern", "new", "check", "said"),
    [
        ("01_prep.py", r"\bdef main\(\)", "def main(", "syntax", "no Python"),
        ("01_prep.py", r"\bdef main\(\)", "def begin()", "structure", "no function main"),
        ("02_equilibrate.py", r"reporting\(2\)", "reporting(1)", "contract", "stage_02_result.json"),
        ("03_production.py", r"ns_per_window\(\) \* PS_PER_NS", "0.01 * PS_PER_NS", "", ""),
        ("03_production.py", r"ns_per_window\(\)", "0.01", "contract", "SOPHRON_NS_PER_WINDOW"),
        ("01_prep.py", r"from pathlib", "import socket\nfrom pathlib", "imports", "socket"),
        ("01_prep.py", r"from pathlib", "from sophron.campaign import spec\nfrom pathlib", "imports", "sophron.campaign"),
        ("01_prep.py", r"\bprotocols\.lj_dimer import LennardJones", "systems.exact_reference import binding", "imports", "exact answers"),
        ("01_prep.py", r"from sophron\.science\.host_guest\.protocols\.lj_dimer", "from sophron.science.host_guest.systems import exact_reference\nfrom sophron.science.host_guest.protocols.lj_dimer", "imports", "exact answers"),
        ("02_equilibrate.py", r"kinetic = \[\]", "kinetic = eval('[]')", "calls", "eval"),
        ("02_equilibrate.py", r"kinetic = \[\]", "kinetic = subprocess.run('ls', shell=True)", "calls", "shell"),
        ("02_equilibrate.py", r"kinetic = \[\]", "kinetic = []\n        generator = random.Random(7)", "calls", "seed"),
        ("04_analysis.py", r"symmetry\[\"equivalent_sites\"\]", "2", "chemistry", "log\\(2\\)"),
        ("04_analysis.py", r"locked = ", "n_sym = 2\n        locked = ", "chemistry", "n_sym"),
        ("01_prep.py", r"made = \[", "guest_charge = -1\n        made = [", "chemistry", "guest_charge"),
        ("01_prep.py", r"made = \[", "command = ['antechamber', '-nc', '1']\n        made = [", "chemistry", "-nc"),
        ("01_prep.py", r"made = \[", "options = dict(ph=7.4)\n        made = [", "chemistry", "ph has"),
        ("01_prep.py", r"made = \[", "if task()['task'] == 'chm': pass\n        made = [", "names", '"chm"'),
        ("01_prep.py", r"made = \[", "name = 'adamantane.mol2'\n        made = [", "names", "adamantane.mol2"),
        ("04_analysis.py", r"locked = ", "text = open('../../references.csv').read()\n        locked = ", "references", "out of its folder"),
        ("04_analysis.py", r"locked = ", "text = open('/etc/passwd').read()\n        locked = ", "references", "/etc/passwd"),
        ("04_analysis.py", r"locked = ", "text = open('guests.csv').read()\n        locked = ", "references", "withheld"),
        ("01_prep.py", r"PULL_LENGTH_A", "PULL_LENGTH", "units", "PULL_LENGTH"),
        ("03_production.py", r"PS_PER_NS = 1000.0", "PS_PER_NS = 1000.0\nos.environ['SOPHRON_NS_PER_WINDOW'] = '9'", "contract", "environment"),
    ],
)  # fmt: skip
def test_what_an_author_may_not_do(file, pattern, new, check, said):
    made = dimers.pipeline()
    source, changed = re.subn(pattern, new, made.files[file])
    assert changed
    found = verdict(Pipeline(made.rationale, made.windows, {**made.files, file: source}))
    if not check:
        assert found.faults == ()  # it still asks for the length elsewhere: what it makes of it is the panel's matter
        return
    assert {fault.check for fault in found.faults} == {check}, found.faults
    assert all(fault.file == file for fault in found.faults)
    assert any(re.search(said, fault.sentence) for fault in found.faults), found.faults
    assert found.label is Label.FAIL


@pytest.mark.parametrize(
    ("written", "check", "said"),
    [
        # what it may call, by whatever name
        ('from os import system\n\nsystem("ls")', {"imports", "calls"}, "os.system"),
        ('import os as o\n\no.system("ls")', {"calls"}, "os.system"),
        ('import os\n\ngetattr(os, "system")("ls")', {"calls"}, "getattr of a module"),
        ('import sys\n\nsys.modules["builtins"].print()', {"calls"}, "sys.modules"),
        ('ev = eval\nev("1")', {"calls"}, "eval"),
        ("import os\n\nrun = os.popen", {"calls"}, "os.popen"),
        ('import subprocess\n\nsubprocess.run(["sh", "-c", "ls"], check=True)', {"calls"}, "shell"),
        ('import subprocess\n\nsubprocess.run("bash -c ls".split(), check=True)', {"calls"}, "shell"),
        ('import subprocess\nimport sys\n\nsubprocess.run([sys.executable, "-c", "1"], check=True)', {"calls"}, "from text"),
        ("KINDS = ().__class__.__bases__", {"calls"}, "__class__"),
        ('from sophron.science.estimators import mbar\n\nmbar.LEAST_OVERLAP = float("0")', {"calls"}, "changes mbar.LEAST_OVERLAP"),
        ('from sophron.science.estimators import mbar\n\nsetattr(mbar, "LEAST_OVERLAP", float("0"))', {"calls"}, "setattr of a module"),
        ("import numpy as np\n\nG = np.random.default_rng(seed=7)", {"calls"}, "SOPHRON_SEED"),
        ("import random\n\nSEED_COUNT = 7\nrandom.seed(SEED_COUNT)", {"calls"}, "SOPHRON_SEED"),
        ('import os\n\nos.environ.update(SOPHRON_NS_PER_WINDOW="9")', {"contract"}, "environment"),
        ('import os\n\nenv = os.environ\nenv["SOPHRON_NS_PER_WINDOW"] = "9"', {"contract"}, "environment"),
        ('import os\n\ndel os.environ["SOPHRON_NS_PER_WINDOW"]', {"contract"}, "environment"),
        ('from os import environ as e, putenv\n\nputenv("A", "9")', {"imports", "calls"}, "os.putenv"),
        # answers and references
        ("from sophron.science.host_guest import systems", {"imports"}, "host_guest.systems"),
        ("from sophron.science.host_guest.systems.systems import exact_reference", {"imports"}, "host_guest.systems"),
        ("import sophron.science.host_guest.systems.systems as s\n\nANSWER = s.exact_reference.binding", {"imports"}, "host_guest.systems"),
        ("from sophron.science.host_guest.protocols import lj_dimer\n\nANSWER = lj_dimer.exact_reference", {"imports"}, "host_guest.systems.exact_reference"),
        ("from sophron.science.host_guest.systems.exact_reference import sample", {"imports"}, "exact answers"),
        ("from sophron.science import host_guest", {"imports"}, "sophron.science.host_guest"),
        ("from sophron.science.host_guest.systems import data", {"imports"}, "host_guest.systems"),
        ("from sophron.science.host_guest.systems.sampl_system import SAMPL", {"imports"}, "sampl_system"),
        # chemistry
        ("def turned():\n    return -0.41068", {"chemistry"}, "RT ln\\(2\\) at 298.15 K"),
        ("def turned():\n    import math\n    portals = 2\n    return math.log(portals)", {"chemistry"}, "log\\(2\\)"),
        ("def sour():\n    acidity = 7.4\n    return acidity", {"chemistry"}, "acidity has"),
        ("from sophron.science.estimators import binding_corrections\n\ndef of():\n    return binding_corrections.protonation(7.4, 9.3, 298.0, simulated_protonated=True)", {"chemistry"}, "ph has"),
        ('WORDS = "antechamber -nc 1 -i guest.mol2".split()', {"chemistry"}, "-nc"),
        # guests
        ("def f(mol):\n    return -1.5 if len(mol) == 31 else 0.0", {"names"}, "picks out a guest"),
        ("def f(system):\n    return system.getNumAtoms() == 31", {"names"}, "picks out a guest"),
        ('def f(task):\n    return -1.5 if task()["guest_charge_e"] == 2 else 0.0', {"names"}, "picks out a guest"),
        ('NAME = "c" + "hm"', {"names"}, '"chm"'),
        # units
        ("SPRING = 5.0 * 2", {"units"}, "SPRING"),
    ],
)  # fmt: skip
def test_what_an_author_may_not_hide(written, check, said):
    made = dimers.pipeline()
    source = made.files["04_analysis.py"].replace("\n\ndef main", f"\n\n{written}\n\n\ndef main", 1)
    found = verdict(Pipeline(made.rationale, made.windows, {**made.files, "04_analysis.py": source}))
    assert {fault.check for fault in found.faults} == check, found.faults
    assert any(re.search(said, fault.sentence) for fault in found.faults), found.faults


@pytest.mark.parametrize(
    "written",
    [
        "import re\n\nFORM = re.compile('a')",
        "def f(input):\n    return input",
        "import os\n\nENV = os.environ.copy()\nENV['PATH'] = '.'",
        "import os\n\nHOME = os.environ.get('HOME')",
        "import subprocess\n\nsubprocess.run(['antechamber', '-c', 'bcc', '-nc', str(task()['guest_charge_e'])], check=True)",
        "def f(context, temperature_k):\n    context.setVelocitiesToTemperature(temperature_k)",
        "def f(anchors):\n    assert len(anchors) == 3",
        "def f(symmetry):\n    return symmetry['equivalent_sites'] > 1 or symmetry['equivalent_sites'] == 1",
        "RT_KCAL_PER_MOL = 0.5925",
        "def f(item):\n    return getattr(item, 'value')",
        "def f(table):\n    return table.data, table.update(a=1)",
        "import math\n\ndef f(x):\n    return math.log(x)",
        "from sophron.science.estimators import autocorrelation, statistics\nfrom sophron.science.host_guest.preparation import geometry\nfrom sophron.science.host_guest.protocols import restrained_system",
    ],
)  # fmt: skip
def test_what_is_usual_is_no_fault(written):
    made = dimers.pipeline()
    source = made.files["04_analysis.py"].replace("\n\ndef main", f"\n\n{written}\n\n\ndef main", 1)
    assert verdict(Pipeline(made.rationale, made.windows, {**made.files, "04_analysis.py": source})).faults == ()


def test_no_module_that_a_pipeline_may_import_brings_an_answer_with_it():
    """What the list permits is imported in a process of its own; no module of answers is then there."""
    packages = [importlib.import_module(name) for name in import_policy.OWN_PACKAGES]
    inner = [one.name for each in packages for one in pkgutil.iter_modules(each.__path__, f"{each.__name__}.")]
    listed = sorted([*import_policy.OWN_MODULES, *inner])
    assert all(importlib.util.find_spec(name) for name in listed)
    program = (
        "import importlib, sys\n"
        f"for name in {listed}: importlib.import_module(name)\n"
        "print([name for name in sys.modules if name.rpartition('.')[2] in "
        "('exact_reference', 'systems', 'data', 'sampl_system', 'tasks') and name.startswith('sophron')])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"


@pytest.mark.parametrize(
    ("rationale", "said"),
    [("APR, as everybody knows.", "cites nothing"), ("APR (10.1021/acs.jctc.9b99999).", "resolves nowhere")],
)
def test_a_rationale_cites_what_can_be_found(rationale, said):
    made = dimers.pipeline()
    (fault,) = verdict(Pipeline(rationale, made.windows, made.files)).faults
    assert fault.check == "citations"
    assert said in fault.sentence


def test_a_work_of_a_recorded_search_may_be_cited_whatever_its_case():
    made = dimers.pipeline()
    reply = Pipeline("APR (10.1021/acs.jctc.9b99999).", made.windows, made.files).reply
    found = [literature.CitedWork("10.1021/ACS.JCTC.9B99999", "A work of this test")]
    assert layer1.verify(reply, NAMES, NOTES, found).faults == ()
    assert [fault.check for fault in layer1.verify(reply, NAMES, NOTES, []).faults] == ["citations"]


def test_a_reply_that_is_no_pipeline_is_a_fault_of_its_own():
    found = layer1.verify("I would rather write an essay.", NAMES, NOTES)
    validate(Document(found.as_document(), "layer1"), "host_guest/layer1", "result")
    assert (found.label, found.pipeline, found.faults[0].check) == (Label.FAIL, None, "contract")


def test_dois_are_read_out_of_sentences():
    text = "See (10.1016/0021-9991(76)90078-4), 10.1063/1.2978177. And 10.1021/jp0217839; (doi:10.1002/jcc.10128)."
    assert literature.cited(text) == [
        "10.1016/0021-9991(76)90078-4",
        "10.1063/1.2978177",
        "10.1021/jp0217839",
        "10.1002/jcc.10128",
    ]
    assert literature.unresolved(text, NOTES) == []


def test_a_search_finds_the_method():
    assert literature.search("attach pull release host-guest apr", NOTES)[0].doi == "10.1021/acs.jctc.5b00405"
    assert literature.search("xylophone", NOTES) == []
