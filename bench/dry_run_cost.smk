# As many jobs as the viscosity campaign of `dry_run_cost.py`, with the same files, in plain strings and nothing else.
REPLICAS = range(int(config["replicas"]))
CHAIN = {"build": None, "relax": "build", "equilibrate": "relax", "produce": "equilibrate"}
STAGES = [*CHAIN, "green_kubo"]
GATE = "approvals/gate.json"


wildcard_constraints:
    stage="|".join(STAGES),
    replica=r"\d+",


rule all:
    input:
        expand("results/{stage}/passed", stage=STAGES),
        "results/report.html",


rule build:
    input:
        gate=GATE,
    output:
        system="results/build/{replica}/system.data",
        outcome="results/build/{replica}/outcome.json",
    log:
        "logs/build/{replica}.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        digest="0" * 64,
    shell:
        "true {input.gate} {output.outcome} {log} {threads} {resources.mem_mb} {resources.runtime} {params.digest}"


for STAGE in ("relax", "equilibrate"):

    rule:
        name:
            STAGE
        input:
            gate=GATE,
            accepted=f"results/{CHAIN[STAGE]}/accepted.json",
            outcome=f"results/{CHAIN[STAGE]}/{{replica}}/outcome.json",
            system=f"results/{CHAIN[STAGE]}/{{replica}}/system.data",
        output:
            system=f"results/{STAGE}/{{replica}}/system.data",
            outcome=f"results/{STAGE}/{{replica}}/outcome.json",
        log:
            f"logs/{STAGE}/{{replica}}.log",
        threads: 1
        resources:
            mem_mb=500,
            runtime=5,
        params:
            digest="0" * 64,
        shell:
            "true {input.gate} {output.outcome} {log} {threads} {resources.mem_mb} {resources.runtime} {params.digest}"


rule produce:
    input:
        gate=GATE,
        accepted="results/equilibrate/accepted.json",
        outcome="results/equilibrate/{replica}/outcome.json",
        system="results/equilibrate/{replica}/system.data",
    output:
        stress="results/produce/{replica}/stress.npz",
        trajectory="results/produce/{replica}/trajectory.npz",
        outcome="results/produce/{replica}/outcome.json",
    log:
        "logs/produce/{replica}.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        digest="0" * 64,
    shell:
        "true {input.gate} {output.outcome} {log} {threads} {resources.mem_mb} {resources.runtime} {params.digest}"


rule green_kubo:
    input:
        gate=GATE,
        accepted="results/produce/accepted.json",
        outcomes=expand("results/produce/{replica}/outcome.json", replica=REPLICAS),
        stress=expand("results/produce/{replica}/stress.npz", replica=REPLICAS),
    output:
        curves="results/green_kubo/curves.npz",
        acf_plot="results/green_kubo/acf.svg",
        integral_plot="results/green_kubo/integral.svg",
        outcome="results/green_kubo/outcome.json",
    log:
        "logs/green_kubo/green_kubo.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        digest="0" * 64,
    shell:
        "true {input.gate} {output.outcome} {log} {threads} {resources.mem_mb} {resources.runtime} {params.digest}"


for STAGE in STAGES:

    rule:
        name:
            f"verify_{STAGE}"
        input:
            gate=GATE,
            outcomes=(
                expand(f"results/{STAGE}/{{replica}}/outcome.json", replica=REPLICAS)
                if STAGE in CHAIN
                else f"results/{STAGE}/outcome.json"
            ),
        output:
            verdict=f"results/{STAGE}/verdict.json",
        log:
            f"logs/{STAGE}/verify.log",
        resources:
            mem_mb=1000,
            runtime=10,
        params:
            digest="0" * 64,
        shell:
            "true {input.gate} {output.verdict} {log} {params.digest}"


rule accept:
    input:
        gate=GATE,
        verdict="results/{stage}/verdict.json",
    output:
        accepted="results/{stage}/accepted.json",
        passed="results/{stage}/passed",
    log:
        "logs/{stage}/accept.log",
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest="0" * 64,
    shell:
        "true {input.gate} {input.verdict} {output.accepted} {output.passed} {log} {params.digest}"


rule caveats:
    input:
        gate=GATE,
        verdicts=expand("results/{stage}/verdict.json", stage=STAGES),
    output:
        caveats="results/caveats.json",
    log:
        "logs/caveats.log",
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest="0" * 64,
    shell:
        "true {input.gate} {output.caveats} {log} {params.digest}"


rule report:
    input:
        gate=GATE,
        caveats="results/caveats.json",
        verdicts=expand("results/{stage}/verdict.json", stage=STAGES),
        passed=expand("results/{stage}/passed", stage=STAGES),
    output:
        report="results/report.html",
        crate="results/ro-crate-metadata.json",
    log:
        "logs/report.log",
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest="0" * 64,
    shell:
        "true {input.gate} {output.report} {output.crate} {log} {params.digest}"
