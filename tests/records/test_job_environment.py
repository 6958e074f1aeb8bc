"""Where a process runs, by the variables that schedulers and pilots set."""

import pytest

from sophron.records import job_environment, process_identity


def test_nothing_set_is_nowhere():
    nowhere = {"scheduler": None, "job": None, "pilot": None, "worker": None}
    assert job_environment.here({}) == {"host": process_identity.host(), **nowhere}
    assert job_environment.here({"SLURM_JOB_ID": "", "PARSL_WORKER_RANK": "0"}) == job_environment.here({})


@pytest.mark.parametrize(("variable", "name"), [("SLURM_JOB_ID", "slurm"), ("PBS_JOBID", "pbs"), ("LSB_JOBID", "lsf")])
def test_a_job_is_known_by_its_scheduler(variable, name):
    place = job_environment.here({variable: "17"})
    assert (place["scheduler"], place["job"], place["pilot"]) == (name, "17", None)


def test_a_pilot_may_stand_inside_a_job():
    place = job_environment.here({"SLURM_JOB_ID": "17", "PARSL_WORKER_POOL_ID": "a1", "PARSL_WORKER_RANK": "0"})
    assert (place["scheduler"], place["pilot"], place["worker"]) == ("slurm", "parsl", "a1/0")
