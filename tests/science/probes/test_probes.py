"""Probes that read the spec: each is clear on a sound campaign, hit by its pitfall, and unknown where keys are missing."""

import copy

import pytest
from sound_specs import LIQUID, MELT, changed, parameters, probed, shipped

from sophron.campaign.spec.pitfalls import applicable
from sophron.interfaces.probe import Finding
from sophron.records.errors import UserError
from sophron.science.probes import (
    box,
    conditions,
    diffraction,
    estimates,
    free_energy,
    imposed_flux,
    integration,
    model,
    relaxation,
    replicas,
    units,
)


def test_paper_numbers_contradict_each_other():
    """Appendix D.1: 200 chains of 50 beads in 5832 sigma cubed are no density of 0.85."""
    paper = changed(MELT, build__atoms=10000, build__chain_length=50, build__volume=5832.0)
    found = box.density(paper, parameters("density"))
    assert found.status == "hit"
    assert "1.715" in found.evidence


@pytest.mark.parametrize("volume", [500 / 0.85, 588.2])
def test_density_that_follows_from_volume(volume):
    assert box.density(changed(MELT, build__volume=volume), parameters("density")).status == "clear"


def test_density_of_the_question():
    asked = copy.deepcopy(LIQUID)
    asked["question"]["conditions"]["density"] = 0.85
    assert box.density(asked, parameters("density")).status == "hit"


def test_a_condition_that_is_text():
    asked = copy.deepcopy(LIQUID)
    asked["question"]["conditions"]["temperature"] = "87 K"
    found = conditions.agree(asked, parameters("conditions"))
    assert (found.status, "the text" in found.evidence) == ("hit", True)


def test_a_condition_that_is_not_simulated():
    assert conditions.agree(MELT, parameters("conditions")).status == "clear"
    found = conditions.agree(changed(MELT, shear__temperature=1.1), parameters("conditions"))
    assert found == Finding(
        "hit", "question.conditions.temperature is 1, but stages.shear.definition.temperature is 1.1"
    )


@pytest.mark.parametrize(("atoms", "status"), [(106, "clear"), (105, "hit")])
def test_cutoff_in_half_the_box(atoms, status):
    """Edge 5 holds a cutoff of 2.5: 125 x 0.8442 = 105.5 atoms."""
    assert box.cutoff(changed(LIQUID, build__atoms=atoms), parameters("cutoff_in_box")).status == status


@pytest.mark.parametrize(("chain_length", "status"), [(10, "clear"), (50, "hit")])
def test_chains_fit_into_the_box(chain_length, status):
    """500 beads have an edge of 8.4 sigma; chains of 10 span 4.0, chains of 50 span 9.3."""
    chains = changed(MELT, build__chain_length=chain_length)
    assert box.chain_extent(chains, parameters("chain_extent")).status == status


@pytest.mark.parametrize("weights", ["default", None])
def test_fene_without_its_exclusions(weights):
    found = model.fene_exclusions(changed(MELT, build__model__special_bonds=weights), {})
    assert found.status == "hit"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("special_bonds lj 1 1 1", "hit"),
        ("special_bonds lj 0.0 1.0 1.0 # as it should be", "clear"),
        ("special_bonds fene", "clear"),
        ("special_bonds lj/coul 0 0 0", "hit"),
        ("special_bonds angle yes", "clear"),
    ],
)
def test_exclusions_in_free_lines(line, status):
    assert model.fene_exclusions(MELT, {}).status == "clear"
    assert model.fene_exclusions(changed(MELT, produce__fragments=[line]), {}).status == status


def test_rouse_time_of_the_notes():
    """Chains of 50 relax in about 3,500 tau (Kremer and Grest 1990: 1.5 N^2)."""
    assert estimates.rouse_tau(50) == pytest.approx(3700, rel=0.06)
    assert estimates.stress_tau(50) == estimates.rouse_tau(50) / 2


def test_window_of_the_paper_is_a_truncation():
    """A plateau at 300 tau for chains of 50 is cut off early; 6,000 tau are not."""
    chains = changed(MELT, build__chain_length=50, green_kubo__max_lag_tau=300.0)
    assert relaxation.window(chains, parameters("correlation_window")).status == "hit"
    longer = changed(chains, green_kubo__max_lag_tau=6000.0)
    assert relaxation.window(longer, parameters("correlation_window")).status == "clear"
    assert relaxation.window(LIQUID, parameters("correlation_window")).status == "clear"


def test_run_shorter_than_its_relaxation_time():
    given = parameters("run_length")
    assert relaxation.run_length(MELT, given).status == "clear"
    assert relaxation.run_length(changed(MELT, produce__steps=200000), given).status == "hit"
    assert relaxation.run_length(changed(LIQUID, produce__steps=1000), given).status == "hit"
    assert relaxation.run_length(changed(MELT, build__density=0.5), given).status == "unknown"


def test_run_shorter_than_its_window():
    window = changed(LIQUID, green_kubo__max_lag_tau=5000.0)
    assert relaxation.run_length(window, parameters("run_length")).status == "hit"


def test_equilibration_of_the_paper_is_too_short():
    """5e5 steps are 2,500 tau, less than one relaxation time of 50 beads."""
    chains = changed(MELT, build__chain_length=50, equilibrate__discard_steps=0, equilibrate__steps=500000)
    given = parameters("equilibration")
    assert relaxation.equilibration(chains, given).status == "hit"
    assert relaxation.equilibration(changed(chains, equilibrate__steps=1500000), given).status == "clear"
    assert relaxation.equilibration(LIQUID, given).status == "clear"


def test_shear_rates_all_too_high():
    given = parameters("shear_rates")
    assert relaxation.shear_rates(MELT, given).status == "clear"
    assert relaxation.shear_rates(changed(MELT, shear__rates=[0.05, 0.1]), given).status == "hit"
    assert relaxation.shear_rates(changed(MELT, shear__rates=[]), given).status == "unknown"


def test_error_that_production_cannot_give():
    """50,000 tau of chains of 50 give no error of 2.7 %, as the paper reports; LJ at 15,000 tau gives 2 %."""
    chains = changed(MELT, build__chain_length=50, produce__steps=10_000_000, green_kubo__replicas=1)
    chains["stages"]["green_kubo"]["criteria"] = [{"id": "e", "expression": "viscosity_relative_error <= 2.7e-2"}]
    assert relaxation.expected_error(chains, {}).status == "hit"
    assert relaxation.expected_error(MELT, {}).status == "clear"
    assert relaxation.expected_error(LIQUID, {}).status == "clear"
    chains["stages"]["green_kubo"]["criteria"] = []
    assert relaxation.expected_error(chains, {}).status == "clear"


@pytest.mark.parametrize(("count", "status"), [(4, "clear"), (3, "hit")])
def test_replicas(count, status):
    assert replicas.count(changed(LIQUID, green_kubo__replicas=count), parameters("replica_count")).status == status


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("velocity all create 1.0 4711", "hit"),
        ("velocity all create 1.0 & ", "clear"),
        ("velocity all scale 1.0", "clear"),
        ("fix 1 all langevin 1.0 1.0 2.0 4711", "hit"),
        ("fix 1 all nve", "clear"),
    ],
)
def test_seeds_shared_by_replicas(line, status):
    assert replicas.seeds(LIQUID, {}).status == "clear"
    assert replicas.seeds(changed(LIQUID, equilibrate__fragments=[line]), {}).status == status


def test_truncation_of_the_reference():
    given = parameters("truncation")
    assert model.truncation(MELT, given).status == "clear"  # nothing to compare with
    compared = copy.deepcopy(MELT)
    compared["question"]["reference"] = {"low": 1, "high": 2, "source": "Kremer and Grest 1990, doi:10.1063/1.458541"}
    assert model.truncation(compared, given).status == "clear"
    assert model.truncation(changed(compared, build__model__cutoff=2.5), given).status == "hit"
    compared["question"]["reference"]["source"] = "a paper that nobody has entered"
    assert model.truncation(compared, given).status == "unknown"
    compared["method"]["assumptions"] = [{"id": "truncation", "status": "UNVERIFIED"}]
    assert model.truncation(compared, given).status == "unknown"
    compared["method"]["assumptions"] = [{"id": "truncation", "status": "verified"}]
    assert model.truncation(compared, given).status == "clear"


def test_cavitation_needs_a_guard():
    given = parameters("cavitation")
    assert model.cavitation(MELT, given).status == "clear"
    attractive = changed(MELT, build__model__cutoff=2.5)
    assert model.cavitation(attractive, given).status == "hit"
    assert model.cavitation(changed(attractive, build__density=0.95), given).status == "clear"
    attractive["stages"]["produce"]["criteria"] = [{"id": "pressure", "expression": "pressure_mean > 0"}]
    assert model.cavitation(attractive, given).status == "clear"


@pytest.mark.parametrize(
    "spec", [{}, {"stages": {}}, {"stages": {"build": {"definition": {"atoms": "many"}}}, "question": None}]
)
def test_every_shipped_probe_survives_a_spec_that_says_little(spec):
    for pitfall in shipped():
        found = probed(pitfall, spec)
        assert found.status in {"clear", "unknown"}, (pitfall.id, found)
        assert found.evidence


@pytest.mark.parametrize("spec", [LIQUID, MELT])
def test_sound_campaigns_fall_into_nothing(spec):
    for pitfall in applicable(shipped(), spec):
        assert probed(pitfall, spec).status == "clear", (pitfall.id, probed(pitfall, spec).evidence)


def test_a_parameter_that_the_file_forgot():
    with pytest.raises(UserError, match='"times"'):
        relaxation.window(MELT, {})


CHAINS = {
    "question": {"conditions": {"temperature": 1.0}},
    "stages": {
        "build": {"definition": {"chains": 20, "chain_length": 30, "density": 0.02}},
        "equilibrate": {"definition": {"timestep": 0.01, "damping": 1.0}},
        "sample_local": {"definition": {"discard_steps": 50000, "steps": 500000}},
        "compare": {"definition": {"shift": 0.02, "significance": 0.01}},
    },
}


@pytest.mark.parametrize(
    ("changes", "status"),
    [({}, "clear"), ({"discard_steps": 10000}, "hit"), ({"steps": 50000}, "hit"), ({"steps": None}, "unknown")],
)
def test_chains_in_solvent(changes, status):
    """Chains of 30 beads with a friction of 1 relax in about 72 tau."""
    assert estimates.solvent_tau(CHAINS) == pytest.approx(72, rel=0.02)
    spec = changed(CHAINS, **{f"sample_local__{key}": value for key, value in changes.items()})
    assert relaxation.chain_sampling(spec, parameters("chain_sampling")).status == status


@pytest.mark.parametrize(("density", "status"), [(0.17, "clear"), (0.3, "unknown"), (0.85, "hit")])
def test_chains_that_overlap_relax_more_slowly(density, status):
    """Coils of 30 beads fill space from a density of 0.176 on; in a melt they relax in about 1,300 tau."""
    spec = changed(CHAINS, build__density=density)
    assert relaxation.chain_sampling(spec, parameters("chain_sampling")).status == status


@pytest.mark.parametrize(("chains", "status"), [(20, "clear"), (1, "hit")])
def test_chains_in_a_box_that_is_given_by_their_number(chains, status):
    dense = changed(CHAINS, build__density=0.3, build__chains=chains)
    assert box.chain_extent(dense, parameters("chain_extent")).status == status


@pytest.mark.parametrize(
    ("shift", "significance", "status"), [(0.02, 0.01, "clear"), (0.1, 0.01, "hit"), (0.02, 1e-6, "hit")]
)
def test_a_comparison_that_may_fail(shift, significance, status):
    spec = changed(CHAINS, compare__shift=shift, compare__significance=significance)
    assert replicas.comparison(spec, parameters("comparison")).status == status


def trials(ns=5.0, expression="deployed >= 0", **lists):
    about = {"training": ["a", "b"], "held_out": ["c"], "ns_per_window": ns} | lists
    system = {"system": "sampl", "settings": {"benchmark": "x"}}
    return {
        "stages": {
            "tasks": {"definition": {**system, "guests": ["a", "b", "c"]}},
            "references": {"definition": {**system}},
            "trials": {"definition": about, "criteria": [{"id": "one", "expression": expression}]},
        }
    }


@pytest.mark.parametrize(
    ("lists", "status"), [({}, "clear"), ({"held_out": ["b", "c"]}, "hit"), ({"training": ["a", "d"]}, "hit")]
)
def test_guests_that_are_judged(lists, status):
    assert free_energy.guests(trials(**lists), {}).status == status
    other = trials(**lists)
    other["stages"]["references"]["definition"]["settings"] = {"benchmark": "y"}
    assert free_energy.guests(other, {}).status == "hit"


@pytest.mark.parametrize(
    ("ns", "most", "expression", "status"),
    [
        (1.0, 10, "deployed >= 0", "clear"), (0.02, 10, "deployed >= 0", "hit"),
        (0.02, 10, "predictions == 0", "clear"), (0.02, 10, "predictions == 0 or True", "hit"),
        (1.0, 9, "deployed >= 0", "hit"), (1.0, 9, "predictions == 0", "clear"), (1.0, None, "deployed >= 0", "unknown"),
    ],
)  # fmt: skip
def test_windows_that_are_too_short_or_few_for_a_number(ns, most, expression, status):
    spec = trials(ns, expression)
    spec["stages"]["trials"]["definition"]["most_windows"] = most
    assert free_energy.window_length(spec, parameters("window_length")).status == status


@pytest.mark.parametrize(("copies", "status"), [([2, 3, 4, 6], "clear"), ([4, 5, 7], "hit"), (None, "unknown")])
def test_boxes_of_an_imposed_flux_differ_in_length(copies, status):
    spec = {"stages": {"mueller_plathe": {"definition": {"copies": copies}}}}
    assert imposed_flux.lengths(spec, parameters("box_lengths")).status == status


def pattern(asked=None, **instrument):
    about = {"wavelengths_angstrom": [1.5405, 1.5443]} | instrument
    data = {"definition": {"instrument": about, "limits_deg": [16.0, 158.4]}}
    return {"question": {"conditions": asked or {"radiation": "Cu K-alpha"}}, "stages": {"data": data}}


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        (pattern(), "clear"), (pattern({"radiation": "neutrons"}), "hit"),
        (pattern({"radiation": "neutrons"}, wavelengths_angstrom=[1.494], radiation="neutron"), "clear"),
        (pattern(wavelengths_angstrom=[1.5405]), "hit"), (pattern({"radiation": "synchrotron"}), "clear"),
        (pattern({"radiation": "Co K-alpha"}), "hit"),
        (pattern(wavelengths_angstrom=[0.7093]), "hit"), (pattern({"geometry": "Bragg-Brentano"}), "clear"),
        (pattern({"geometry": "Debye-Scherrer"}), "hit"), (pattern({"geometry": "a new one"}), "clear"),
        (pattern(wavelengths_angstrom=[]), "unknown"),
    ],
)  # fmt: skip
def test_an_instrument_is_the_one_of_the_question(spec, status):
    assert diffraction.instrument(spec, parameters("diffraction_instrument")).status == status


@pytest.mark.parametrize(
    ("caglioti", "status"),
    [
        ((), "clear"), ((0.001109, -0.001109, 0.002773), "clear"), ((11.09, -11.09, 27.73), "hit"),
        ((0.001, -0.01, 0.002), "hit"),  # no width at all at 100 degrees
    ],
)  # fmt: skip
def test_widths_of_peaks(caglioti, status):
    named = {f"profile_{name}": part for name, part in zip("uvw", caglioti, strict=False)}
    assert diffraction.width(pattern(**named), parameters("diffraction_width")).status == status


@pytest.mark.parametrize(
    ("density", "temperature", "status"),
    [(0.8442, 0.722, "clear"), (0.72, 0.722, "hit"), (0.4, 1.0, "hit"), (0.4, 1.1, "clear"), (0.005, 0.722, "clear"),
     (None, 0.722, "unknown")],
)  # fmt: skip
def test_liquids_that_separate(density, temperature, status):
    liquid = changed(LIQUID, build__density=density)
    liquid["question"]["conditions"] = {"temperature": temperature}
    assert box.two_phase(liquid, parameters("two_phase")).status == status


@pytest.mark.parametrize(
    ("changes", "status"),
    [({}, "clear"), ({"discard_steps": 0}, "hit"), ({"discard_steps": 250}, "hit"), ({"steps": 200000}, "hit")],
)
def test_a_start_that_is_not_discarded(changes, status):
    spec = changed(LIQUID, **{f"equilibrate__{key}": value for key, value in changes.items()})
    assert integration.discarded(spec, parameters("discarded_start")).status == status


def test_isotopes_and_species_without_elements_have_a_mass_of_their_own():
    spec = {"stages": {"build": {"definition": {"units": "metal", "species": [{"element": "Si", "mass": 29.97}]}}}}
    assert units.masses(spec, parameters("element_masses")).status == "clear"
    assert units.masses(LIQUID, parameters("element_masses")).status == "clear"
    assert units.masses(changed(spec, build__units="lj"), parameters("element_masses")).status == "clear"


def test_a_benchmark_that_is_not_known_is_not_decided():
    tasks = {"system": "sampl", "settings": {"benchmark": "sampl9"}}
    spec = {"stages": {"tasks": {"definition": tasks}}}
    assert free_energy.benchmark(spec, parameters("benchmark_conditions")).status == "unknown"
    assert free_energy.benchmark({"stages": {}}, parameters("benchmark_conditions")).status == "clear"
