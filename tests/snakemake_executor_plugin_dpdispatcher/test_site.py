import time

import pytest
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_executor_plugin_dpdispatcher import submission_record
from snakemake_executor_plugin_dpdispatcher.site import Site, configuration, load, withheld


@pytest.fixture
def site(tmp_path):
    return Site(configuration(None, None, tmp_path))


def prepared(site, folder, command):
    module = load("submission")
    task = submission_record.new_task([], 1)
    made = module.Task(command=command, task_work_path=".", outlog=f"{task.ident}.log", errlog=f"{task.ident}.log")
    resources = {"number_node": 1, "cpu_per_node": 1, "gpu_per_node": 0, "queue_name": "", "group_size": 1}
    batch = submission_record.create(folder, site, [task], [made], resources)
    batch.submission.upload_jobs()
    return batch


def test_a_submission_that_was_cut_off_is_finished_once(site, tmp_path):
    batch = prepared(site, tmp_path, f"echo run >> {tmp_path}/runs; sleep 1; touch {tmp_path}/ended")
    site.submit(batch.jobs[0])  # and the driver is killed before it notes the id
    (again,) = submission_record.open_batches(tmp_path, Site(configuration(None, None, tmp_path)))
    other = Site(configuration(None, None, tmp_path))
    other.bind(again.submission, again.root)
    again.submission.belonging_jobs[0].machine = other.machine
    assert again.jobs[0].job_id == ""
    other.submit(again.jobs[0])
    assert str(again.jobs[0].job_id) == str(batch.jobs[0].job_id)
    deadline = time.monotonic() + 60
    while not (tmp_path / "ended").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (tmp_path / "runs").read_text().split() == ["run"]


def test_a_record_that_was_torn_is_no_submission(site, tmp_path):
    batch = prepared(site, tmp_path, "true")
    batch.path.write_bytes(batch.path.read_bytes()[:-20])
    assert submission_record.open_batches(tmp_path, site) == []


def test_the_answer_of_a_submit_command_that_was_not_noted_is_used(site, tmp_path):
    batch = prepared(site, tmp_path, "true")
    job = batch.jobs[0]
    (tmp_path / batch.submission.submission_hash / f"{job.job_hash}.receipt.begun").write_text("4711\n")
    site.submit(job)
    assert str(job.job_id) == "4711"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a", "has no section `machine`"),
        ("machine: {batch_type: Bohrium}", "batch_type 'Bohrium' is not supported"),
        ("machine: {batch_type: Slurm, context_type: Carrier}", "machine: "),
        ("machine: [", "cannot be read"),
    ],
)
def test_a_wrong_machine_file_is_one_sentence(tmp_path, text, said):
    path = tmp_path / "machine.yaml"
    path.write_text(text)
    with pytest.raises(WorkflowError) as caught:
        Site(configuration(str(path), None, tmp_path))
    assert said in str(caught.value)
    assert "machine.yaml" in str(caught.value)


def test_keys_and_the_outer_job_are_withheld():
    given = {
        "A_TOKEN": "x",
        "HOME": "/root",
        "LAB": "sk-abc",
        "SLURM_JOB_ID": "1",
        "SLURM_CONF": "c",
        "BASH_FUNC_x%%": "k",
    }
    assert withheld(given | {"SSH_AUTH_SOCK": "/s"}) == ["A_TOKEN", "LAB", "SLURM_JOB_ID", "SSH_AUTH_SOCK"]
