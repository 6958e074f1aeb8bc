# Radius of gyration of chains: replicas are built and equilibrated once, then sampled in each way to execute that the
# campaign has (sample_*: one stage a way, run with its profile), and compared. Each stage is one rule; what it does is
# in sophron.science.chain_conformation.


rule build:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        system="<results>/build/{replica}/system.data",
        outcome="<results>/build/{replica}/outcome.json",
    log:
        "<logs>/build/{replica}.log",
    retries: CAMPAIGN.retries("build")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("build")
    resources:
        **CAMPAIGN.resources("build"),
    params:
        digest=CAMPAIGN.definition_digest("build"),
    shell:
        "sophron stage build --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule equilibrate:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/build/accepted.json"),
        outcome="<results>/build/{replica}/outcome.json",
        system="<results>/build/{replica}/system.data",
    output:
        system="<results>/equilibrate/{replica}/system.data",
        outcome="<results>/equilibrate/{replica}/outcome.json",
    log:
        "<logs>/equilibrate/{replica}.log",
    retries: CAMPAIGN.retries("equilibrate")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("equilibrate")
    resources:
        **CAMPAIGN.resources("equilibrate"),
    params:
        digest=CAMPAIGN.definition_digest("equilibrate"),
    shell:
        "sophron stage equilibrate --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


if CAMPAIGN.has("sample_local"):

    rule sample_local:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/equilibrate/accepted.json"),
            outcome="<results>/equilibrate/{replica}/outcome.json",
            system="<results>/equilibrate/{replica}/system.data",
        output:
            series="<results>/sample_local/{replica}/series.npz",
            ran="<results>/sample_local/{replica}/ran.json",
            outcome="<results>/sample_local/{replica}/outcome.json",
        log:
            "<logs>/sample_local/{replica}.log",
        retries: CAMPAIGN.retries("sample_local")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("sample_local")
        resources:
            **CAMPAIGN.resources("sample_local"),
        params:
            digest=CAMPAIGN.definition_digest("sample_local"),
        shell:
            "sophron stage sample_local --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("sample_slurm"):

    rule sample_slurm:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/equilibrate/accepted.json"),
            outcome="<results>/equilibrate/{replica}/outcome.json",
            system="<results>/equilibrate/{replica}/system.data",
        output:
            series="<results>/sample_slurm/{replica}/series.npz",
            ran="<results>/sample_slurm/{replica}/ran.json",
            outcome="<results>/sample_slurm/{replica}/outcome.json",
        log:
            "<logs>/sample_slurm/{replica}.log",
        retries: CAMPAIGN.retries("sample_slurm")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("sample_slurm")
        resources:
            **CAMPAIGN.resources("sample_slurm"),
        params:
            digest=CAMPAIGN.definition_digest("sample_slurm"),
        shell:
            "sophron stage sample_slurm --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("sample_slurm_gpu"):

    rule sample_slurm_gpu:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/equilibrate/accepted.json"),
            outcome="<results>/equilibrate/{replica}/outcome.json",
            system="<results>/equilibrate/{replica}/system.data",
        output:
            series="<results>/sample_slurm_gpu/{replica}/series.npz",
            ran="<results>/sample_slurm_gpu/{replica}/ran.json",
            outcome="<results>/sample_slurm_gpu/{replica}/outcome.json",
        log:
            "<logs>/sample_slurm_gpu/{replica}.log",
        retries: CAMPAIGN.retries("sample_slurm_gpu")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("sample_slurm_gpu")
        resources:
            **CAMPAIGN.resources("sample_slurm_gpu"),
        params:
            digest=CAMPAIGN.definition_digest("sample_slurm_gpu"),
        shell:
            "sophron stage sample_slurm_gpu --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("sample_parsl"):

    rule sample_parsl:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/equilibrate/accepted.json"),
            outcome="<results>/equilibrate/{replica}/outcome.json",
            system="<results>/equilibrate/{replica}/system.data",
        output:
            series="<results>/sample_parsl/{replica}/series.npz",
            ran="<results>/sample_parsl/{replica}/ran.json",
            outcome="<results>/sample_parsl/{replica}/outcome.json",
        log:
            "<logs>/sample_parsl/{replica}.log",
        retries: CAMPAIGN.retries("sample_parsl")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("sample_parsl")
        resources:
            **CAMPAIGN.resources("sample_parsl"),
        params:
            digest=CAMPAIGN.definition_digest("sample_parsl"),
        shell:
            "sophron stage sample_parsl --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("sample_dpdispatcher"):

    rule sample_dpdispatcher:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/equilibrate/accepted.json"),
            outcome="<results>/equilibrate/{replica}/outcome.json",
            system="<results>/equilibrate/{replica}/system.data",
        output:
            series="<results>/sample_dpdispatcher/{replica}/series.npz",
            ran="<results>/sample_dpdispatcher/{replica}/ran.json",
            outcome="<results>/sample_dpdispatcher/{replica}/outcome.json",
        log:
            "<logs>/sample_dpdispatcher/{replica}.log",
        retries: CAMPAIGN.retries("sample_dpdispatcher")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("sample_dpdispatcher")
        resources:
            **CAMPAIGN.resources("sample_dpdispatcher"),
        params:
            digest=CAMPAIGN.definition_digest("sample_dpdispatcher"),
        shell:
            "sophron stage sample_dpdispatcher --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


SAMPLED = [stage for stage in CAMPAIGN.stages if stage.startswith("sample_")]


rule compare:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient(expand("<results>/{stage}/accepted.json", stage=SAMPLED)),
        outcomes=[path for stage in SAMPLED for path in CAMPAIGN.outcomes(stage)],
        series=[path for stage in SAMPLED for path in CAMPAIGN.files(stage, "series")],
        ran=[path for stage in SAMPLED for path in CAMPAIGN.files(stage, "ran")],
    output:
        sets_plot=report(
            "<results>/compare/sets.svg",
            category="compare",
            caption="../report/gyration.rst",
        ),
        outcome="<results>/compare/outcome.json",
    log:
        "<logs>/compare/compare.log",
    retries: CAMPAIGN.retries("compare")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("compare")
    resources:
        **CAMPAIGN.resources("compare"),
    params:
        digest=CAMPAIGN.definition_digest("compare"),
    shell:
        "sophron stage compare --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
