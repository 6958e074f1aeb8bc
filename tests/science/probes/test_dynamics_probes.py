"""Probes of the dynamics: time steps, thermostats, fragments, phase and swaps."""

import copy
import math

import pytest
from sound_specs import LIQUID, MELT, changed, parameters

from sophron.science.probes import (
    box,
    estimates,
    fragments,
    imposed_flux,
    integration,
)


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
