"""Probes that read the spec: each is clear on a sound campaign, hit by its pitfall, and unknown where keys are missing."""

import copy
import math
from functools import cache
from pathlib import Path

import pytest

from sophron.campaign.spec.pitfalls import applicable, catalogue
from sophron.interfaces.probe import Finding
from sophron.records.entry_points import load
from sophron.records.errors import UserError
from sophron.science.probes import (
    box,
    conditions,
    diffraction,
    estimates,
    fragments,
    free_energy,
    imposed_flux,
    integration,
    model,
    relaxation,
    replicas,
    units,
)

WCA = 2 ** (1 / 6)

LIQUID = {
    "kind": "viscosity",
    "question": {"conditions": {"density": 0.8442, "temperature": 0.722}},
    "method": {"name": "green-kubo", "assumptions": []},
    "stages": {
        "build": {
            "definition": {
                "atoms": 256,
                "chain_length": 1,
                "density": 0.8442,
                "model": {"pair": "lj", "cutoff": 2.5, "shift": True},
            }
        },
        "relax": {"definition": {"temperature": 2.0, "timestep": 0.005, "steps": 4000}},
        "equilibrate": {
            "definition": {
                "temperature": 0.722,
                "timestep": 0.005,
                "damping": 0.5,
                "discard_steps": 8000,
                "steps": 60000,
            }
        },
        "produce": {"definition": {"timestep": 0.005, "steps": 500000, "sample_every": 5}},
        "green_kubo": {
            "definition": {"replicas": 6, "max_lag_tau": 10.0},
            "criteria": [{"id": "error", "expression": "viscosity_relative_error < 0.02"}],
        },
    },
}

MELT = copy.deepcopy(LIQUID)
MELT["question"]["conditions"] = {"density": 0.85, "temperature": 1.0, "chain_length": 10}
MELT["stages"]["build"]["definition"] = {
    "atoms": 500,
    "chain_length": 10,
    "density": 0.85,
    "model": {
        "pair": "lj",
        "cutoff": WCA,
        "shift": True,
        "bonds": {"style": "fene", "k": 30.0, "r0": 1.5},
        "special_bonds": "fene",
    },
}
MELT["stages"]["equilibrate"]["definition"] |= {"temperature": 1.0, "discard_steps": 100000, "steps": 100000}
MELT["stages"]["produce"]["definition"]["steps"] = 1600000
MELT["stages"]["green_kubo"]["definition"]["max_lag_tau"] = 400.0
MELT["stages"]["green_kubo"]["criteria"][0]["expression"] = "viscosity_relative_error < 0.06"
MELT["stages"]["shear"] = {"definition": {"rates": [0.01, 0.1], "temperature": 1.0, "timestep": 0.005, "damping": 0.5}}
MELT["stages"]["cross_check"] = {"definition": {}}


def changed(spec, **values):
    """A copy of `spec` with values at keys such as `build__model__cutoff` below its stages' definitions."""
    new = copy.deepcopy(spec)
    for key, value in values.items():
        stage, *keys, last = key.split("__")
        here = new["stages"][stage]["definition"]
        for part in keys:
            here = here[part]
        here[last] = value
    return new


@cache
def shipped():
    return catalogue(Path("/nonexistent"))


def parameters(probe):
    """The parameters that the shipped catalogue gives a probe."""
    (found,) = [entry.parameters for entry in shipped() if entry.probe == probe]
    return found


def probed(pitfall, spec):
    return load("sophron.probes", pitfall.probe)(spec, pitfall.parameters)


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


def test_period_of_the_fene_bond():
    """Second derivative at the minimum of FENE (k 30, R0 1.5) and WCA by finite differences."""
    bond = lambda r: -0.5 * 30 * 1.5**2 * math.log(1 - (r / 1.5) ** 2) + 4 * (r**-12 - r**-6)  # noqa: E731
    lowest = min((bond(0.9 + i * 1e-5), 0.9 + i * 1e-5) for i in range(20000))[1]
    h = 1e-4
    curvature = (bond(lowest + h) - 2 * bond(lowest) + bond(lowest - h)) / h**2
    assert lowest == pytest.approx(0.961, abs=1e-3)
    cold = copy.deepcopy(MELT)
    cold["question"]["conditions"]["temperature"] = 1e-3  # collisions do not count
    assert estimates.shortest_period_tau(cold) == pytest.approx(2 * math.pi / math.sqrt(2 * curvature), rel=1e-4)


@pytest.mark.parametrize(("step", "status"), [(0.005, "clear"), (0.02, "hit")])
@pytest.mark.parametrize("stage", ["produce", "equilibrate", "shear"])
def test_time_step(stage, step, status):
    assert (
        integration.time_step(changed(MELT, **{f"{stage}__timestep": step}), parameters("time_step")).status == status
    )


@pytest.mark.parametrize(("every", "status"), [(5, "clear"), (20, "hit")])
def test_stress_sampling(every, status):
    for spec in (LIQUID, MELT):
        sparse = changed(spec, produce__sample_every=every)
        assert integration.sampling(sparse, parameters("stress_sampling")).status == status


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("fix hot all langevin 1.0 1.0 2.0 4711", "hit"),
        ("fix hot all nvt temp 1.0 1.0 0.5", "hit"),
        ("fix hot all temp/berendsen 1 1 1", "hit"),
        ("fix out all ave/time 1 1 10 c_thermo_temp", "clear"),
        ("compute t all temp", "clear"),
        ("compute t all temp\nfix hot all langevin 1.0 1.0 2.0 4711", "hit"),
        ("if '1 > 0' then 'fix hot all langevin 1.0 1.0 2.0 4711'", "hit"),
        ("fix drag all viscous 0.1", "hit"),
        ("fix push all addforce 0.1 0 0", "hit"),
        ("fix still all momentum 100 linear 1 1 1", "hit"),
        ("fix twice all nve", "hit"),
        ("fix new all style/of/tomorrow", "hit"),
        ("velocity all scale 1.0", "hit"),
        ("fix say all print 100 hello", "clear"),
    ],
)
def test_thermostat_in_production(line, status):
    given = parameters("thermostat_in_production")
    assert integration.thermostat(changed(LIQUID, produce__fragments=[line]), given).status == status
    assert integration.thermostat(changed(LIQUID, equilibrate__fragments=[line]), given).status == "clear"


@pytest.mark.parametrize(
    ("lines", "status", "words"),
    [
        (
            ["timestep 0.05"],
            "unknown",
            'line 1, "timestep 0.05" sets the time step, which the definition gives as 0.005',
        ),
        (["if '1 > 0' then 'timestep 0.05'"], "unknown", "sets the time step, which the definition gives as 0.005"),
        (
            ["# only said", "unfix move"],
            "unknown",
            'line 2, "unfix move" ends the fix move, which the step itself needs',
        ),
        (["fix move all nvt temp 1 1 1"], "unknown", "takes the place of the fix move, which the step itself needs"),
        (["fix out all ave/time 1 1 10 c_t"], "unknown", "adds a fix of style ave/time; whether that is meant"),
        (
            ["variable t equal 1", "compute t all temp"],
            "unknown",
            "only name or print something: 2 (compute, variable)",
        ),
        (["compute kinetic all temp/com"], "unknown", "takes the place of the compute kinetic"),
        (["pair_coeff 1 1 2.0 1.0"], "unknown", "changes the interactions"),
        (["fix_modify move energy yes"], "unknown", "changes the fix move, which the step itself needs"),
        (["units real"], "unknown", "sets other units"),
        (["include keep.lmp"], "hit", "fragments line 1: the command `include` reads another input"),
        (
            ["variable f string langevin", "fix keep all ${f} 1 1 2 4711"],
            "hit",
            "line 2: `${f}` may stand for any text",
        ),
        (["compute t all temp\nshell touch x"], "hit", "fragments line 2: the command `shell` starts programs"),
        (["print hello &"], "hit", "line 1: ends in `&`, which swallows the line behind"),
        (["dump film all movie 10 a.mpg type type"], "hit", "`movie`"),
        (["jump keep.lmp"], "hit", "leads out of this input"),
    ],
)
def test_free_lines_are_listed_or_refused(lines, status, words):
    found = fragments.overrides(changed(LIQUID, produce__fragments=lines), {})
    assert (found.status, words in found.evidence) == (status, True), found


def test_no_free_lines():
    assert fragments.overrides(LIQUID, {}).status == "clear"


def test_thermostat_by_definition():
    given = parameters("thermostat_in_production")
    assert integration.thermostat(changed(LIQUID, produce__thermostat="nose-hoover"), given).status == "hit"


@pytest.mark.parametrize(("damping", "status"), [(0.1, "clear"), (0.099, "hit"), (0.005, "hit")])
@pytest.mark.parametrize("stage", ["equilibrate", "shear"])
def test_thermostat_of_a_few_time_steps(stage, damping, status):
    given = parameters("thermostat_coupling")
    assert integration.coupling(changed(MELT, **{f"{stage}__damping": damping}), given).status == status


@pytest.mark.parametrize(("steps", "status"), [(1000, "clear"), (990, "hit"), (510, "hit")])
def test_energy_measured_over_ten_times_of_the_thermostat(steps, status):
    given = parameters("energy_span")
    assert integration.energy_span(changed(LIQUID, equilibrate__steps=steps), given).status == status


@pytest.mark.parametrize(("steps", "status"), [(1000, "clear"), (600, "hit")])
def test_energy_measured_while_atoms_swing_a_few_times(steps, status):
    """A thermostat of 20 steps, ten times of which are over after 200: the stiffest motion has a period of 0.15 tau."""
    tight = changed(LIQUID, equilibrate__steps=steps, equilibrate__damping=0.1)
    assert estimates.shortest_period(tight) == pytest.approx(0.15, rel=0.1)
    assert integration.energy_span(tight, parameters("energy_span")).status == status


@pytest.mark.parametrize(
    ("density", "temperature", "status"),
    [(0.8442, 0.722, "clear"), (0.87, 0.722, "hit"), (1.1, 0.722, "hit"), (1.05, 2.0, "clear"), (0.8, 0.6, "hit")],
)
def test_a_liquid_that_freezes(density, temperature, status):
    """Mastny and de Pablo: freezing at 0.855 at temperature 0.722, and at 1.063 at 2."""
    cold = changed(LIQUID, build__density=density)
    cold["question"]["conditions"]["temperature"] = temperature
    assert box.liquid(cold, {}).status == status
    assert box.liquid(MELT, {}).status == "clear"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, "clear"), ({"swap_every": 10}, "clear"), ({"swap_every": 9}, "hit"), ({"swap_every": 125}, "hit"),
        ({"discard_steps": 0}, "hit"), ({"discard_steps": 2000}, "clear"), ({"block_steps": None}, "unknown"),
    ],
)  # fmt: skip
def test_swaps_of_an_imposed_flux(change, status):
    sound = {"swap_every": 50, "block_steps": 1000, "steps": 20000, "discard_steps": 4000}
    spec = {"stages": {"mueller_plathe": {"definition": sound | change}}}
    assert imposed_flux.swaps(spec, parameters("imposed_swaps")).status == status


def test_periods_of_metals_are_those_of_the_lightest_species():
    """Carbon: 28 fs, as of diamond's Raman line at 1,332 per cm (25 fs)."""
    metal = {"stages": {"build": {"definition": {"units": "metal", "species": [{"mass": 28.1}, {"mass": 12.011}]}}}}
    assert estimates.shortest_period(metal) == pytest.approx(0.029, rel=0.03)
    metal["stages"]["mueller_plathe"] = {"definition": {"timestep": 0.01}}
    assert integration.time_step(metal, parameters("time_step")).status == "hit"


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
