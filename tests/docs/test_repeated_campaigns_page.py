"""The page on repeated campaigns shows the recorded numbers."""

import json
from pathlib import Path

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "explanation" / "repeated-campaigns.md").read_text()


def result(name):
    return json.loads((TOP / "bench" / "results" / f"{name}.json").read_text())["result"]


def viscosity():
    found = result("liquid_size")
    small, large = found["sizes"]["256"], found["in_large_boxes"]
    yield f"{small['value']:.3f} ± {small['error']:.3f}"
    yield f"{large['viscosity']:.3f} ± {large['error']:.3f}"
    yield f"{large['shortfall_of_the_demo_percent']:.1f} ± {large['its_error_percent']:.1f}"


def sequences():
    found = result("sequence_bo")
    paper, here = found["paper"], found["live_campaign"]["compare"]
    yield f"{paper['validated']:.4f} ± {paper['validated_error']:.4f}"
    yield f"{100 * (paper['validated'] / paper['best_of_warm_up'] - 1):.2f}"
    yield f"{here['radius_of_gyration']:.4f} ± {here['radius_of_gyration_error']:.4f}"
    yield f"{here['gain']:.4f} ± {here['gain_error']:.4f}"


def rietveld():
    ppm = result("rietveld_fluorapatite")["ppm_of_rietx_from_gsas2"]["0.0"]
    yield f"{ppm['a']:.1f}"
    yield f"{ppm['c']:.1f}"


def host_guest():
    guests = result("cb7_gb")["guests"]
    yield f"{len(guests)}, {sum(bool(guest['refused']) for guest in guests)}"


def test_the_page_has_the_numbers_that_were_recorded():
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.endswith(".json` |")]
    assert [row[2] for row in rows] == [*viscosity(), *sequences(), *rietveld(), *host_guest()]


def test_the_sequence_named_is_the_one_recommended():
    assert f"| {result('sequence_bo')['live_campaign']['compare']['sequence']}, validated here" in PAGE


def test_silicon_carbide_has_a_number_as_soon_as_one_is_recorded():
    recorded = [one for one in ("phonons_sic", "phonons_silicon", "sic_conductivity")
                if (TOP / "bench" / "results" / f"{one}.json").exists()]  # fmt: skip
    assert recorded == [] or "No number is recorded yet" not in PAGE
