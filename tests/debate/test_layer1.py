"""Layer-1 on the real pipeline of the dimer, and on what an author might do to it."""

import re

import pytest

from sophron.agents.tools import literature
from sophron.debate import layer1
from sophron.debate.pipeline import Pipeline
from sophron.debate.votes import Label
from sophron.records.documents import Document, validate
from sophron.science.host_guest import complex_pipeline, systems

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


@pytest.mark.parametrize("draft", [complex_pipeline.pulled, complex_pipeline.exchanged, complex_pipeline.decoupled])
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
        ("01_prep.py", r"import LennardJones", "import LennardJones, binding", "imports", "exact answers"),
        ("01_prep.py", r"from sophron\.science\.host_guest\.exact", "from sophron.science.host_guest import exact\nfrom sophron.science.host_guest.exact", "imports", "exact answers"),
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
    found = [{"doi": "10.1021/ACS.JCTC.9B99999", "about": "A work of this test"}]
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
    assert literature.search("attach pull release host-guest apr", NOTES)[0]["doi"] == "10.1021/acs.jctc.5b00405"
    assert literature.search("xylophone", NOTES) == []
