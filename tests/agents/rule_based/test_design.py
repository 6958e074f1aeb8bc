"""Design: one question a turn, numbers from the words only, drafts that load as specs, refusals with the reason."""

import pytest
import yaml
from agent_inputs import KINDS, PITFALLS, fitting

from sophron.agents.rule_based import request_parsing
from sophron.agents.rule_based.design import answer
from sophron.campaign.spec import spec as specs

MELT = "Shear viscosity by Green-Kubo of a melt of 20-bead chains at a density of 0.84 and temperature 1.1, purely repulsive"


def design(request, *turns):
    said = [{"question": number, "asked": "", "answered": text} for number, text in turns]
    return fitting(answer({"request": request, "turns": said}, KINDS, PITFALLS), "design")


def loaded(draft, tmp_path):
    path = tmp_path / "campaign.yaml"
    path.write_text(yaml.safe_dump(draft, sort_keys=False))
    return specs.load(path)


def test_the_four_questions_come_in_order():
    assert design("How does a polymer flow?")["question"] == 1
    assert design("The viscosity of a melt")["question"] == 1
    words = MELT.replace(" by Green-Kubo", "")
    assert design(words)["question"] == 2
    assert design(words, (2, "yes"))["question"] == 3
    assert design(words, (2, "Green-Kubo"), (3, "yes"))["question"] == 4
    assert design(words, (2, "yes"), (3, "yes"), (4, "yes"))["status"] == "draft"


def test_a_draft_is_a_valid_spec_with_the_stated_conditions(tmp_path):
    said = design(f"{MELT}, within 5 %", (4, "yes"))
    spec = loaded(said["draft"], tmp_path)
    assert spec.data["question"]["conditions"] == {
        "density": 0.84, "temperature": 1.1, "chain_length": 20, "cutoff": 2 ** (1 / 6),
    }  # fmt: skip
    build = spec.definition("build")
    assert (build["density"], build["chain_length"], build["atoms"] % 20) == (0.84, 20, 0)
    assert spec.definition("equilibrate")["temperature"] == 1.1
    expressions = {one.expression for stage in spec.stages for one in spec.criteria(stage.name)}
    assert {
        "viscosity_relative_error < 0.05",
        "abs(density - definition.density) < 1e-6",
        "bonds == definition.atoms - definition.atoms / definition.chain_length",
    } <= expressions
    assert "strain > 1" in expressions  # a one that is no temperature


def test_what_nobody_stated_or_checked_is_unverified(tmp_path):
    said = design(MELT, (3, "Also the pressure must be positive in every replica"), (4, "yes"))
    spec = loaded(said["draft"], tmp_path)
    assert {"values-from-example", "machine", "answer-3-1", "unentangled"} <= set(spec.unverified())
    spec = loaded(design(MELT, (3, "yes"), (4, "verified: machine, unentangled"))["draft"], tmp_path)
    assert spec.unverified() == ["values-from-example"]


def test_pitfalls_come_with_their_safeguards():
    said = design(MELT, (3, "yes"), (4, "yes"))
    assert {"equilibration-too-short", "fene-special-bonds"} <= {one["id"] for one in said["pitfalls"]}
    stated = {one["id"]: one for one in said["draft"]["method"]["assumptions"]}
    for pitfall in said["pitfalls"]:
        assert pitfall["safeguard"] in stated[pitfall["id"]]["verified_by"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("density 0.84 g/cm3, temperature 0.722, cutoff 2.5", "g/cm3"),
        ("density 0.84, temperature 300 K, cutoff 2.5", "300 K"),
        ("density 0.84, temperature 0.7, cutoff 2.5. The density is 0.9.", "which is it"),
        ("density 7, temperature 0.7, cutoff 2.5", "at most 1.5"),
        ("temperature 0.7, cutoff 2.5", "What is the density"),
    ],
)
def test_doubtful_conditions_are_asked_for(words, part):
    said = design(f"Viscosity of the Lennard-Jones liquid by Green-Kubo at {words}")
    assert (said["status"], said["question"]) == ("ask", 1)
    assert part in said["text"]


def test_units_follow_the_example():
    assert request_parsing.fits("temperature", request_parsing.Stated(300.0, "kelvin", ""), reduced=False)
    assert not request_parsing.fits("temperature", request_parsing.Stated(300.0, "", ""), reduced=False)
    assert not request_parsing.fits("temperature", request_parsing.Stated(300.0, "K", ""), reduced=True)
    assert request_parsing.fits("temperature", request_parsing.Stated(0.7, "", ""), reduced=True)


def test_a_pitfall_that_would_change_the_method_keeps_the_gate_closed(tmp_path):
    grave = [one | {"amendment": {"signs": ["x"]}} for one in PITFALLS if one["id"] == "fene-special-bonds"]
    inputs = {"request": MELT, "turns": [{"question": n, "answered": "yes"} for n in (3, 4)]}
    draft = answer(inputs, KINDS, grave)["draft"]
    assert "fene-special-bonds" in loaded(draft, tmp_path).unverified()


def test_a_later_answer_counts_more():
    request = "Viscosity of the Lennard-Jones liquid by Green-Kubo at density 0.84, temperature 0.7, cutoff 2.5"
    draft = design(request, (1, "density 0.9"), (3, "yes"), (4, "yes"))["draft"]
    assert draft["question"]["conditions"]["density"] == 0.9
    assert "reference" not in draft["question"]


def test_the_example_is_taken_only_when_asked_for(tmp_path):
    request = "Viscosity of the Lennard-Jones liquid by Green-Kubo"
    assert design(request)["question"] == 1
    spec = loaded(design(request, (1, "as in the example"), (3, "yes"), (4, "yes"))["draft"], tmp_path)
    assert spec.data["question"]["conditions"] == {"density": 0.8442, "temperature": 0.722, "cutoff": 2.5}


LIQUID = "Viscosity of the Lennard-Jones liquid by Green-Kubo at density 0.8442, temperature 0.722, cutoff 2.5"


@pytest.mark.parametrize(
    ("request_", "answers", "listed"),
    [
        (f"{LIQUID}; 500 atoms and a time step of 0.004", [], ["500 atoms", "time step of 0.004"]),
        (f"{LIQUID}, dt=0.02, 150,000 steps", [], ["dt=0.02", "150,000 steps"]),
        (f"{LIQUID} with a Langevin thermostat", [], ["Langevin", "thermostat"]),
        (f"{LIQUID} from one replica of 20000 steps", [], ["one replica", "20000 steps"]),
        (f"{LIQUID}, within 5 %, pressure within 3 %", [], ["pressure within 3 %"]),
        (LIQUID, [(2, "yes, but 12 replicas")], ["12 replicas"]),
    ],
)
def test_what_was_said_and_not_used_is_listed_and_unverified(tmp_path, request_, answers, listed):
    said = design(request_, *answers, (3, "yes"), (4, "yes"))
    stated = {one["id"]: one for one in loaded(said["draft"], tmp_path).data["method"]["assumptions"]}
    assumption = stated["said-but-not-used"]
    assert assumption["status"] == "UNVERIFIED"
    assert assumption["statement"].endswith("does not hold: " + ", ".join(f'"{one}"' for one in listed) + ".")
    assert assumption["statement"] in said["text"]


def test_nothing_is_listed_if_all_was_used():
    for request in (LIQUID, MELT, f"{LIQUID}, within 5 %"):
        draft = design(request, (3, "yes"), (4, "yes"))["draft"]
        assert "said-but-not-used" not in {one["id"] for one in draft["method"]["assumptions"]}


def test_the_same_words_give_the_same_draft():
    one, two = (design(MELT, (3, "yes"), (4, "yes"))["draft"] for _ in range(2))
    assert one == two
    assert design(f"{MELT}.", (3, "yes"), (4, "yes"))["draft"]["seed"] != one["seed"]


def test_a_method_that_no_example_has_is_named():
    said = design(MELT.replace("Green-Kubo", "the Einstein relation"))
    assert said["question"] == 2
    assert "einstein" in said["text"]


def test_out_of_scope_is_refused_in_any_turn():
    said = design("Design a peptide sequence that binds to the spike receptor.")
    assert (said["status"], said["refusal"]["exclusion"]) == ("refused", "b")
    said = design(MELT, (3, "yes"), (4, "Then control the pipetting robot to mix it."))
    assert (said["status"], said["refusal"]["exclusion"]) == ("refused", "a")


@pytest.mark.parametrize(
    ("name", "text", "value", "unit"),
    [
        ("density", "rho* = 0.85", 0.85, ""),
        ("density", "a number density of .85 sigma^-3", 0.85, "sigma^-3"),
        ("temperature", "T = 1.0", 1.0, ""),
        ("temperature", "a temperature of about 300 K", 300.0, "K"),
        ("temperature", "SiC at 300 K", 300.0, "K"),
        ("temperature_k", "a temperature of 300 K", 300.0, "K"),
        ("lattice_constant", "lattice constant 4.36 Å", 4.36, "Å"),
        ("chain_length", "chains of 10 beads", 10, ""),
        ("chain_length", "the Lennard-Jones liquid", 1, ""),
        ("cutoff", "cut-off 2.5 sigma", 2.5, "sigma"),
        ("cutoff", "WCA beads", 2 ** (1 / 6), ""),
        ("shear_rate", "a shear rate of 1e-3", 0.001, ""),
    ],
)
def test_numbers_are_read_with_their_units(name, text, value, unit):
    (stated,) = request_parsing.condition(name, [text])
    assert (stated.value, stated.unit) == (value, unit)


@pytest.mark.parametrize(
    "text", ["a high density", "density of states", "temperature is important", "N chains", "density 0.84.3"]
)
def test_no_number_is_made_up(text):
    assert request_parsing.condition("density", [text]) == []


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("within 5 %", 0.05),
        ("an error under 2.5 percent", 0.025),
        ("3 % error", 0.03),
        ("in 1995", None),
        ("within 0 %", None),
    ],
)
def test_wanted_errors(text, share):
    assert request_parsing.relative_error(text) == (pytest.approx(share) if share else None)
