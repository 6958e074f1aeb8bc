"""What the Engineer may mend in a result of a foreign pipeline, what not, and that a refusal says truly why."""

from pathlib import Path

import pytest

from sophron.debate.pipelines.edits.mechanical_edits import Edit, apply
from sophron.debate.pipelines.edits.refusals import RefusalReason, RefusedEdit
from sophron.debate.pipelines.pipeline import Pipeline

FOREIGN = Pipeline.parse((Path(__file__).parent / "corpus" / "umbrella_by_hand.txt").read_text())


def mended(file, wrong, right):
    """The foreign pipeline with something wrong in it, after the edit that puts it right; or why it is refused."""
    assert FOREIGN.files[file].count(right) == 1
    broken = Pipeline(
        FOREIGN.rationale, FOREIGN.windows, {**FOREIGN.files, file: FOREIGN.files[file].replace(right, wrong)}
    )
    return apply(broken, [Edit(file, wrong, right)])


@pytest.mark.parametrize(
    ("file", "wrong", "right"),
    [
        ("03_production.py", '"wall_time_s": time.time() - started, "del', '"wall_time_seconds": time.time() - started, "del'),
        ("03_production.py", '"energy_components": {}, "diagnostics": diagnostics, "notes": ""}', '"energy_components": {}, "diagnostics": diagnostics, "writer_notes": ""}'),
        ("03_production.py", '"diagnostics": diagnostics}', '"diagnostics": diagnostics, "writer_notes": ""}'),
        ("03_production.py", '"writer_notes": "", "n_blocks": 5}', '"writer_notes": ""}'),
        ("04_analysis.py", '"minimum_overlp": min(', '"minimum_overlap": min('),
        ("04_analysis.py", '"overlap_ok": min(overlaps) >= MIN_OVERLAP,', '"overlap_ok": bool(min(overlaps) >= MIN_OVERLAP),'),
        ("04_analysis.py", '["statistical_error_kcal_per_mol"] = dd[2, 1] / beta', '["statistical_error_kcal_per_mol"] = float(dd[2, 1] / beta)'),
        ("03_production.py", "u[i] = state.getPotentialEnergy()", "u[i] = state.getPotentialEnergy().value_in_unit(unit.kilocalories_per_mole)"),
        ("02_equilibrate.py", "wall_time_second=time", "wall_time_seconds=time"),
    ],
)  # fmt: skip
def test_a_key_a_type_or_a_unit_may_be_put_right(file, wrong, right):
    made = mended(file, wrong, right)
    assert isinstance(made, Pipeline), made


def test_a_list_may_be_made_of_an_array():
    file, plain = "04_analysis.py", '"effective_samples": n_eff,'
    made = apply(FOREIGN, [Edit(file, plain, '"effective_samples": [float(x) for x in n_eff],')])
    assert isinstance(made, Pipeline), made


@pytest.mark.parametrize(
    ("file", "old", "new", "reason", "said"),
    [
        ("04_analysis.py", '["delta_g_kcal_per_mol"] = float(', '["delta_g_kcal_per_mol"] = -float(', RefusalReason.UNCERTAINTY, "uncertainty"),
        ("04_analysis.py", 'bool(min(overlaps) >= MIN_OVERLAP)', "True", RefusalReason.FLAG, "convergence flag"),
        ("04_analysis.py", 'bool(min(overlaps) >= MIN_OVERLAP)', "bool(min(overlaps) >= 0.0)", RefusalReason.FLAG, "convergence flag"),
        ("03_production.py", '"sampled_ns": n * STRIDE', '"sampled_ns": 2 * n * STRIDE', RefusalReason.METHODOLOGY, "changes"),
        ("03_production.py", '"window": w, "sampled_ns"', '"window": 0, "sampled_ns"', RefusalReason.METHODOLOGY, "changes"),
        ("03_production.py", "temperature * unit.kelvin, FRICTION", "temperature * unit.celsius, FRICTION", RefusalReason.METHODOLOGY, "changes"),
        ("04_analysis.py", '"minimum_overlap": min(', '"overlaps_of_all": min(', RefusalReason.METHODOLOGY, "changes"),
        ("01_prep.py", '"sigma_a"]', '"epsilon_kcal_per_mol"]', RefusalReason.METHODOLOGY, "changes"),
    ],
)  # fmt: skip
def test_what_a_result_says_is_not_changed(file, old, new, reason, said):
    refused = apply(FOREIGN, [Edit(file, old, new)])
    assert isinstance(refused, RefusedEdit)
    assert refused.reason is reason, refused
    assert said in refused.sentence


def test_a_key_keeps_the_unit_that_it_names():
    source = FOREIGN.files["03_production.py"].replace('"distance_mean_a"', '"distance_mean_nm"')
    wrong = Pipeline(FOREIGN.rationale, FOREIGN.windows, {**FOREIGN.files, "03_production.py": source})
    refused = apply(wrong, [Edit("03_production.py", '"distance_mean_nm"', '"distance_mean_a"')])
    assert isinstance(refused, RefusedEdit)


def test_a_refusal_names_what_is_changed_and_not_what_stands_beside_it():
    """A number of another key in the statement that has the flags too: no flag is changed, and none is spoken of."""
    edit = Edit("03_production.py", '{"stage": 3,', '{"stage": 4,')
    refused = apply(FOREIGN, [edit])
    assert refused.reason is RefusalReason.METHODOLOGY
    assert "changes a number" in refused.sentence
