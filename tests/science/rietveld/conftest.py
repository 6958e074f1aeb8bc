"""The embedded engine and the fluorapatite pattern that comes with it."""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import rietveld_recipes

from sophron.interfaces.rietveld import Background, Cycle, Instrument, Phase, Setup
from sophron.science.rietveld import pattern
from sophron.science.rietveld.gsas2_engine import Gsas2
from sophron.science.rietveld.refinement import Refinement
from sophron.science.rietveld.rietx_engine import Rietx

LIMIT_S = 300.0
"""A test machine may be busy; what a cycle takes is measured in bench/."""


@pytest.fixture(scope="session")
def engine() -> Iterator[Rietx]:
    found = Rietx()
    lack = found.missing()
    if lack is not None:
        pytest.skip(lack)
    yield found
    found.close()


@pytest.fixture(scope="session")
def gsas2() -> Iterator[Gsas2]:
    found = Gsas2()
    lack = found.missing()
    if lack is not None:
        pytest.skip(lack)
    yield found
    found.close()


@pytest.fixture(scope="session")
def examples(engine: Rietx) -> Path:
    spec = importlib.util.find_spec("rietx")
    return Path(spec.origin).parent / "data" / "examples"


@pytest.fixture(scope="session")
def fluorapatite(engine: Rietx, examples: Path) -> Setup:
    return Setup(
        pattern.read(examples / "FAP.XRA", engine),
        (Phase("FAP", (examples / "fluorapatite.cif").read_text()),),
        Instrument((1.5405, 1.5443), axial=0.01),
        Background(start=500.0),
        (15.0, 130.04),
    )


@dataclass
class Refined:
    folder: Path
    refinement: Refinement
    cycles: list[Cycle]


@pytest.fixture(scope="session")
def refined(engine: Rietx, fluorapatite: Setup, tmp_path_factory) -> Refined:
    """Fluorapatite after the whole recipe."""
    folder = tmp_path_factory.mktemp("fap") / "refinement"
    refinement = Refinement.begin(engine, fluorapatite, folder)
    return Refined(
        folder,
        refinement,
        rietveld_recipes.climb_rungs(refinement, rietveld_recipes.LABORATORY, limit_s=LIMIT_S),
    )
