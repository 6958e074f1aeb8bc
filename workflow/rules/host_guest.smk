# Host-guest binding by pipelines that are designed, argued over and tried: tasks and references, the panel's
# discussion (debate.smk), the loop of trials (trials.smk) and what it runs (execution.smk). What they do is in sophron.debate.


wildcard_constraints:
    guest=r"[a-z0-9_]+",
    trial=r"\d+",
    window=r"\d+",
    fix=r"\d+",
    turn=r"[12]",
    expert="|".join(CAMPAIGN.values("expert")),


include: "trials.smk"
include: "execution.smk"
include: "debate.smk"


rule tasks:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        left="<results>/tasks/{guest}/left.tar",
        outcome="<results>/tasks/{guest}/outcome.json",
    log:
        "<logs>/tasks/{guest}.log",
    retries: CAMPAIGN.retries("tasks")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("tasks")
    resources:
        **CAMPAIGN.resources("tasks"),
    params:
        digest=CAMPAIGN.definition_digest("tasks"),
    shell:
        "sophron stage tasks --gate {input.gate} --wildcard guest={wildcards.guest} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule references:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        references="<results>/references/references.json",
        outcome="<results>/references/outcome.json",
    log:
        "<logs>/references/references.log",
    retries: CAMPAIGN.retries("references")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("references")
    resources:
        **CAMPAIGN.resources("references"),
    params:
        digest=CAMPAIGN.definition_digest("references"),
    shell:
        "sophron stage references --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
