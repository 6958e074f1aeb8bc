# Production runs of observables_cross_backend.py, through whatever executor a profile names.
STEPS = glob_wildcards("steps/{name}/step.json").name


rule all:
    input:
        expand("steps/{name}/out.json", name=STEPS),


rule produce:
    input:
        "steps/{name}/step.json",
    output:
        "steps/{name}/out.json",
    threads: 1
    resources:
        mem_mb=600,
        runtime=40,
        nodes=1,
        tasks=1,
    params:
        bench=config["bench"],
    shell:
        "python {params.bench} step steps/{wildcards.name}"
