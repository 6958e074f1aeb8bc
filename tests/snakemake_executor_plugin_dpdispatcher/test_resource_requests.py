import pytest
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_executor_plugin_dpdispatcher import resource_requests, scheduler_directives
from snakemake_executor_plugin_dpdispatcher.resource_requests import Request


class StandInJob:
    """Stands for a Snakemake job: a rule's name, threads and resources."""

    def __init__(self, threads=1, **resources):
        self.name, self.threads, self.resources = "heat", threads, resources


def test_ranks_threads_and_memory_are_counted_by_node():
    job = StandInJob(2, nodes=2, tasks=8, mem_mb=4000, runtime=90, gpu=1, gpu_model="a100", queue="long")
    found = resource_requests.of_job(job, "Slurm")
    assert found == Request(2, 4, 2, 1, "a100", 4000, 90, "long")
    assert found.cores == 8
    assert resource_requests.of_job(StandInJob(4, mem_mb_per_cpu=100), "PBS").memory_mb == 400


@pytest.mark.parametrize(
    ("batch_type", "resources", "said"),
    [
        ("Shell", {"nodes": 2}, "rule heat: resource nodes=2 cannot be requested from Shell"),
        ("SGE", {"gpu": 1}, "resource gpu=1 cannot be requested from SGE"),
        ("PBS", {"gpu": 1, "gpu_model": "a100"}, "resource gpu_model=a100 cannot be requested from PBS"),
        ("Slurm", {"nodes": 2, "tasks": 3}, "resource tasks=3 cannot be spread evenly over 2 nodes"),
        ("Slurm", {"runtime": "long"}, "resource runtime='long' is no number"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(batch_type, resources, said):
    with pytest.raises(WorkflowError) as caught:
        resource_requests.of_job(StandInJob(**resources), batch_type)
    assert str(caught.value).startswith("rule heat: ")
    assert said in str(caught.value)


def test_what_is_not_known_yet_is_looked_at_later():
    assert not resource_requests.is_resolved(StandInJob(mem_mb="<TBD>"))
    assert resource_requests.is_resolved(StandInJob(mem_mb=100, tmpdir="<TBD>"))


# The forms are those of the schedulers' manuals; only Slurm's were given to a real scheduler.
FULL = Request(nodes=2, ranks=4, threads=2, gpus=1, memory_mb=4000, runtime_min=90, queue="long")


def made(batch_type, request, tmp_path, steps=1, base=None):
    """The script that dpdispatcher generates for `request`."""
    from snakemake_executor_plugin_dpdispatcher.site import Configuration, Site, load

    machine = {"batch_type": batch_type, "context_type": "LocalContext", "local_root": str(tmp_path)}
    site = Site(Configuration(machine | {"remote_root": str(tmp_path)}, {}, "test"))
    values = scheduler_directives.resources(
        request, batch_type, base or {}, steps=steps, group_size=steps, header=tmp_path / "header"
    )
    module = load("submission")
    task = module.Task(command="true", task_work_path=".", outlog="log", errlog="log")
    resources = module.Resources.load_from_dict(values)
    submission = module.Submission(work_base=".", resources=resources, task_list=[task])
    submission.generate_jobs()
    site.bind(submission, None)
    return site.machine.gen_script(submission.belonging_jobs[0]).splitlines()


@pytest.mark.parametrize(
    ("batch_type", "lines"),
    [
        (
            "Slurm",
            [
                "#SBATCH --nodes 2",
                "#SBATCH --ntasks-per-node 4",
                "#SBATCH --cpus-per-task=2",
                "#SBATCH --mem=4000M",
                "#SBATCH --time=90",
                "#SBATCH --gres=gpu:1",
                "#SBATCH --partition long",
            ],
        ),
        ("SlurmJobArray", ["#SBATCH --array=0-0", "#SBATCH --mem=4000M"]),
        (
            "PBS",
            [
                "#PBS -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=1:mem=4000mb",
                "#PBS -l walltime=01:30:00",
                "#PBS -q long",
                "#PBS -j oe",
            ],
        ),
        (
            "Torque",
            ["#PBS -l nodes=2:ppn=8:gpus=1", "#PBS -l mem=8000mb", "#PBS -l walltime=01:30:00", "#PBS -q long"],
        ),
        (
            "LSF",
            [
                "#BSUB -n 16",
                "#BSUB -R 'span[ptile=8]'",
                "#BSUB -M 4000MB",
                '#BSUB -R "rusage[mem=4000MB]"',
                "#BSUB -W 90",
                "#BSUB -q long",
                "#BSUB -gpu 'num=1:mode=shared:j_exclusive=yes'",
            ],
        ),
        ("SGE", ["#$ -pe mpi 8", "#$ -l h_vmem=500M", "#$ -l h_rt=01:30:00", "#$ -q long"]),
    ],
)
def test_each_scheduler_is_asked_in_its_own_form(batch_type, lines, tmp_path):
    script = made(batch_type, FULL, tmp_path)
    assert [line for line in lines if line not in script] == []


def test_steps_of_one_job_need_the_sum_of_their_times(tmp_path):
    assert "#SBATCH --time=270" in made("Slurm", FULL, tmp_path, steps=3)
    assert "#SBATCH --time=90" in made("SlurmJobArray", FULL, tmp_path, steps=3)
    assert "#PBS -l walltime=04:30:00" in made("PBS", FULL, tmp_path, steps=3)


def test_a_job_has_room_for_snakemake_itself(tmp_path):
    assert "#SBATCH --mem=300M" in made("Slurm", Request(memory_mb=5), tmp_path)


def test_the_machine_file_adds_its_own_lines(tmp_path):
    base = {"custom_flags": ["#SBATCH --account=lab"], "queue_name": "short", "module_list": ["gcc"]}
    script = made("Slurm", Request(), tmp_path, base=base)
    assert {"#SBATCH --account=lab", "#SBATCH --partition short", "module load gcc"} <= set(script)
