"""The question of a spec against its kind: shipped campaigns hold, and each mistake gets a sentence with its line."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.campaign.report.report import Answer
from sophron.campaign.spec import question
from sophron.campaign.spec.spec import Spec, load
from sophron.cli import main
from sophron.records.documents import load_yaml
from sophron.records.errors import UserError
from sophron.records.files import resource

SHIPPED = sorted(path.parent.name for path in resource("campaigns").glob("*/campaign.yaml"))


def checked(found: Spec) -> None:
    question.check_names(found)
    question.check_units(found)


def spec(campaign: str, tmp_path: Path, old: str = "", new: str = "") -> Spec:
    text = resource("campaigns", campaign, "campaign.yaml").read_text()
    assert old in text
    path = tmp_path / "campaign.yaml"
    path.write_text(text.replace(old, new, 1))
    return load(path)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_campaigns_ask_what_their_kinds_answer(name, tmp_path):
    found = spec(name, tmp_path)
    assert question.declared(found) is not None
    assert question.answer_unit(found) == (found.data["question"]["units"], 1.0)


def test_none_of_them_needs_a_library_of_units():
    """So no step of theirs pays for its import, the report's neither."""
    code = (
        "import sys; from sophron.campaign.spec import question; from sophron.campaign.spec.spec import load\n"
        "from sophron.records.files import resource\n"
        "for path in resource('campaigns').glob('*/campaign.yaml'): question.check_units(load(path))\n"
        "sys.exit('pint' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "kind", ["agent_build", "chain_conformation", "conductivity", "host_guest", "rietveld", "sequence_bo", "viscosity"]
)
def test_new_campaigns_do_so_too(kind, tmp_path):
    assert main(["new", kind, str(tmp_path / "made")]) == 0
    found = load(tmp_path / "made" / "campaign.yaml")
    assert question.declared(found) is not None
    question.check_units(found)


LIQUID, SIC, LEAD = "lj-liquid-viscosity", "sic-conductivity", "rietveld-pbso4"


@pytest.mark.parametrize(
    ("campaign", "old", "new", "told"),
    [
        (SIC, "units: W/(m K)", "units: mPa s", r'question.units: "mPa s" does not have the dimension of W/\(m K\); write W'),
        (SIC, "units: W/(m K)", "units: W/(m K) (LJ)", r'question.units: ".*" ends in "\(LJ\)", and W'),
        (SIC, "units: W/(m K)", "units: wat", r'question.units: "wat" has an unknown unit, wat; write'),
        (SIC, "temperature: 300.0", "temperature: 27 degC", r'"27 degC" is text, .* write 300.15, a number in K$'),
        (SIC, "temperature: 300.0", "temperature: 3 kJ", r'"kJ" does not have the dimension of K; write a number in K$'),
        (SIC, "temperature: 300.0", "temperature: room", r'"room" is not a number; write a number in K$'),
        (LIQUID, "quantity: shear viscosity", "quantity: diffusion coefficient",
         r'question.quantity: the kind viscosity does not answer "diffusion coefficient"; it answers shear viscosity, zero'),
        (LIQUID, "quantity: shear viscosity", "quantity: shear viscosty", r'; did you mean "shear viscosity"\?$'),
        (LIQUID, "units: epsilon tau sigma^-3 (LJ)", "units: mPa s", r'"mPa s" has an unknown unit, mPa; write epsilon tau'),
        (LIQUID, "temperature: 0.722, cut", "temperature: 87 K, cut",
         r'question.conditions.temperature: "K" has an unknown unit, K; write a number in epsilon/k_B$'),
        (LIQUID, "temperature: 0.722, cut", "temprature: 0.722, cut",
         r'question.conditions.temprature: the kind viscosity has no such condition; did you mean "temperature"\?$'),
        (LEAD, "quantity: cell parameter a", "quantity: cell parameter b", r'did you mean "cell parameter a"\?$'),
        (LEAD, "units: angstrom}", "units: nm}", r"stages.compare.definition.units: cell/PbSO4/a is refined in angstrom; write"),
    ],
)  # fmt: skip
def test_a_mistake_gets_a_sentence(tmp_path, campaign, old, new, told):
    with pytest.raises(UserError) as refused:
        question.check_units(spec(campaign, tmp_path, old, new))
    sentence = str(refused.value)
    assert re.search(told, sentence), sentence
    assert sentence.startswith(f"{tmp_path / 'campaign.yaml'}:")
    assert "\n" not in sentence


def test_answers_are_in_the_units_of_the_question(tmp_path):
    units, factor = question.answer_unit(spec(SIC, tmp_path, "units: W/(m K)", "units: mW/(m K)"))
    found = Answer(None, "conductivity", "", 12.4, 3.0, (6.0, 18.0, 0.95), None).times(factor, units)
    assert question.remark(spec(SIC, tmp_path)) == ""
    told = question.remark(spec(SIC, tmp_path, "units: W/(m K)", "units: mW/(m K)"))
    assert told.startswith("Results and criteria are in W/(m K); the answer is converted to mW/(m K)")
    assert (found.units, found.value, found.standard_error) == ("mW/(m K)", pytest.approx(12400), pytest.approx(3000))
    assert found.interval == pytest.approx((6000, 18000, 0.95))


def test_a_number_never_gets_the_name_of_another_unit(tmp_path):
    """Signed before units were checked, it is refused when it would be shown."""
    with pytest.raises(UserError, match="does not have the dimension"):
        question.answer_unit(spec(SIC, tmp_path, "units: W/(m K)", "units: mPa s"))


def test_a_kind_that_says_nothing_is_not_checked(tmp_path):
    path = Path(__file__).parents[1] / "data" / "search" / "campaign.yaml"
    (tmp_path / "campaign.yaml").write_text(path.read_text().replace("units: none", "units: furlong"))
    found = load(tmp_path / "campaign.yaml")
    assert question.answer_unit(found) == ("furlong", 1.0)


@settings(max_examples=100, deadline=None)
@given(
    quantity=st.text(min_size=1, max_size=30),
    units=st.text(min_size=1, max_size=30),
    value=st.one_of(st.text(max_size=20), st.from_regex(r"[0-9.e+-]{0,9} ?[A-Za-z/^*0-9]{0,9}", fullmatch=True)),
    name=st.sampled_from(["temperature", "chain_length", "density", "temprature"]),
)
def test_any_text_is_refused_in_a_sentence(quantity, units, value, name):
    path = resource("campaigns", LIQUID, "campaign.yaml")
    document = load_yaml(path)
    for changed in ({"quantity": quantity}, {"units": units}, {"conditions": {name: value}}):
        data = document.data | {"question": document.data["question"] | changed}
        changed_spec = Spec(type(document)(data, path, document.lines))
        with pytest.raises(UserError) as refused:
            checked(changed_spec)
        assert "\n" not in str(refused.value)
