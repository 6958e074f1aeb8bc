"""The campaign of tasks as `sophron task run` makes it, and what the verb says before a model is asked."""

import json
import shutil
from pathlib import Path

import pytest
import scripted_worker
import toy
import yaml

from sophron import cli
from sophron.campaign.spec import spec
from sophron.kinds.task import task_campaign, task_table

DATA = Path(__file__).parents[1] / "data" / "tasks"
MODEL = {"by_name": {"task-worker": {"backend": "anthropic"}}}


def made(tmp_path, tasks, **wanted):
    root = tmp_path / "jobs" / "campaign"
    refused = task_campaign.prepare(tasks, root, task_campaign.Wanted(MODEL, **wanted))
    return spec.load(root / "campaign.yaml"), refused


def nested(folder):
    """A task with three sub-tasks in a chain and one beside them, one of which has a sub-task."""
    files = {"top": "", "a": "", "b": "DependsOn: a", "c": "DependsOn: b", "d": "", "d.e": ""}
    folder.mkdir()
    for name, key in files.items():
        head = f"---\n{key}\n---\n" if key else ""
        (folder / f"{name}.md").write_text(f"{head}## To-do\n\nDo {name}.\n\n## Expectation\n\n- {name}.txt exists\n")
    (folder / "given.csv").write_text("1\n")
    return folder


def test_sub_tasks_are_stages_before_their_parent(tmp_path):
    found, _ = made(tmp_path, nested(tmp_path / "deep"))
    needs = {stage.name: sorted(stage.depends_on) for stage in found.stages}
    assert needs == {
        "deep__a": [], "deep__b": ["deep__a"], "deep__c": ["deep__b"], "deep__d__d_e": [], "deep__d": ["deep__d__d_e"],
        "deep": ["deep__c", "deep__d"],
    }  # fmt: skip
    assert list(found.definition("deep__b")["inputs"]) == ["given.csv"]


def test_ranks_put_sub_tasks_in_an_order(tmp_path):
    (folder := tmp_path / "ranked").mkdir()
    for name, rank in {"top": 1, "a": 1, "b": 1, "c": 3, "d": 7}.items():
        text = f"---\nRank: {rank}\n---\n## To-do\n\nDo it.\n\n## Expectation\n\n- {name}.txt exists\n"
        (folder / f"{name}.md").write_text(text)
    found, _ = made(tmp_path, folder)
    needs = {stage.name: sorted(stage.depends_on) for stage in found.stages}
    assert needs["ranked__c"] == ["ranked__a", "ranked__b"]
    assert (needs["ranked__d"], needs["ranked"]) == (["ranked__c"], ["ranked__d"])


def test_both_forms_are_stages_with_their_files_in_the_campaign(tmp_path):
    found, refused = made(tmp_path, DATA, rounds=2, reviewer=True)
    assert refused == {}
    assert {stage.name for stage in found.stages} == {"column_mean", "gauss_fit"}
    assert (tmp_path / "jobs" / "campaign" / "tasks" / "column_mean" / "tests" / "test.sh").is_file()
    assert found.unverified() == []
    assert "review_gauss_fit" in found.agent_rules
    assert "review_column_mean" not in found.agent_rules


def test_a_sentence_without_a_program_keeps_the_gate_closed(tmp_path):
    found, _ = made(tmp_path, DATA / "gauss-fit")
    assert found.unverified() == ["judged-gauss-fit-25"]


def test_copies_know_nothing_of_each_other(tmp_path):
    found, _ = made(tmp_path, DATA / "column-mean", copies=2)
    assert {stage.name: stage.depends_on for stage in found.stages} == {"column_mean_1": (), "column_mean_2": ()}
    (row,) = task_table.rows_of(tmp_path / "jobs" / "campaign", found)
    assert (row["task"], row["attempts"], row["unfinished"]) == ("column_mean", 2, 2)


def test_what_cannot_run_is_named_and_left_out(tmp_path):
    tasks = shutil.copytree(DATA, tmp_path / "tasks")
    shutil.copytree(tasks / "column-mean", tasks / "other")
    dockerfile = tasks / "other" / "environment" / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text() + "RUN git clone https://example.org/x\n")
    found, refused = made(tmp_path, tasks)
    assert list(refused) == ["other"]
    assert "other" not in {stage.name for stage in found.stages}
    assert "| other |  | refused |" in task_table.write(tmp_path / "jobs" / "campaign", found, refused)


def test_the_limits_are_those_of_the_loops(tmp_path):
    made(tmp_path, DATA / "column-mean", rounds=2)
    limits = yaml.safe_load((tmp_path / "jobs" / "campaign" / "campaign.yaml").read_text())["limits"]
    assert limits == {"trials": 2, "model_calls": 160, "tokens": 6000000, "dollars": 30}


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("heuristic", "open work needs a model; name one in campaign.yaml, under agents, or on the command line"),
        ("antropic", "is no agent; known are oracle, nop and the backends anthropic, "),
    ],
)
def test_who_is_no_model_is_refused_in_a_sentence(tmp_path, capsys, agent, said):
    words = ["task", "run", str(DATA / "column-mean"), "--agent", agent, "--jobs-dir", str(tmp_path / "jobs")]
    assert cli.main(words) == 2
    assert said in capsys.readouterr().err


def test_the_first_call_makes_a_campaign_that_waits_for_its_signature(tmp_path, monkeypatch, capsys):
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    words = ["task", "run", str(DATA / "gauss-fit"), "--agent", "anthropic", "--jobs-dir", str(tmp_path / "jobs")]
    for _ in range(2):
        assert cli.main(words) == 4
        said = capsys.readouterr().out
        assert f"sophron review {tmp_path / 'jobs' / 'gauss-fit-anthropic'}" in said
    written = spec.load(tmp_path / "jobs" / "gauss-fit-anthropic" / "campaign.yaml")
    assert written.data["agents"]["by_name"]["task-reviewer"] == {"backend": "anthropic"}


def test_the_sentences_of_a_definition_are_told_and_the_checks_are_not(tmp_path):
    from sophron.kinds.task import agent_inputs

    found, _ = made(tmp_path, DATA / "gauss-fit", reviewer=True)
    text = agent_inputs.task_text(found.definition("gauss_fit"))
    assert "fit.png exists, valid PNG" in text
    assert "least" not in text
    assert scripted_worker.DONE not in json.dumps(text)
