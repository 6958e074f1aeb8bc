"""A scheduler that refuses: each job is submitted a few times, and what it said in the end is its fault."""

from types import SimpleNamespace

from snakemake_executor_plugin_dpdispatcher import dispatcher
from snakemake_executor_plugin_dpdispatcher.dispatcher import Dispatcher
from sophron.records.retry import Pauses


def test_a_refused_submission_is_repeated_and_others_go_on(monkeypatch):
    monkeypatch.setattr(dispatcher, "SUBMIT_PAUSES", Pauses(attempts=3, first_s=0, longest_s=0))
    calls, told, submitted = [], [], []

    def submit(job):
        calls.append(job.job_hash)
        if job.job_hash == "never" or calls.count(job.job_hash) < 2:
            raise RuntimeError("no such\n  queue")

    made = Dispatcher.__new__(Dispatcher)
    made.site, made._tell = SimpleNamespace(submit=submit), told.append
    jobs = [SimpleNamespace(job_id="", job_hash=name) for name in ("late", "never", "last")]
    open_task = SimpleNamespace(settled=None)
    batch = SimpleNamespace(jobs=jobs, tasks_of=lambda _: [open_task], submitted=submitted.append)
    assert made._submit(batch) == {"never": "submitting failed: no such queue"}
    assert submitted == [jobs[0], jobs[2]]
    assert calls == ["late"] * 2 + ["never"] * 3 + ["last"] * 2
    assert told == ["submitting failed: no such queue"] * 5
