"""Faults from a family of mutations, drawn by seed, against the panel's and the Engineer's rules of thumb.

Windows are produced once; a fault of the analysis is then run on them through the real sandbox, as in the loop.
"""

import ast

import pytest

from sophron.agents.rule_based import experts, pipeline_agents
from sophron.agents.tools import literature
from sophron.debate.panel.votes import Vote
from sophron.debate.pipelines.edits import mechanical_edits
from sophron.debate.pipelines.pipeline import Pipeline
from sophron.debate.pipelines.static_check import layer1
from sophron.records.typed_json import from_json, to_json

from . import dimers, mutations

pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'sophron[chem]'")
WINDOWS = 8
NS = 0.8
EXPERTS = {
    "force-field": experts.judge_force_field,
    "sampling": experts.judge_sampling,
    "analysis": experts.judge_analysis,
}


def sound():
    return dimers.pipeline(WINDOWS, spring=0.5, strengths=(0.0, 0.1), interval=40)


@pytest.fixture(scope="module")
def produced(tmp_path_factory):
    """One weak guest through the first three stages, and the sound analysis of it."""
    folder = tmp_path_factory.mktemp("guest")
    task = dimers.task(0.5)
    first, _, windows, last = dimers.through(sound(), folder, ns=NS, metadata=task)
    assert all(one.completed for one in windows)
    return folder, task, {"1": first.said, "3": windows[0].said, "4": last.said}


def results(stages, windows=WINDOWS):
    return {"windows": windows, "guests": {"weak": {"stages": stages}}, "scores": None}


def panel(made, stages, windows=WINDOWS):
    told = {"mode": "post_benchmark", "results": results(stages, windows), "pipeline": made.reply, "votes": {}}
    return {name: Vote.read(rule(told), name) for name, rule in EXPERTS.items()}


def analysed(made, produced):
    folder, task, stages = produced
    _, executed = dimers.stage(made, 4, folder, earlier=["stage_01", "stage_02"], metadata=task)
    return {**stages, "4": executed.said}


def test_the_sound_pipeline_gives_a_number_and_nobody_objects(produced):
    stages = produced[2]
    assert stages["4"]["status"] == "completed", stages["4"]
    assert {vote.label for vote in panel(sound(), stages).values()} == {"pass"}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("family", ["sign_of_release", "overlap_lost"])
def test_the_panel_finds_the_stage_and_its_one_line_edit_undoes_the_fault(produced, family, seed):
    made, file = mutations.mutate(sound(), family, seed)
    assert layer1.verify(made.reply, ["weak"], literature.load()).faults == ()
    votes = panel(made, analysed(made, produced))
    assert votes["analysis"].label == "fail"
    grave = [one.focus for vote in votes.values() for one in vote.concerns if one.severity == "high"]
    assert set(grave) == {"analysis"}
    assert votes["analysis"].edit.file == file
    critique = {"rounds": [{name: to_json(vote) for name, vote in votes.items()}], "focus": "analysis"}
    told = {"pipeline": made.reply, "critiques": {"post": critique}, "task": {}}
    mended = Pipeline.parse(pipeline_agents.author(told)["reply"])
    assert mended.files == sound().files
    told = {"pipeline": made.reply, "critiques": {"post": None, "single": {"guest": critique}}, "task": {}}
    assert Pipeline.parse(pipeline_agents.author(told)["reply"]) == mended
    changed = [
        (one, other)
        for name in made.files
        for one, other in zip(made.files[name].splitlines(), mended.files[name].splitlines(), strict=True)
        if one != other
    ]
    assert len(changed) == 1


@pytest.mark.parametrize("seed", range(8))
def test_a_lost_overlap_is_refused_with_its_flag(produced, seed):
    made, _ = mutations.mutate(sound(), "overlap_lost", seed)
    result = analysed(made, produced)["4"]
    assert (result["status"], result["delta_g_kcal_per_mol"]) == ("refused", None)
    assert result["failure"]["kind"] == "no_overlap"
    assert result["convergence_flags"] == {"mbar_overlap_above_0p03": False}


@pytest.mark.parametrize("seed", range(6))
def test_what_does_not_run_is_mended_by_mechanical_edits_or_given_up(tmp_path, seed):
    made, file = mutations.mutate(sound(), "does_not_run", seed)
    number = int(file[:2])
    earlier = [f"stage_{one:02d}" for one in range(1, number)]
    for one in range(1, number):
        assert dimers.stage(sound(), one, tmp_path, earlier=earlier[: one - 1])[1].completed
    window = 0 if number == 3 else None
    _, crashed = dimers.stage(made, number, tmp_path, earlier=earlier, window=window)
    assert not crashed.completed
    said = f"{crashed.result.failure.sentence}\n{crashed.measured.stderr_tail}"
    answer = pipeline_agents.engineer({"pipeline": made.reply, "failure": {"file": file, "said": said}})
    if answer["action"] == "give_up":
        assert not answer["edits"]
        return
    mended = mechanical_edits.apply(made, from_json(mechanical_edits.Fix, answer).edits)
    assert isinstance(mended, Pipeline), mended
    assert {ast.dump(ast.parse(mended.files[name])) for name in mended.files} >= {
        ast.dump(ast.parse(sound().files[name])) for name in sound().files if name != file
    }
    _, again = (
        dimers.stage(mended, number, tmp_path / "again", earlier=[], window=window)
        if number == 1
        else (dimers.stage(mended, number, tmp_path, earlier=earlier, window=window))
    )
    assert again.completed, again


def test_most_of_what_does_not_run_can_be_mended():
    """So that the test above cannot pass by giving up."""
    said = {"np": "name 'np' is not defined", "Path": "name 'Path' is not defined"}
    for name, sentence in said.items():
        answer = pipeline_agents.engineer(
            {"pipeline": sound().reply, "failure": {"file": "03_production.py", "said": sentence}}
        )
        assert answer["action"] == "edit", name


def test_too_few_windows_call_for_more_and_not_for_an_edit_of_the_analysis(produced):
    stages = produced[2]
    diagnostics = {**stages["4"]["diagnostics"], "minimum_overlap": 0.01}
    refused = {**stages["4"], "status": "refused", "delta_g_kcal_per_mol": None, "diagnostics": diagnostics}
    votes = panel(sound(), {**stages, "4": refused})
    assert votes["sampling"].label == "fail"
    assert votes["sampling"].concerns[0].focus == "production"
    assert votes["analysis"].label == "uncertain"
    for most, windows in ((100, 12), (10, 10), (8, 8)):
        told = {"critiques": {"post": {"focus": "production", "rounds": []}}, "task": {"most_windows": most}}
        answer = pipeline_agents.author({"pipeline": sound().reply, **told})
        assert Pipeline.parse(answer["reply"]).windows == windows


def test_slots_that_seeding_left_free_are_no_windows_that_the_analysis_lost(produced):
    """A pipeline with more slots than seeding needed: too few samples are the fault of production."""
    stages = produced[2]
    used = stages["4"]["diagnostics"]["window_count"]
    failure = {"kind": "few_samples", "sentence": "run longer.", "windows": []}
    refused = {**stages["4"], "status": "refused", "delta_g_kcal_per_mol": None, "failure": failure}

    def votes(placed):
        seeded = {"status": "completed", "diagnostics": {"window_count": placed}}
        return panel(sound(), {**stages, "2": seeded, "4": refused}, windows=used + 4)

    assert votes(used)["analysis"].label == "uncertain"
    assert (votes(used)["sampling"].label, votes(used)["sampling"].concerns[0].focus) == ("fail", "production")
    assert votes(used + 4)["analysis"].label == "fail"  # it did leave windows out


def test_before_anything_was_measured_nobody_is_sure():
    for mode in ("design", "pre"):
        for rule in EXPERTS.values():
            vote = rule({"mode": mode, "results": {}, "votes": {}})
            assert (vote["label"], vote["confidence"]) == ("uncertain", 0.3)
