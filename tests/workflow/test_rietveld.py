"""The rietveld kind through Snakemake: two patterns in sequence, others that follow one of them or cannot be read."""

import copy
import hashlib
import json
import shutil

import crystals
import numpy as np
import pytest
import toy
import yaml

from sophron.interfaces.rietveld import Background, Instrument, Pattern, Phase, Setup
from sophron.records.files import resource
from sophron.science.rietveld.rietx_engine import Rietx

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bwrap"),
    pytest.mark.skipif(Rietx().missing() is not None, reason="no rietx"),
]
ANGLES = np.arange(25.0, 60.0, 0.02)
EDGES = {"cold": 5.6400, "warm": 5.6450}
FOLLOWERS = {"hot": 5.6480, "hotter": 5.6500}
UNREADABLE = {"words": "no numbers\n", "empty": "", "cut": "25.00 110\n25.02 1"}
RECIPE = {
    "background": {"kind": "chebyshev", "count": 3},
    "rungs": [{"name": "scale", "groups": ["scale", "background"]}, {"name": "cell", "groups": ["cell"]}],
    "plots": {"whole_after": ["scale"], "windows": 0},
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Simulated patterns of salt at four temperatures (Poisson, seeds 0 to 3): two in sequence, two that follow.

    Among those that follow are three that cannot be read.
    """
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("series")
        root = folder / "series"
        shutil.copytree(resource("campaigns", "rietveld-fluorapatite"), root)
        for variable, value in toy.settings(folder).items():
            patch.setenv(variable, value)
        files = {"salt.cif": crystals.CIF.format(edge=5.6404, **crystals.SALT)} | _patterns()
        (root / "data").mkdir()
        for name, text in files.items():
            (root / "data" / name).write_text(text)
        (root / "campaign.yaml").write_text(yaml.safe_dump(_spec(root, files), sort_keys=False))
        made = toy.Campaign(root, toy.make_key(folder / "key"))
        made.sign()
        made.complete()
        yield made


def _patterns():
    engine, found = Rietx(), {}
    for seed, (name, edge) in enumerate((EDGES | FOLLOWERS).items()):
        order = Pattern("order", ANGLES, 100.0 + 3000.0 * np.exp(-(((ANGLES - 40) / 5) ** 2)))
        instrument = Instrument((1.5406,), profile_w=0.004, profile_x=0.02)
        setup = Setup(
            order,
            (Phase("salt", crystals.CIF.format(edge=edge, **crystals.SALT)),),
            instrument,
            Background("chebyshev", 3, 100.0),
        )
        state = engine.start(setup, limit_s=300)
        counts = np.random.default_rng(seed).poisson(engine.calculate(state, ANGLES.tolist(), limit_s=300))
        found[f"{name}.xy"] = "".join(f"{x:.2f} {y}\n" for x, y in zip(ANGLES, counts, strict=True))
    engine.close()
    return found | {f"{name}.xy": text for name, text in UNREADABLE.items()}


def _spec(root, files):
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    spec = yaml.safe_load((root / "campaign.yaml").read_text())
    data = spec["stages"]["data"]["definition"]
    patterns, others = (
        [{"name": name, "file": f"{name}.xy", "sha256": digests[f"{name}.xy"]} for name in names]
        for names in (EDGES, [*UNREADABLE, *FOLLOWERS])
    )
    phase = {"name": "salt", "role": "main", "file": "salt.cif", "sha256": digests["salt.cif"], "march_axis": None}
    instrument = {"wavelengths_angstrom": [1.5406], "profile_w": 0.004, "profile_x": 0.02}
    data |= {"source": None, "patterns": patterns, "phases": [phase], "instrument": instrument, "limits_deg": None}
    spec["stages"]["refine"]["definition"] |= {"recipe": RECIPE, "sequential": True}
    spec["stages"]["series"] = {
        "depends_on": ["data", "refine"],
        "definition": {"lead": "warm", "source": None, "patterns": others, "sequential": False},
        "criteria": [
            {
                "id": "fits_stand",
                "expression": "stand + without_fit == patterns",
                "statement": "What came to a fit stands.",
            }
        ],
        "mechanical": copy.deepcopy(spec["stages"]["refine"]["mechanical"]),
    }
    enough = {
        "id": "enough",
        "expression": "reports_that_stand >= 4 and listed == 7",
        "statement": "Four of seven stand.",
    }
    spec["stages"]["compare"] |= {"depends_on": ["refine", "series"], "criteria": [enough]}
    spec["stages"]["compare"]["definition"]["parameter"] = "cell/salt/a"
    spec["limits"] = {"core_hours": 20}
    return spec


def result(finished, *parts):
    return json.loads(finished.root.joinpath("results", *parts, "outcome.json").read_text())["result"]


def test_a_series_runs_to_its_report(finished):
    assert finished.verdicts() == dict.fromkeys(("data", "refine", "series", "compare"), "pass")
    series = result(finished, "compare")
    assert [row["pattern"] for row in series["rows"]] == ["cold", "warm", "hot", "hotter"]
    for row in series["rows"]:
        assert abs(row["value"] - (EDGES | FOLLOWERS)[row["pattern"]]) < 4 * row["esd_counting"]
    assert series["refusal"].startswith("series: 4 patterns")
    assert (finished.root / "results" / "report.html").is_file()
    assert "Nothing to be done" in finished.complete().stdout


def test_three_patterns_that_cannot_be_read_cost_no_other(finished):
    """A criterion of compare speaks of the whole series; here two of the three are alone in their step."""
    series = result(finished, "compare")
    assert (series["listed"], series["reports_that_stand"], series["without_fit"]) == (7, 4, 3)
    folders = (finished.root / "results" / "series").glob("*/outcome.json")
    rows = [row for path in folders for row in json.loads(path.read_text())["result"]["rows"]]
    refused = {row["pattern"]: row["reason"] for row in rows if row["ended"] == "refused"}
    assert refused.keys() == UNREADABLE.keys()
    assert all(f"{name}.xy" in reason for name, reason in refused.items())


def test_the_second_pattern_begins_with_the_values_of_the_first(finished):
    audit = {name: (finished.root / "records" / f"refinement-{name}" / "audit.jsonl").read_text() for name in EDGES}
    told = {name: json.loads(text.splitlines()[0])["request"]["inputs"]["task"] for name, text in audit.items()}
    assert told["cold"]["begins_from"] is None
    assert told["warm"]["begins_from"] == "cold"
    start = json.loads((finished.root / "scratch" / "agents" / "sample-warm.json").read_text())["start"]
    cold = result(finished, "refine", "cold")["parameters"]
    assert start["cell/salt/a"] == cold["cell/salt/a"]["value"]
    assert not {"cell/salt/b", "cell/salt/c"} & start.keys()
    begun = [one["step"] for one in finished.events("step_started") if one["stage"] == "refine"]
    assert begun == ["refine-cold", "refine-warm"]


def test_what_the_tools_left_lies_beside_the_answer(finished):
    folder = finished.root / "results" / "refine" / "refinement" / "cold"
    answer = json.loads((folder / "answer.json").read_text())
    for entry in answer["files"].values():
        assert hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
    assert result(finished, "refine", "cold")["stands"]
