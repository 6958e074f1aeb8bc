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


def table():
    found = result("sequence_table")
    yield f"{sum(found['sequences'].values())}, {found['median_error']:.4f}"
    block = next(one for one in found["run_sixteen_times"] if one["sequence"] == "A5B10A5")
    yield f"{block['radius_of_gyration']:.4f} ± {block['radius_of_gyration_error']:.4f}"


def searches():
    found = result("sequence_bo")
    at = {name: {row["evaluations"]: row for row in arm["regret"]} for name, arm in found["arms"].items()}
    for name in ("random", "noisy_ei"):
        yield f"{1000 * at[name][35]['mean']:.2f} ± {1000 * at[name][35]['error']:.2f}"
    yield f"{found['against_random_at_35']['noisy_ei']['p_value']:.0e}"
    at_100 = found["arms"]["noisy_ei"]["at_100"]
    yield f"{100 * at_100['structured']:.0f}, {100 * at_100['one_block_of_B_between_A']:.0f}"


def phonons():
    for name in ("sic", "germanium"):
        found = result(f"phonons_{name}")["transport"]
        yield f"{found['conductivity']:.0f} ± {found['conductivity_standard_error']:.0f}"
    published = result("phonons_germanium")["published"]
    yield f"{published['conductivity']:.1f} ± {published['error']:.1f}"
    silicon = result("phonons_silicon")
    yield f"{silicon['on_the_published_mesh']['solved']:.0f}, {silicon['published']['solved']:.0f}"
    sic = result("phonons_sic")["transport"]
    yield f"{100 * sic['conductivity_relative_error']:.1f}"
    walls = {round(one["length"]): one["conductivity"] for one in sic["lengths"]}
    yield ", ".join(f"{walls[length]:.0f}" for length in (52, 104, 207))


def boxes():
    found = result("nemd_ladder")
    for box in found["boxes"].values():
        if box["conductivity_error"]:
            yield f"{box['conductivity']:.1f} ± {box['conductivity_error']:.1f}"


def rietveld():
    ppm = result("rietveld_fluorapatite")["ppm_of_rietx_from_gsas2"]["0.0"]
    yield f"{ppm['a']:.1f}"
    yield f"{ppm['c']:.1f}"


def host_guest():
    guests = result("cb7_gb")["guests"]
    yield f"{len(guests)}, {sum('refused' in guest for guest in guests)}"
    beside = result("cb7_sander")["compared"]
    yield f"{beside['sander_less_sophron']:.1f} ± {beside['error']:.1f}"


def test_the_page_has_the_numbers_that_were_recorded():
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.endswith(".json` |")]
    assert [row[2] for row in rows] == [
        *viscosity(), *sequences(), *table(), *searches(), *phonons(), *boxes(), *rietveld(), *host_guest(),
    ]  # fmt: skip


def test_the_sequence_named_is_the_one_recommended():
    assert f"| {result('sequence_bo')['live_campaign']['compare']['sequence']}, validated here" in PAGE


def test_silicon_carbide_has_a_number_as_soon_as_one_is_recorded():
    recorded = [one for one in ("phonons_sic", "phonons_silicon", "sic_conductivity")
                if (TOP / "bench" / "results" / f"{one}.json").exists()]  # fmt: skip
    assert recorded == [] or "No number is recorded yet" not in PAGE
