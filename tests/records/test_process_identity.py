"""Where a process runs, by the variables that schedulers and pilots set."""

import pytest

from sophron.records import process_identity


def test_nothing_set_is_nowhere():
    nowhere = {"scheduler": None, "job": None, "pilot": None, "worker": None, "dispatcher": None}
    assert process_identity.placement({}) == {"host": process_identity.host(), **nowhere}
    assert process_identity.placement({"SLURM_JOB_ID": "", "PARSL_WORKER_RANK": "0"}) == process_identity.placement({})


@pytest.mark.parametrize(("variable", "name"), [("SLURM_JOB_ID", "slurm"), ("PBS_JOBID", "pbs"), ("LSB_JOBID", "lsf")])
def test_a_job_is_known_by_its_scheduler(variable, name):
    place = process_identity.placement({variable: "17"})
    assert (place["scheduler"], place["job"], place["pilot"]) == (name, "17", None)


def test_a_pilot_may_stand_inside_a_job():
    place = process_identity.placement({"SLURM_JOB_ID": "17", "PARSL_WORKER_POOL_ID": "a1", "PARSL_WORKER_RANK": "0"})
    assert (place["scheduler"], place["pilot"], place["worker"]) == ("slurm", "parsl", "a1/0")


def test_a_task_of_a_dispatcher_may_stand_inside_a_job():
    place = process_identity.placement({"SLURM_JOB_ID": "17", "DPDISP_DONE": "/home/me/task.DPDISP_DONE"})
    assert (place["scheduler"], place["dispatcher"], place["pilot"]) == ("slurm", "dpdispatcher", None)
