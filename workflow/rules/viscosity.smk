# Shear viscosity: independent replicas from build to production, gathered by Green-Kubo. Each stage is one rule;
# what it does is in sophron.science.viscosity. A melt may add SLLOD shear, the cross-check of both
# methods, and Rouse modes; a liquid or melt the diffusion coefficient.


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


rule relax:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/build/accepted.json"),
        outcome="<results>/build/{replica}/outcome.json",
        system="<results>/build/{replica}/system.data",
    output:
        system="<results>/relax/{replica}/system.data",
        outcome="<results>/relax/{replica}/outcome.json",
    log:
        "<logs>/relax/{replica}.log",
    retries: CAMPAIGN.retries("relax")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("relax")
    resources:
        **CAMPAIGN.resources("relax"),
    params:
        digest=CAMPAIGN.definition_digest("relax"),
    shell:
        "sophron stage relax --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule equilibrate:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/relax/accepted.json"),
        outcome="<results>/relax/{replica}/outcome.json",
        system="<results>/relax/{replica}/system.data",
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


rule produce:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/equilibrate/accepted.json"),
        outcome="<results>/equilibrate/{replica}/outcome.json",
        system="<results>/equilibrate/{replica}/system.data",
    output:
        stress="<results>/produce/{replica}/stress.npz",
        trajectory="<results>/produce/{replica}/trajectory.npz",
        outcome="<results>/produce/{replica}/outcome.json",
    log:
        "<logs>/produce/{replica}.log",
    retries: CAMPAIGN.retries("produce")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("produce")
    resources:
        **CAMPAIGN.resources("produce"),
    params:
        digest=CAMPAIGN.definition_digest("produce"),
    shell:
        "sophron stage produce --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule green_kubo:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/produce/accepted.json"),
        outcomes=CAMPAIGN.outcomes("produce"),
        stress=CAMPAIGN.files("produce", "stress"),
    output:
        curves="<results>/green_kubo/curves.npz",
        acf_plot=report(
            "<results>/green_kubo/acf.svg",
            category="green_kubo",
            caption="../report/green_kubo.rst",
        ),
        integral_plot=report(
            "<results>/green_kubo/integral.svg",
            category="green_kubo",
            caption="../report/green_kubo.rst",
        ),
        outcome="<results>/green_kubo/outcome.json",
    log:
        "<logs>/green_kubo/green_kubo.log",
    retries: CAMPAIGN.retries("green_kubo")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("green_kubo")
    resources:
        **CAMPAIGN.resources("green_kubo"),
    params:
        digest=CAMPAIGN.definition_digest("green_kubo"),
    shell:
        "sophron stage green_kubo --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


if CAMPAIGN.has("rouse"):

    rule rouse:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/produce/accepted.json"),
            outcomes=CAMPAIGN.outcomes("produce"),
            trajectories=CAMPAIGN.files("produce", "trajectory"),
        output:
            modes_plot=report(
                "<results>/rouse/modes.svg",
                category="rouse",
                caption="../report/rouse.rst",
            ),
            outcome="<results>/rouse/outcome.json",
        log:
            "<logs>/rouse/rouse.log",
        retries: CAMPAIGN.retries("rouse")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("rouse")
        resources:
            **CAMPAIGN.resources("rouse"),
        params:
            digest=CAMPAIGN.definition_digest("rouse"),
        shell:
            "sophron stage rouse --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("diffusion"):

    rule diffusion:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/produce/accepted.json"),
            integrated=ancient("<results>/green_kubo/accepted.json"),
            outcomes=CAMPAIGN.outcomes("produce"),
            trajectories=CAMPAIGN.files("produce", "trajectory"),
            green_kubo="<results>/green_kubo/outcome.json",
        output:
            displacement_plot=report(
                "<results>/diffusion/displacement.svg",
                category="diffusion",
                caption="../report/diffusion.rst",
            ),
            outcome="<results>/diffusion/outcome.json",
        log:
            "<logs>/diffusion/diffusion.log",
        retries: CAMPAIGN.retries("diffusion")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("diffusion")
        resources:
            **CAMPAIGN.resources("diffusion"),
        params:
            digest=CAMPAIGN.definition_digest("diffusion"),
        shell:
            "sophron stage diffusion --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("shear"):

    rule shear:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/equilibrate/accepted.json"),
            outcome="<results>/equilibrate/{replica}/outcome.json",
            system="<results>/equilibrate/{replica}/system.data",
        output:
            stress="<results>/shear/{rate}/{replica}/stress.npz",
            outcome="<results>/shear/{rate}/{replica}/outcome.json",
        log:
            "<logs>/shear/{rate}-{replica}.log",
        retries: CAMPAIGN.retries("shear")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("shear")
        resources:
            **CAMPAIGN.resources("shear"),
        params:
            digest=CAMPAIGN.definition_digest("shear"),
        shell:
            "sophron stage shear --gate {input.gate} --wildcard rate={wildcards.rate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("cross_check"):

    rule cross_check:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/green_kubo/accepted.json"),
            sheared=ancient("<results>/shear/accepted.json"),
            green_kubo="<results>/green_kubo/outcome.json",
            outcomes=CAMPAIGN.outcomes("shear"),
        output:
            rates_plot=report(
                "<results>/cross_check/rates.svg",
                category="cross_check",
                caption="../report/cross_check.rst",
            ),
            outcome="<results>/cross_check/outcome.json",
        log:
            "<logs>/cross_check/cross_check.log",
        retries: CAMPAIGN.retries("cross_check")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("cross_check")
        resources:
            **CAMPAIGN.resources("cross_check"),
        params:
            digest=CAMPAIGN.definition_digest("cross_check"),
        shell:
            "sophron stage cross_check --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"
