# Tasks of a collection, attempted and verified: environment -> work -> verify, one table. No campaign and no gate: no
# model is asked, and what a task brings runs in the sandbox alone. Started by `sophron task run` and `sophron task bench`.
from pathlib import Path

from sophron.tasks import bench

JOB = bench.read_job(Path.cwd())


wildcard_constraints:
    task="[^/]+",
    agent="oracle|nop",
    attempt=r"\d+",


rule table:
    input:
        results=expand(
            "{task}/{agent}/{attempt}/result.json",
            task=JOB.readable,
            agent=JOB.agents,
            attempt=JOB.rounds,
        ),
        job=bench.JOB,
    output:
        results="results.json",
        table="table.md",
    localrule: True
    shell:
        "sophron task table ."


rule environment:
    output:
        record="{task}/environment.json",
    params:
        folder=lambda wildcards: JOB.tasks[wildcards.task].folder,
        digest=lambda wildcards: JOB.tasks[wildcards.task].digest,
        python=f"--python {JOB.python}" if JOB.python else "",
    shell:
        "sophron task environment {params.folder:q} --record {output.record} {params.python} --digest {params.digest}"


rule work:
    input:
        environment="{task}/environment.json",
    output:
        record="{task}/{agent}/{attempt}/work.json",
        archive="{task}/{agent}/{attempt}/work.tar",
    threads: lambda wildcards: JOB.tasks[wildcards.task].cpus
    params:
        folder=lambda wildcards: JOB.tasks[wildcards.task].folder,
    shell:
        "sophron task work {params.folder:q} --environment {input.environment} --agent {wildcards.agent} --record {output.record}"


rule verify:
    input:
        environment="{task}/environment.json",
        work="{task}/{agent}/{attempt}/work.json",
        archive="{task}/{agent}/{attempt}/work.tar",
    output:
        result="{task}/{agent}/{attempt}/result.json",
    threads: lambda wildcards: JOB.tasks[wildcards.task].cpus
    params:
        folder=lambda wildcards: JOB.tasks[wildcards.task].folder,
    shell:
        "sophron task verify {params.folder:q} --environment {input.environment} --work {input.work}"
