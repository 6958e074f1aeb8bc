"""A simulated sample: table salt with a little silicon that may or may not be in it, Poisson counts of one seed."""

from functools import cache

import numpy as np
import pytest

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, Setup
from sophron.science.rietveld.session.sample import GivenPhase, Sample

CIF = """data_{name}
_space_group_name_H-M_alt '{group}'
_cell_length_a {edge}
_cell_length_b {edge}
_cell_length_c {edge}
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_U_iso_or_equiv
{atoms}
"""
SALT = {"name": "salt", "group": "F m -3 m", "atoms": "Na1 Na 0 0 0 0.015\nCl1 Cl 0.5 0.5 0.5 0.012"}
SILICON = {"name": "silicon", "group": "F d -3 m:2", "atoms": "Si1 Si 0.125 0.125 0.125 0.006"}
ANGLES = np.arange(25.0, 70.0, 0.02)
INSTRUMENT = Instrument((1.5406,), profile_w=0.004, profile_x=0.02)


def phases(salt, silicon):
    return Phase("salt", CIF.format(edge=salt, **SALT)), Phase("Si", CIF.format(edge=silicon, **SILICON))


@pytest.fixture(scope="session")
def simulated(engine):
    """function(share, height) -> Sample: silicon has `share` of the intensity; salt's cell begins 300 ppm off."""

    def made(share, height):
        order = Pattern("order", ANGLES, 100.0 + height * np.exp(-(((ANGLES - 40) / 5) ** 2)))
        state = engine.start(
            Setup(order, phases(5.6421, 5.4302), INSTRUMENT, Background("chebyshev", 3, 100.0)), limit_s=300
        )
        structure = state.document["structure"]["phases"]
        structure[1]["scale"]["value"] *= share
        counts = np.random.default_rng(7).poisson(engine.calculate(state, ANGLES.tolist(), limit_s=300)).astype(float)
        salt, silicon = phases(5.6404, 5.4302)
        given = (GivenPhase(salt, "main"), GivenPhase(silicon, "candidate"))
        return Sample("rietx", Pattern("simulated salt", ANGLES, counts), given, INSTRUMENT)

    return cache(made)
